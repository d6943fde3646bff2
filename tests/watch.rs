//! Checks the page to watch a run. A browser and a plain client read it while the run works.
//! No other client can, and none afterwards.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    reason = "a page of a running process is waited for; no verdict depends on the time"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::browser::{CHROMIUM, findings};
use crate::experiment;
use crate::harness::Bench;

/// Number of attempts for the page to show what is waited for, 50 ms apart.
const ATTEMPTS: usize = 400;

/// Program that serves a page, which is interrupted at the end.
struct Watched {
    child: Child,
    host: String,
    token: String,
}

impl Watched {
    /// Starts a command and reads the address that it prints.
    fn begin(mut command: Command) -> Self {
        let command = command
            .arg("--watch")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address =
            lines.find_map(|line| Some(line.unwrap().strip_prefix("watch  http://")?.to_owned()));
        let address = address.unwrap();
        let (host, token) = address.split_once("/?token=").unwrap();
        // The program must never wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            host: host.to_owned(),
            token: token.to_owned(),
            child,
        }
    }

    fn ask(&self, path: &str, host: &str) -> String {
        let mut client = TcpStream::connect(&self.host).unwrap();
        write!(client, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    fn path(&self) -> String {
        format!("/?token={}", self.token)
    }

    /// Returns the page as soon as it contains all of `parts`.
    fn page(&self, parts: &[&str]) -> String {
        let mut answer = String::new();
        for _ in 0..ATTEMPTS {
            answer = self.ask(&self.path(), &self.host);
            if parts.iter().all(|part| answer.contains(part)) {
                let (head, page) = answer.split_once("\r\n\r\n").unwrap();
                assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
                return page.to_owned();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the page never has {parts:?}:\n{answer}");
    }

    /// Checks that no other client can read the page, and that a browser can.
    fn check(&self, page: &str) {
        let refused = |path: &str, host: &str| {
            let answer = self.ask(path, host);
            assert!(
                answer.starts_with("HTTP/1.1 403 Forbidden"),
                "{path} {host}: {answer}"
            );
        };
        refused("/", &self.host);
        refused("/?token=0", &self.host);
        refused(&self.path(), "example.com");
        if let Some(found) = findings(page) {
            assert!(found.is_empty(), "{}\n{page}", found.join("\n"));
        }
        let Some(chromium) = &*CHROMIUM else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
            .args(["--disable-dev-shm-usage", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .arg(format!("http://{}{}", self.host, self.path()))
            .env("HOME", folder.path())
            .output();
        let dom = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(dom.contains("This page is loaded again"), "{dom}");
    }

    /// Interrupts the program, which ends with `code`, and checks that the page is gone with it.
    fn end(mut self, code: i32) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
        assert!(TcpStream::connect(&self.host).is_err());
    }
}

/// A failed test leaves no program behind.
impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_running_simulation_can_be_watched_and_its_page_is_gone_with_it() {
    let bench = Bench::new();
    // Many seconds of work for the tiny machine.
    let command = bench.command(&["run", "test.ron", "--set", "workload.n=16777216"]);
    let watched = Watched::begin(command);
    let page = watched.page(&["kernels completed", "Issue slots", "ComputeUnit", "credit"]);
    assert!(page.contains("0 of 1"), "{page}");
    watched.check(&page);
    watched.end(130);
}

#[test]
fn a_running_experiment_can_be_watched_with_its_verdicts_so_far() {
    let bench = experiment::bench(10)
        .edit("ways.ron", "\"workload.n\": 256", "\"workload.n\": 262144")
        .edit("ways.ron", "{}, \"one\"", "{}, \"quick\": { \"limits.cycles\": 1000 }, \"one\"")
        .edit("ways.ron", ", \"workload.block\": [64, 128]", "")
        .edit("ways.ron", ",\n)", ",\n    controls: { \"same\": { \"limits.cycles\": 1001 } },\n    claims: [Finding(name: \"one is slower\", claim: Below(metric: \"ipc\", of: \"one\", margin: 0.02), control: \"same\")],\n)");
    let watched = Watched::begin(bench.command(&["experiment", "ways.ron", "-j", "2"]));
    let page = watched.page(&["of 2 busy", "one is slower", "add/"]);
    assert!(page.contains("of 40"), "{page}");
    watched.check(&page);
    // A failed run takes precedence over the interrupt.
    watched.end(1);
}
