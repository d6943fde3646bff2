//! The machines compute what their description says: latencies add up to the cycle, bandwidths
//! reach what queues and timing allow, and what enters a component leaves it.

mod accel_sim;
mod bandwidth;
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
