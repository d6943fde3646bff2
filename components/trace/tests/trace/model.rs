//! Naive trace model: records as plain values, and random programs made of them.

use std::sync::Arc;

use proptest::prelude::*;
use warpweave_trace::{
    Allocation, Attribute, Class, Code, Cursor, FrontEnd, Guard, HostCommand, Instruction,
    KernelTrace, KernelWriter, LANES, Lanes, Operand, Parent, Program, Space, StreamWriter,
    WorkGroupOrder,
};

/// Instructions of [`code`]; odd ones are memory instructions.
pub(crate) const INSTRUCTIONS: u32 = 300;

/// Decoded record: pc, mask, space, continues, and the address of each active lane.
pub(crate) type Seen = (u32, u32, Space, bool, Vec<(u32, u64)>);

/// A record with explicit addresses of all lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) space: Space,
    pub(crate) continues: bool,
    /// Address of each lane; meaningless where the mask is off.
    pub(crate) addresses: Option<[u64; LANES]>,
}

impl Plain {
    /// Returns the decoded record with the active lanes only.
    pub(crate) fn seen(&self) -> Seen {
        let lanes = self.addresses.map_or(Vec::new(), |addresses| {
            let active = (0..32).filter(|lane| self.mask >> lane & 1 != 0);
            active
                .map(|lane| (lane, addresses[lane as usize]))
                .collect()
        });
        (self.pc, self.mask, self.space, self.continues, lanes)
    }

    pub(crate) fn write(&self, stream: &mut StreamWriter) {
        match &self.addresses {
            None => stream.step(self.pc, self.mask),
            Some(addresses) => {
                stream.access(self.pc, self.mask, self.space, self.continues, addresses);
            }
        }
    }
}

/// Reads the rest of a stream into the form of [`Plain::seen`].
pub(crate) fn read(kernel: &KernelTrace, mut cursor: Cursor) -> Vec<Seen> {
    let mut lanes = Lanes::default();
    let mut records = Vec::new();
    while let Some(record) = cursor.next(kernel, &mut lanes) {
        let addresses = lanes.iter(record.mask).collect();
        records.push((
            record.pc,
            record.mask,
            record.space,
            record.continues,
            addresses,
        ));
    }
    assert!(cursor.next(kernel, &mut lanes).is_none());
    records
}

pub(crate) fn code() -> Arc<Code> {
    let instruction = |index: u32| {
        let mut instruction = if index % 2 == 1 {
            Instruction::new("ld.u32", Class::Load).accessing(Space::Global, 4)
        } else {
            Instruction::new("add.u32", Class::IntAdd)
        };
        instruction.writes.insert(index as u16 % 320);
        instruction.operands = vec![
            Operand::Register(index as u16),
            Operand::Immediate(-1),
            Operand::NotPredicate(2),
            Operand::Argument(8 * index),
        ];
        instruction.guard = index.is_multiple_of(3).then_some(Guard {
            predicate: index as u16,
            negated: index.is_multiple_of(2),
        });
        instruction.line = index;
        instruction
    };
    Arc::new(Code {
        name: "random".to_owned(),
        instructions: (0..INSTRUCTIONS).map(instruction).collect(),
        registers_per_thread: 20,
        static_local_bytes: 64,
        private_bytes: 0,
        source: "model.rs".to_owned(),
    })
}

pub(crate) fn mask() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(u32::MAX), 1 => Just(0), 1 => Just(0xFFFF), 1 => any::<u32>(),
        1 => (0..32_u32).prop_map(|lane| 1 << lane)]
}

fn base() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0..1_u64 << 16).prop_map(|offset| 0x7000_0000 + offset),
        any::<u64>(),
        Just(0),
        Just(u64::MAX),
        (0..100_u64)
    ]
}

fn step() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(4), Just(-4), (-300..300_i64), any::<i64>()]
}

/// Generates addresses of every layout in the format, and irregular ones.
pub(crate) fn addresses() -> impl Strategy<Value = [u64; LANES]> {
    let strided = (base(), step()).prop_map(|(base, step)| rows(base, step, 0, 5));
    let tiled = (base(), step(), step(), 1..5_u32)
        .prop_map(|(base, step, pitch, bits)| rows(base, step, pitch, bits));
    let near = (base(), prop::array::uniform32(0..1_000_u64))
        .prop_map(|(base, deltas)| deltas.map(|delta| base.wrapping_add(4 * delta)));
    let wild = prop::array::uniform32(any::<u64>());
    prop_oneof![strided, tiled, near, wild]
}

/// Returns the lane addresses of a tile 2^`row_bits` lanes wide.
pub(crate) fn rows(base: u64, step: i64, pitch: i64, row_bits: u32) -> [u64; LANES] {
    std::array::from_fn(|lane| {
        let (column, row) = (lane as i64 & ((1 << row_bits) - 1), lane as i64 >> row_bits);
        base.wrapping_add_signed(
            step.wrapping_mul(column)
                .wrapping_add(pitch.wrapping_mul(row)),
        )
    })
}

