//! Choice of the opcode that represents an instruction.

use warpweave_trace::{CacheOperator, Class, Instruction, ReadPath, Space};

use super::losses::Losses;
use crate::opcodes::{AccessSpace, Architecture, look_up};

/// Binary versions in order of preference; the first that has all opcodes of a kernel is used.
const VERSIONS: [u32; 7] = [70, 75, 80, 90, 60, 35, 86];

/// Address spaces in which an instruction was observed, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spaces(u8);

impl Spaces {
    pub(super) fn insert(&mut self, space: Space) {
        if space != Space::None {
            self.0 |= 1 << space as u8;
        }
    }

    fn is_within(self, spaces: &[Space]) -> bool {
        let mut all = Self::default();
        for space in spaces {
            all.insert(*space);
        }
        self.0 & !all.0 == 0
    }

    pub(super) fn contains(self, space: Space) -> bool {
        self.0 >> space as u8 & 1 != 0
    }
}

/// An opcode and the reference point of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) opcode: String,
    pub(super) reach: AccessSpace,
}

impl Written {
    /// True if the opcode can carry addresses of this space.
    pub(super) fn takes(&self, space: Space) -> bool {
        match self.reach {
            AccessSpace::In(Space::Const) => matches!(space, Space::Const | Space::Param),
            AccessSpace::In(its) => its == space,
            AccessSpace::Generic => GENERIC.contains(&space),
            AccessSpace::Nothing | AccessSpace::Other => false,
        }
    }
}

const GENERIC: [Space; 3] = [Space::Global, Space::Shared, Space::Local];

/// Returns the instruction's own opcode if this architecture has it with the same meaning.
fn kept(architecture: Architecture, instruction: &Instruction, spaces: Spaces) -> Option<Written> {
    let is_a_word = !instruction.opcode.is_empty()
        && instruction
            .opcode
            .bytes()
            .all(|byte| byte.is_ascii_graphic());
    let known = look_up(architecture, &instruction.opcode)
        .ok()
        .filter(|_| is_a_word)?;
    let fits = match known.reach {
        AccessSpace::In(space) => spaces.is_within(&[space]),
        AccessSpace::Generic => spaces.is_within(&GENERIC),
        AccessSpace::Nothing | AccessSpace::Other => spaces == Spaces::default(),
    };
    (known.class == instruction.class && fits).then(|| Written {
        opcode: instruction.opcode.clone(),
        reach: known.reach,
    })
}

/// Returns the first binary version with all opcodes of these instructions (else the preferred
/// one), and its architecture.
pub(super) fn version<'i>(
    instructions: impl Iterator<Item = (&'i Instruction, Spaces)> + Clone,
) -> (u32, Architecture) {
    let architecture = |version| {
        Architecture::of_version(version).expect("the version is a supported binary version")
    };
    let has_all = |version: &&u32| {
        let architecture = architecture(**version);
        let mut all = instructions.clone();
        all.all(|(instruction, spaces)| kept(architecture, instruction, spaces).is_some())
    };
    let version = *VERSIONS.iter().find(has_all).unwrap_or(&VERSIONS[0]);
    (version, architecture(version))
}

/// Returns the opcode to write for an instruction that was executed `times` times.
pub(super) fn written(
    architecture: Architecture,
    instruction: &Instruction,
    spaces: Spaces,
    times: u64,
    losses: &mut Losses,
) -> Written {
    if let Some(kept) = kept(architecture, instruction, spaces) {
        return kept;
    }
    let base = base(instruction, spaces, times, losses);
    let reach = look_up(architecture, base).map_or(AccessSpace::Nothing, |opcode| opcode.reach);
    let mut opcode = base.to_owned();
    if !matches!(reach, AccessSpace::Nothing | AccessSpace::Other) {
        opcode.push_str(match instruction.access_bytes {
            1 => ".U8",
            2 => ".U16",
            8 => ".64",
            16 => ".128",
            32 => ".256",
            _ => "",
        });
        let hints = &instruction.hints;
        let operator = hints.cache;
        let passes = matches!(
            operator,
            CacheOperator::GlobalLevel | CacheOperator::DontCache
        );
        if passes || hints.volatile {
            opcode.push_str(".STRONG.GPU");
        }
        if hints.path != ReadPath::Coherent || !(passes || operator == CacheOperator::Default) {
            losses.add("instructions with other cache hints", times);
        }
    }
    Written { opcode, reach }
}

/// Returns the opcode's first part, without modifiers.
fn base(
    instruction: &Instruction,
    spaces: Spaces,
    times: u64,
    losses: &mut Losses,
) -> &'static str {
    let class = instruction.class;
    let only = |space| spaces.is_within(&[space]);
    let constant = spaces.is_within(&[Space::Const, Space::Param]);
    let of_space = |global, shared, local, generic| match () {
        () if only(Space::Global) => global,
        () if only(Space::Shared) => shared,
        () if only(Space::Local) => local,
        () => generic,
    };
    let mut instead = |opcode| {
        let what = format!(
            "instructions of class {}, written as {opcode}",
            class.name()
        );
        losses.add(what, times);
        opcode
    };
    match class {
        Class::IntAdd => "IADD",
        Class::IntMul => "IMAD",
        Class::IntDiv | Class::FpDiv => instead("MUFU"),
        Class::DpDiv => instead("DMUL"),
        Class::FpAdd => "FADD",
        Class::FpMul => "FMUL",
        Class::DpAdd => "DADD",
        Class::DpMul => "DMUL",
        Class::Special => "MUFU",
        Class::Convert => "F2F",
        Class::Shuffle => "SHFL",
        Class::Vote => "VOTE",
        Class::Branch => "BRA",
        Class::Launch => instead("BRA"),
        Class::Barrier => "BAR",
        Class::Fence => "MEMBAR",
        Class::Exit => "EXIT",
        Class::Prefetch => instead("CCTL"),
        Class::Load if constant && spaces != Spaces::default() => {
            if spaces.contains(Space::Param) {
                losses.add("argument loads, written as constant loads", times);
            }
            "LDC"
        }
        Class::Load => of_space("LDG", "LDS", "LDL", "LD"),
        Class::Store => of_space("STG", "STS", "STL", "ST"),
        Class::Atomic if only(Space::Global) && instruction.writes.is_empty() => "RED",
        Class::Atomic => of_space("ATOMG", "ATOMS", "ATOMG", "ATOMG"),
    }
}
