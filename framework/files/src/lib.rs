//! What every command of the program owes its user about files and memory: a file under its final
//! name is complete ([`Output`], [`OutputFolder`]), what is written is neither read nor written by
//! anybody else ([`Paths`], [`Claim`]), only plain files of a bounded size are read ([`Input`]), and no
//! input takes more memory than the command may have ([`Budget`]). Large files of our own consist of
//! chunks that are checked one by one ([`ChunkedOutput`], [`ChunkedInput`]).

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
