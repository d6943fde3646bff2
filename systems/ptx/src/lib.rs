//! PTX front end: parser, control flow and a functional emulator that writes program traces.
