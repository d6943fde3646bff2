//! Elaboration of clocks, instances and wires into a simulation.
//!
//! | file | holds |
//! |---|---|
//! | `builder` | what is collected, in any order |
//! | `elaborate` | every check of the system as a whole, and joining the ports of one that passes |
//! | `facts` | what components tell each other, and what each has to itself |
//! | `error` | what is wrong with a system, all of it at once |
//! | `port_list` | the ports of an instance, shared by those that have the same |
//! | `listing` | the ports of a component by their names |
//! | `process_ports` | ports of processes as parts of a system |

mod builder;
mod elaborate;
mod error;
mod facts;
mod listing;
mod port_list;
mod process_ports;

pub use builder::SystemBuilder;
pub use error::{ElaborationError, ElaborationErrors, RelatedOrigin};
pub use listing::{PortDoc, described_ports};
pub use port_list::PortList;
