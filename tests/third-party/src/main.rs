//! Program of another crate. It has a policy of every role, its own role and component, and
//! policies that break their promises.

mod arbiter;
mod cache_policy;
mod faults;
mod gate;
mod order;
mod placement;
mod prefetcher;
mod replacement;
mod request_order;
mod scheduler;

fn main() -> std::process::ExitCode {
    let mut registry = warpweave::standard_registry();
    registry.register::<gate::Gate>();
    registry.register_policy::<gate::EveryKind>();

    registry.register_policy::<arbiter::LongestWaiting>();
    registry.register_policy::<cache_policy::SharedOnly>();
    registry.register_policy::<order::FairStreams>();
    registry.register_policy::<placement::Backwards>();
    registry.register_policy::<prefetcher::BackAndForth>();
    registry.register_policy::<replacement::MostRecent>();
    registry.register_policy::<request_order::OpenRowsFirst>();
    registry.register_policy::<scheduler::Youngest>();

    registry.register_policy::<faults::Broken>();
    registry.register_policy::<faults::Nowhere>();
    registry.register_policy::<faults::Repeats>();
    warpweave::cli::main(registry)
}
