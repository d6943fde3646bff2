//! Host driver: issues the host commands of a program trace.
