//! Tests code for a real GPU with a test double: another emulated device, with other addresses,
//! that receives only bytes.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use warpweave_hardware::cuda::Cuda;
use warpweave_hardware::driver::{Device, Driver, DriverError, Launch};
use warpweave_hardware::replay::{Replay, ReplayError};
use warpweave_hardware::{micro, table};
use warpweave_inputs::ElementType;
use warpweave_ptx::{DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module};
use warpweave_systems::Scenario;
use warpweave_systems::host_program::{
    Argument, Command, Commands, Contents, DeviceAction, EmulationSpec, HostProgram,
    Launch as HostLaunch,
};

/// Emulated device that accepts addresses and bytes like a driver.
struct Double {
    device: Device,
    memory: DeviceMemory,
    modules: Vec<Module>,
    /// Enables flipping the lowest bit of the first byte of every copy to the host.
    lies: bool,
    launches: Vec<Launch>,
}

impl Double {
    fn new() -> Self {
        Self {
            device: Device {
                name: "double".to_owned(),
                driver: "12.2".to_owned(),
                capability: "7.0".to_owned(),
                units: 2,
                unit_clock_khz: 1_500_000,
                memory_clock_khz: 900_000,
                l2_bytes: 64 << 10,
            },
            // Elsewhere than the emulator puts its buffers.
            memory: DeviceMemory::beginning_at(1 << 16),
            modules: Vec::new(),
            lies: false,
            launches: Vec::new(),
        }
    }
}

fn refused(error: impl ToString) -> DriverError {
    DriverError::Call {
        call: "the double".to_owned(),
        reason: error.to_string(),
    }
}

impl Driver for Double {
    fn device(&self) -> &Device {
        &self.device
    }

