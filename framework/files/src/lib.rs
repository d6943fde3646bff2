//! Guarantees of every command about files and memory. A file under its final name is complete
//! ([`Output`], [`OutputFolder`]). Files being written are not read or written by any other process
//! or option ([`Paths`], [`Claim`]). Only regular files of a bounded size are read ([`Input`]), and
//! no input may exceed the memory budget ([`Budget`]). Large files of our own consist of chunks
//! that are checked one by one ([`ChunkedOutput`], [`ChunkedInput`]).

mod budget;
mod chunked;
mod folder;
mod full_disk;
mod input;
mod output;
mod paths;

pub use budget::{Budget, Charge, Ledger, OVER_BUDGET_HINT, OverBudget, size};
pub use chunked::{Chunk, ChunkedError, ChunkedInput, ChunkedOutput, Layout};
pub use folder::{Claim, ClaimError, OutputFolder};
pub use full_disk::{check_full_disks, with_room};
pub use input::{
    Input, ReadError, UNPACKED_LEAST, UNPACKED_MAX, UNPACKED_TIMES_MAX, Unpacked, unpacked_max,
};
pub use output::{Output, OutputError};
pub use paths::{PathError, Paths, numbered};
