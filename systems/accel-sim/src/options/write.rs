//! Writer for the system file of an imported machine.

use std::fmt::Write as _;

use super::caches::{Cache, ReadCache};
use super::machine::{Launches, Machine, Network, SliceMap};
use super::memory::WriteQueue;
use super::option_values::OptionValues;
use super::shared::Shared;

/// Returns the system file text for a machine described by these files.
pub(super) fn system(files: &[String], given: &OptionValues, machine: &Machine) -> String {
    let mut text = head(files, given, machine);
    text.push_str(&body(machine));
    text
}

fn head(files: &[String], given: &OptionValues, machine: &Machine) -> String {
    let mut text = format!(
        "// Created from {} by `warpweave system import`.\n",
        files.join(" and ")
    );
    let mut line = |line: &str| {
        text.push_str("//");
        text.push_str(line);
        text.push('\n');
    };
    let overruled: Vec<String> = given.overruled().collect();
    if !overruled.is_empty() {
        line(&format!(" Overridden later: {}.", overruled.join(", ")));
    }
    let left_out: Vec<String> = given.left_out().collect();
    if !left_out.is_empty() {
        line("");
        line(" Unknown, left out:");
        for options in wrapped(&left_out) {
            line(&format!("   {options}"));
        }
    }
    if !machine.notes.is_empty() {
        line("");
        line(" Modelled otherwise:");
        for note in &machine.notes {
            line(&format!("   {note}"));
        }
    }
    let unused = given.named(&machine.unused);
    if !unused.is_empty() {
        line("");
        line(" No effect in combination with other options:");
        for options in wrapped(&unused) {
            line(&format!("   {options}"));
        }
    }
    for (title, options) in [
        (" Not modelled:", given.lost()),
        (" No effect on the simulated behaviour:", given.idle()),
    ] {
        if options.is_empty() {
            continue;
        }
        line("");
        line(title);
        for (reason, options) in by_reason(options) {
            line(&format!("   {reason}:"));
            for options in wrapped(&options) {
                line(&format!("     {options}"));
            }
        }
    }
    text
}

/// Groups options by reason, in order of first occurrence.
fn by_reason(options: Vec<(&'static str, String)>) -> Vec<(&'static str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (reason, option) in options {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, options)) => options.push(option),
            None => reasons.push((reason, vec![option])),
        }
    }
    reasons
}

/// Wraps the options into lines of about 100 characters.
fn wrapped(options: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for option in options {
        match lines.last_mut() {
            Some(line) if line.len() + option.len() < 100 => {
                line.push_str(", ");
                line.push_str(option);
            }
            _ => lines.push(option.clone()),
        }
    }
    lines
}

