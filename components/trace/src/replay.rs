//! Reading the records of a launch through a cursor, wherever its streams are stored.

use crate::arrivals::{Arrival, StreamStorage, read_again};
use crate::kernel::Data;
use crate::window::{Window, Windows};
use crate::{Cursor, KernelTrace, Lanes, Record};

impl Cursor {
    /// Returns the wavefront's next record, or `None` after the last. Lane addresses of a memory
    /// record go to `lanes`. Other records set its shape to [`Shape::None`](crate::Shape::None).
    #[inline]
    pub fn next(&mut self, kernel: &KernelTrace, lanes: &mut Lanes) -> Option<Record> {
        if self.run == 0 {
            return self.next_in_stream(kernel, lanes);
        }
        self.run -= 1;
        Some(self.plain(lanes))
    }

    /// Like [`Cursor::next`], but reads into an existing record with its lanes, overwriting it.
    /// Returns false after the last record. `kernel` is called only when needed, because most
    /// records need no kernel lookup.
    #[inline(always)]
    pub fn advance<'a>(
        &mut self,
        kernel: impl FnOnce() -> &'a KernelTrace,
        record: &mut Record,
        lanes: &mut Lanes,
    ) -> bool {
        if self.run == 0 {
            let next = self.next_in_stream(kernel(), lanes);
            return next.map(|next| *record = next).is_some();
        }
        self.run -= 1;
        *record = self.plain(lanes);
        true
    }

    /// Reads the next record from the stream.
    #[inline(never)]
    fn next_in_stream(&mut self, kernel: &KernelTrace, lanes: &mut Lanes) -> Option<Record> {
        match kernel.data() {
            Data::Memory(data) => {
                let (start, length) = kernel.extent(self.stream)?;
                let data = data.get(start as usize..)?;
                self.next_token(data, length, lanes)
            }
            _ => self.next_elsewhere(kernel, lanes),
        }
    }

    /// Like [`Self::next_token`], for a stream that is not stored in one block with the others.
    #[cold]
    #[inline(never)]
    fn next_elsewhere(&mut self, kernel: &KernelTrace, lanes: &mut Lanes) -> Option<Record> {
        let stream = self.stream;
        match kernel.data() {
            Data::Memory(_) => None,
            Data::StoredStreams(filed) => {
                let extent = kernel.extent(stream)?;
                let load = |position| filed.load(stream, extent, position);
                self.next_within(&mut filed.of(stream), extent.1, load, lanes)
            }
            Data::Arriving(arrivals) => {
                let mut slot = arrivals.slot(stream);
                match &mut *slot {
                    // The emulation failed, or the streams are no longer needed.
                    Arrival::Expected | Arrival::Wanted => None,
                    Arrival::Gone { length, .. } if self.position >= *length => None,
                    Arrival::Gone { .. } => read_again(stream),
                    Arrival::Here {
                        bytes,
                        length,
                        counts,
                        ..
                    } => {
                        let (length, counts) = (*length, *counts);
                        let in_memory = matches!(bytes, StreamStorage::Memory(_));
                        let record = match bytes {
                            StreamStorage::Memory(bytes) => self.next_token(bytes, length, lanes),
                            StreamStorage::Spilled(stream, windows) => {
                                let load = |position| {
                                    let window = stream.window(position);
                                    window.inspect_err(|error| arrivals.failed(error)).ok()
                                };
                                self.next_within(windows, length, load, lanes)
                            }
                        };
                        if self.position >= length {
                            *slot = Arrival::Gone { length, counts };
                            drop(slot);
                            if in_memory {
                                arrivals.dropped(length);
                            }
                        }
                        record
                    }
                }
            }
        }
    }

    /// Like [`Self::next_token`], for a stream of `length` bytes that is read through a window.
    fn next_within(
        &mut self,
        windows: &mut Windows,
        length: u64,
        load: impl Fn(u64) -> Option<Window> + Copy,
        lanes: &mut Lanes,
    ) -> Option<Record> {
        while self.position < length {
            let Some(window) = windows.at(self.position, load) else {
                return self.fail();
            };
            let Window {
                first,
                end,
                bytes,
                from,
            } = window;
            let mut here = self.moved_to(self.position - *first);
            let record = here.next_token(&bytes[*from..], *end - *first, lanes);
            if here.position == u64::MAX {
                return self.fail();
            }
            *self = here.moved_to(*first + here.position);
            if self.position >= length {
                windows.leave(self.position);
            }
            if record.is_some() {
                return record;
            }
        }
        None
    }
}
