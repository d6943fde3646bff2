//! Functions that a module declares and the device's runtime defines.

macro_rules! externals {
    ($($(#[$doc:meta])* $variant:ident = $($name:literal)|+, ($($argument:literal),*) -> ($($result:literal)?);)*) => {
        /// A function of the runtime.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum External {
            $($(#[$doc])* $variant,)*
        }

        impl External {
            /// Names that compilers call them by.
            pub(crate) const NAMES: &'static [(&'static str, Self)] =
                &[$($(($name, Self::$variant),)+)*];

            /// Bytes of its arguments, and of its results.
            pub(crate) const fn shape(self) -> (&'static [u32], &'static [u32]) {
                match self {
                    $(Self::$variant => (&[$($argument),*], &[$($result)?]),)*
                }
            }
        }
    };
}

// CUDA C++ Programming Guide, "Device-Side Launch from PTX", and the runtime functions that compilers
// call by these names. Those of CUDA 12 and later begin with `__cudaCDP2`.
externals! {
    /// Memory for the arguments of a launch: alignment, size.
    ParameterBuffer = "cudaGetParameterBuffer" | "__cudaCDP2GetParameterBuffer", (8, 8) -> (8);
    /// The same for a launch whose shape is told now: function, grid, block, dynamic local bytes.
    ParameterBufferV2 = "cudaGetParameterBufferV2" | "__cudaCDP2GetParameterBufferV2", (8, 12, 12, 4) -> (8);
    /// A launch: function, arguments, grid, block, dynamic local bytes, stream.
    Launch = "cudaLaunchDevice" | "__cudaCDP2LaunchDevice", (8, 8, 12, 12, 4, 8) -> (4);
    /// A launch of the shape told before: arguments, stream.
    LaunchV2 = "cudaLaunchDeviceV2" | "__cudaCDP2LaunchDeviceV2", (8, 8) -> (4);
    /// A stream: where its handle goes, flags.
    StreamCreate = "cudaStreamCreateWithFlags" | "__cudaCDP2StreamCreateWithFlags", (8, 4) -> (4);
    /// A stream that is not needed any more.
    StreamDestroy = "cudaStreamDestroy" | "__cudaCDP2StreamDestroy", (8) -> (4);
    /// The thread's last error, which is then forgotten.
    LastError = "cudaGetLastError" | "__cudaCDP2GetLastError", () -> (4);
    /// The thread's last error.
    PeekError = "cudaPeekAtLastError" | "__cudaCDP2PeekAtLastError", () -> (4);
    /// Formatted output: format, arguments.
    Print = "vprintf", (8, 8) -> (4);
    /// An assertion that does not hold: expression, file, line, function, bytes of a character.
    AssertFail = "__assertfail", (8, 8, 4, 8, 8) -> ();
    /// Memory of the device's heap: bytes.
    Malloc = "malloc", (8) -> (8);
    /// Gives memory of the heap back.
    Free = "free", (8) -> ();
}

/// Functions of the runtime that wait for children, which nothing on a device can do any more.
pub(crate) const WAITING: [&str; 2] = ["cudaDeviceSynchronize", "__cudaCDP2DeviceSynchronize"];

impl External {
    /// The function of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, external)| *external)
    }

    /// Whether a call of it launches kernels.
    pub(crate) fn launches(self) -> bool {
        matches!(self, Self::Launch | Self::LaunchV2)
    }
}

/// A call: where its arguments and results lie in the caller's frame, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct ExternalSite {
    pub(crate) function: External,
    pub(crate) arguments: Vec<u32>,
    pub(crate) results: Vec<u32>,
}
