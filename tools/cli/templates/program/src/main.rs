mod throttle;

fn main() -> std::process::ExitCode {
    let mut registry = warpweave::standard_registry();
    registry.register::<throttle::Throttle>();
    warpweave::cli::main(registry)
}
