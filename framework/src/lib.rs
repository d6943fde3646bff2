//! The event kernel: time, clocks, channels, components, signals, processes, statistics, test bench.
