//! Tests of the output of the examples.

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

/// Returns the output of the filter, and its waveform in a file with this extension.
fn filtered(ending: &str) -> (Vec<i16>, wellen::simple::Waveform) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("fir").with_extension(ending);
    let outputs = fir::run(&file).expect("a recording");
    (outputs, wellen::simple::read(file).expect("a waveform"))
}

/// Returns the (time in picoseconds, value) pairs of a signal.
fn changes(waveform: &mut wellen::simple::Waveform, path: &[&str], name: &str) -> Vec<(u64, u16)> {
    let variable = waveform.hierarchy().lookup_var(path, name);
    let variable = variable.expect("a variable");
    let signal = waveform.hierarchy()[variable].signal_ref();
    waveform.load_signals(&[signal]);
    let times = waveform.time_table();
    let changes = waveform.get_signal(signal).expect("loaded").iter_changes();
    let number = |bits: String| u16::from_str_radix(&bits, 2).expect("two-valued");
    changes
        .map(|(at, value)| {
            (
                times[at as usize],
                number(value.to_bit_string().expect("bits")),
            )
        })
        .collect()
}

#[test]
fn the_filter_convolves() {
    let (outputs, _) = filtered("vcd");
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
fn the_waveforms_of_the_filter_read_back_as_what_it_put_out() {
    for ending in ["vcd", "fst"] {
        let (outputs, mut waveform) = filtered(ending);
        let clock = changes(&mut waveform, &["top"], "clock");
        let y = changes(&mut waveform, &["top", "fir"], "y");
        let rising = clock.iter().filter(|(_, level)| *level == 1);
        // At the rising edge, before the registers change.
        let sampled: Vec<_> = rising
            .map(|(edge, _)| {
                let before = y.iter().take_while(|(time, _)| time < edge);
                before.last().map_or(0, |(_, value)| *value as i16)
            })
            .collect();
        // Two edges of reset come first; the bench samples at the edge after each value.
        assert_eq!(sampled[2..], outputs, "{ending}");
        assert_eq!(clock[1..3], [(5_000, 0), (10_000, 1)], "{ending}");
    }
}

#[test]
fn the_waveform_names_every_signal_in_its_scope() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fir.vcd");
    fir::run(&file).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("$timescale"));
    let head = lines.take(38).collect::<Vec<_>>().join("\n");
    assert_snapshot!(head, @r#"
    $timescale 1 ps $end
    $scope module top $end
    $var wire 1 ! clock $end
    $var wire 1 " reset $end
    $var wire 16 # x $end
    $scope module fir $end
    $var wire 16 $ sum $end
    $var wire 16 % x0 $end
    $var wire 16 & x1 $end
    $var wire 16 ' x2 $end
    $var wire 16 ( x3 $end
    $var wire 16 ) y $end
    $upscope $end
    $upscope $end
    $enddefinitions $end
    #0
    1!
    1"
    b0000000000000000 #
    b0000000000000000 %
    b0000000000000000 &
    b0000000000000000 '
    b0000000000000000 (
    b0000000000000000 $
    b0000000000000000 )
    #5000
    0!
    #10000
    1!
    0"
    b0000000000001000 #
    #15000
    0!
    #20000
    1!
    b0000000000000000 #
    b0000000000001000 %
    b0000000000001000 $
    "#);
}
