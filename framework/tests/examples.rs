//! What the examples show, as they show it.

use insta::assert_snapshot;

#[path = "../examples/bus.rs"]
#[expect(dead_code, reason = "its main is for people")]
mod bus;
#[path = "../examples/fir.rs"]
#[expect(dead_code, reason = "its main is for people")]
mod fir;
#[path = "../examples/producer_consumer.rs"]
#[expect(dead_code, reason = "its main is for people")]
mod producer_consumer;

#[test]
fn the_producer_waits_while_the_fifo_is_full() {
    assert_snapshot!(producer_consumer::run(), @r"
     10 ns  'w' sent, waited 0 ns
     10 ns      'w' received, 0 left
     20 ns  'a' sent, waited 0 ns
     30 ns  'r' sent, waited 0 ns
     40 ns      'a' received, 1 left
     40 ns  'p' sent, waited 0 ns
     70 ns      'r' received, 1 left
    100 ns      'p' received, 0 left
    250 ns  'a' sent, waited 0 ns
    250 ns      'a' received, 0 left
    260 ns  'n' sent, waited 0 ns
    270 ns  'd' sent, waited 0 ns
    280 ns      'n' received, 1 left
    280 ns  ' ' sent, waited 0 ns
    290 ns  'w' sent, waited 0 ns
    300 ns  'e' sent, waited 0 ns
    310 ns      'd' received, 3 left
    310 ns  'f' sent, waited 0 ns
    340 ns      ' ' received, 3 left
    340 ns  't' sent, waited 20 ns
    370 ns      'w' received, 3 left
    400 ns      'e' received, 2 left
    430 ns      'f' received, 1 left
    460 ns      't' received, 0 left
    ");
}

#[test]
fn fixed_priority_starves_the_last_master_and_round_robin_does_not() {
    assert_snapshot!(bus::run(), @r"
    arbiter         master  transfers  mean wait  longest wait
    FixedPriority        0         40        1.0             1
    FixedPriority        1         40        6.0            11
    FixedPriority        2         40       18.5           605
    RoundRobin           0         40       10.7            11
    RoundRobin           1         40       10.8            11
    RoundRobin           2         40       11.0            11
    ");
}

#[test]
fn the_filter_convolves() {
    let (outputs, _) = fir::run();
    // Through the first register, the sum's register, and seen at the edge after.
    const LATENCY: usize = 3;
    let at = |i: usize| i.checked_sub(LATENCY - 1);
    let expected: Vec<i16> = (0..fir::STIMULUS.len())
        .map(|i| {
            let taps = fir::TAPS.iter().enumerate();
            taps.filter_map(|(k, tap)| Some(tap * fir::STIMULUS[at(i)?.checked_sub(k)?]))
                .sum()
        })
        .collect();
    assert_eq!(outputs, expected);
}

#[test]
fn the_waveform_of_the_filter_reads_back_as_what_it_put_out() {
    let (outputs, waveform) = fir::run();
    let mut parser = vcd::Parser::new(waveform.as_bytes());
    let header = parser.parse_header().unwrap();
    let find = |path: &[&str]| header.find_var(path).unwrap().code;
    let (clock, y) = (find(&["top", "clock"]), find(&["top", "fir", "y"]));
    let (mut current, mut seen) = (0i16, Vec::new());
    for command in parser {
        match command.unwrap() {
            vcd::Command::ChangeVector(code, value) if code == y => {
                let bits = value
                    .iter()
                    .fold(0u16, |bits, v| bits << 1 | u16::from(v == vcd::Value::V1));
                current = bits as i16;
            }
            // At the rising edge, before the registers change.
            vcd::Command::ChangeVector(code, value)
                if code == clock && value.get(0) == Some(vcd::Value::V1) =>
            {
                seen.push(current);
            }
            _ => {}
        }
    }
    // Two edges of reset come first; the bench samples at the edge after each value.
    assert_eq!(seen[2..], outputs);
}

#[test]
fn the_waveform_names_every_signal_in_its_scope() {
    let (_, waveform) = fir::run();
    let head = waveform.lines().take(40).collect::<Vec<_>>().join("\n");
    assert_snapshot!(head, @r#"
    $timescale 1 ns $end
    $scope module top $end
    $var wire 1 ! clock $end
    $var wire 1 " reset $end
    $var wire 16 # x $end
    $scope module fir $end
    $var wire 16 $ x0 $end
    $var wire 16 % x1 $end
    $var wire 16 & x2 $end
    $var wire 16 ' x3 $end
    $var wire 16 ( sum $end
    $var wire 16 ) y $end
    $upscope $end
    $upscope $end
    $enddefinitions $end
    #0
    b0 !
    b1 "
    b0 #
    b0 $
    b0 %
    b0 &
    b0 '
    b0 (
    b0 )
    b1 !
    #5
    b0 !
    #10
    b1 !
    b0 "
    b1000 #
    #15
    b0 !
    #20
    b1 !
    b1000 $
    b0 #
    b1000 (
    #25
    "#);
}
