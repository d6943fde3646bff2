//! Statistics of vector addition, compared with counts by hand.

use std::sync::Arc;

use super::harness::{machine, named, run, scenario, sum};

/// n = 4096 on gtx480: three arrays of 16 KiB, 128 lines each. 128 wavefronts of 32 lanes each read
/// a line of two arrays and write one of the third. No line is read twice, and the 128 written
/// lines stay in the L2.
#[test]
fn vector_add_moves_the_lines_counted_by_hand() {
    let scenario = scenario("systems/gtx480.ron", "vector_add.ron", &["workload.n=4096"]);
    let executed = scenario.emulate().expect("the program runs");
    assert_eq!(executed.verified, Some(true));
    let program = Arc::new(executed.program);
    let simulated = run(&mut machine(&scenario, &program));
    let count = |part: &str, counter: &str| sum(&named(&simulated, part), counter);
    assert_eq!(count("cu", "read_requests"), 256);
    assert_eq!(count("cu", "write_requests"), 128);
    assert_eq!(count("cu", "atomic_requests"), 0);
    assert_eq!(count("cu", "work_groups_completed"), 16);
    assert_eq!(count("l1", "read_misses"), 256);
    assert_eq!(count("l1", "read_hits"), 0);
    assert_eq!(count("l1", "writes"), 128);
    // 8 B of control each, and the lines.
    assert_eq!(count("crossbar", "request_bytes"), 384 * 8 + 128 * 128);
    assert_eq!(count("crossbar", "reply_bytes"), 384 * 8 + 256 * 128);
    // Of 40 B: 1 flit for control alone, 4 with a line.
    assert_eq!(count("crossbar", "request_flits"), 256 + 4 * 128);
    assert_eq!(count("crossbar", "reply_flits"), 4 * 256 + 128);
    assert_eq!(count("l2", "read_misses"), 256);
    assert_eq!(count("l2", "copy_backs"), 0);
    assert_eq!(count("dram", "read_requests"), 256);
    assert_eq!(count("dram", "bytes"), 2 * 4096 * 4);
    assert_eq!(count("dram", "writes"), 0);
    assert_eq!(
        simulated.thread_instructions,
        simulated.kernels[0].thread_instructions
    );
}
