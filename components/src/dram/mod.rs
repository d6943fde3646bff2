//! GDDR5 memory controller and devices.
