//! Tests code for a real GPU with a test double: another emulated device, with other addresses,
//! that receives only bytes.
#![expect(clippy::unwrap_used, reason = "tests")]

mod double;
mod live;
mod micro;
mod repeat;
mod set;

use warpweave_hardware::cuda::Cuda;
use warpweave_hardware::driver::DriverError;

#[test]
fn without_a_driver_it_says_so() {
    match Cuda::open(None) {
        Err(DriverError::NoDriver) => {
            let said = DriverError::NoDriver.to_string();
            assert!(said.contains("no CUDA driver on this machine"), "{said}");
        }
        Err(DriverError::NoDevice) | Ok(_) => {} // There is one here.
        Err(error) => panic!("{error}"),
    }
}
