pub(crate) mod builder;
