pub(crate) mod description;
pub(crate) mod file;
pub(crate) mod parting;
pub(crate) mod saving;
pub(crate) mod state_hash;
