pub(crate) mod file;
pub(crate) mod saving;
pub(crate) mod state_hash;