fn body(machine: &Machine) -> String {
    let Machine {
        clusters,
        units_per_cluster,
        slices,
        launches,
        ..
    } = machine;
    let SliceMap {
        channels,
        per_channel: slices_per_channel,
        hash,
        granule_bytes: granule,
    } = slices;
    let Launches {
        latency: launch_latency,
        work_group_latency,
        kernels,
    } = launches;
    let [core, icnt, l2, dram] = &machine.clocks;
    let where_it_differs = |clock: &String, text: String| {
        if clock == core { String::new() } else { text }
    };
    let own =
        |name: &str, clock: &String| where_it_differs(clock, format!("\"{name}\": \"{clock}\", "));
    let clock =
        |name: &str, clock: &String| where_it_differs(clock, format!("clock: \"{name}\", "));
    let (own_icnt, own_l2) = (own("icnt", icnt), own("l2", l2));
    let (crossbar_clock, l2_clock) = (clock("icnt", icnt), clock("l2", l2));
    let unit = unit(machine);
    let network = network(&machine.network);
    let response_depth = machine.response_depth;
    let (l1, mut wires) = data_cache(machine.caches.l1.as_ref());
    let mut unwired = Vec::new();
    if machine.caches.l1.is_none() {
        unwired.push("\"cu[u].cache_control\"");
    }
    let caches = &machine.caches;
    if caches.l1i.is_some() {
        unwired.push("\"l1i[u].control\"");
    }
    let (read_alone, ports) = read_alone(machine, &mut wires);
    let unwired = match unwired.join(", ") {
        ports if ports.is_empty() => ports,
        ports => format!("\n            unwired: [{ports}],"),
    };
    let l2 = &machine.caches.l2;
    let (l2_delay, l2_bytes) = (wire(l2.delay_cycles, 1), l2.size_bytes);
    let l2 = cache("fermi_l2", l2, "            ");
    let dealt = |slices: &str| {
        let hash = hash
            .as_deref()
            .map_or(String::new(), |hash| format!(", hash: {hash}"));
        format!("interleave: (granule_bytes: {granule}, slices: \"{slices}\"{hash})")
    };
    let (over_slices, over_channels) = (dealt("=channels * slices"), dealt("=channels"));
    let dram_text = memory(machine, &over_channels);
    let invalidate = if machine.invalidate {
        "KernelEnd"
    } else {
        "Never"
    };
    let each = match work_group_latency {
        0 => String::new(),
        cycles => format!(", work_group_latency_cycles: {cycles}"),
    };
    let (second_level, control) = if machine.invalidate_l2 {
        (
            "\n            second_level: (slices: \"=channels * slices\", invalidate_at: KernelEnd),",
            "\n        \"scheduler.caches[k] <-> l2[k].control\": (latency: 1),",
        )
    } else {
        ("", "")
    };
    format!(
        r#"System(
    summary: "{units} compute units, {size} KiB of L2, {channels} channels, from option files",
    clocks: {{ "core": "{core}", {own_icnt}{own_l2}"dram": "{dram}" }},
    core: "core",
    params: {{ "clusters": {clusters}, "units": {units_per_cluster}, "channels": {channels}, "slices": {slices_per_channel} }},
    modules: {{
        "Cluster": Module(
            params: {{ "number": 0, "units": 1 }},
            for: {{ "u": "=units" }},
            ports: {{ "dispatch[u]": "cu[u].dispatch", "memory": "port.down" }},
            parts: {{
                "cu[u]": ComputeUnit(
{unit}                ),
                {l1}{read_alone}"port": ClusterPort(preset: "fermi", up_ports: "={ports}", response_depth: {response_depth}),
            }},
            wires: {{
                {wires}
            }},{unwired}
        ),
    }},
    for: {{ "c": "=clusters", "u": "=units", "m": "=channels", "s": "=slices", "k": "=channels * slices" }},
    parts: {{
        // Copies take no time.
        "host": HostDriver(copy_latency_cycles: 0, copy_bytes_per_cycle: 1073741824, launch_latency_cycles: 0),
        "gmu": Gmu(preset: "fermi", hardware_queues: {kernels}, dispatch_latency_cycles: {launch_latency}{each}),
        "scheduler": WorkGroupScheduler(
            preset: "fermi",
            clusters: "=clusters",
            units_per_cluster: "=units",
            kernel_slots: {kernels},
            dispatches_per_cycle: "=clusters",
            invalidate_at: {invalidate},{second_level}
        ),
        "cluster[c]": Cluster(number: "=c", units: "=units"),
        "crossbar": Crossbar(
            preset: "fermi",
            {crossbar_clock}up_ports: "=clusters",
            down_ports: "=channels * slices",
            {over_slices},
{network}        ),
        // Slice k of the second level is slice k / channels of channel k mod channels.
        "l2[k]": Cache(
            {l2_clock}{over_slices},
{l2}        ),
        "dram[m]": Gddr5(
{dram_text}        ),
    }},
    wires: {{
        "host.gmu <-> gmu.host": (latency: 1),
        "gmu.scheduler <-> scheduler.gmu": (latency: 1),
        "scheduler.units[c * units + u] <-> cluster[c].dispatch[u]": (latency: 1),
        "cluster[*].memory <-> crossbar.up[*]": (latency: 1),
        "crossbar.down[k].request <-> l2[k].up.request": ({l2_delay}),
        "crossbar.down[k].response <-> l2[k].up.response": (latency: 1),
        "l2[s * channels + m].down <-> dram[m].up[s]": (latency: 1),{control}
    }},
)
"#,
        units = clusters * units_per_cluster,
        size = l2_bytes * u64::from(channels * slices_per_channel) / 1024,
    )
}

