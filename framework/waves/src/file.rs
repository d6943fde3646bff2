//! Recording of waveforms and timelines into files.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use warpweave_files::{Output, OutputError};
use warpweave_framework::{Probe, ProbeSink, Simulation, Tick};

use crate::{Format, Names, Selection, Timeline, Waveform};

/// Creates a sink that records `selection` of `simulation` into a file. The file gets its final
/// name `path` when the recording is finished. A timeline takes display names from `names`.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn record_to(
    path: &Path,
    format: Format,
    simulation: &mut Simulation,
    selection: &Selection,
    names: &Names,
) -> Result<Box<dyn ProbeSink>, OutputError> {
    let file = Shared(Arc::new(Mutex::new(Some(Output::create(path)?))));
    let out = BufWriter::new(file.clone());
    let begun: io::Result<Box<dyn ProbeSink>> = match format {
        Format::Vcd => Waveform::vcd(out, simulation, selection).map(|sink| file.named_by(sink)),
        Format::Fst => Waveform::fst(out, simulation, selection).map(|sink| file.named_by(sink)),
        Format::Perfetto => {
            Timeline::new(out, simulation, selection, names).map(|sink| file.named_by(sink))
        }
    };
    begun.map_err(|error| OutputError::of(path, error))
}

/// Output file shared with a sink. It gets its final name when the sink has finished.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Output>>>);

impl Shared {
    fn named_by(&self, sink: impl ProbeSink + 'static) -> Box<dyn ProbeSink> {
        Box::new(InFile {
            sink,
            file: self.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Output>> {
        self.0.lock()
    }

    fn with<R>(&self, work: impl FnOnce(&mut Output) -> io::Result<R>) -> io::Result<R> {
        match &mut *self.lock() {
            Some(file) => work(file),
            None => Err(io::Error::other("the recording has ended")),
        }
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(Output::flush)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.with(|file| file.seek(to))
    }
}

/// Sink together with the file it writes.
struct InFile<S> {
    sink: S,
    file: Shared,
}

impl<S: ProbeSink> ProbeSink for InFile<S> {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        self.sink.record(tick, component, probe);
    }

    fn wants_contents(&self, component: u32) -> bool {
        self.sink.wants_contents(component)
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        let finished = self.sink.finish(now);
        // What is not whole is given up here.
        let file = self.file.lock().take();
        finished?;
        file.map_or(Ok(()), |file| file.finish().map_err(|failed| failed.error))
    }
}