    fn load(&mut self, ptx: &str) -> Result<(), DriverError> {
        // The emulator refuses clocks. Here 4096 cycles pass between any two looks.
        let text = ptx
            .replace("%rd5, %clock64", "%rd5, 1000")
            .replace("%rd6, %clock64", "%rd6, 5096");
        let file = format!("double{}.ptx", self.modules.len());
        let module = Module::parse(&file, &text).map_err(refused)?;
        self.memory.load(&module).map_err(refused)?;
        self.modules.push(module);
        Ok(())
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64), DriverError> {
        let module = &self.modules[module];
        let found = self.memory.variable(module, name);
        let found = found.zip(module.variable_bytes(name));
        found.ok_or_else(|| refused(format!("no variable `{name}`")))
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError> {
        Ok(self.memory.allocate("", bytes))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        self.memory.write(address, bytes).map_err(refused)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        let found = self.memory.read(address, bytes.len() as u64);
        bytes.copy_from_slice(found.map_err(refused)?);
        if let (true, Some(first)) = (self.lies, bytes.first_mut()) {
            *first ^= 1;
        }
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<f64, DriverError> {
        let arguments: Vec<_> = launch
            .arguments
            .iter()
            .map(|bytes| KernelArgument::Bytes(bytes.clone()))
            .collect();
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            dynamic_local_bytes: launch.dynamic_local_bytes,
            args: &arguments,
        };
        let (memory, options) = (&mut self.memory, EmulationOptions::default());
        let module = &self.modules[launch.module];
        let trace = warpweave_ptx::launch(module, &launch.kernel, config, memory, &options);
        self.launches.push(launch.clone());
        Ok(trace.map_err(refused)?.wavefront_instructions() as f64)
    }
}

fn scenario(name: &str, sets: &[&str]) -> Scenario {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
    Scenario::load(&root.join(name), &sets).unwrap()
}

/// Returns the modules of a program with their texts.
fn modules(program: &HostProgram) -> impl Iterator<Item = (&Module, &str)> {
    let modules = program.modules().iter();
    modules.map(|module| (module.module(), module.text()))
}

/// Replays a scenario's program on a test double.
fn replayed(scenario: &Scenario, double: &mut Double) -> (Vec<(String, u64)>, bool, usize) {
    let program = scenario.program().unwrap();
    let mut replay = Replay::new(double, modules(program)).unwrap();
    scenario
        .emulate_told(&mut |action| replay.act(action).unwrap())
        .unwrap();
    let differ = replay.comparisons.iter();
    let differ = differ.map(|c| (c.buffer.clone(), c.differ)).collect();
    (differ, replay.agrees(), replay.launches.len())
}

#[test]
fn a_program_does_on_another_device_what_it_does_on_the_emulated_one() {
    // Several buffers, a loop that ends when a flag on the device says so.
    for (name, sets) in [("bfs.ron", &[][..]), ("bfs_60.ron", &[])] {
        let scenario = scenario(name, sets);
        let mut double = Double::new();
        let (differ, agrees, launches) = replayed(&scenario, &mut double);
        assert!(agrees, "{name}: {differ:?}");
        assert!(!differ.is_empty());
        let kernels = scenario.emulate().unwrap().program.kernels.len();
        assert_eq!((launches, double.launches.len()), (kernels, kernels));
    }
}

#[test]
fn a_device_that_computes_something_else_is_found_with_the_first_word() {
    let scenario = scenario("bfs.ron", &[]);
    let mut double = Double::new();
    double.lies = true;
    let program = scenario.program().unwrap();
    let mut replay = Replay::new(&mut double, modules(program)).unwrap();
    scenario
        .emulate_told(&mut |action| replay.act(action).unwrap())
        .unwrap();
    assert!(!replay.agrees());
    let comparison = replay.comparisons.last().unwrap();
    let (word, emulated, found) = comparison.first.unwrap();
    assert_eq!((comparison.differ, word, emulated ^ found), (1, 0, 1));
}

#[test]
fn a_pointer_into_no_buffer_is_refused_with_its_argument() {
    let mut double = Double::new();
    let text =
        ".version 7.0 .target sm_70 .address_size 64 .visible .entry k(.param .u64 p) { ret; }";
    let module = Module::parse("k.ptx", text).unwrap();
    let mut replay = Replay::new(&mut double, [(&module, text)]).unwrap();
    let launch = |kernel: &str| DeviceAction::Launch {
        module: 0,
        kernel: kernel.to_owned(),
        grid: [1; 3],
        block: [1; 3],
        dynamic_local_bytes: 0,
        arguments: vec![KernelArgument::Pointer(0x4000)],
    };
    let error = replay.act(launch("k")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "launch 0 of `k`: argument 0 points to 0x4000, which is outside all buffers"
    );
    let error = replay.act(launch("other")).unwrap_err();
    assert_eq!(error, ReplayError::Kernel(0, "other".to_owned()));
}

const SCALE: &str = ".version 7.0 .target sm_70 .address_size 64
    .visible .const .align 4 .b32 factor[2];
    .visible .entry scale(.param .u64 p) {
        .reg .b32 %r<8>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
        ld.global.u32 %r2, [%rd1]; ld.const.u32 %r3, [factor]; ld.const.u32 %r4, [factor+4];
        mad.lo.u32 %r2, %r2, %r3, %r4; st.global.u32 [%rd1], %r2; ret;
    }";
const TABLE: &str = ".version 7.0 .target sm_70 .address_size 64
    .visible .global .align 8 .u64 places[2];
    .visible .entry sum() {
        .reg .b32 %r<8>; .reg .b64 %rd<4>;
        mov.u32 %r1, %tid.x; ld.global.u64 %rd1, [places]; ld.global.u64 %rd2, [places+8];
        mad.wide.u32 %rd1, %r1, 4, %rd1; mad.wide.u32 %rd2, %r1, 4, %rd2;
        ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd2]; add.u32 %r2, %r2, %r3;
        st.global.u32 [%rd2], %r2; ret;
    }";
