//! Schedule status table of the LASER paper: the work-groups that run on each unit.

use std::collections::VecDeque;

use warpweave_framework::{SpecError, State};
use warpweave_trace::Parent;

use crate::work_group_scheduler::Placement;

/// Running work-groups by unit, as kernel and index, up to the number of entries of a unit.
#[derive(Default, State)]
pub(super) struct StatusTable {
    /// Maximum number of work-groups of a unit.
    #[state(skip)]
    entries: usize,
    /// True if the table has as many entries for work-groups that have ended.
    #[state(skip)]
    keeps_ended: bool,
    #[state(array)]
    running: Vec<VecDeque<(u32, u32)>>,
    /// Most recently ended work-groups.
    #[state(array)]
    ended: Vec<VecDeque<(u32, u32)>>,
}

impl StatusTable {
    /// Creates an empty table with this number of entries for each unit.
    ///
    /// # Errors
    /// Returns an error if the number of entries is out of range.
    pub(super) fn new(units: u32, entries: u32, keeps_ended: bool) -> Result<Self, SpecError> {
        SpecError::in_range("table_entries", entries, 1..=64)?;
        let none = vec![VecDeque::new(); units as usize];
        Ok(Self {
            entries: entries as usize,
            keeps_ended,
            running: none.clone(),
            ended: none,
        })
    }

    /// Enters a work-group that was placed, if an entry is free.
    pub(super) fn placed(&mut self, placed: Placement) {
        let running = &mut self.running[placed.unit as usize];
        if running.len() < self.entries {
            running.push_back((placed.kernel, placed.work_group));
        }
    }

    /// Removes a work-group that has ended, or moves it to the ended ones.
    pub(super) fn finished(&mut self, finished: Placement) {
        let entry = (finished.kernel, finished.work_group);
        let unit = finished.unit as usize;
        self.running[unit].retain(|&running| running != entry);
        if self.keeps_ended {
            let ended = &mut self.ended[unit];
            ended.push_back(entry);
            if ended.len() > self.entries {
                ended.pop_front();
            }
        }
    }

    /// Returns the unit that runs the work-group of a parent.
    pub(super) fn runs_on(&self, parent: Parent) -> Option<u32> {
        unit_of(&self.running, parent)
    }

    /// Returns the unit on which the work-group of a parent ended recently.
    pub(super) fn ended_on(&self, parent: Parent) -> Option<u32> {
        unit_of(&self.ended, parent)
    }
}

fn unit_of(tables: &[VecDeque<(u32, u32)>], parent: Parent) -> Option<u32> {
    let entry = (parent.kernel, parent.work_group);
    let unit = tables.iter().position(|table| table.contains(&entry));
    unit.map(|unit| unit as u32)
}
