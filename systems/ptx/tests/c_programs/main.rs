//! Tests that random C programs, compiled by clang for host and device, give identical results in
//! the emulator.
//!
//! `WARPWEAVE_PROGRAMS` sets the number of programs, 20 by default. Without a clang that compiles
//! kernels the test says so and passes, except where `CI` is set.

mod generate;
#[path = "../../../../tests/optional_tool.rs"]
mod optional_tool;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use warpweave_ptx::{
    CodeForm, DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, launch,
};

use self::generate::{LANES, RESULTS};

const FLAGS: [&str; 6] = [
    "-w",
    "-x",
    "c",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
];
const DEVICE: [&str; 5] = [
    "--target=nvptx64-nvidia-cuda",
    "-march=sm_70",
    "-DDEVICE",
    "-nogpulib",
    "-S",
];

/// Compiles a text; returns clang's output, or its error messages.
fn compile(clang: &OsStr, level: &str, more: &[&str], text: &str) -> Result<Vec<u8>, String> {
    let mut command = Command::new(clang);
    command.args(FLAGS).arg(level).args(more).arg("-");
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let mut input = child.stdin.take().expect("it is piped");
    // A compiler that ends early says why itself.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let ended = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if ended.status.success() {
        return Ok(ended.stdout);
    }
    Err(String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// Kernel with everything that older compilers do not translate: the attribute, and `sqrt` and
/// `fma` as instructions.
const PROBE: &str = "\
__attribute__((nvptx_kernel)) void kernel(double *out, float *single) {
  out[0] = __builtin_fma(out[1], out[2], __builtin_sqrt(out[3]));
  single[0] = __builtin_fmaf(single[1], single[2], __builtin_sqrtf(single[3]));
}";

const HOST_PROBE: &str = "#include <stdio.h>\nint main(void) { return puts(\"1\") < 0; }";

/// Returns the reason why a compiler cannot be used.
fn unfit(clang: &OsStr) -> Option<String> {
    if let Some(objection) = optional_tool::tells_no_version(clang) {
        return Some(objection);
    }
    for level in ["-O0", "-O2"] {
        let compiled = compile(clang, level, &[&DEVICE[..], &["-o", "-"]].concat(), PROBE);
        let ptx = match compiled {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(why) => return Some(why.lines().next().unwrap_or_default().to_owned()),
        };
        if !ptx.contains(".entry kernel") {
            return Some("it knows no `nvptx_kernel`".to_owned());
        }
        if ptx.contains("call") {
            return Some("it calls `sqrt` and `fma` as functions".to_owned());
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("probe");
    let to = to.to_str().expect("temporary paths are text");
    let host = compile(clang, "-O1", &["-o", to], HOST_PROBE);
    host.err().map(|why| {
        format!(
            "it builds no host program: {}",
            why.lines().next().unwrap_or_default()
        )
    })
}

fn find_clang() -> Option<OsString> {
    let names = ["clang", "clang-20", "clang-19", "clang-18"].map(OsString::from);
    optional_tool::find(names, unfit, "apt-get install clang-19")
}

/// Returns the output of the program on the host.
fn on_host(clang: &OsStr, level: &str, text: &str, folder: &Path) -> Vec<u64> {
    let path = folder.join("program");
    let to = path.to_str().expect("temporary paths are text");
    // Libraries come after the input, which is the last word.
    let compiled = compile(clang, level, &["-Wl,--no-as-needed", "-lm", "-o", to], text);
    compiled.unwrap_or_else(|why| panic!("{why}"));
    let ended = Command::new(&path).output().expect("the program starts");
    assert!(ended.status.success(), "the program ends well");
    let text = String::from_utf8(ended.stdout).expect("it prints numbers");
    text.lines()
        .map(|line| line.parse().expect("a number"))
        .collect()
}

/// Returns the values stored by the kernel in the emulator, which both forms of code must store.
fn on_device(clang: &OsStr, level: &str, text: &str) -> Result<Vec<u64>, String> {
    let compiled = compile(clang, level, &[&DEVICE[..], &["-o", "-"]].concat(), text)?;
    let ptx = String::from_utf8(compiled).map_err(|error| error.to_string())?;
    let written = emulated(&ptx, CodeForm::AsWritten)?;
    if emulated(&ptx, CodeForm::AsCompiled)? != written {
        return Err("the compiled form stores other values".to_owned());
    }
    Ok(written)
}

fn emulated(ptx: &str, form: CodeForm) -> Result<Vec<u64>, String> {
    let module = Module::parse_as("program.ptx", ptx, form).map_err(|errors| errors.to_string())?;
    let mut memory = DeviceMemory::new();
    let bytes = u64::from(8 * LANES * RESULTS);
    let out = memory.allocate("out", bytes);
    let config = LaunchConfig {
        grid: [LANES / 32, 1, 1],
        block: [32, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Pointer(out)],
    };
    let options = EmulationOptions::default();
    launch(&module, "kernel", config, &mut memory, &options).map_err(|error| error.to_string())?;
    let raw = memory.read(out, bytes).map_err(|error| error.to_string())?;
    let words = raw
        .chunks(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
    Ok(words.collect())
}

#[test]
fn random_c_programs_give_the_same_bits_on_host_and_device() {
    let Some(clang) = find_clang() else {
        return;
    };
    let clang = clang.as_os_str();
    let programs = std::env::var("WARPWEAVE_PROGRAMS")
        .map_or(20, |n| n.parse().expect("a number of programs"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut differing, mut in_memory) = (Vec::new(), 0);
    for number in 0..programs {
        let text = generate::program(number);
        let level = ["-O0", "-O1", "-O2", "-O3"][(number % 4) as usize];
        let host = on_host(clang, "-O1", &text, folder.path());
        let device = match on_device(clang, level, &text) {
            // A thread has 255 registers; unoptimised programs keep their values in memory.
            Err(why) if why.contains("a thread has 255") => {
                in_memory += 1;
                on_device(clang, "-O0", &text)
            }
            device => device,
        };
        if device.as_ref() != Ok(&host) {
            println!(
                "program {number}, {level}: {}",
                device.err().unwrap_or_default()
            );
            differing.push(number);
        }
    }
    let agree = programs - differing.len() as u64;
    println!(
        "{agree} of {programs} programs agree, {in_memory} of them unoptimised for want of registers"
    );
    if let Some(&number) = differing.first() {
        panic!(
            "programs {differing:?} differ; the first:\n{}",
            generate::program(number)
        );
    }
}
