//! A program on another device: the same actions, with its addresses, and what came out of them.

use warpweave_ptx::{KernelArgument, Module};
use warpweave_systems::host_program::DeviceAction;

use crate::driver::{Driver, DriverError, Launch};

/// A launch that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedLaunch {
    /// What was launched.
    pub launch: Launch,
    /// How long it took, nanoseconds.
    pub nanoseconds: f64,
}

/// How a copy from the device compares with the emulator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The buffer.
    pub buffer: String,
    /// Launches before the copy.
    pub after_launches: usize,
    /// Bytes compared.
    pub bytes: u64,
    /// 4-byte words that differ.
    pub differ: u64,
    /// The first of them: its number, the emulator's value and the device's.
    pub first: Option<(u64, u32, u32)>,
}

/// Why a program cannot be run on another device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The device refused.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A pointer that points to no buffer has no counterpart.
    #[error(
        "launch {launch} of `{kernel}`: argument {argument} points to {address:#x}, which is in no buffer"
    )]
    Pointer {
        /// Number of the launch.
        launch: usize,
        /// The kernel.
        kernel: String,
        /// Number of the argument.
        argument: usize,
        /// The address.
        address: u64,
    },
    /// An address inside a structure has no place of its own in which it could be replaced.
    #[error(
        "launch {launch} of `{kernel}`: argument {argument} is a structure with the address {address:#x} inside, which \
         stands for another one on this device; pass the pointer as an argument of its own"
    )]
    Inside {
        /// Number of the launch.
        launch: usize,
        /// The kernel.
        kernel: String,
        /// Number of the argument.
        argument: usize,
        /// The address.
        address: u64,
    },
    /// Textures are not made on other devices.
    #[error("texture `{0}`: textures are not run on other devices")]
    Texture(String),
    /// The module has no such kernel: it is another one.
    #[error("the module has no kernel `{0}`")]
    Kernel(String),
}

/// A buffer on both devices.
struct Twin {
    name: String,
    emulated: u64,
    bytes: u64,
    here: u64,
}

/// Does on a device what the host of an emulated program does on its own.
pub struct Replay<'d> {
    driver: &'d mut dyn Driver,
    module: &'d Module,
    buffers: Vec<Twin>,
    /// The launches, in order.
    pub launches: Vec<TimedLaunch>,
    /// The copies from the device, in order.
    pub comparisons: Vec<Comparison>,
}

impl<'d> Replay<'d> {
    /// Loads the module.
    ///
    /// # Errors
    /// As the driver says.
    pub fn new(
        driver: &'d mut dyn Driver,
        module: &'d Module,
        ptx: &str,
    ) -> Result<Self, DriverError> {
        driver.load(ptx)?;
        Ok(Self {
            driver,
            module,
            buffers: Vec::new(),
            launches: Vec::new(),
            comparisons: Vec::new(),
        })
    }

    /// Does an action.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn act(&mut self, action: DeviceAction) -> Result<(), ReplayError> {
        match action {
            DeviceAction::Allocate {
                name,
                address,
                bytes,
            } => {
                let here = self.driver.allocate(bytes)?;
                self.buffers.push(Twin {
                    name,
                    emulated: address,
                    bytes,
                    here,
                });
            }
            DeviceAction::Texture { name, .. } => return Err(ReplayError::Texture(name)),
            DeviceAction::Write { address, bytes } => {
                if let Some(here) = self.here(address) {
                    self.driver.write(here, &bytes)?;
                }
            }
            DeviceAction::Launch {
                module: _,
                kernel,
                grid,
                block,
                dynamic_local_bytes,
                arguments,
            } => {
                let arguments = self.marshal(&kernel, &arguments)?;
                let launch = Launch {
                    kernel,
                    grid,
                    block,
                    dynamic_local_bytes,
                    arguments,
                };
                let nanoseconds = self.driver.launch(&launch)?;
                self.launches.push(TimedLaunch {
                    launch,
                    nanoseconds,
                });
            }
            DeviceAction::Read { address, bytes } => self.compare(address, &bytes)?,
        }
        Ok(())
    }

    /// Whether everything copied back was as the emulator has it.
    pub fn agrees(&self) -> bool {
        self.comparisons.iter().all(|c| c.differ == 0)
    }

    fn twin(&self, address: u64) -> Option<&Twin> {
        let holds = |twin: &&Twin| (twin.emulated..=twin.emulated + twin.bytes).contains(&address);
        self.buffers.iter().find(holds)
    }

    fn here(&self, address: u64) -> Option<u64> {
        let twin = self.twin(address)?;
        Some(twin.here + (address - twin.emulated))
    }

    /// An address of a buffer in a structure.
    fn inside(&self, structure: &[u8]) -> Option<u64> {
        let words = structure.as_chunks::<8>().0.iter();
        let mut words = words.map(|word| u64::from_le_bytes(*word));
        words.find(|word| self.twin(*word).is_some())
    }

    /// The bytes of each parameter, pointers as they are on this device.
    fn marshal(
        &self,
        kernel: &str,
        arguments: &[KernelArgument],
    ) -> Result<Vec<Vec<u8>>, ReplayError> {
        let found = self.module.kernel(kernel);
        let parameters = found
            .map_err(|_| ReplayError::Kernel(kernel.to_owned()))?
            .parameters();
        let pairs = arguments.iter().zip(parameters).enumerate();
        pairs
            .map(|(number, (argument, parameter))| {
                let KernelArgument::Pointer(address) = *argument else {
                    let bytes = argument.bytes(parameter.bytes);
                    if let (KernelArgument::Bytes(_), Some(address)) =
                        (argument, self.inside(&bytes))
                    {
                        return Err(ReplayError::Inside {
                            launch: self.launches.len(),
                            kernel: kernel.to_owned(),
                            argument: number,
                            address,
                        });
                    }
                    return Ok(bytes);
                };
                let here = self.here(address).ok_or_else(|| ReplayError::Pointer {
                    launch: self.launches.len(),
                    kernel: kernel.to_owned(),
                    argument: number,
                    address,
                })?;
                Ok(KernelArgument::Pointer(here).bytes(parameter.bytes))
            })
            .collect()
    }

    fn compare(&mut self, address: u64, emulated: &[u8]) -> Result<(), ReplayError> {
        let Some(twin) = self.twin(address) else {
            return Ok(());
        };
        let (buffer, from) = (twin.name.clone(), twin.here + (address - twin.emulated));
        let mut found = vec![0; emulated.len()];
        self.driver.read(from, &mut found)?;
        let word = |bytes: &[u8]| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(word)
        };
        let words = emulated.chunks(4).zip(found.chunks(4)).zip(0_u64..);
        let mut differing = words
            .map(|((emulated, found), at)| (at, word(emulated), word(found)))
            .filter(|(_, emulated, found)| emulated != found);
        let first = differing.next();
        let differ = u64::from(first.is_some()) + differing.count() as u64;
        self.comparisons.push(Comparison {
            buffer,
            after_launches: self.launches.len(),
            bytes: emulated.len() as u64,
            differ,
            first,
        });
        Ok(())
    }
}
