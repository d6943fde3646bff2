//! Tracks of a timeline, created when they are first used.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::perfetto::{Kind, Trace, Track};

/// Tracks of hierarchical names and of counters.
pub(crate) struct Tracks {
    /// Paths of the components, by number.
    paths: Vec<String>,
    groups: BTreeMap<String, Track>,
    counters: BTreeMap<(u32, String), Track>,
}

impl Tracks {
    /// Creates no track yet, for components with these paths.
    pub(crate) fn new(paths: Vec<String>) -> Self {
        Self {
            paths,
            groups: BTreeMap::new(),
            counters: BTreeMap::new(),
        }
    }

    /// Returns the track of the hierarchical name `path`, below those of its prefixes.
    pub(crate) fn group<W: Write>(
        &mut self,
        trace: &mut Trace<W>,
        path: &str,
    ) -> io::Result<Track> {
        if let Some(track) = self.groups.get(path) {
            return Ok(*track);
        }
        let (parent, name) = match path.rsplit_once('.') {
            Some((above, name)) => (Some(self.group(trace, above)?), name),
            None => (None, path),
        };
        let track = trace.track(name, parent, Kind::Slices)?;
        self.groups.insert(path.to_owned(), track);
        Ok(track)
    }

    /// Returns the track of a component.
    pub(crate) fn component<W: Write>(
        &mut self,
        trace: &mut Trace<W>,
        number: u32,
    ) -> io::Result<Track> {
        let path = std::mem::take(&mut self.paths[number as usize]);
        let track = self.group(trace, &path);
        self.paths[number as usize] = path;
        track
    }

    /// Returns the track of counter `name` of component `number`, or of the event world for
    /// [`u32::MAX`].
    pub(crate) fn counter<W: Write>(
        &mut self,
        trace: &mut Trace<W>,
        number: u32,
        name: &str,
    ) -> io::Result<Track> {
        let key = (number, name.to_owned());
        if let Some(track) = self.counters.get(&key) {
            return Ok(*track);
        }
        let (parent, name) = if number != u32::MAX {
            (Some(self.component(trace, number)?), name)
        } else if let Some((scope, name)) = name.rsplit_once('.') {
            (Some(self.group(trace, scope)?), name)
        } else {
            (None, name)
        };
        let track = trace.track(name, parent, Kind::Counter)?;
        self.counters.insert(key, track);
        Ok(track)
    }
}
