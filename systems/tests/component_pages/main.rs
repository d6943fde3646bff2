//! Checks that the pages of the components agree with the code.
//!
//! Their tables of parameters and statistics are generated between markers, from the doc comments,
//! defaults and statistics of every registered kind. `DEVIATIONS.md` links to the deviations of
//! every page.
//!
//! `UPDATE_PAGES=1 cargo test -p warpweave-systems --test component_pages` rewrites outdated
//! tables.

mod combinations;
mod descriptions;
mod pages;
mod shared_rows;
mod tables;
