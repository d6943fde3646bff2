//! Tests of the messages about quantities.

use insta::assert_snapshot;
use warpweave_params::{
    Bandwidth, Bytes, Diagnostics, Duration, Frequency, Source, from_node, parse,
};

#[test]
fn quantities_say_which_units_they_take() {
    let mut shown = Vec::new();
    let mut refuse = |error: Diagnostics| shown.push(error.to_string());
    for text in [
        "48",
        "4.8",
        "\"48\"",
        "\"48 GHz\"",
        "\"48 KB\"",
        "\"x\"",
        "\"1.3 B\"",
        "\"99999999 TiB\"",
        "()",
    ] {
        refuse(from_node::<Bytes>(&parse(&Source::new("a.ron", text)).unwrap()).unwrap_err());
    }
    for text in [
        "\"0 GHz\"",
        "\"1/0 GHz\"",
        "\"1..2 GHz\"",
        "\"2 ns\"",
        "\"-3 MHz\"",
        "\"99999999999999999999 Hz\"",
    ] {
        refuse(from_node::<Frequency>(&parse(&Source::new("a.ron", text)).unwrap()).unwrap_err());
    }
    refuse(from_node::<Bandwidth>(&parse(&Source::new("a.ron", "\"1 GB\"")).unwrap()).unwrap_err());
    refuse(from_node::<Duration>(&parse(&Source::new("a.ron", "-2")).unwrap()).unwrap_err());
    assert_snapshot!(shown.join("\n\n"), @r###"
error: a size needs a unit, found `48`
 --> a.ron:1:1
  |
1 | 48
  | ^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: a size needs a unit, found `4.8`
 --> a.ron:1:1
  |
1 | 4.8
  | ^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: a size needs a unit, found `48`
 --> a.ron:1:1
  |
1 | "48"
  | ^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: expected a size, found a frequency (`GHz`)
 --> a.ron:1:1
  |
1 | "48 GHz"
  | ^^^^^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: unknown unit `KB` for a size
 --> a.ron:1:1
  |
1 | "48 KB"
  | ^^^^^^^
  = hint: did you mean `KiB`? units: B, KiB, MiB, GiB, TiB

error: expected a size, found "x"
 --> a.ron:1:1
  |
1 | "x"
  | ^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: a size must be whole bytes, found 1.3 B
 --> a.ron:1:1
  |
1 | "1.3 B"
  | ^^^^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: "99999999 TiB" cannot be represented exactly
 --> a.ron:1:1
  |
1 | "99999999 TiB"
  | ^^^^^^^^^^^^^^
  = hint: write a size such as "48 KiB"; units: B, KiB, MiB, GiB, TiB

error: expected a size such as "48 KiB", found unit `()`
 --> a.ron:1:1
  |
1 | ()
  | ^^

error: a frequency must be above zero
 --> a.ron:1:1
  |
1 | "0 GHz"
  | ^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: `1/0` in "1/0 GHz" is not a number
 --> a.ron:1:1
  |
1 | "1/0 GHz"
  | ^^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: `1..2` in "1..2 GHz" is not a number
 --> a.ron:1:1
  |
1 | "1..2 GHz"
  | ^^^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: expected a frequency, found a duration (`ns`)
 --> a.ron:1:1
  |
1 | "2 ns"
  | ^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: `-3` in "-3 MHz" is not a number
 --> a.ron:1:1
  |
1 | "-3 MHz"
  | ^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: "99999999999999999999 Hz" cannot be represented exactly
 --> a.ron:1:1
  |
1 | "99999999999999999999 Hz"
  | ^^^^^^^^^^^^^^^^^^^^^^^^^
  = hint: write a frequency such as "1.4 GHz"; units: Hz, kHz, MHz, GHz

error: unknown unit `GB` for a bandwidth
 --> a.ron:1:1
  |
1 | "1 GB"
  | ^^^^^^
  = hint: write a bandwidth such as "716.8 GB/s"; units: B/s, kB/s, KiB/s, MB/s, MiB/s, GB/s, GiB/s, TB/s, TiB/s

error: a duration needs a unit, found `-2`
 --> a.ron:1:1
  |
1 | -2
  | ^^
  = hint: write a duration such as "2 ns"; units: fs, ps, ns, us, ms, s
"###);
}
