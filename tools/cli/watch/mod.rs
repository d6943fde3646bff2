//! Page to watch a running simulation or experiment in a browser.
//!
//! `server.rs` answers browsers, and `page.rs` writes the pages. A board holds what a page shows:
//! the work updates it, and does no more than that.

mod page;
mod runs;
mod server;
mod simulation;

pub(crate) use self::page::{experiment_page, simulation_page};
pub(crate) use self::runs::{RunBoard, RunState, SoFar};
pub(crate) use self::server::Server;
pub(crate) use self::simulation::SimulationBoard;

use crate::outcome::Failure;

#[derive(clap::Args)]
pub(crate) struct WatchArguments {
    /// Serve a page that shows the progress, for browsers on this computer, and print its address.
    /// Any free port is taken unless one is given.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    watch: Option<u16>,
}

impl WatchArguments {
    /// Opens the server, if it is wanted.
    pub(crate) fn open(&self) -> Result<Option<Server>, Failure> {
        self.watch.map(Server::open).transpose()
    }
}

/// Does `work`, and serves the page until it is done, if there is a server.
pub(crate) fn during<R>(
    server: Option<&Server>,
    page: &(dyn Fn() -> String + Sync),
    work: impl FnOnce() -> R,
) -> R {
    match server {
        Some(server) => server.during(page, work),
        None => work(),
    }
}
