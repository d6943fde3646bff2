//! What every command of the program owes its user about files and memory: a file under its final
//! name is complete ([`Output`]), only plain files of a bounded size are read ([`Input`]), and no input
//! takes more memory than the command may have ([`Budget`]).

mod budget;
mod input;
mod output;

pub use budget::{Budget, Charge, Ledger, OVER_BUDGET_HINT, OverBudget, size};
pub use input::{Input, ReadError, UNPACKED_MAX, UNPACKED_TIMES_MAX, Unpacked, unpacked_max};
pub use output::{Output, OutputError};
