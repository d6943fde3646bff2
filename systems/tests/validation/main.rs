//! Validation of machines against their descriptions. Latencies add up to the cycle, bandwidths
//! reach the limits of queues and timing, and messages are conserved in every component.

mod accel_sim;
mod bandwidth;
mod boards;
mod cache_conscious;
mod coalescing;
mod conservation;
mod device_launches;
mod energy;
mod harness;
mod issue_rate;
mod latency;
mod region;
mod taps;
mod vector_add;
mod verdicts;
