//! Checks what hands the program on: the container, the dev container and the citation. The Python
//! package has tests of its own, which `.ci/run` runs.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

const DOCKERFILE: &str = ".devcontainer/Dockerfile";

/// Returns the arguments of one instruction of the Dockerfile, in order.
fn instructions(name: &str) -> Vec<String> {
    let file = text(DOCKERFILE);
    let lines = file.lines().filter_map(|line| line.split_once(' '));
    let named = lines.filter(|(instruction, _)| *instruction == name);
    named.map(|(_, rest)| rest.to_owned()).collect()
}

/// Returns the two commands for set-up and the main job, as the README shows them.
fn commands() -> Vec<String> {
    let readme = text("README.md");
    let blocks = readme.split("```sh\n").skip(1);
    let inner = blocks.filter_map(|block| block.split("```").next());
    let commands: Vec<String> = inner
        .take(2)
        .flat_map(str::lines)
        .map(str::to_owned)
        .collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    commands
}

/// Returns the value of a key in the workspace's manifest.
fn of_the_workspace(key: &str) -> String {
    let manifest = text("Cargo.toml");
    let (_, package) = manifest.split_once("[workspace.package]").unwrap();
    let mut lines = package.lines().filter_map(|line| line.split_once(" = "));
    let (_, value) = lines.find(|(name, _)| *name == key).unwrap();
    value.trim_matches('"').to_owned()
}

#[test]
fn the_container_runs_the_commands_of_the_readme_in_order() {
    let runs = instructions("RUN");
    let shown: Vec<String> = runs
        .into_iter()
        .filter(|run| run.starts_with("rustup ") || run.starts_with("cargo "))
        .collect();
    assert_eq!(shown, commands());
    let main_job = commands().pop().unwrap();
    let (_, arguments) = main_job.split_once(" -- ").unwrap();
    let words: Vec<&str> = arguments.split(' ').collect();
    let default = serde_json::from_str::<Vec<String>>(&instructions("CMD")[0]).unwrap();
    assert_eq!(default, words, "a container without arguments runs it");
    assert_eq!(instructions("ENTRYPOINT"), ["[\"warpweave\"]"]);
}

#[test]
fn the_container_builds_with_the_rust_version_of_the_workspace() {
    let image = format!("rust:{}-", of_the_workspace("rust-version"));
    let from = &instructions("FROM")[0];
    assert!(from.starts_with(&image), "{from}, expected {image}");
}

#[test]
fn every_stage_of_the_container_ends_as_a_user_without_rights() {
    let file = text(DOCKERFILE);
    let mut user = "root";
    for line in file.lines() {
        match line.split_once(' ') {
            Some(("FROM", "tools AS built")) => {}
            Some(("FROM", _)) => user = "root",
            Some(("USER", name)) => user = name,
            Some(("ENTRYPOINT", _)) => assert_ne!(user, "root"),
            Some(("RUN", command)) if !command.starts_with("useradd ") => {
                assert_ne!(user, "root", "{command}");
            }
            _ => {}
        }
    }
}

#[test]
fn paths_that_the_container_copies_exist() {
    for copy in instructions("COPY") {
        let words: Vec<&str> = copy.split(' ').collect();
        let (options, paths): (Vec<&str>, Vec<&str>) =
            words.iter().partition(|word| word.starts_with("--"));
        let from = paths[..paths.len() - 1].iter();
        if options.iter().any(|option| option.starts_with("--from=")) {
            let built = from
                .copied()
                .all(|path| path.ends_with("/target/release/warpweave"));
            assert!(built, "{copy}");
        } else {
            for path in from {
                assert!(root().join(path).exists(), "{path}");
            }
        }
    }
    let ignored = text(".devcontainer/Dockerfile.dockerignore");
    assert!(ignored.lines().any(|line| line == "target"), "{ignored}");
}

#[test]
fn the_dev_container_is_a_stage_of_that_file_and_runs_the_rest_of_the_commands() {
    let file = text(".devcontainer/devcontainer.json");
    let described: serde_json::Value = serde_json::from_str(&file).unwrap();
    let build = &described["build"];
    let folder = root().join(".devcontainer");
    assert!(folder.join(build["dockerfile"].as_str().unwrap()).is_file());
    let context = folder.join(build["context"].as_str().unwrap());
    assert!(context.join("Cargo.lock").is_file());
    let stage = format!(" AS {}", build["target"].as_str().unwrap());
    let file = text(DOCKERFILE);
    let (_, rest) = file.split_once(&stage).unwrap();
    let (stage, _) = rest.split_once("\nFROM ").unwrap();
    let [components, fetch, main_job] = &commands()[..] else {
        unreachable!("three commands")
    };
    assert!(stage.contains(&format!("RUN {components}\n")), "{stage}");
    let user = described["remoteUser"].as_str().unwrap();
    assert!(stage.contains(&format!("USER {user}\n")), "{stage}");
    assert_eq!(described["onCreateCommand"], fetch.as_str());
    assert_eq!(described["postCreateCommand"], main_job.as_str());
}

/// `cffconvert --validate` checks the rest of the format.
#[test]
fn the_citation_has_what_its_format_requires_and_the_version_of_the_workspace() {
    let file = text("CITATION.cff");
    let value = |key: &str| {
        let mut lines = file.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(name, _)| *name == key);
        found.map_or_else(|| panic!("no {key}"), |(_, value)| value.trim().to_owned())
    };
    assert_eq!(value("cff-version"), "1.2.0");
    assert_eq!(value("version"), of_the_workspace("version"));
    for key in ["message", "title"] {
        assert!(!value(key).is_empty(), "{key}");
    }
    let authors = file.split("authors:\n").nth(1).unwrap();
    assert!(authors.starts_with("  - name: "), "{authors}");
    let licence = of_the_workspace("license");
    for name in licence.split(" OR ") {
        assert!(file.contains(&format!("  - {name}\n")), "{name}");
    }
}
