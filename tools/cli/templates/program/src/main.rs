fn main() -> std::process::ExitCode {
    let mut registry = warpweave::standard_registry();
    new_program::register(&mut registry);
    warpweave::cli::main(registry)
}
