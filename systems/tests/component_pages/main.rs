//! The pages of the components say what the code says: their tables of parameters and statistics
//! are written by this test, between markers, from the doc comments, defaults and statistics of
//! every registered kind, and `DEVIATIONS.md` links to the deviations of every page.
//!
//! `UPDATE_PAGES=1 cargo test -p warpweave-systems --test component_pages` rewrites outdated
//! tables.

mod combinations;
mod descriptions;
mod pages;
mod shared_rows;
mod tables;
