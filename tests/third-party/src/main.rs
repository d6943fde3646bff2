//! A program of another crate: a policy of every role, a role and a component of its own.

mod gate;

fn main() -> std::process::ExitCode {
    let mut registry = warpweave::standard_registry();
    registry.register::<gate::Gate>();
    registry.register_policy::<gate::EveryKind>();
    warpweave::cli::main(registry)
}
