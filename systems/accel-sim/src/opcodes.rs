//! Opcodes of each architecture and the units that execute them.
//!
//! Source: the instruction set references of the CUDA binary utilities, for the names. The classes
//! match those of the PTX front end, so that a machine's latencies mean the same for both.

use warpweave_params::name_hint;
use warpweave_trace::{Class, Space};

/// Hardware generation, identified by the binary version of its traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    /// Kepler, with traces of binary version 35.
    Kepler,
    /// Pascal, with traces of binary versions 60 and 61.
    Pascal,
    /// Volta, with traces of binary version 70.
    Volta,
    /// Turing, with traces of binary version 75.
    Turing,
    /// Ampere, with traces of binary versions 80 and 86.
    Ampere,
    /// Hopper, with traces of binary version 90.
    Hopper,
}

impl Architecture {
    /// Supported binary versions of traces, with the architecture of each.
    pub const VERSIONS: [(u32, Self); 8] = [
        (35, Self::Kepler),
        (60, Self::Pascal),
        (61, Self::Pascal),
        (70, Self::Volta),
        (75, Self::Turing),
        (80, Self::Ampere),
        (86, Self::Ampere),
        (90, Self::Hopper),
    ];

    /// Returns the architecture of a binary version.
    pub fn of_version(version: u32) -> Option<Self> {
        let found = Self::VERSIONS.iter().find(|(known, _)| *known == version);
        found.map(|(_, architecture)| *architecture)
    }
}

/// Memory space that an opcode accesses, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessSpace {
    /// The opcode does not access memory.
    Nothing,
    /// Accesses this space; the addresses are in the trace.
    In(Space),
    /// Accesses the space whose window contains the address.
    Generic,
    /// Accesses something that is not modelled; addresses in the trace are ignored.
    Other,
}

/// Properties of an opcode: class, memory space and modelling gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opcode {
    pub(crate) class: Class,
    pub(crate) reach: AccessSpace,
    /// Behavior that the class does not model; empty if there is none of note.
    pub(crate) lacks: &'static str,
}

/// Opcodes that share the same properties.
struct Row {
    since: Architecture,
    until: Architecture,
    opcode: Opcode,
    names: &'static str,
}

use Architecture::{Ampere, Hopper, Kepler, Pascal, Turing, Volta};

const fn plain(since: Architecture, until: Architecture, class: Class, names: &'static str) -> Row {
    let reach = AccessSpace::Nothing;
    row(since, until, class, reach, "", names)
}

const fn memory(since: Architecture, class: Class, reach: AccessSpace, names: &'static str) -> Row {
    row(since, Hopper, class, reach, "", names)
}

const fn row(
    since: Architecture,
    until: Architecture,
    class: Class,
    reach: AccessSpace,
    lacks: &'static str,
    names: &'static str,
) -> Row {
    Row {
        since,
        until,
        opcode: Opcode {
            class,
            reach,
            lacks,
        },
        names,
    }
}

const TENSOR: &str = "tensor units";
const HALF: &str = "the initiation interval of half precision";
const TEXTURE: &str = "textures and surfaces";
const WAITS: &str = "waiting for outstanding copies";
const CONTROL: &str = "control of caches";
const BULK: &str = "bulk copies";

