//! Checks an experiment on a cluster: real Slurm daemons with two nodes on this machine. One node
//! is lost while it works, and a time limit expires.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "daemons are waited for; no verdict depends on the time that they take"
)]

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cluster::{check_same, continue_series, run, store};
use crate::harness::{Bench, Ended, files_below, told};
use crate::{experiment, optional_tool};

/// Packages of Debian that bring the daemons and their commands.
const PACKAGES: &str = "apt-get install slurm-wlm munge";

/// Programs that must be there to start and use a cluster.
const COMMANDS: [&str; 6] = [
    "slurmctld",
    "slurmd",
    "munged",
    "sbatch",
    "squeue",
    "scontrol",
];

/// Names of the nodes, which all run on this machine.
const NODES: [&str; 2] = ["n0", "n1"];

/// Variable in the environment of all processes of a node, with the node's name.
const NODE: &str = "SLURMD_NODENAME";

/// Running cluster, which ends with this value.
struct Cluster {
    folder: TempDir,
    daemons: Vec<(String, Child)>,
}

/// Starts a cluster. Without the daemons there is none, which is a failure only in CI.
fn cluster() -> Option<Cluster> {
    let cluster = RefCell::new(None);
    let unfit = |controller: &OsStr| {
        let fails = |program: &&str| Command::new(program).arg("-V").output().is_err();
        if let Some(missing) = COMMANDS.into_iter().find(fails) {
            return Some(format!("{missing} does not start"));
        }
        let started = Cluster::start(controller);
        started.map(|started| cluster.replace(Some(started))).err()
    };
    optional_tool::find([OsString::from("slurmctld")], unfit, PACKAGES)?;
    cluster.into_inner()
}

