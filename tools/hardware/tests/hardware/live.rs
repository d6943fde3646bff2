//! Programs on the double: as on the emulator, with the commands of the same host.

use std::path::{Path, PathBuf};

use warpweave_files::{Budget, Ledger};
use warpweave_hardware::compare;
use warpweave_hardware::live::{self, Problem};
use warpweave_hardware::program::Loaded;
use warpweave_hardware::table;
use warpweave_inputs::ElementType;
use warpweave_params::Files;
use warpweave_systems::host_program::{
    Argument, Command, Commands, Contents, EmulationSpec, Executed, HostProgram,
    Launch as HostLaunch,
};
use warpweave_trace::HostCommand;

use crate::double::Double;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

pub(crate) fn loaded(name: &str, sets: &[&str]) -> Loaded {
    let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
    Loaded::read(&scenarios().join(name), &sets).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Counts the launches of the host, and its copies from the device, which include flags.
fn counts(executed: &Executed) -> (usize, usize) {
    let commands = executed.program.commands.iter();
    let launches = commands.clone();
    let launches = launches.filter(|it| matches!(it, HostCommand::Launch { .. }));
    let reads = commands.filter(|it| matches!(it, HostCommand::CopyToHost { .. }));
    (launches.count(), reads.count())
}

/// Asserts that a program has the emulator's outputs, launches and copies on the double.
fn assert_as_emulated(name: &str, program: &HostProgram, emulated: &Executed) {
    let mut double = Double::new();
    let ran = live::run(program, &mut double);
    let ran = ran.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(ran.launches.len(), double.launches.len(), "{name}");
    let (launches, reads) = counts(emulated);
    assert_eq!(
        (ran.launches.len(), double.reads),
        (launches, reads as u64),
        "{name}"
    );
    let compared = compare::outputs(program, emulated, &ran);
    assert!(!compared.is_empty(), "{name}");
    for comparison in compared {
        assert_eq!(comparison.differ, 0, "{name}: {comparison}");
    }
    assert_eq!(ran.checks, emulated.checks, "{name}");
}

/// Values that make workloads without sizes small.
const SMALL: [(&str, &[&str]); 7] = [
    ("bfs", &["workload.graph=Grid(width: 24, height: 24)"]),
    ("histogram", &["workload.n=5000"]),
    ("reduction", &["workload.n=5000"]),
    ("reduction_f32", &["workload.n=5000"]),
    (
        "sssp",
        &[
            "workload.graph=Grid(width: 24, height: 24)",
            "workload.weights=Uniform(low: 1, high: 9, seed: 2)",
        ],
    ),
    ("stencil_2d", &["workload.width=64", "workload.height=64"]),
    ("vector_add", &["workload.n=1000"]),
];

#[test]
fn every_workload_has_the_emulators_images_and_rounds_on_the_device() {
    let mut names: Vec<String> = std::fs::read_dir(scenarios().join("workloads"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".ron").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 50, "{names:?}");
    for name in names {
        let small = SMALL.iter().find(|(small, _)| *small == name);
        let sets = small.map_or(&["size=T"][..], |(_, sets)| sets);
        let loaded = loaded(&format!("workloads/{name}.ron"), sets);
        let program = loaded.program();
        if name == "blur_texture" {
            let error = live::run(program, &mut Double::new())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("textures are not supported on this device"),
                "{error}"
            );
            continue;
        }
        assert_as_emulated(&name, program, &loaded.emulate().unwrap());
    }
}

#[test]
fn a_scenario_runs_its_program_as_a_workload_does() {
    let loaded = loaded(
        "bfs_60.ron",
        &["workload.graph=Grid(width: 20, height: 20)"],
    );
    assert_as_emulated("bfs_60", loaded.program(), &loaded.emulate().unwrap());
}

#[test]
fn a_device_that_computes_something_else_is_found_with_the_first_word() {
    let loaded = loaded("workloads/vector_add.ron", &["workload.n=100"]);
    let mut double = Double::new();
    double.lies = true;
    let ran = live::run(loaded.program(), &mut double).unwrap();
    assert!(!ran.checks[0].passed);
    let emulated = loaded.emulate().unwrap();
    let compared = compare::outputs(loaded.program(), &emulated, &ran);
    let [comparison] = &compared[..] else {
        panic!("{compared:?}");
    };
    let (word, expected, found) = comparison.first.unwrap();
    assert_eq!((comparison.differ, word, expected ^ found), (1, 0, 1));
    let said = comparison.to_string();
    assert!(said.contains("1 differ; the first is word 0"), "{said}");
}

#[test]
fn a_launch_that_the_device_refuses_is_named_with_its_program_and_place() {
    let loaded = loaded("workloads/lud.ron", &["size=T"]);
    let mut double = Double::new();
    double.refuses = Some(4);
    let error = live::run(loaded.program(), &mut double).unwrap_err();
    assert!(matches!(*error.problem, Problem::Host(_)), "{error:?}");
    let said = error.to_string();
    assert!(said.starts_with("`lud`: launch 4 failed: "), "{said}");
    assert!(
        said.contains("CUDA_ERROR_LAUNCH_FAILED") && said.contains("lud.ron:"),
        "{said}"
    );
}