/// Returns the first-level data cache, if there is one, and the wires of the data path.
fn data_cache(l1: Option<&Cache>) -> (String, String) {
    match l1 {
        Some(l1) => (
            format!(
                "\"l1[u]\": Cache(\n{}                ),\n                ",
                cache("fermi_l1", l1, "                    ")
            ),
            format!(
                "\"cu[u].memory.request <-> l1[u].up.request\": ({}),
                \"cu[u].memory.response <-> l1[u].up.response\": ({}),
                \"cu[u].cache_control <-> l1[u].control\": (latency: 1),
                \"l1[u].down <-> port.up[u]\": (latency: 1),",
                wire(l1.delay_cycles, l1.banks),
                wire(1, l1.banks),
            ),
        ),
        None => (
            String::new(),
            "\"cu[u].memory <-> port.up[u]\": (latency: 1),".to_owned(),
        ),
    }
}

/// Returns the caches other than the data cache and the ports per cluster; appends their wires to
/// `wires`.
fn read_alone(machine: &Machine, wires: &mut String) -> (String, String) {
    let caches = &machine.caches;
    let (l1c, l1t) = (caches.l1c.as_ref(), caches.l1t.as_ref());
    let (l1c, l1t) = (l1c.map(|read| &read.cache), l1t.map(|read| &read.cache));
    let mut parts = String::new();
    let mut ports = "units".to_owned();
    let beside = [
        ("l1i", "instructions", "L1", caches.l1i.as_ref()),
        ("l1c", "constants", "Named(\"Constant\")", l1c),
        ("l1t", "textures", "Named(\"Texture\")", l1t),
    ];
    let there = beside.iter().filter_map(|(name, port, level, described)| {
        described.map(|described| (name, port, level, described))
    });
    for (count, (name, port, level, described)) in there.enumerate() {
        let fields = cache("fermi_l1", described, "                    ");
        let part = write!(
            parts,
            "\"{name}[u]\": Cache(
                    level: {level},
{fields}                ),
                "
        );
        part.expect("writing to a string succeeds");
        let wired = write!(
            wires,
            "
                \"cu[u].{port} <-> {name}[u].up\": (latency: 1),
                \"{name}[u].down <-> port.up[{ports} + u]\": (latency: 1),"
        );
        wired.expect("writing to a string succeeds");
        ports = format!("{} * units", count + 2);
    }
    (parts, ports)
}

/// Base address of kernel code in GPGPU-Sim.
const CODE: u64 = 0xf000_0000;

/// Address of kernel arguments, above all other data.
const ARGUMENTS: u64 = 1 << 46;

