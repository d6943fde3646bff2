//! Lines that were written in a launch, so that a shared level refuses victims that may be stale.
//!
//! Building block for policies of a level that takes clean victims from several first levels. These
//! are not kept coherent: a compute unit may write a line while another one holds an older copy. If
//! that copy came down later, a kernel after the next invalidation could read it. So a victim that
//! was fetched in a launch is refused if its line was written in the same launch.
//!
//! A table hashed by line has the latest launch that wrote. Lines that share an entry cause
//! refusals, never stale lines. Kernels that run side by side are taken for consecutive ones.

use serde::{Deserialize, Serialize};
use warpweave_framework::State;
use warpweave_random::mix;

use super::TagLookup;
use crate::memory::{MemRequest, RequestKind, flags};

/// Largest number of entries of a table.
pub(super) const ENTRIES_MAX: u32 = 1 << 22;

/// Usual number of entries of a table.
pub(super) const ENTRIES: u32 = 1 << 16;

/// Table of the launches that wrote lines.
#[derive(Clone, Debug, State)]
pub struct WrittenLines {
    /// Latest launch plus 1 that wrote a line of an entry, 0 if none did.
    #[state(array)]
    launches: Vec<Written>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Written(u32);

impl WrittenLines {
    /// Creates an empty table; with 0 entries nothing is refused.
    pub fn new(entries: u32) -> Self {
        Self {
            launches: vec![Written::default(); entries as usize],
        }
    }

    fn entry(&self, line: u64) -> Option<usize> {
        let entries = self.launches.len() as u64;
        (entries > 0).then(|| (mix(line) % entries) as usize)
    }

    /// Takes the event of a request that was looked up or passes.
    pub fn on_request(&mut self, access: &TagLookup<'_>) {
        let request = access.request;
        let writes = match request.kind {
            RequestKind::Write | RequestKind::Atomic => true,
            RequestKind::CopyBack => !is_victim(request),
            RequestKind::Read | RequestKind::Prefetch => false,
        };
        if let (true, Some(entry)) = (writes, self.entry(access.line)) {
            let launch = request.source.kernel.saturating_add(1);
            let Written(latest) = &mut self.launches[entry];
            *latest = launch.max(*latest);
        }
    }

    /// True if a request is a clean victim whose line may have been written since it was fetched.
    pub fn refuses(&self, access: &TagLookup<'_>) -> bool {
        let entry = self.entry(access.line).map(|entry| self.launches[entry].0);
        is_victim(access.request) && entry.is_some_and(|it| it > access.request.source.kernel)
    }
}

/// True if a request is a clean line from the level above.
fn is_victim(request: &MemRequest) -> bool {
    request.kind == RequestKind::CopyBack && request.flags & flags::CLEAN != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: RequestKind, kernel: u32, more: u16) -> MemRequest {
        let mut request = MemRequest {
            kind,
            flags: more,
            ..MemRequest::read(1, 256, 1)
        };
        request.source.kernel = kernel;
        request
    }

    fn access(request: &MemRequest) -> TagLookup<'_> {
        TagLookup {
            request,
            line: request.line,
            words: request.words,
            slot: None,
            set: 0,
            global_set: 0,
        }
    }

    #[test]
    fn a_victim_is_refused_if_its_line_was_written_in_its_launch_or_later() {
        let writes = [
            request(RequestKind::Write, 5, 0),
            request(RequestKind::Atomic, 5, 0),
            request(RequestKind::CopyBack, 5, 0),
        ];
        for write in writes {
            let mut written = WrittenLines::new(16);
            let refuses = |written: &WrittenLines, kernel| {
                written.refuses(&access(&request(
                    RequestKind::CopyBack,
                    kernel,
                    flags::CLEAN,
                )))
            };
            assert!(!refuses(&written, 0));
            written.on_request(&access(&write));
            let refused = [4, 5, 6].map(|kernel| refuses(&written, kernel));
            assert_eq!(refused, [true, true, false]);
            assert!(!written.refuses(&access(&request(RequestKind::CopyBack, 4, 0))));
        }
    }

    #[test]
    fn reads_and_victims_write_nothing_and_no_table_refuses_nothing() {
        let clean = request(RequestKind::CopyBack, 5, flags::CLEAN);
        let mut written = WrittenLines::new(16);
        written.on_request(&access(&request(RequestKind::Read, 5, 0)));
        written.on_request(&access(&clean));
        assert!(!written.refuses(&access(&clean)));
        let mut none = WrittenLines::new(0);
        none.on_request(&access(&request(RequestKind::Write, 5, 0)));
        assert!(!none.refuses(&access(&clean)));
    }
}
