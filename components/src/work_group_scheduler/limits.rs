//! Resource limits of compute units, as stated by the description or by the units.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, Stated, Unfit};

use crate::occupancy::{UnitFacts, UnitLimits};

/// Resources of every compute unit, where the description states them. The units provide the rest;
/// both may state the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatedLimits {
    /// Maximum number of resident wavefronts of 32 threads, 1 to 4096; absent: as published by the
    /// units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wavefront_slots: Option<u32>,
    /// Maximum number of resident work-groups, 1 to 64; absent: as published by the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_group_slots: Option<u32>,
    /// Size of the whole register file in 32-bit registers; a multiple of `register_partitions`.
    /// Absent: as published by the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Equal partitions of the register file, 1 to 8; the registers of a wavefront are all in one
    /// partition. Absent: as published by the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register_partitions: Option<u32>,
    /// Allocation granularity of a wavefront in 32-bit registers; absent: as published by the
    /// units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register_granularity: Option<u32>,
    /// Local memory for work-groups, in bytes; absent: as published by the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_memory_bytes: Option<u32>,
}

/// Resource limits published by one unit.
#[derive(Clone, Debug)]
pub(super) struct UnitReport {
    pub(super) unit: u32,
    pub(super) facts: UnitFacts,
    pub(super) stated: Option<Stated>,
}

impl UnitReport {
    /// Returns the place where the unit states the field `limit`.
    pub(super) fn place_of(&self, limit: &str) -> Option<Stated> {
        let field = match limit {
            "local_memory_bytes" => "local_memory.bytes",
            same => same,
        };
        (self.stated.clone()).map(|stated| stated.field(field.to_owned()))
    }
}

impl From<UnitLimits> for StatedLimits {
    fn from(limits: UnitLimits) -> Self {
        Self {
            wavefront_slots: Some(limits.wavefront_slots),
            work_group_slots: Some(limits.work_group_slots),
            registers: Some(limits.registers),
            register_partitions: Some(limits.register_partitions),
            register_granularity: Some(limits.register_granularity),
            local_memory_bytes: Some(limits.local_memory_bytes),
        }
    }
}

/// Converts the limits published by a unit.
impl From<UnitFacts> for StatedLimits {
    fn from(facts: UnitFacts) -> Self {
        Self {
            wavefront_slots: Some(facts.wavefront_slots),
            work_group_slots: Some(facts.work_group_slots),
            registers: Some(facts.registers),
            register_partitions: facts.register_partitions,
            register_granularity: facts.register_granularity,
            local_memory_bytes: Some(facts.local_memory_bytes),
        }
    }
}

impl StatedLimits {
    /// Returns each limit with its field name.
    fn named(&self) -> [(&'static str, Option<u32>); 6] {
        [
            ("wavefront_slots", self.wavefront_slots),
            ("work_group_slots", self.work_group_slots),
            ("registers", self.registers),
            ("register_partitions", self.register_partitions),
            ("register_granularity", self.register_granularity),
            ("local_memory_bytes", self.local_memory_bytes),
        ]
    }

    /// Checks that the stated limits are in range.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        let register_partitions = self.register_partitions.unwrap_or(1);
        let filled = UnitLimits {
            wavefront_slots: self.wavefront_slots.unwrap_or(1),
            work_group_slots: self.work_group_slots.unwrap_or(1),
            registers: self.registers.unwrap_or(register_partitions),
            register_partitions,
            register_granularity: self.register_granularity.unwrap_or(1),
            local_memory_bytes: self.local_memory_bytes.unwrap_or(0),
        };
        filled.check("unit")
    }

    /// Fails if a unit publishes a limit that differs from the stated one.
    pub(super) fn agree(&self, unit: &UnitReport) -> Result<(), Unfit> {
        let said = Self::from(unit.facts).named();
        for ((name, stated), (_, said)) in self.named().into_iter().zip(said) {
            if let (Some(stated), Some(said)) = (stated, said)
                && stated != said
            {
                let number = unit.unit;
                let message =
                    format!("{stated} is specified, but compute unit {number} has {said}");
                return Err(Unfit::at(format!("unit.{name}"), message)
                    .beside(format!("it has {said}"), unit.place_of(name)));
            }
        }
        Ok(())
    }