impl Cluster {
    /// Starts the daemons and waits until both nodes take jobs.
    fn start(controller: &OsStr) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Self {
            folder,
            daemons: Vec::new(),
        };
        for name in ["state", "munge"] {
            fs::create_dir(cluster.path(name)).unwrap();
        }
        fs::write(cluster.path("slurm.conf"), cluster.configuration()).unwrap();
        let key = cluster.path("munge/key");
        fs::write(&key, [7; 64]).unwrap();
        told_by(Command::new("chmod").arg("600").arg(&key))?;
        let at = |name: &str| format!("{}", cluster.path(name).display());
        let munge = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={}", at("munge/key")),
            format!("--socket={}", at("munge/socket")),
            format!("--pid-file={}", at("munge/pid")),
            format!("--log-file={}", at("munge/log")),
            format!("--seed-file={}", at("munge/seed")),
        ];
        cluster.daemon("munge", Command::new("munged").args(munge))?;
        let socket = cluster.path("munge/socket");
        wait("munge answers", || socket.exists())?;
        cluster.daemon("controller", Command::new(controller).args(["-D", "-c"]))?;
        for node in NODES {
            cluster.daemon(node, Command::new("slurmd").args(["-D", "-N", node]))?;
        }
        let ready = wait("both nodes take jobs", || {
            let idle = told_by(cluster.command("sinfo").args(["-hN", "-t", "idle"]));
            idle.is_ok_and(|idle| idle.lines().count() == NODES.len())
        });
        ready.map_err(|why| format!("{why}\n{}", cluster.logs()))?;
        Ok(cluster)
    }

    /// Returns the logs of all daemons.
    fn logs(&self) -> String {
        let entries = fs::read_dir(self.folder.path()).unwrap().flatten();
        let logs = entries.map(|entry| entry.path());
        let logs = logs.filter(|path| {
            path.extension()
                .is_some_and(|of| of == "log" || of == "out")
        });
        let logs = logs.map(|path| format!("{}:\n{}", path.display(), text_of(&path)));
        logs.collect::<Vec<_>>().join("\n")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configuration(&self) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap_or_default();
        let user = told_by(Command::new("id").arg("-un")).unwrap_or_default();
        let own = self.folder.path().display();
        // Held until all are drawn, so that they differ.
        let free = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = free
            .each_ref()
            .map(|port| port.local_addr().unwrap().port());
        let of_node = |at: usize| {
            format!(
                "NodeName={} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=3 RealMemory=1000",
                NODES[at],
                ports[at + 1]
            )
        };
        let nodes = [of_node(0), of_node(1)].join("\n");
        format!(
            "ClusterName=test\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmctldPort={}\n\
             SlurmUser={user}\n\
             SlurmdUser={user}\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={own}/munge/socket\n\
             CredType=cred/munge\n\
             StateSaveLocation={own}/state\n\
             SlurmdParameters=config_overrides\n\
             SlurmdSpoolDir={own}/spool-%n\n\
             SlurmctldLogFile={own}/controller.log\n\
             SlurmdLogFile={own}/%n.log\n\
             SlurmctldPidFile={own}/controller.pid\n\
             SlurmdPidFile={own}/%n.pid\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\n\
             MpiDefault=none\n\
             ReturnToService=2\n\
             SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1,sched_interval=1\n\
             {nodes}\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            ports[0]
        )
    }

    /// Starts a daemon as a child of this process.
    fn daemon(&mut self, name: &str, command: &mut Command) -> Result<(), String> {
        let told = fs::File::create(self.path(&format!("{name}.out"))).unwrap();
        let child = command
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env(NODE, name)
            .stdin(Stdio::null())
            .stdout(told.try_clone().unwrap())
            .stderr(told)
            .spawn();
        let child = child.map_err(|error| format!("{name}: {error}"))?;
        self.daemons.push((name.to_owned(), child));
        Ok(())
    }

    /// Prepares a command of Slurm that talks to this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    /// Runs the experiment of the folder with Slurm as its engine.
    fn submit(&self, bench: &Bench, more: &[&str]) -> Ended {
        let arguments = [
            &["experiment", "ways.ron", "--out", "r", "--quiet"][..],
            more,
        ];
        let mut command = bench.command(&arguments.concat());
        let command = command.env("SLURM_CONF", self.path("slurm.conf"));
        Ended::of(&command.output().unwrap())
    }

    /// Returns the lines of `squeue` about the tasks of a job; of all jobs without one.
    fn queue(&self, job: &str, format: &str) -> Vec<String> {
        let mut command = self.command("squeue");
        let format = format!("%F {format}");
        let lines = told_by(command.args(["-h", "-r", "-o", &format])).unwrap();
        let own = lines.lines().filter_map(|line| line.split_once(' '));
        own.filter(|(id, _)| job.is_empty() || *id == job)
            .map(|(_, rest)| rest.trim().to_owned())
            .collect()
    }

    /// Returns the IDs of our processes with these values in their environment.
    fn processes(&self, values: &[String]) -> Vec<String> {
        let own = format!("SLURM_CONF={}", self.path("slurm.conf").display());
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let is_ours = |path: &Path| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            let environment: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
            let has = |value: &String| environment.contains(&value.as_bytes());
            has(&own) && values.iter().all(has)
        };
        let ours = entries.filter(|entry| is_ours(&entry.path()));
        ours.map(|entry| entry.file_name().into_string().unwrap())
            .collect()
    }

    /// Ends a node as a power failure would: its daemon and all its tasks at once.
    fn kill_node(&mut self, node: &str) {
        let tasks = self.processes(&[format!("{NODE}={node}")]);
        // Those who watch over tasks end first, or they would report a failure.
        let watchers = tasks.iter().filter_map(|task| watcher(task));
        let all: Vec<String> = watchers.chain(tasks.iter().cloned()).collect();
        signal("KILL", &all);
        let (_, daemon) = self
            .daemons
            .iter_mut()
            .find(|(name, _)| name == node)
            .unwrap();
        daemon.wait().unwrap();
        let down = [
            "update",
            &format!("NodeName={node}"),
            "State=DOWN",
            "Reason=lost",
        ];
        told_by(self.command("scontrol").args(down)).unwrap();
    }

    /// Waits until no task of a job is left; of all jobs without one. Tasks of a lost node need not
    /// wait for their two minutes.
    fn wait_for_job(&self, job: &str) {
        let ended = wait("a job ends", || {
            for line in self.queue("", "%F %T %r") {
                let words: Vec<&str> = line.split(' ').collect();
                if words[1..] == ["PENDING", "BeginTime"] {
                    let job = format!("JobId={}", words[0]);
                    let now = ["update", &job, "StartTime=now"];
                    // A task may have started by now.
                    let _ = told_by(self.command("scontrol").args(now));
                }
            }
            self.queue(job, "%T").is_empty()
        });
        ended.unwrap_or_else(|why| panic!("{why}: {:?}", self.queue("", "%i %T %r")));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        signal("KILL", &self.processes(&[]));
        for (_, daemon) in &mut self.daemons {
            let _ = daemon.wait();
        }
    }
}

/// Returns the process of Slurm that watches over a task.
fn watcher(task: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    let parent = parent.trim().to_owned();
    let name = fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    name.starts_with("slurmstepd").then_some(parent)
}

fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Sends a signal to processes. Those that have ended by now are none of them.
fn signal(name: &str, processes: &[String]) {
    let mut command = Command::new("kill");
    let command = command.arg(format!("-{name}")).args(processes);
    let _ = command.stderr(Stdio::null()).status();
}

/// Returns the output of a command.
fn told_by(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let Ended { code, out, err } = Ended::of(&output);
    match code {
        0 => Ok(out.trim_end().to_owned()),
        _ => Err(format!("{command:?}: {out}{err}")),
    }
}

