//! `warpweave bench noc` and `warpweave validate noc`.

mod drive;
mod presets;

use std::path::Path;

use crate::{Comparison, StandaloneError};

pub use drive::{Packet, Passage, Passages, Shape, drive};
pub use presets::{PRESETS, booksim, preset};

/// Compares with the reference data in `folder`.
///
/// # Errors
/// When the folder does not hold the tables of the reference.
pub fn validate(folder: &Path) -> Result<Comparison, StandaloneError> {
    Err(StandaloneError::Request(format!(
        "{}: not compared yet",
        folder.display()
    )))
}
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn probe() {
        let dir = Path::new("/work/shared/reference/noc");
        for f in std::fs::read_dir(dir).unwrap() {
            let p = f.unwrap().path();
            if !p.to_str().unwrap().contains("replay") { continue; }
            let rows: Vec<std::collections::BTreeMap<String, u64>> = crate::read_rows(&p).unwrap();
            let packets: Vec<Packet> = rows.iter().map(|r| Packet { create: r["create"], src: r["src"] as usize, dst: r["dst"] as usize, flits: r["flits"] as u32 }).collect();
            let n = p.file_name().unwrap().to_str().unwrap().to_owned();
            let shape = if n.contains("12x8") { (12, 8) } else if n.contains("15x12") { (15, 12) } else { (8, 12) };
            for c in ["gpgpusim_s2", "fifo_s1", "vc4_s1", "voq_i1"] {
                let spec = preset(c, shape.0, shape.1).unwrap();
                let run = drive(&spec, Shape { inputs: shape.0 as usize, outputs: shape.1 as usize }, &packets, u64::MAX);
                let mut same = 0; let mut first = None;
                for (i, (r, p)) in rows.iter().zip(&run.passages).enumerate() {
                    let e = (r[&format!("inject_{c}")], r[&format!("arrive_{c}")]);
                    let g = p.map(|p| (p.inject, p.arrive)).unwrap();
                    if e == g { same += 1 } else if first.is_none() { first = Some((i, packets[i], e, g)) }
                }
                if n.contains("1flit_rho50") && c == "voq_i1" { for i in 0..56 { println!("replay {:?} {:?} {}", packets[i], run.passages[i], rows[i]["arrive_voq_i1"]); } }
                println!("{n} {c}: {same}/{} {first:?}", rows.len());
            }
        }
    }
}
