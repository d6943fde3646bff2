//! Column-wise encoding of the records in a chunk. Consecutive values are similar, so each takes a
//! byte or two.

use serde::{Deserialize, Serialize};

use crate::{Kind, Record};

/// Columns of a chunk, each with one entry per record. Ticks and lines are stored as differences
/// from the previous record, starting from 0.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Columns {
    tick: Vec<u64>,
    port: Vec<u32>,
    kernel: Vec<u32>,
    work_group: Vec<u32>,
    compute_unit: Vec<u16>,
    wavefront_slot: Vec<u8>,
    pc: Vec<u32>,
    kind: Vec<u8>,
    line: Vec<i64>,
    words: Vec<u32>,
}

impl Columns {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut columns = Self::default();
        let (mut tick, mut line) = (0, 0);
        for record in records {
            columns.tick.push(record.tick.wrapping_sub(tick));
            columns.port.push(record.port);
            columns.kernel.push(record.kernel);
            columns.work_group.push(record.work_group);
            columns.compute_unit.push(record.compute_unit);
            columns.wavefront_slot.push(record.wavefront_slot);
            columns.pc.push(record.pc);
            columns.kind.push(record.kind as u8);
            columns
                .line
                .push(record.line.wrapping_sub(line).cast_signed());
            columns.words.push(record.words);
            (tick, line) = (record.tick, record.line);
        }
        columns
    }

    /// Decodes the columns back into records.
    ///
    /// # Errors
    /// Returns a description of the first inconsistency found in the columns.
    pub(crate) fn records(&self, ports: usize) -> Result<Vec<Record>, String> {
        let length = self.tick.len();
        let lengths = [
            self.port.len(),
            self.kernel.len(),
            self.work_group.len(),
            self.compute_unit.len(),
            self.wavefront_slot.len(),
            self.pc.len(),
            self.kind.len(),
            self.line.len(),
            self.words.len(),
        ];
        if lengths.iter().any(|other| *other != length) {
            return Err("the columns of a chunk have different lengths".to_owned());
        }
        let (mut tick, mut line) = (0_u64, 0_u64);
        let mut records = Vec::with_capacity(length);
        for n in 0..length {
            tick = tick
                .checked_add(self.tick[n])
                .ok_or("a time exceeds the largest representable time")?;
            line = line.wrapping_add(self.line[n].cast_unsigned());
            let kind = Kind::ALL.get(usize::from(self.kind[n])).copied();
            let kind = kind.ok_or_else(|| format!("unknown access kind {}", self.kind[n]))?;
            if self.port[n] as usize >= ports {
                return Err(format!("unknown port {}", self.port[n]));
            }
            records.push(Record {
                tick,
                port: self.port[n],
                kernel: self.kernel[n],
                work_group: self.work_group[n],
                compute_unit: self.compute_unit[n],
                wavefront_slot: self.wavefront_slot[n],
                pc: self.pc[n],
                kind,
                line,
                words: self.words[n],
            });
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Columns {
        Columns::of(&[Record {
            tick: 7,
            port: 1,
            kernel: 2,
            work_group: 3,
            compute_unit: 4,
            wavefront_slot: 5,
            pc: 6,
            kind: Kind::Atomic,
            line: 128,
            words: 1,
        }])
    }

    #[test]
    fn columns_that_are_no_records_are_refused() {
        assert_eq!(one().records(2).map(|records| records.len()), Ok(1));
        let refused = |change: fn(&mut Columns)| {
            let mut columns = one();
            change(&mut columns);
            columns.records(2).expect_err("it is no record")
        };
        assert_eq!(refused(|c| c.port[0] = 2), "unknown port 2");
        assert_eq!(refused(|c| c.kind[0] = 5), "unknown access kind 5");
        let lengths = "the columns of a chunk have different lengths";
        assert_eq!(refused(|c| c.words.push(0)), lengths);
        assert_eq!(refused(|c| c.line.clear()), lengths);
        let mut late = one();
        late.tick = vec![u64::MAX, 1];
        for column in [&mut late.port, &mut late.kernel, &mut late.work_group] {
            column.push(0);
        }
        late.pc.push(0);
        late.words.push(0);
        late.compute_unit.push(0);
        late.wavefront_slot.push(0);
        late.kind.push(0);
        late.line.push(0);
        assert_eq!(
            late.records(2),
            Err("a time exceeds the largest representable time".to_owned())
        );
    }
}
