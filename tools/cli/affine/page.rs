//! Page with forms, reuse and witnesses.

use std::fmt::Write as _;

use warpweave_affine::{Cost, Directions, Reference, Reuse, Toucher};

use super::found::Found;

fn shape(extents: [u32; 3]) -> String {
    let [x, y, z] = extents;
    format!("{x} x {y} x {z}")
}

pub(super) fn page(program: &str, found: &[Found]) -> String {
    let mut text = format!("{program}\n");
    for of in found {
        let group = &of.group;
        let _ = writeln!(
            text,
            "\n{}: grid of {}, work-groups of {}",
            group.title(),
            shape(group.grid),
            shape(group.block)
        );
        for at in 0..of.analysis.references.len() {
            global(of, at, &mut text);
        }
        for at in 0..of.analysis.local.len() {
            local(of, at, &mut text);
        }
        for (axis, reuse) in axes(of, &of.directions) {
            let unknown = of.directions.unknown_z.as_ref().filter(|_| axis == "z");
            let found = match (reuse, unknown) {
                (_, Some(cause)) => format!("not known: {cause}"),
                (None, None) => "none".to_owned(),
                (Some(reuse), None) => witness(reuse),
            };
            let _ = writeln!(text, "  reuse along {axis}: {found}");
        }
        let bound = if of.directions.is_exact {
            ""
        } else {
            ", an upper bound"
        };
        let _ = writeln!(
            text,
            "  direction: {}, distance {}{bound}",
            of.directions.direction.name(),
            of.directions.distance
        );
        for cause in &of.directions.causes {
            let _ = writeln!(text, "  left out: {cause}");
        }
    }
    text
}

/// Returns reuse along x and y, and along z in a grid with several planes.
fn axes<'a>(
    of: &Found,
    directions: &'a Directions,
) -> impl Iterator<Item = (&'static str, &'a Option<Reuse>)> {
    let all = [
        ("x", &directions.along_x),
        ("y", &directions.along_y),
        ("z", &directions.along_z),
    ];
    let count = if of.group.grid[2] > 1 { 3 } else { 2 };
    all.into_iter().take(count)
}

/// Writes the line of a reference to global memory, and its addresses.
fn global(of: &Found, at: usize, text: &mut String) {
    let reference = &of.analysis.references[at];
    begin(reference, text);
    if reference.is_unknown() {
        end(reference, &[], text);
        return;
    }
    text.push_str("own reuse ");
    for (axis, reuse) in axes(of, &of.own[at]) {
        let distance = reuse.as_ref().map_or(0, |reuse| reuse.distance);
        let comma = if axis == "x" { "" } else { ", " };
        let _ = write!(text, "{comma}{axis} {distance}");
    }
    match &of.transactions[at] {
        Ok(found) if is_executed(reference) => {
            let (lines, sectors) = (range(&found.lines), range(&found.sectors));
            let _ = write!(text, "; lines {lines}; sectors {sectors}");
        }
        Ok(_) => {}
        Err(cause) => {
            let _ = write!(text, "; lines not known: {cause}");
        }
    }
    end(reference, &of.words[at], text);
}

/// Writes the line of a reference to local memory, and its addresses.
fn local(of: &Found, at: usize, text: &mut String) {
    let reference = &of.analysis.local[at];
    begin(reference, text);
    text.push_str("local");
    if reference.is_unknown() {
        text.push_str(", ");
        end(reference, &[], text);
        return;
    }
    match &of.conflicts[at] {
        Ok(found) if is_executed(reference) => {
            let _ = write!(text, ", bank cycles {}", range(found));
        }
        Ok(_) => {}
        Err(cause) => {
            let _ = write!(text, ", bank cycles not known: {cause}");
        }
    }
    end(reference, &of.local_words[at], text);
}

fn is_executed(reference: &Reference) -> bool {
    !reference.pieces.is_empty()
}

/// Writes place, kind, size and exactness of a reference.
fn begin(reference: &Reference, text: &mut String) {
    let place = match reference.line {
        0 => format!("instruction {}", reference.pc),
        line => format!("line {line}"),
    };
    let _ = write!(
        text,
        "  {place:<10} {:<6} {:>2} B  {:<7}  ",
        reference.kind.name(),
        reference.bytes,
        reference.exactness.name()
    );
}

/// Ends the line of a reference; its addresses and the reason why they are not exact follow.
fn end(reference: &Reference, words: &[String], text: &mut String) {
    let cause = reference.cause().map(ToString::to_string);
    let cause = cause.unwrap_or_default();
    if reference.is_unknown() {
        let _ = writeln!(text, "{cause}");
        return;
    }
    text.push('\n');
    if words.is_empty() {
        text.push_str("             never executed\n");
    }
    for piece in words {
        let _ = writeln!(text, "             {piece}");
    }
    if !cause.is_empty() {
        let _ = writeln!(text, "             {cause}");
    }
}

/// Writes the least and the greatest cost, with the mean between them.
fn range(cost: &Cost) -> String {
    match cost.mean() {
        None => format!("at most {}", cost.most),
        Some(_) if cost.least == cost.most => cost.most.to_string(),
        Some(mean) => format!("{} to {} (mean {mean:.2})", cost.least, cost.most),
    }
}

fn witness(reuse: &Reuse) -> String {
    let mut text = format!("distance {}", reuse.distance);
    if let Some([from, to]) = reuse.witness.as_deref() {
        let (from, to) = (toucher(from), toucher(to));
        let _ = write!(text, "; {from}, and {to} share line {}", reuse.line);
    }
    text
}

fn toucher(of: &Toucher) -> String {
    let place = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let mut text = format!(
        "instruction {} of work-group {} thread {}",
        of.pc,
        place(of.work_group),
        place(of.thread)
    );
    for (line, iteration) in &of.counters {
        let _ = write!(text, " k{line} = {iteration}");
    }
    text
}