/// Builds a program of two modules with variables, some of which hold addresses.
fn two_modules() -> HostProgram {
    let u32s = |value: u32| Contents::Constant {
        element: ElementType::U32,
        length: 32.into(),
        value: value.into(),
    };
    let variable = |name: &str, values: Vec<Argument>| Command::WriteVariable {
        variable: name.into(),
        module: None,
        offset_bytes: 0.into(),
        values: values.into_iter().map(Into::into).collect(),
    };
    let data = || Argument::Buffer("data".into());
    let sums = || Argument::BufferAt {
        buffer: "sums".into(),
        offset_bytes: 0.into(),
    };
    let sum = || HostLaunch::new("sum").grid([1]).block([32]);
    let commands = Commands::new()
        .copy_to_device("data")
        .copy_to_device("sums")
        .copy_to_device("list")
        .then(variable(
            "factor",
            vec![Argument::U32(3.into()), Argument::U32(7.into())],
        ))
        .then(variable("places", vec![data(), sums()]))
        .then(Command::CopyPartToDevice {
            buffer: "data".into(),
            first: 4.into(),
            length: 8.into(),
        })
        .launch(
            HostLaunch::new("scale")
                .grid([1])
                .block([32])
                .buffer("data"),
        )
        .launch(sum())
        .then(Command::CopyPartToHost {
            buffer: "sums".into(),
            first: 2.into(),
            length: 20.into(),
        })
        .copy_to_variable("list", "places")
        .launch(sum())
        .copy_to_host("data")
        .copy_to_host("sums")
        .copy_to_host("list");
    HostProgram::builder("two")
        .module("scale.ptx", SCALE)
        .module("table.ptx", TABLE)
        .buffer("data", u32s(2))
        .buffer("sums", u32s(5))
        .buffer(
            "list",
            Contents::Pointers(vec![data().into(), sums().into()]),
        )
        .commands(commands)
        .build()
        .unwrap()
}

#[test]
fn variables_pointers_and_parts_of_several_modules_are_carried_out() {
    let program = two_modules();
    let mut double = Double::new();
    let mut replay = Replay::new(&mut double, modules(&program)).unwrap();
    let executed = program
        .execute_told(&EmulationSpec::default(), &mut |action| {
            replay.act(action).unwrap();
        })
        .unwrap();
    // Twice 2 * 3 + 7 to the 5 that was there.
    assert_eq!(executed.outputs["sums"], [31; 32]);
    let compared: Vec<_> = replay
        .comparisons
        .iter()
        .map(|c| (c.buffer.as_str(), c.after_launches, c.bytes, c.differ))
        .collect();
    assert_eq!(
        compared,
        [
            ("sums", 2, 80, 0),
            ("data", 3, 128, 0),
            ("sums", 3, 128, 0),
            ("list", 3, 16, 0)
        ]
    );
    let launched: Vec<_> = double.launches.iter().map(|launch| launch.module).collect();
    assert_eq!(launched, [0, 1, 1]);
}

#[test]
fn a_variable_of_another_module_is_refused_by_name() {
    let text = ".version 7.0 .target sm_70 .address_size 64
        .extern .const .align 4 .b32 factor[2];
        .visible .entry k() { .reg .b32 %r; ld.const.u32 %r, [factor]; ret; }";
    let (scale, user) = (
        Module::parse("scale.ptx", SCALE).unwrap(),
        Module::parse("user.ptx", text).unwrap(),
    );
    let mut double = Double::new();
    let error = Replay::new(&mut double, [(&scale, SCALE), (&user, text)]).err();
    let said = error.unwrap().to_string();
    assert!(
        said.contains("module `user.ptx` declares the variable `factor` of another module"),
        "{said}"
    );
}

#[test]
fn a_copy_to_memory_without_a_counterpart_is_refused() {
    let mut double = Double::new();
    let mut replay = Replay::new(&mut double, []).unwrap();
    let write = DeviceAction::Write {
        address: 0x1000_0000,
        bytes: vec![1, 2, 3, 4],
        pointers: Vec::new(),
    };
    let said = replay.act(write).unwrap_err().to_string();
    let expected = "after 0 launches: a copy of 4 bytes at 0x10000000, which is outside all buffers and variables";
    assert_eq!(said, expected);
}