fn unit(machine: &Machine) -> String {
    let unit = &machine.unit;
    let (bytes, banks, latency) = unit.local_memory;
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str("                    ");
        text.push_str(&line);
        text.push('\n');
    };
    line("preset: \"fermi\",".to_owned());
    line("index: \"=number * units + u\",".to_owned());
    line(format!("wavefront_slots: {},", unit.wavefront_slots));
    line(format!("work_group_slots: {},", unit.work_group_slots));
    line(format!("registers: {},", unit.registers));
    line("register_partitions: 1,".to_owned());
    line("register_granularity: 128,".to_owned());
    line(format!("schedulers: {},", unit.schedulers));
    line(format!("scheduler: {},", unit.scheduler));
    let front_end = &unit.front_end;
    line(format!("issues_per_cycle: {},", front_end.issues));
    line(format!("issue_together: {},", front_end.issue_together));
    if let Some(fetch) = &front_end.fetch {
        line(format!(
            "fetch: (base: {CODE}, instruction_bytes: 16, bytes: 32, line_bytes: {}, buffer: 2, latency: {}),",
            fetch.line_bytes, fetch.latency
        ));
    }
    line(format!("operand_latency: {},", front_end.operand_latency));
    line(format!(
        "register_banks: (banks: {}, by_wavefront: true, reads_per_cycle: {}, collectors: {}, one_by_one: true, by_scheduler: {}),",
        front_end.banks, front_end.reads_per_cycle, front_end.collectors, front_end.sub_cores
    ));
    line(format!("results_per_cycle: {},", front_end.results));
    let queue = |read: &ReadCache| {
        format!(
            "line_bytes: {}, queue_depth: {}, requests_per_cycle: 1, outstanding_max: {}, writeback_latency: 1",
            read.cache.lines.own, front_end.places, read.under_way
        )
    };
    if let Some(constants) = &machine.caches.l1c {
        line("constants: (".to_owned());
        line(format!("    arguments: {ARGUMENTS}, lanes: Together,"));
        line(format!("    {},", queue(constants)));
        line("),".to_owned());
    }
    if let Some(textures) = &machine.caches.l1t {
        let answers = if textures.in_order {
            "InOrder"
        } else {
            "AsTheyCome"
        };
        line("textures: (".to_owned());
        line(format!("    loads: Textures, answers: {answers},"));
        line(format!("    {},", queue(textures)));
        line("),".to_owned());
    }
    line("classes: (".to_owned());
    for (class, pace) in &unit.classes {
        line(format!("    {class}: {pace},"));
    }
    line("),".to_owned());
    let own = format!("bytes: {bytes}, banks: {banks}, latency: {latency}");
    match &machine.caches.shared {
        None => line(format!("local_memory: ({own}),")),
        Some(Shared { bytes, splits }) => {
            line("local_memory: (".to_owned());
            line(format!("    {own},"));
            line(format!(
                "    shared_with_cache: (bytes: {bytes}, splits: {splits:?}),"
            ));
            line("),".to_owned());
        }
    }
    line("load_store: (".to_owned());
    line(format!(
        "    line_bytes: {}, requests_per_cycle: {}, pipe: InOrder, issues_per_cycle: {}, queue_depth: {},",
        unit.line_bytes, unit.requests_per_cycle, front_end.accesses, front_end.places
    ));
    line("    atomics: Apart,".to_owned());
    line("),".to_owned());
    line(format!(
        "private_memory: (bytes_per_thread: {}),",
        unit.private_bytes
    ));
    text
}

fn cache(preset: &str, cache: &Cache, indent: &str) -> String {
    let mut text = String::new();
    let mut field = |name: &str, value: &dyn std::fmt::Display| {
        let written = writeln!(text, "{indent}{name}: {value},");
        written.expect("writing to a string succeeds");
    };
    field("preset", &format!("\"{preset}\""));
    field("size_bytes", &cache.size_bytes);
    field("line_bytes", &cache.lines.own);
    if cache.lines.down < cache.lines.own {
        field("below_line_bytes", &cache.lines.down);
        field("cut", &if cache.lines.apart { "Below" } else { "Here" });
        field("wait_for", &"Line");
    }
    if let Some(bytes) = cache.above_line_bytes {
        field("above_line_bytes", &bytes);
    }
    field("ways", &cache.ways);
    field("set_hash", &cache.set_hash);
    field("replacement", &cache.replacement);
    field("allocate", &cache.allocate);
    field("write", &cache.write);
    field("write_allocate", &cache.write_allocate);
    field("mshr_entries", &cache.mshr_entries);
    field("mshr_merges", &cache.mshr_merges);
    field("miss_queue_entries", &cache.miss_queue_entries);
    // What comes before the look-up is in the wire.
    field("hit_latency_cycles", &1);
    field("miss_latency_cycles", &1);
    if cache.banks > 1 {
        let banks = cache.banks;
        let shape = format!("(count: {banks}, busy_cycles: 1, requests_per_cycle: {banks})");
        field("banks", &shape);
        field("responses_per_cycle", &banks);
    }
    text
}

/// Returns the parameters of a wire that accepts `width` messages per cycle.
fn wire(latency: u32, width: u32) -> String {
    match width {
        1 => format!("latency: {latency}"),
        _ => format!("latency: {latency}, width: Messages({width})"),
    }
}

