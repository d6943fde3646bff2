//! Launches from the device: the functions that a module calls for them, and the library of the
//! CUDA runtime that defines these.

use std::path::{Path, PathBuf};

/// Functions that launch kernels from the device, without and with the prefix under which the
/// runtime library defines them since CUDA 12.
const FUNCTIONS: [(&str, &str); 3] = [
    ("cudaGetParameterBufferV2", "__cudaCDP2GetParameterBufferV2"),
    ("cudaLaunchDeviceV2", "__cudaCDP2LaunchDeviceV2"),
    (
        "cudaStreamCreateWithFlags",
        "__cudaCDP2StreamCreateWithFlags",
    ),
];

/// Places of the library in an installation of CUDA.
const PLACES: [&str; 2] = [
    "/usr/local/cuda/lib64/libcudadevrt.a",
    "/usr/lib/x86_64-linux-gnu/libcudadevrt.a",
];

/// Returns the PTX of a module with the names that the runtime library defines, or `None` if the
/// module launches no kernels.
pub fn to_be_linked(ptx: &str) -> Option<String> {
    let mut functions = FUNCTIONS.iter();
    let launches = functions.any(|(name, defined)| ptx.contains(name) || ptx.contains(defined));
    launches.then(|| {
        let text = ptx.to_owned();
        FUNCTIONS.iter().fold(text, |text, (name, defined)| {
            // A module may have been compiled for the new names.
            text.replace(defined, name).replace(name, defined)
        })
    })
}

/// Returns the chosen library, or else the one of an installation of CUDA, if there is one.
pub fn find(chosen: Option<&Path>) -> Option<PathBuf> {
    let installed = PLACES.iter().map(PathBuf::from).find(|it| it.is_file());
    chosen.map(Path::to_owned).or(installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_launches_kernels_calls_the_functions_of_the_library() {
        let ptx = "call (r), cudaGetParameterBufferV2, (a); call __cudaCDP2LaunchDeviceV2;";
        let text = to_be_linked(ptx).expect("it launches");
        assert_eq!(
            text,
            "call (r), __cudaCDP2GetParameterBufferV2, (a); call __cudaCDP2LaunchDeviceV2;"
        );
        assert_eq!(to_be_linked(&text), Some(text));
        assert_eq!(to_be_linked("call vprintf, (a, b);"), None);
    }

    #[test]
    fn a_chosen_library_is_taken_even_if_another_is_installed() {
        let chosen = Path::new("there/libcudadevrt.a");
        assert_eq!(find(Some(chosen)).as_deref(), Some(chosen));
    }
}