#[test]
fn an_address_inside_a_structure_is_refused() {
    let mut double = Double::new();
    let text = ".version 7.0 .target sm_70 .address_size 64
        .visible .entry k(.param .align 8 .b8 s[16]) { ret; }";
    let module = Module::parse("k.ptx", text).unwrap();
    let mut replay = Replay::new(&mut double, [(&module, text)]).unwrap();
    let buffer = DeviceAction::Allocate {
        name: "data".to_owned(),
        address: 0x1000_0100,
        bytes: 64,
    };
    replay.act(buffer).unwrap();
    let launch = |word: u64| DeviceAction::Launch {
        module: 0,
        kernel: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        dynamic_local_bytes: 0,
        arguments: vec![KernelArgument::Bytes(
            [7, word].map(u64::to_le_bytes).concat(),
        )],
    };
    replay.act(launch(9)).unwrap();
    let error = replay.act(launch(0x1000_0104)).unwrap_err().to_string();
    assert!(
        error.contains("argument 0 is a structure that contains the address 0x10000104,"),
        "{error}"
    );
}

#[test]
fn the_micro_benchmarks_run_and_divide_by_what_they_did() {
    let mut double = Double::new();
    let figures = micro::run(&mut double).unwrap();
    let value = |measure: &str, of: &str, footprint: u64| {
        let found = figures
            .iter()
            .find(|f| (f.measure, f.of, f.footprint) == (measure, of, footprint));
        found.unwrap().value
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    // 512 dependent steps, 4 chains of 1024 threads, 2048 loads, in 4096 cycles each.
    near(value("latency", "fma.rn.f32", 0), 8.0);
    near(value("throughput", "add.s32", 0), 512.0);
    near(value("load latency", "global memory", 4 << 10), 2.0);
    near(value("load latency", "local memory", 0), 2.0);
    // Twice the footprint takes twice the time, so nearly: what a launch costs falls out.
    let (small, large) = (
        value("bandwidth", "reads of all units", 512 << 10),
        value("bandwidth", "reads of all units", 1 << 20),
    );
    assert!((small / large - 1.0).abs() < 0.2, "{small} and {large}");
}

#[test]
fn the_tables_say_what_was_measured_on_what() {
    let mut double = Double::new();
    let program = scenario("bfs.ron", &[]);
    let of_program = modules(program.program().unwrap());
    let mut replay = Replay::new(&mut double, of_program).unwrap();
    program
        .emulate_told(&mut |action| replay.act(action).unwrap())
        .unwrap();
    let launches = replay.launches.clone();
    let table = table::launches(&double.device, "p", &launches[..1]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[..5],
        [
            "# device: double, compute capability 7.0, 2 units, L2 of 65536 bytes",
            "# driver: CUDA 12.2",
            "# clocks as reported by the driver: units 1500000 kHz, memory 900000 kHz",
            "# program: p",
            "launch,kernel,grid,block,dynamic_local_bytes,nanoseconds,cycles",
        ]
    );
    let cells: Vec<&str> = lines[5].split(',').collect();
    let number = |at: usize| cells[at].parse::<f64>().unwrap();
    assert_eq!(cells.len(), 7);
    assert!((number(6) - 1.5 * number(5)).abs() < 1.0, "{}", lines[5]);
}

#[test]
fn without_a_driver_it_says_so() {
    match Cuda::open() {
        Err(DriverError::NoDriver) => {
            let said = DriverError::NoDriver.to_string();
            assert!(said.contains("no CUDA driver on this machine"), "{said}");
        }
        Err(DriverError::NoDevice) | Ok(_) => {} // There is one here.
        Err(error) => panic!("{error}"),
    }
}