fn network(network: &Network) -> String {
    let switch = match network {
        Network::Router(router) => format!(
            "Switch(flit_bytes: {}, queueing: Fifo, arbiter: Islip(iterations: {}), buffer_flits: {},
                output_buffer_flits: 64, internal_speedup: {}, input_cycles: {}, output_cycles: {},
                credit_cycles: {}, turnaround_matchings: 1)",
            router.flit_bytes,
            router.iterations,
            router.buffer_flits,
            router.internal_speedup,
            router.input_cycles,
            router.output_cycles,
            router.credit_cycles,
        ),
        Network::Packets {
            arbiter,
            buffer_flits,
            output_buffer_flits,
        } => format!(
            "Switch(
                flit_bytes: 136, queueing: Fifo, arbiter: {arbiter}, buffer_flits: {buffer_flits},
                output_buffer_flits: {output_buffer_flits}, internal_speedup: 1, input_cycles: 1,
                output_cycles: 1, credit_cycles: 1, turnaround_matchings: 0,
            )"
        ),
    };
    format!("            request: {switch},\n            reply: {switch},\n")
}

fn memory(machine: &Machine, interleave: &str) -> String {
    let dram = &machine.dram;
    let cycles = |name| dram.timing.of(name);
    let grouped = dram.bank_groups > 1;
    let (wl, rcd) = (cycles("WL"), cycles("RCD"));
    let between = cycles("CCD") * dram.commands_per_access;
    let same_group = if grouped {
        cycles("CCDL") * dram.commands_per_access
    } else {
        between
    };
    let to_precharge = if grouped { cycles("RTPL") } else { 2 };
    let [column, group, bank, row] = &dram.mapping;
    let WriteQueue { entries, high, low } = &dram.writes;
    let indent = "            ";
    let lines = [
        "preset: \"fermi\",".to_owned(),
        "clock: \"dram\",".to_owned(),
        "ports: \"=slices\",".to_owned(),
        format!("{interleave},"),
        format!("devices: {},", dram.devices),
        format!(
            "geometry: (bank_groups: {}, banks_per_group: {}, rows: {}, columns: {}),",
            dram.bank_groups, dram.banks_per_group, dram.rows, dram.columns
        ),
        "mapping: Bits(".to_owned(),
        format!("    column: \"{column}\","),
        format!("    bank_group: \"{group}\","),
        format!("    bank: \"{bank}\","),
        format!("    row: \"{row}\","),
        "),".to_owned(),
        "timing: (".to_owned(),
        format!(
            "    burst_cycles: {}, t_cl: {}, t_wl: {wl}, t_rcd_rd: {rcd}, t_rcd_wr: {}, t_rp: {},",
            dram.burst_cycles,
            cycles("CL"),
            rcd.saturating_sub(wl + 1),
            cycles("RP")
        ),
        format!(
            "    t_ras: {}, t_rc: {}, t_rrd_s: {rrd}, t_rrd_l: {rrd}, t_ccd_s: {between}, t_ccd_l: {same_group},",
            cycles("RAS"),
            cycles("RC"),
            rrd = cycles("RRD"),
        ),
        format!(
            "    t_wtr_s: {wtr}, t_wtr_l: {wtr}, t_rtp: {to_precharge}, t_wr: {}, t_faw: 0, t_32aw: 0,",
            cycles("WR"),
            wtr = cycles("CDLR"),
        ),
        "    t_ppd: 0, t_refi: 0, t_rfc: 0,".to_owned(),
        "),".to_owned(),
        format!("command_bus: {},", dram.command_bus),
        format!("scheduler: {},", dram.scheduler),
        format!("read_queue: {},", dram.read_queue),
        format!("write_queue: {entries},"),
        format!("drain: Watermarks(high: {high}, low: {low}),"),
        format!("response_queue: {},", dram.response_queue),
        "refresh: Off,".to_owned(),
        format!("latency_cycles: {},", dram.latency_cycles),
    ];
    lines.map(|line| format!("{indent}{line}\n")).concat()
}