#[test]
fn a_file_that_no_gpu_can_run_is_refused_with_its_place() {
    let refused = |name: &str, sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|&set| set.to_owned()).collect();
        let read = Loaded::read(&scenarios().join(name), &sets);
        read.err().unwrap().to_string()
    };
    let said = refused("workloads/vector_add.ron", &["workload.m=7"]);
    assert!(
        said.contains("`m`") && said.contains("--set workload.m=7"),
        "{said}"
    );
    let said = refused("workloads/vector_add.ron", &["params.n=7"]);
    assert!(said.contains("a workload file has no `params.n`"), "{said}");
    let said = refused("workloads/bfs_mask.ron", &["size=7"]);
    assert!(
        said.contains("`size` must name a size of the workload, found"),
        "{said}"
    );
    let said = refused("workloads/bfs_mask.ron", &["size"]);
    assert!(said.contains("an override is `path=value`"), "{said}");
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
    let emulated = program.execute(&EmulationSpec::default()).unwrap();
    // Twice 2 * 3 + 7 to the 5 that was there.
    assert_eq!(emulated.outputs["sums"], [31; 32]);
    assert_as_emulated("two", &program, &emulated);
}

#[test]
fn an_address_inside_a_structure_is_that_of_the_device() {
    let text = ".version 7.0 .target sm_70 .address_size 64
        .visible .entry k(.param .align 8 .b8 s[16]) {
            .reg .b32 %r; .reg .b64 %rd;
            ld.param.u64 %rd, [s+8]; ld.param.u32 %r, [s]; st.global.u32 [%rd], %r; ret;
        }";
    let fields = vec![
        Argument::U32(7.into()).into(),
        Argument::Buffer("data".into()).into(),
    ];
    let mut launch = HostLaunch::new("k").grid([1]).block([1]);
    launch.arguments.push(Argument::Struct(fields).into());
    let data = Contents::zero(ElementType::U32, 4);
    let program = HostProgram::builder("structure")
        .module("k.ptx", text)
        .buffer("data", data)
        .commands(Commands::new().launch(launch).copy_to_host("data"))
        .build()
        .unwrap();
    let emulated = program.execute(&EmulationSpec::default()).unwrap();
    assert_eq!(emulated.outputs["data"], [7, 0, 0, 0]);
    assert_as_emulated("structure", &program, &emulated);
}

#[test]
fn a_variable_of_another_module_is_refused_by_name() {
    let user = ".version 7.0 .target sm_70 .address_size 64
        .extern .const .align 4 .b32 factor[2];
        .visible .entry k() { .reg .b32 %r; ld.const.u32 %r, [factor]; ret; }";
    let program = HostProgram::builder("linked")
        .module("scale.ptx", SCALE)
        .module("user.ptx", user)
        .buffer("data", Contents::zero(ElementType::U32, 1))
        .commands(Commands::new().launch(HostLaunch::new("k").grid([1]).block([1])))
        .build()
        .unwrap();
    let error = live::run(&program, &mut Double::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("module `user.ptx` declares the variable `factor` of another module"),
        "{error}"
    );
}

#[test]
fn the_table_of_launches_says_what_was_measured_on_what() {
    let loaded = loaded("workloads/lud.ron", &["size=T"]);
    let mut double = Double::new();
    let ran = live::run(loaded.program(), &mut double).unwrap();
    let table = table::launches(&double.properties, "p", &ran.launches[..1]);
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
    assert!(number(5) > 0.0);
    assert!((number(6) - 1.5 * number(5)).abs() < 1.0, "{}", lines[5]);
}

/// Only the host's copies are charged, as the device has memory of its own.
#[test]
fn a_program_too_large_to_emulate_runs_on_the_device() {
    let words = 1_u32 << 16;
    let program = |budget: u64| {
        let ledger = Ledger::new(&Budget::of(budget));
        HostProgram::builder("large")
            .reading(Files::of("").charged_to(&ledger))
            .module("table.ptx", TABLE)
            .buffer("data", Contents::zero(ElementType::U32, words))
            .commands(Commands::new().copy_to_device("data").copy_to_host("data"))
            .build()
            .unwrap()
    };
    let bytes = u64::from(words) * 4;
    let small = program(bytes * 3 + 4096);
    let refused = small.execute(&EmulationSpec::default()).unwrap_err();
    assert!(refused.is_over_budget(), "{refused}");
    let ran = live::run(&small, &mut Double::new()).unwrap();
    assert_eq!(ran.outputs["data"].len(), words as usize);
    assert!(live::run(&program(bytes * 2), &mut Double::new()).is_err());
}
