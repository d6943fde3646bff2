//! Formats results as comma-separated values. Lines that start with `#` describe the device.

use std::fmt::Write as _;

use crate::driver::Device;
use crate::micro::Figure;
use crate::replay::TimedLaunch;

fn head(device: &Device) -> String {
    let Device {
        name,
        driver,
        capability,
        units,
        unit_clock_khz,
        memory_clock_khz,
        l2_bytes,
    } = device;
    format!(
        "# device: {name}, compute capability {capability}, {units} units, L2 of {l2_bytes} bytes\n# driver: CUDA {driver}\n# clocks as reported by the driver: units {unit_clock_khz} kHz, memory {memory_clock_khz} kHz\n"
    )
}

/// Formats a row for each launch. `cycles` is its duration in cycles of the units' stated clock.
pub fn launches(device: &Device, program: &str, launches: &[TimedLaunch]) -> String {
    let mut text = head(device);
    let _ = writeln!(text, "# program: {program}");
    text.push_str("launch,kernel,grid,block,dynamic_local_bytes,nanoseconds,cycles\n");
    for (
        number,
        TimedLaunch {
            launch,
            nanoseconds,
        },
    ) in launches.iter().enumerate()
    {
        let shape = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
        let cycles = nanoseconds * f64::from(device.unit_clock_khz) / 1e6;
        let _ = writeln!(
            text,
            "{number},{},{},{},{},{nanoseconds:.0},{cycles:.0}",
            launch.kernel,
            shape(launch.grid),
            shape(launch.block),
            launch.dynamic_local_bytes
        );
    }
    text
}

/// Formats a row for each measured figure.
pub fn figures(device: &Device, figures: &[Figure]) -> String {
    let mut text = head(device);
    text.push_str("measure,of,footprint_bytes,value,unit\n");
    for figure in figures {
        let Figure {
            measure,
            of,
            footprint,
            value,
            unit,
        } = figure;
        let _ = writeln!(text, "{measure},{of},{footprint},{value:.3},{unit}");
    }
    text
}