/// Opcode table. Each name appears once for each architecture.
const ROWS: &[Row] = &[
    // Integers.
    plain(
        Kepler,
        Hopper,
        Class::IntAdd,
        "IADD IMNMX ISCADD ISET ISETP ISAD ICMP SHF SHL SHR FLO POPC LEA LOP LOP3 \
         LOP32I IADD32I ISCADD32I BFE BFI MOV MOV32I SEL PRMT PSET PSETP CSET CSETP P2R R2P S2R B2R R2B NOP",
    ),
    row(
        Kepler,
        Hopper,
        Class::IntAdd,
        AccessSpace::Other,
        CONTROL,
        "CCTL CCTLL CCTLT",
    ),
    plain(
        Pascal,
        Hopper,
        Class::IntAdd,
        "IADD3 CS2R VABSDIFF VADD VMNMX VSET VSHL VSHR LEPC GETLMEMBASE SETLMEMBASE",
    ),
    plain(
        Volta,
        Hopper,
        Class::IntAdd,
        "BMSK BREV IABS SGXT PLOP3 VABSDIFF4 QSPC CSMTEST PMTRIG SETCTAID BMOV MATCH",
    ),
    plain(
        Turing,
        Hopper,
        Class::IntAdd,
        "R2UR S2UR UBMSK UBREV UCLEA UFLO UIADD3 UISETP ULDC ULEA ULOP ULOP3 ULOP32I UMOV UP2UR UPLOP3 \
         UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR UIABS UIMNMX MOVM",
    ),
    plain(
        Hopper,
        Hopper,
        Class::IntAdd,
        "VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX ELECT UIADD64 USETMAXREG",
    ),
    plain(
        Kepler,
        Hopper,
        Class::IntMul,
        "IMAD IMADSP IMUL IMUL32I IMAD32I",
    ),
    plain(Pascal, Pascal, Class::IntMul, "XMAD VMAD"),
    plain(Volta, Hopper, Class::IntMul, "IDP IDP4A"),
    plain(Turing, Hopper, Class::IntMul, "UIMAD"),
    // Single precision.
    plain(
        Kepler,
        Hopper,
        Class::FpAdd,
        "FADD FADD32I FCMP FMNMX FSET FSETP FSWZ FSWZADD FCHK FSEL",
    ),
    plain(Kepler, Hopper, Class::FpMul, "FFMA FFMA32I FMUL FMUL32I"),
    // Double precision.
    plain(Kepler, Hopper, Class::DpAdd, "DADD DMNMX DSET DSETP"),
    plain(Kepler, Hopper, Class::DpMul, "DFMA DMUL"),
    // Half precision.
    row(
        Pascal,
        Hopper,
        Class::FpAdd,
        AccessSpace::Nothing,
        HALF,
        "HADD2 HADD2_32I HADD2_32 HSET2 HSETP2",
    ),
    row(
        Ampere,
        Hopper,
        Class::FpAdd,
        AccessSpace::Nothing,
        HALF,
        "HMNMX2",
    ),
    row(
        Pascal,
        Hopper,
        Class::FpMul,
        AccessSpace::Nothing,
        HALF,
        "HFMA2 HFMA2_32I HFMA2_32 HMUL2 HMUL2_32I HMUL2_32",
    ),
    // Functions, conversions, exchanges.
    plain(Kepler, Hopper, Class::Special, "MUFU RRO"),
    plain(Kepler, Hopper, Class::Convert, "F2F F2I I2F I2I"),
    plain(Volta, Hopper, Class::Convert, "FRND I2IP"),
    plain(Ampere, Hopper, Class::Convert, "F2FP I2FP F2IP UF2FP"),
    plain(Kepler, Hopper, Class::Shuffle, "SHFL"),
    plain(Ampere, Hopper, Class::Shuffle, "REDUX"),
    plain(Kepler, Hopper, Class::Vote, "VOTE"),
    plain(Volta, Hopper, Class::Vote, "VOTE_VTG"),
    plain(Turing, Hopper, Class::Vote, "VOTEU"),
    // Matrices.
    row(
        Volta,
        Hopper,
        Class::FpMul,
        AccessSpace::Nothing,
        TENSOR,
        "HMMA",
    ),
    row(
        Volta,
        Hopper,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "IMMA",
    ),
    row(
        Turing,
        Hopper,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "BMMA",
    ),
    row(
        Ampere,
        Hopper,
        Class::DpMul,
        AccessSpace::Nothing,
        TENSOR,
        "DMMA",
    ),
    row(
        Ampere,
        Hopper,
        Class::IntAdd,
        AccessSpace::Nothing,
        TENSOR,
        "SPMETADATA GENMETADATA",
    ),
    row(
        Hopper,
        Hopper,
        Class::FpMul,
        AccessSpace::Nothing,
        TENSOR,
        "HGMMA QGMMA",
    ),
    row(
        Hopper,
        Hopper,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "BGMMA IGMMA",
    ),
    row(
        Hopper,
        Hopper,
        Class::IntAdd,
        AccessSpace::Nothing,
        TENSOR,
        "WARPGROUP WARPGROUPSET",
    ),
    // Control.
    plain(
        Kepler,
        Hopper,
        Class::Branch,
        "BRA BRX JMP JMX CALL RET BPT",
    ),
    plain(
        Kepler,
        Pascal,
        Class::Branch,
        "SSY SYNC CAL JCAL PRET BRK PBK CONT PCNT PEXIT LONGJMP PLONGJMP",
    ),
    plain(
        Volta,
        Hopper,
        Class::Branch,
        "BREAK BSSY BSYNC NANOSLEEP RPCMOV WARPSYNC YIELD RTT",
    ),
    plain(Turing, Hopper, Class::Branch, "BRXU JMXU"),
    plain(
        Hopper,
        Hopper,
        Class::Branch,
        "ACQBULK ENDCOLLECTIVE PREEXIT UCGABAR_ARV UCGABAR_WAIT CGAERRBAR",
    ),
    plain(Kepler, Hopper, Class::Exit, "EXIT KIL"),
    plain(Volta, Hopper, Class::Exit, "KILL"),
    plain(Kepler, Hopper, Class::Barrier, "BAR"),
    plain(Kepler, Hopper, Class::Fence, "MEMBAR"),
    plain(Volta, Hopper, Class::Fence, "ERRBAR"),
    plain(Hopper, Hopper, Class::Fence, "FENCE"),
    // Memory.
    memory(
        Kepler,
        Class::Load,
        AccessSpace::In(Space::Global),
        "LDG LDU",
    ),
    memory(Kepler, Class::Store, AccessSpace::In(Space::Global), "STG"),
    memory(
        Kepler,
        Class::Atomic,
        AccessSpace::In(Space::Global),
        "ATOM RED",
    ),
    memory(
        Volta,
        Class::Atomic,
        AccessSpace::In(Space::Global),
        "ATOMG",
    ),
    memory(Kepler, Class::Load, AccessSpace::In(Space::Shared), "LDS"),
    memory(Turing, Class::Load, AccessSpace::In(Space::Shared), "LDSM"),
    memory(Kepler, Class::Store, AccessSpace::In(Space::Shared), "STS"),
    memory(Hopper, Class::Store, AccessSpace::In(Space::Shared), "STSM"),
    memory(
        Kepler,
        Class::Atomic,
        AccessSpace::In(Space::Shared),
        "ATOMS",
    ),
    memory(Kepler, Class::Load, AccessSpace::In(Space::Local), "LDL"),
    memory(Kepler, Class::Store, AccessSpace::In(Space::Local), "STL"),
    memory(Kepler, Class::Load, AccessSpace::In(Space::Const), "LDC"),
    memory(Kepler, Class::Load, AccessSpace::Generic, "LD"),
    memory(Kepler, Class::Store, AccessSpace::Generic, "ST"),
    row(
        Ampere,
        Hopper,
        Class::Load,
        AccessSpace::In(Space::Global),
        "its write to local memory",
        "LDGSTS",
    ),
    row(
        Kepler,
        Hopper,
        Class::IntAdd,
        AccessSpace::Nothing,
        WAITS,
        "DEPBAR TEXDEPBAR",
    ),
    row(
        Ampere,
        Hopper,
        Class::IntAdd,
        AccessSpace::Nothing,
        WAITS,
        "LDGDEPBAR ARRIVES",
    ),
    row(
        Hopper,
        Hopper,
        Class::IntAdd,
        AccessSpace::Other,
        WAITS,
        "SYNCS",
    ),
    row(
        Kepler,
        Hopper,
        Class::Special,
        AccessSpace::Other,
        TEXTURE,
        "TEX TEXS TLD TLDS TLD4 TLD4S TXD TXQ TXA TMML SULD SUST SUATOM SURED SUQ SUCLAMP SUBFM SUEAU",
    ),
    row(
        Hopper,
        Hopper,
        Class::IntAdd,
        AccessSpace::Other,
        BULK,
        "UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMALST UTMACCTL UTMACMDFLUSH LDGMC REDAS STAS",
    ),
];

