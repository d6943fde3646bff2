//! What every command of the program owes its user about files and memory: a file under its final
//! name is complete ([`Output`]), and no input takes more memory than the command may have
//! ([`Budget`]).

mod budget;
mod output;

pub use budget::{Budget, Charge, OverBudget};
pub use output::{Output, OutputError};
