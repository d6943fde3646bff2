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
    /// Ampere, with traces of binary versions 80, 86 and 87.
    Ampere,
    /// Ada, with traces of binary version 89.
    Ada,
    /// Hopper, with traces of binary version 90.
    Hopper,
    /// Blackwell, with traces of binary versions 100, 101, 103, 110, 120 and 121.
    Blackwell,
}

impl Architecture {
    /// Supported binary versions of traces, with the architecture of each.
    pub const VERSIONS: [(u32, Self); 16] = [
        (35, Self::Kepler),
        (60, Self::Pascal),
        (61, Self::Pascal),
        (70, Self::Volta),
        (75, Self::Turing),
        (80, Self::Ampere),
        (86, Self::Ampere),
        (87, Self::Ampere),
        (89, Self::Ada),
        (90, Self::Hopper),
        (100, Self::Blackwell),
        (101, Self::Blackwell),
        (103, Self::Blackwell),
        (110, Self::Blackwell),
        (120, Self::Blackwell),
        (121, Self::Blackwell),
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

use Architecture::{Ada, Ampere, Blackwell, Hopper, Kepler, Pascal, Turing, Volta};

const fn plain(since: Architecture, until: Architecture, class: Class, names: &'static str) -> Row {
    let reach = AccessSpace::Nothing;
    row(since, until, class, reach, "", names)
}

const fn memory(since: Architecture, class: Class, reach: AccessSpace, names: &'static str) -> Row {
    row(since, Blackwell, class, reach, "", names)
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
        Blackwell,
        Class::IntAdd,
        "IADD IMNMX ISCADD ISET ISETP ISAD ICMP SHF SHL SHR FLO POPC LEA LOP LOP3 \
         LOP32I IADD32I ISCADD32I BFE BFI MOV MOV32I SEL PRMT PSET PSETP CSET CSETP P2R R2P S2R B2R R2B NOP",
    ),
    row(
        Kepler,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Other,
        CONTROL,
        "CCTL CCTLL CCTLT",
    ),
    plain(
        Pascal,
        Blackwell,
        Class::IntAdd,
        "IADD3 CS2R VABSDIFF VADD VMNMX VSET VSHL VSHR LEPC GETLMEMBASE SETLMEMBASE",
    ),
    plain(
        Volta,
        Blackwell,
        Class::IntAdd,
        "BMSK BREV IABS SGXT PLOP3 VABSDIFF4 QSPC CSMTEST PMTRIG SETCTAID BMOV MATCH",
    ),
    plain(
        Turing,
        Blackwell,
        Class::IntAdd,
        "R2UR S2UR UBMSK UBREV UCLEA UFLO UIADD3 UISETP ULDC ULEA ULOP ULOP3 ULOP32I UMOV UP2UR UPLOP3 \
         UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR UIABS UIMNMX MOVM",
    ),
    plain(
        Hopper,
        Blackwell,
        Class::IntAdd,
        "VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX ELECT UIADD64 USETMAXREG",
    ),
    plain(
        Blackwell,
        Blackwell,
        Class::IntAdd,
        "CS2UR LDCU UGETNEXTWORKID UI2I UI2IP ULEPC UVIADD UVIMNMX UVIMNMX3 UVIRTCOUNT UMEMSETS",
    ),
    plain(
        Kepler,
        Blackwell,
        Class::IntMul,
        "IMAD IMADSP IMUL IMUL32I IMAD32I",
    ),
    plain(Pascal, Pascal, Class::IntMul, "XMAD VMAD"),
    plain(Volta, Blackwell, Class::IntMul, "IDP IDP4A"),
    plain(Turing, Blackwell, Class::IntMul, "UIMAD"),
    // Single precision.
    plain(
        Kepler,
        Blackwell,
        Class::FpAdd,
        "FADD FADD32I FCMP FMNMX FSET FSETP FSWZ FSWZADD FCHK FSEL",
    ),
    plain(Kepler, Blackwell, Class::FpMul, "FFMA FFMA32I FMUL FMUL32I"),
    plain(
        Hopper,
        Blackwell,
        Class::FpAdd,
        "FMNMX3 FADD2 FHADD UFADD UFMNMX UFSEL UFSET UFSETP",
    ),
    plain(
        Hopper,
        Blackwell,
        Class::FpMul,
        "FFMA2 FMUL2 FHFMA UFFMA UFMUL",
    ),
    // Double precision.
    plain(Kepler, Blackwell, Class::DpAdd, "DADD DMNMX DSET DSETP"),
    plain(Kepler, Blackwell, Class::DpMul, "DFMA DMUL"),
    // Half precision.
    row(
        Pascal,
        Blackwell,
        Class::FpAdd,
        AccessSpace::Nothing,
        HALF,
        "HADD2 HADD2_32I HADD2_32 HSET2 HSETP2",
    ),
    row(
        Ampere,
        Blackwell,
        Class::FpAdd,
        AccessSpace::Nothing,
        HALF,
        "HMNMX2",
    ),
    row(
        Pascal,
        Blackwell,
        Class::FpMul,
        AccessSpace::Nothing,
        HALF,
        "HFMA2 HFMA2_32I HFMA2_32 HMUL2 HMUL2_32I HMUL2_32",
    ),
    // Functions, conversions, exchanges.
    plain(Kepler, Blackwell, Class::Special, "MUFU RRO"),
    plain(Kepler, Blackwell, Class::Convert, "F2F F2I I2F I2I"),
    plain(Volta, Blackwell, Class::Convert, "FRND I2IP"),
    plain(Ampere, Blackwell, Class::Convert, "F2FP I2FP F2IP UF2FP"),
    plain(
        Blackwell,
        Blackwell,
        Class::Convert,
        "UF2F UF2I UF2IP UFRND UI2F UI2FP",
    ),
    plain(Kepler, Blackwell, Class::Shuffle, "SHFL"),
    plain(Blackwell, Blackwell, Class::Shuffle, "CREDUX"),
    plain(Ampere, Blackwell, Class::Shuffle, "REDUX"),
    plain(Kepler, Blackwell, Class::Vote, "VOTE"),
    plain(Volta, Blackwell, Class::Vote, "VOTE_VTG"),
    plain(Turing, Blackwell, Class::Vote, "VOTEU"),
    // Matrices.
    row(
        Volta,
        Blackwell,
        Class::FpMul,
        AccessSpace::Nothing,
        TENSOR,
        "HMMA",
    ),
    row(
        Volta,
        Blackwell,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "IMMA",
    ),
    row(
        Turing,
        Blackwell,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "BMMA",
    ),
    row(
        Ampere,
        Blackwell,
        Class::DpMul,
        AccessSpace::Nothing,
        TENSOR,
        "DMMA",
    ),
    row(
        Ampere,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Nothing,
        TENSOR,
        "SPMETADATA GENMETADATA",
    ),
    row(
        Hopper,
        Blackwell,
        Class::FpMul,
        AccessSpace::Nothing,
        TENSOR,
        "HGMMA QGMMA",
    ),
    row(
        Hopper,
        Blackwell,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "BGMMA IGMMA",
    ),
    row(
        Hopper,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Nothing,
        TENSOR,
        "WARPGROUP WARPGROUPSET",
    ),
    row(
        Ada,
        Blackwell,
        Class::FpMul,
        AccessSpace::Nothing,
        TENSOR,
        "QMMA",
    ),
    row(
        Blackwell,
        Blackwell,
        Class::FpMul,
        AccessSpace::Nothing,
        TENSOR,
        "OMMA UTCHMMA UTCOMMA UTCQMMA",
    ),
    row(
        Blackwell,
        Blackwell,
        Class::IntMul,
        AccessSpace::Nothing,
        TENSOR,
        "UTCIMMA",
    ),
    row(
        Blackwell,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Other,
        TENSOR,
        "LDT LDTM STT STTM UTCATOMSWS UTCBAR UTCCP UTCLDSWS UTCSHIFT UTCSTSWS",
    ),
    // Control.
    plain(
        Kepler,
        Blackwell,
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
        Blackwell,
        Class::Branch,
        "BREAK BSSY BSYNC NANOSLEEP RPCMOV WARPSYNC YIELD RTT",
    ),
    plain(Turing, Blackwell, Class::Branch, "BRXU JMXU"),
    plain(
        Hopper,
        Blackwell,
        Class::Branch,
        "ACQBULK ENDCOLLECTIVE PREEXIT UCGABAR_ARV UCGABAR_WAIT CGAERRBAR",
    ),
    plain(Blackwell, Blackwell, Class::Branch, "ACQSHMINIT"),
    plain(Kepler, Blackwell, Class::Exit, "EXIT KIL"),
    plain(Volta, Blackwell, Class::Exit, "KILL"),
    plain(Kepler, Blackwell, Class::Barrier, "BAR"),
    plain(Kepler, Blackwell, Class::Fence, "MEMBAR"),
    plain(Volta, Blackwell, Class::Fence, "ERRBAR"),
    plain(Hopper, Blackwell, Class::Fence, "FENCE"),
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
    memory(
        Hopper,
        Class::Atomic,
        AccessSpace::In(Space::Global),
        "REDG",
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
        Blackwell,
        Class::Load,
        AccessSpace::In(Space::Global),
        "its write to local memory",
        "LDGSTS",
    ),
    row(
        Kepler,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Nothing,
        WAITS,
        "DEPBAR TEXDEPBAR",
    ),
    row(
        Ampere,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Nothing,
        WAITS,
        "LDGDEPBAR ARRIVES",
    ),
    row(
        Hopper,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Other,
        WAITS,
        "SYNCS",
    ),
    row(
        Kepler,
        Blackwell,
        Class::Special,
        AccessSpace::Other,
        TEXTURE,
        "TEX TEXS TLD TLDS TLD4 TLD4S TXD TXQ TXA TMML SULD SUST SUATOM SURED SUQ SUCLAMP SUBFM SUEAU",
    ),
    row(
        Hopper,
        Blackwell,
        Class::IntAdd,
        AccessSpace::Other,
        BULK,
        "UREDGR USTGR UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMALST UTMACCTL UTMACMDFLUSH LDGMC REDAS STAS",
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
            "Pascal has no HMMA; it exists in Volta, Turing, Ampere, Ada, Hopper, Blackwell"
        );
        let nowhere = look_up(Architecture::Volta, "FFMAA").expect_err("no such opcode");
        assert!(nowhere.starts_with("did you mean `FFMA`?"), "{nowhere}");
    }
}
