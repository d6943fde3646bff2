//! Indexed traces (`.tracez`): compressed series of lines for each warp, located by an index at the
//! end of the file.
//!
//! ```text
//! header text, 0 | dictionary bytes: u32 | lines of a series: u32 | dictionary | warps ... | index | place of index: u64
//! warp:  instructions: u32 | series: u32 | (packed bytes: u32 | zstd frame) for each series
//! index: blocks: u32 | for each block: block, cluster, block in cluster: 3 u32 each | rank: u32 | warps: u32
//!                      for each warp: instructions: u32 | series: u32 | offset: u64 | lines: u32 for each series
//! ```

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use warpweave_files::Input;
use warpweave_params::Diagnostic;

use crate::body::{Blocks, Sink, instruction};
use crate::error::unreadable;
use crate::header::Header;
use crate::instruction::Place;
use crate::text::{Line, Lines};
use crate::{AccelSimError, Quirks};

/// Maximum size of the header, in bytes.
const HEADER_BYTES_MAX: u64 = 64 << 10;

/// Maximum size of the compression dictionary, in bytes.
const DICTIONARY_BYTES_MAX: u32 = 16 << 20;

/// Maximum size of a compressed series, in bytes.
const SERIES_BYTES_MAX: u32 = 64 << 20;

/// True if the file name has the extension of an indexed trace.
pub(crate) fn is_indexed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "tracez")
}

/// Reads an indexed trace block by block, in the order of the index.
pub(crate) fn walk(path: &Path, quirks: Quirks, sink: &mut dyn Sink) -> Result<(), AccelSimError> {
    let (header, mut body) = Body::open(path)?;
    sink.header(&header)?;
    let mut index = body.index()?;
    let mut blocks = Blocks::new(quirks);
    let count = index.number()?;
    for _ in 0..count {
        let numbers = [index.number()?, index.number()?, index.number()?];
        // Cluster, place in it and rank.
        for _ in 0..7 {
            index.number()?;
        }
        let named = index.named(numbers);
        let line = Line {
            name: &named,
            number: 1,
            text: "",
        };
        let work_group = blocks
            .next(&header, numbers)
            .map_err(|problem| line.refuse(0, 0, problem))?;
        let warps = index.number()?;
        if warps > header.warps() {
            let problem = format!("{warps} warps, but the header says {}", header.warps());
            return Err(line.refuse(0, 0, problem).into());
        }
        for warp in 0..warps {
            let place = Place {
                block: numbers,
                work_group,
                warp,
            };
            sink.warp(place, line)?;
            let (instructions, series) = (index.number()?, index.number()?);
            let offset = index.long()?;
            for _ in 0..series {
                index.number()?;
            }
            body.warp(offset, (instructions, series), &header, place, sink)?;
            sink.end_of_warp()?;
        }
    }
    Ok(())
}

/// Part of the file that holds the warps.
struct Body {
    path: PathBuf,
    file: File,
    dictionary: Vec<u8>,
    size: u64,
}

impl Body {
    fn open(path: &Path) -> Result<(Header, Self), Diagnostic> {
        let opened = Input::open(path).map_err(|error| unreadable(path, &error))?;
        let size = opened.size();
        let mut file = BufReader::new(opened.into_file());
        let mut text = Vec::new();
        let mut head = file.by_ref().take(HEADER_BYTES_MAX);
        let read = head.read_until(0, &mut text);
        read.map_err(|error| unreadable(path, &error))?;
        if text.pop() != Some(0) {
            let message = format!(
                "{}: expected a header that ends with a 0 byte",
                path.display()
            );
            return Err(Diagnostic::error(message));
        }
        let header = Header::read(&mut Lines::of(&text[..], path))?;
        let mut body = Self {
            path: path.to_owned(),
            file: File::open(path).map_err(|error| unreadable(path, &error))?,
            dictionary: Vec::new(),
            size,
        };
        let bytes = body.number(&mut file)?;
        // Lines of a series, which are counted by the index.
        body.number(&mut file)?;
        if bytes > DICTIONARY_BYTES_MAX {
            return Err(body.refuse(format!(
                "a dictionary of {bytes} bytes; the maximum is 16 MiB"
            )));
        }
        body.dictionary = vec![0; bytes as usize];
        let read = file.read_exact(&mut body.dictionary);
        read.map_err(|error| unreadable(path, &error))?;
        Ok((header, body))
    }