/// Returns the properties of opcode `text`; only the part before the first dot matters.
///
/// # Errors
/// Returns an error that suggests similar opcodes of the architecture.
pub(crate) fn look_up(architecture: Architecture, text: &str) -> Result<Opcode, String> {
    let base = text.split('.').next().unwrap_or_default();
    let of = |architecture: Architecture| {
        let rows = ROWS
            .iter()
            .filter(move |row| row.since <= architecture && architecture <= row.until);
        rows.flat_map(|row| row.names.split_whitespace().map(|name| (name, row.opcode)))
    };
    if let Some((_, opcode)) = of(architecture).find(|(name, _)| *name == base) {
        return Ok(opcode);
    }
    let others = Architecture::VERSIONS.map(|(_, other)| other);
    let others = others
        .into_iter()
        .filter(|&other| of(other).any(|(name, _)| name == base));
    let mut others: Vec<_> = others.map(|other| format!("{other:?}")).collect();
    others.dedup();
    Err(if others.is_empty() {
        let names: Vec<_> = of(architecture).map(|(name, _)| name).collect();
        name_hint(base, &format!("opcodes of {architecture:?}"), names)
    } else {
        format!(
            "{architecture:?} has no {base}; it exists in {}",
            others.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_each_of_its_opcodes_once() {
        for (_, architecture) in Architecture::VERSIONS {
            let rows = ROWS
                .iter()
                .filter(|row| row.since <= architecture && architecture <= row.until);
            let mut names: Vec<_> = rows.flat_map(|row| row.names.split_whitespace()).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{architecture:?}");
        }
    }

    #[test]
    fn only_the_part_before_the_first_dot_is_looked_up() {
        let load = look_up(Architecture::Volta, "LDG.E.64.SYS").expect("known");
        assert_eq!(load.class, Class::Load);
        assert_eq!(load.reach, AccessSpace::In(Space::Global));
    }

    #[test]
    fn an_opcode_of_another_architecture_or_of_none_is_answered_with_what_there_is() {
        let elsewhere = look_up(Architecture::Pascal, "HMMA.884").expect_err("Pascal has none");
        assert_eq!(
            elsewhere,
            "Pascal has no HMMA; it exists in Volta, Turing, Ampere, Hopper"
        );
        let nowhere = look_up(Architecture::Volta, "FFMAA").expect_err("no such opcode");
        assert!(nowhere.starts_with("did you mean `FFMA`?"), "{nowhere}");
    }
}