/// Generates one instruction: a record, or the records of a split access.
fn instruction() -> impl Strategy<Value = Vec<Plain>> {
    let step = (0..INSTRUCTIONS, mask()).prop_map(|(pc, mask)| {
        vec![Plain {
            pc,
            mask,
            space: Space::None,
            continues: false,
            addresses: None,
        }]
    });
    let run = (0..INSTRUCTIONS, 1..INSTRUCTIONS, mask()).prop_map(|(first, count, mask)| {
        let run = first..(first + count).min(INSTRUCTIONS);
        run.map(|pc| Plain {
            pc,
            mask,
            space: Space::None,
            continues: false,
            addresses: None,
        })
        .collect()
    });
    let space = prop::sample::select(&Space::ALL[1..]);
    let access = (0..INSTRUCTIONS / 2, mask(), space, addresses()).prop_map(
        |(half, mask, space, addresses)| {
            let pc = half * 2 + 1;
            vec![Plain {
                pc,
                mask,
                space,
                continues: false,
                addresses: Some(addresses),
            }]
        },
    );
    let split =
        (0..INSTRUCTIONS / 2, any::<u32>(), addresses()).prop_map(|(half, mask, addresses)| {
            let part = |mask, space, continues| Plain {
                pc: half * 2 + 1,
                mask,
                space,
                continues,
                addresses: Some(addresses),
            };
            vec![
                part(mask, Space::Global, true),
                part(!mask, Space::Shared, false),
            ]
        });
    prop_oneof![3 => step, 3 => run, 6 => access, 1 => split]
}

/// Generates the records of one wavefront.
pub(crate) fn stream() -> impl Strategy<Value = Vec<Plain>> {
    prop::collection::vec(instruction(), 0..24).prop_map(|parts| parts.concat())
}

/// A kernel of full wavefronts and the records written to each.
#[derive(Clone, Debug)]
pub(crate) struct PlainKernel {
    pub(crate) work_groups: u32,
    pub(crate) wavefronts: u32,
    pub(crate) arguments: Vec<u8>,
    /// Selects the parent among the kernels with lower numbers: a wavefront index and a lane.
    pub(crate) parent: Option<(usize, u8)>,
    /// Records by work-group, then by wavefront.
    pub(crate) streams: Vec<Vec<Plain>>,
}

impl PlainKernel {
    pub(crate) fn build(&self, below: &[Arc<KernelTrace>]) -> KernelTrace {
        let block = [32 * self.wavefronts, 1, 1];
        let grid = [self.work_groups, 1, 1];
        let mut writer = KernelWriter::new(code(), grid, block, 128, self.arguments.clone())
            .expect("the launch is well formed");
        if let Some(parent) = self.parent_among(below) {
            writer = writer.launched_by(parent).saying(Attribute {
                name: "depth".to_owned(),
                value: u64::from(parent.kernel) + 1,
            });
        }
        for (work_group, wavefront, records) in self.places() {
            let mut stream = StreamWriter::new();
            for record in records {
                record.write(&mut stream);
            }
            writer
                .finish_wavefront(work_group, wavefront, stream)
                .expect("the records are legal");
        }
        writer.finish().expect("every wavefront was written")
    }

    /// Returns the kernel's parent, given the kernels with lower numbers.
    fn parent_among(&self, below: &[Arc<KernelTrace>]) -> Option<Parent> {
        let (index, lane) = self.parent.filter(|_| !below.is_empty())?;
        let kernel = index % below.len();
        Some(Parent {
            kernel: kernel as u32,
            work_group: index as u32 % below[kernel].work_groups(),
            wavefront: index as u32 % below[kernel].wavefronts_per_work_group(),
            record: u32::from(lane) / 3,
            lane,
            stream: 1 << 16,
        })
    }

    /// Iterates over work-group, wavefront and records of every stream.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, u32, &[Plain])> {
        let wavefronts = self.wavefronts;
        self.streams
            .iter()
            .enumerate()
            .map(move |(place, records)| {
                (
                    place as u32 / wavefronts,
                    place as u32 % wavefronts,
                    records.as_slice(),
                )
            })
    }
}

pub(crate) fn kernel() -> impl Strategy<Value = PlainKernel> {
    (
        1..5_u32,
        1..4_u32,
        prop::collection::vec(any::<u8>(), 0..20),
        prop::option::of((any::<usize>(), 0..32_u8)),
    )
        .prop_flat_map(|(work_groups, wavefronts, arguments, parent)| {
            let streams = prop::collection::vec(stream(), (work_groups * wavefronts) as usize);
            streams.prop_map(move |streams| PlainKernel {
                work_groups,
                wavefronts,
                arguments: arguments.clone(),
                parent,
                streams,
            })
        })
}

/// Builds a program that copies in, launches each kernel, waits and copies out.
pub(crate) fn program(kernels: &[PlainKernel]) -> Program {
    let mut commands = vec![HostCommand::CopyToDevice {
        allocation: 0,
        offset: 16,
        bytes: 48,
    }];
    let mut traces = Vec::new();
    for plain in kernels {
        let (kernel, trace) = (traces.len() as u32, plain.build(&traces));
        if trace.parent.is_none() {
            commands.push(HostCommand::Launch {
                kernel,
                stream: kernel % 2,
            });
        }
        traces.push(Arc::new(trace));
    }
    commands.push(HostCommand::Synchronize);
    commands.push(HostCommand::CopyToHost {
        allocation: 0,
        offset: 0,
        bytes: 64,
    });
    Program {
        name: "random".to_owned(),
        allocations: vec![Allocation {
            name: "buffer".to_owned(),
            base: 0x7000_0000,
            bytes: 64,
        }],
        commands,
        kernels: traces,
        front_end: FrontEnd {
            name: "model".to_owned(),
            version: "1".to_owned(),
            resident_work_groups: 8,
            quantum: 16,
            order: WorkGroupOrder::Linear,
            seed: 7,
        },
    }
}