    fn refuse(&self, problem: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(format!("{}: {problem}", self.path.display()))
    }

    fn number(&self, file: &mut impl Read) -> Result<u32, Diagnostic> {
        let mut bytes = [0; 4];
        let read = file.read_exact(&mut bytes);
        read.map_err(|error| unreadable(&self.path, &error))?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn seek(&mut self, offset: u64) -> Result<(), Diagnostic> {
        if offset >= self.size {
            return Err(self.refuse(format!(
                "offset {offset} is outside the file of {} bytes",
                self.size
            )));
        }
        let sought = self.file.seek(SeekFrom::Start(offset));
        sought
            .map(|_| ())
            .map_err(|error| unreadable(&self.path, &error))
    }

    /// Parses the index, starting at its first number.
    fn index(&mut self) -> Result<Index, Diagnostic> {
        self.seek(self.size.saturating_sub(8))?;
        let problem = |error: io::Error| unreadable(&self.path, &error);
        let mut bytes = [0; 8];
        self.file.read_exact(&mut bytes).map_err(problem)?;
        let offset = u64::from_le_bytes(bytes);
        let mut file = File::open(&self.path).map_err(problem)?;
        file.seek(SeekFrom::Start(offset)).map_err(problem)?;
        Ok(Index {
            path: self.path.clone(),
            file: BufReader::new(file),
        })
    }

    /// Reads the warp at `offset`; the index gives its number of instructions and series.
    fn warp(
        &mut self,
        offset: u64,
        counts: (u32, u32),
        header: &Header,
        place: Place,
        sink: &mut dyn Sink,
    ) -> Result<(), AccelSimError> {
        self.seek(offset)?;
        let mut file = BufReader::new(&self.file);
        let there = (self.number(&mut file)?, self.number(&mut file)?);
        if there != counts {
            let problem = format!(
                "offset {offset}: {} instructions in {} series, but the index says {} in {}",
                there.0, there.1, counts.0, counts.1
            );
            return Err(self.refuse(problem).into());
        }
        let [x, y, z] = place.block;
        let name = format!(
            "{}, block {x},{y},{z}, warp {}",
            self.path.display(),
            place.warp
        );
        let mut read = 0;
        for series in 0..counts.1 {
            let bytes = self.number(&mut file)?;
            if bytes > SERIES_BYTES_MAX {
                return Err(self
                    .refuse(format!("{name}: a series of {bytes} bytes is too long"))
                    .into());
            }
            let mut packed = Vec::new();
            let taken = file
                .by_ref()
                .take(u64::from(bytes))
                .read_to_end(&mut packed);
            taken.map_err(|error| unreadable(&self.path, &error))?;
            let decoder = zstd::Decoder::with_dictionary(&packed[..], &self.dictionary);
            let decoder = decoder.map_err(|error| unreadable(&self.path, &error))?;
            let name = PathBuf::from(format!("{name}, series {series}"));
            let mut lines = Lines::of(BufReader::new(decoder), &name);
            while let Some(line) = lines.next_filled()? {
                instruction(line, header, place, sink)?;
                read += 1;
            }
        }
        if read != counts.0 {
            let problem = format!(
                "{name}: {read} instructions, but the index says {}",
                counts.0
            );
            return Err(Diagnostic::error(problem).into());
        }
        Ok(())
    }
}

struct Index {
    path: PathBuf,
    file: BufReader<File>,
}

impl Index {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Diagnostic> {
        let mut bytes = [0; N];
        let read = self.file.read_exact(&mut bytes);
        read.map_err(|error| unreadable(&self.path, &error))?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, Diagnostic> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn long(&mut self) -> Result<u64, Diagnostic> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    /// Returns the name of a block for error messages.
    fn named(&self, [x, y, z]: [u32; 3]) -> PathBuf {
        PathBuf::from(format!("{}, block {x},{y},{z}", self.path.display()))
    }
}
