//! From clocks, instances and wires to a simulation.
//!
//! | file | holds |
//! |---|---|
//! | `builder` | what is collected, in any order |
//! | `elaborate` | every check of the system as a whole, and joining the ports of one that passes |
//! | `facts` | what components tell each other, and what each has to itself |
//! | `error` | what is wrong with a system, all of it at once |
//! | `listing` | the ports of a component by their names |
//! | `process_ports` | ports of processes as parts of a system |

mod builder;
mod elaborate;
mod error;
mod facts;
mod listing;
mod process_ports;

pub use builder::SystemBuilder;
pub use error::{ElaborationError, ElaborationErrors, RelatedOrigin};
pub use listing::{PortDoc, connectable_names, described_ports};
