//! Commands to the first-level caches: invalidation at the end of a kernel, and changes of the
//! cache size.

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Context, Facts, PortId, PortName, Ports, State, Statistics, Unfit, Waits,
};

use super::WorkGroupTable;
use super::cache_split::CacheSplit;
use crate::compute_unit::config::UnitConfig;
use crate::compute_unit::port_ids;
use crate::compute_unit::spec::LocalMemorySpec;
use crate::launch::{CacheCommand, CacheCommandDone, CacheControlMaster, Dispatch};

/// Bundle of ports to a cache, and its name.
struct ControlledCache {
    control: PortName,
    name: &'static str,
}

/// The caches of a unit: for data, constants and textures.
const CACHES: [ControlledCache; 3] = [
    ControlledCache {
        control: PortName::new("cache_control"),
        name: "first-level cache",
    },
    ControlledCache {
        control: PortName::new("constants_control"),
        name: "cache for constants",
    },
    ControlledCache {
        control: PortName::new("textures_control"),
        name: "cache for textures",
    },
];

/// An invalidation command whose reply is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Invalidation {
    kernel: u32,
    /// Bit mask of the caches that received the command; `done` has those that completed it.
    commanded: u8,
    done: u8,
}

/// The wire to the data cache, and the commands under way.
#[derive(Ports, State, Statistics)]
pub(crate) struct CacheControl {
    #[port(
        optional,
        without = "the lines of the first-level cache are not invalidated when a kernel ends",
        rename = "cache_control"
    )]
    port: CacheControlMaster,
    invalidation: Option<Invalidation>,
    /// Split between first-level cache and local memory; `None` if the cache size is fixed.
    #[state(part)]
    #[statistic(flatten)]
    split: Option<Box<CacheSplit>>,
}

impl CacheControl {
    pub(crate) fn new(local: &LocalMemorySpec) -> Self {
        Self {
            port: CacheControlMaster::default(),
            invalidation: None,
            split: CacheSplit::of(local).map(Box::new),
        }
    }

    pub(crate) fn facts(&self, port: PortId, facts: &mut Facts) {
        if port == port_ids::CACHE_COMMAND
            && let Some(split) = &self.split
        {
            split.publish(facts);
        }
    }

    pub(crate) fn learn(&mut self, port: PortId, facts: &Facts) {
        if let Some(split) = &mut self.split {
            split.learn(port, facts);
        }
    }

    /// Fails where the cache cannot be told to have another size.
    pub(crate) fn check_wires(&self) -> Result<(), Unfit> {
        let is_connected = self.port.command.is_connected();
        let split = self.split.as_ref();
        split.map_or(Ok(()), |split| split.check_wire(is_connected))
    }

    /// Begins to invalidate, because of the end of this kernel.
    pub(crate) fn invalidate(&mut self, kernel: u32) {
        self.invalidation = Some(Invalidation {
            kernel,
            commanded: 0,
            done: 0,
        });
    }

    #[inline]
    pub(crate) fn is_invalidating(&self) -> bool {
        self.invalidation.is_some()
    }

    /// Sends invalidation commands to the caches and receives their responses. Returns the kernel
    /// once the last response has arrived. `others` are the control ports of the constant and
    /// texture caches.
    pub(crate) fn carry_out_invalidation<'a>(
        &'a mut self,
        others: impl Iterator<Item = &'a mut CacheControlMaster>,
        ctx: &mut Context<'_>,
    ) -> Option<u32> {
        let mut invalidation = self.invalidation?;
        let mut is_done = true;
        let controls = std::iter::once(&mut self.port).chain(others);
        for (cache, control) in controls.enumerate() {
            let bit = 1 << cache;
            if !control.command.is_connected() || invalidation.done & bit != 0 {
                continue;
            }
            if invalidation.commanded & bit == 0 {
                let sent = control.command.try_send(ctx, CacheCommand::Invalidate);
                invalidation.commanded |= u8::from(sent.is_ok()) << cache;
            } else if let Some(CacheCommandDone) = control.done.pop(ctx) {
                invalidation.done |= bit;
                continue;
            }
            is_done = false;
        }
        self.invalidation = (!is_done).then_some(invalidation);
        is_done.then_some(invalidation.kernel)
    }

    /// Connected command ports; `others` are the wires to the caches for constants and
    /// textures.
    pub(crate) fn connected_ports<'a>(
        &'a self,
        others: impl Iterator<Item = &'a CacheControlMaster>,
    ) -> impl Iterator<Item = PortId> {
        let controls = std::iter::once(&self.port).chain(others);
        let known = CACHES.iter().zip(controls);
        known
            .filter(|(_, control)| control.command.is_connected())
            .map(|(cache, _)| cache.control.member(CacheControlMaster::COMMAND))
    }

    /// Returns true if a dispatch waits for another size of the cache.
    #[inline]
    pub(crate) fn is_resizing(&self) -> bool {
        let split = self.split.as_ref();
        split.is_some_and(|split| split.is_under_way())
    }

    /// Asks for the size of the cache that the oldest dispatch needs; true if that waits.
    pub(crate) fn resize_for(
        &mut self,
        dispatch: Option<&Dispatch>,
        groups: &WorkGroupTable,
        config: &UnitConfig,
        ctx: &mut Context<'_>,
    ) -> bool {
        let now = ctx.cycle();
        let Some(split) = &mut self.split else {
            return false;
        };
        if split.is_commanded() {
            let has_come = self.port.done.pop(ctx).is_some();
            if has_come {
                split.answered(now);
            }
            return !has_come;
        }
        let Some(Dispatch::Start { kernel, .. }) = dispatch else {
            return false;
        };
        let required = split.required(*kernel, groups, config);
        let command = &mut self.port.command;
        split.change_to(required, now, |resize| {
            command.try_send(ctx, resize).is_ok()
        })
    }

    /// Port and command that give the cache the size for a work-group of this kernel, in no time.
    pub(crate) fn resize_at_once(
        &mut self,
        kernel: u32,
        groups: &WorkGroupTable,
        config: &UnitConfig,
    ) -> Option<(PortId, CacheCommand)> {
        let split = self.split.as_mut()?;
        let required = split.required(kernel, groups, config);
        let command = split.change_at_once(required)?;
        Some((port_ids::CACHE_COMMAND, command))
    }

    /// Names the caches that have not answered.
    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        if let Some(Invalidation {
            commanded, done, ..
        }) = self.invalidation
        {
            for (number, cache) in CACHES.iter().enumerate() {
                if (commanded & !done) >> number & 1 != 0 {
                    let what = format!("the {} has not confirmed its invalidation", cache.name);
                    waits.on_port(cache.control.member(CacheControlMaster::DONE), what);
                }
            }
        }
        if self.is_resizing() {
            waits.on_port(
                "cache_control.done",
                "the first-level cache is being resized",
            );
        }
    }
}