/// Waits until something holds, for two minutes at most.
fn wait(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > Duration::from_mins(2) {
            return Err(format!(
                "in two minutes it did not come to pass that {what}"
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn stored(bench: &Bench) -> usize {
    let complete = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".zst");
    let entries = fs::read_dir(bench.path("r/runs")).into_iter().flatten();
    entries.flatten().filter(complete).count()
}

/// Returns the ID of the job of a step.
fn job(bench: &Bench, step: &str) -> String {
    let jobs: serde_json::Value = serde_json::from_str(&bench.read("r/slurm/jobs.json")).unwrap();
    let of_step = |job: &&serde_json::Value| job["step"] == step;
    let job = jobs.as_array().unwrap().iter().find(of_step).unwrap();
    job["id"].as_str().unwrap().to_owned()
}

/// Number of pairs of the experiment; each is two runs.
const PAIRS: usize = 100;

#[test]
fn a_lost_node_and_an_expired_time_limit_lose_no_run_and_the_results_are_those_of_one_machine() {
    let Some(mut cluster) = cluster() else {
        return;
    };
    let start = Instant::now();
    let told_at = |what: &str| println!("{:>5.1} s: {what}", start.elapsed().as_secs_f64());
    let local = experiment::bench(PAIRS);
    told(run(&local, &[]));
    told_at("the local engine is done");
    let [limited, lost] = [(); 2].map(|()| {
        let bench = experiment::bench(PAIRS);
        continue_series(&local, &bench);
        bench
    });

    // One task that is held in the middle of its work, so that its time limit expires.
    let limit = ["--time=1", "--signal=B:TERM@30", "--nodelist=n0"];
    let limit = limit.map(|option| ["--sbatch", option]).concat();
    let engine = ["--engine", "slurm", "--shards", "1"];
    told(cluster.submit(&limited, &[&engine[..], &limit].concat()));
    wait("some runs are stored", || stored(&limited) >= 20).unwrap();
    let task = format!("SLURM_ARRAY_JOB_ID={}", job(&limited, "simulate"));
    let task = cluster.processes(&[task]);
    signal("STOP", &task);
    told_at("a task is held until its time limit");
    let again = cluster.submit(&limited, &engine);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("scancel"), "{}", again.err);

    // At the same time a node is lost.
    let engine = ["--engine", "slurm", "--shards", "5"];
    told(cluster.submit(&lost, &engine));
    // Its tasks are held, so that none of them ends before.
    let on_node = [
        format!("SLURM_ARRAY_JOB_ID={}", job(&lost, "simulate")),
        format!("{NODE}=n1"),
    ];
    let mut tasks = Vec::new();
    wait("some runs are stored while the second node works", || {
        if tasks.is_empty() {
            tasks = cluster.processes(&on_node);
            signal("STOP", &tasks);
        }
        !tasks.is_empty() && stored(&lost) >= 20
    })
    .unwrap();
    let status = told(cluster.submit(&lost, &["--status"]));
    assert!(status.contains(" running"), "{status}");
    cluster.kill_node("n1");
    let before = stored(&lost);
    told_at(&format!(
        "a node is lost, {before} of {} runs are stored",
        2 * PAIRS
    ));
    assert!(before < 2 * PAIRS, "the node is lost after the work");

    // The signal of Slurm waits for the task that is held, unless Slurm continues the task as well.
    wait("the time limit expires", || {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", task[0])) else {
            return true;
        };
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
        let pending = u64::from_str_radix(pending.unwrap().trim(), 16).unwrap();
        pending & (1 << (15 - 1)) != 0
    })
    .unwrap();
    told_at("the time limit has expired");
    signal("CONT", &task);
    cluster.wait_for_job(&job(&limited, "merge"));
    let stopped = stored(&limited);
    assert!((20..2 * PAIRS).contains(&stopped), "{stopped}");
    let log = format!("r/slurm/simulate-{}_1.log", job(&limited, "simulate"));
    let said = format!(
        "shard 1/1: {stopped} of {} runs stored, 0 failed",
        2 * PAIRS
    );
    assert!(limited.read(&log).contains(&said), "{}", limited.read(&log));
    let log = format!("r/slurm/merge-{}.log", job(&limited, "merge"));
    assert!(
        limited.read(&log).contains("runs are missing"),
        "{}",
        limited.read(&log)
    );
    let whole = store(&local);
    let kept = store(&limited).into_iter();
    let mut kept = kept.filter(|(name, _)| name.starts_with("runs/"));
    assert!(kept.all(|(name, bytes)| whole.get(&name) == Some(&bytes)));

    // The site allows more time, and the same command makes the rest.
    let limited = limited.edit("r/slurm/job.sbatch", "--time=1\n", "--time=10\n");
    let engine = ["--engine", "slurm", "--shards", "2"];
    told(cluster.submit(&limited, &engine));
    cluster.wait_for_job("");
    // Slurm has started the lost tasks again. What it gave up is made now.
    told(cluster.submit(&lost, &engine));
    cluster.wait_for_job("");
    told_at(&format!(
        "all jobs are done, {} runs after the time limit",
        2 * PAIRS - stopped
    ));
    check_same("after the loss of a node", &store(&lost), &whole);
    assert!(files_below(&lost.path("traces")) == files_below(&local.path("traces")));
    check_same("after the time limit", &store(&limited), &whole);
    let status = told(cluster.submit(&limited, &["--status"]));
    assert!(status.ends_with("jobs     none in the queue\n"), "{status}");
}