    /// Returns the error for two units that publish different limits.
    pub(super) fn unlike(one: &UnitReport, other: &UnitReport) -> Unfit {
        let numbers = Self::from(one.facts).named().into_iter();
        let mut numbers = numbers.zip(Self::from(other.facts).named());
        let differing = numbers.find(|((_, one), (_, other))| one != other);
        let said = |number: Option<u32>| number.map_or("unspecified".to_owned(), |n| n.to_string());
        let Some(((name, a), (_, b))) = differing else {
            return Unfit::at(
                "unit",
                "all compute units of a work-group scheduler must have the same resources",
            );
        };
        let (a, b) = (said(a), said(b));
        let message = format!(
            "all compute units of a work-group scheduler must have the same resources, but {name} of unit {} is {a} and of unit {} {b}",
            one.unit, other.unit
        );
        Unfit::at("unit", message)
            .beside(format!("unit {}: {a}", one.unit), one.place_of(name))
            .beside(format!("unit {}: {b}", other.unit), other.place_of(name))
    }

    /// Returns the stated limits, completed by those of the units.
    pub(super) fn complete(&self, said: Option<UnitFacts>) -> Result<UnitLimits, Unfit> {
        let said = said.map_or_else(Self::default, Self::from);
        let of = |stated: Option<u32>, said: Option<u32>, name: &str| {
            stated.or(said).ok_or_else(|| {
                let message = "not specified, and the compute units do not provide it";
                Unfit::at(format!("unit.{name}"), message)
            })
        };
        let mut values = [0; 6];
        for (value, ((name, stated), (_, said))) in values
            .iter_mut()
            .zip(self.named().into_iter().zip(said.named()))
        {
            *value = of(stated, said, name)?;
        }
        let [
            wavefront_slots,
            work_group_slots,
            registers,
            register_partitions,
            register_granularity,
            local_memory_bytes,
        ] = values;
        let limits = UnitLimits {
            wavefront_slots,
            work_group_slots,
            registers,
            register_partitions,
            register_granularity,
            local_memory_bytes,
        };
        let checked = limits.check("unit");
        checked.map_err(|error| Unfit::at(error.field, error.message))?;
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: UnitFacts = UnitFacts {
        wavefront_slots: 48,
        work_group_slots: 8,
        registers: 32768,
        register_partitions: None,
        register_granularity: Some(64),
        local_memory_bytes: 16384,
    };

    fn said(unit: u32, facts: UnitFacts) -> UnitReport {
        UnitReport {
            unit,
            facts,
            stated: None,
        }
    }

    #[test]
    fn units_complete_what_is_not_stated() {
        let stated = StatedLimits {
            register_partitions: Some(2),
            ..StatedLimits::default()
        };
        assert_eq!(stated.agree(&said(3, SAID)), Ok(()));
        let limits = stated.complete(Some(SAID)).unwrap();
        assert_eq!((limits.register_partitions, limits.registers), (2, 32768));
        assert_eq!(StatedLimits::from(limits).complete(None), Ok(limits));
    }

    #[test]
    fn what_nobody_says_is_missed_by_name() {
        let error = StatedLimits::default().complete(Some(SAID)).unwrap_err();
        assert_eq!(error.field, "unit.register_partitions");
        let error = StatedLimits::default().complete(None).unwrap_err();
        assert_eq!(error.field, "unit.wavefront_slots");
    }

    #[test]
    fn a_number_that_differs_from_the_units_is_refused_with_both() {
        let stated = StatedLimits {
            registers: Some(65536),
            ..StatedLimits::default()
        };
        let error = stated.agree(&said(3, SAID)).unwrap_err();
        assert_eq!(error.field, "unit.registers");
        assert_eq!(
            error.message,
            "65536 is specified, but compute unit 3 has 32768"
        );
    }

    #[test]
    fn units_that_differ_are_named_with_the_number() {
        let other = UnitFacts {
            register_granularity: None,
            ..SAID
        };
        let error = StatedLimits::unlike(&said(0, SAID), &said(5, other));
        let end = "but register_granularity of unit 0 is 64 and of unit 5 unspecified";
        assert!(error.message.ends_with(end), "{}", error.message);
    }

    #[test]
    fn what_is_said_must_go_together_with_what_is_stated() {
        let stated = StatedLimits {
            register_partitions: Some(3),
            ..StatedLimits::default()
        };
        assert!(stated.check().is_ok());
        let error = stated.complete(Some(SAID)).unwrap_err();
        assert_eq!(error.field, "unit.registers");
    }
}
