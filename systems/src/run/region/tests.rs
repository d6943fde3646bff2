//! Tests the selection of launches by a region.

use std::sync::Arc;

use warpweave_params::{Source, parse};
use warpweave_trace::{
    Class, Code, HostCommand, Instruction, KernelTrace, KernelWriter, Parent, Program, StreamWriter,
};

use super::Part::{self, Before, Region, Skipped, Warmed};
use super::choice::LaunchSelection;

/// Returns the treatment of each launch of a program with this region.
fn choose(text: &str, program: &Program) -> Result<Vec<Part>, String> {
    let node = parse(&Source::new("region.ron", text)).unwrap();
    let region = crate::scenario::Region::read(&node).unwrap();
    let choice = LaunchSelection::new(&region, program);
    choice
        .map(|choice| choice.parts)
        .map_err(|problem| problem.to_string())
}

/// Returns a kernel with this many work-groups of one instruction each.
fn kernel(name: &str, work_groups: u32, parent: Option<u32>) -> Arc<KernelTrace> {
    let code = Code {
        name: name.to_owned(),
        instructions: vec![Instruction::new("exit", Class::Exit)],
        ..Code::default()
    };
    let mut writer = KernelWriter::new(
        Arc::new(code),
        [work_groups, 1, 1],
        [32, 1, 1],
        0,
        Vec::new(),
    )
    .unwrap();
    if let Some(kernel) = parent {
        writer = writer.launched_by(Parent {
            kernel,
            work_group: 0,
            wavefront: 0,
            record: 0,
            lane: 0,
            stream: 9,
        });
    }
    for work_group in 0..work_groups {
        let mut stream = StreamWriter::new();
        stream.step(0, u32::MAX);
        writer.finish_wavefront(work_group, 0, stream).unwrap();
    }
    Arc::new(writer.finish().unwrap())
}

#[test]
fn a_launch_of_the_host_stands_for_all_that_comes_from_it() {
    // 0 launches 1, which launches 2; 3 launches 4; 5 stands alone.
    let parents = [None, Some(0), Some(1), None, Some(3), None];
    let kernels = (1_u32..).zip(parents);
    let program = Program {
        commands: [0, 3, 5]
            .map(|kernel| HostCommand::Launch { kernel, stream: 0 })
            .to_vec(),
        kernels: kernels
            .map(|(size, parent)| kernel("k", size, parent))
            .collect(),
        ..Program::default()
    };
    for (region, parts) in [
        (
            "(launches: 3)",
            [Skipped, Skipped, Skipped, Region, Region, Skipped],
        ),
        (
            "(launches: 3, outside: Warm)",
            [Warmed, Warmed, Warmed, Region, Region, Skipped],
        ),
        (
            "(launches: \"5..\", outside: Simulate)",
            [Before, Before, Before, Before, Before, Region],
        ),
        // 4 and 5 work-groups, together 9.
        (
            "(at_least: (work_groups: 9))",
            [Skipped, Skipped, Skipped, Region, Region, Skipped],
        ),
    ] {
        assert_eq!(choose(region, &program).unwrap(), parts, "{region}");
    }
    let error = choose("(launches: 4)", &program).unwrap_err();
    assert!(
        error.contains("name launch 3, its ancestor on the host"),
        "{error}"
    );
}
