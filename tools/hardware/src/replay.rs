//! Replays a program on another device: the same actions with its addresses, and a comparison of
//! the outputs.

use warpweave_ptx::{KernelArgument, Module};
use warpweave_systems::host_program::DeviceAction;

use crate::driver::{Driver, DriverError, Launch};

/// Completed kernel launch with its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedLaunch {
    /// Launch as given to the driver.
    pub launch: Launch,
    /// Duration of the launch in nanoseconds, from device events.
    pub nanoseconds: f64,
}

/// Comparison of a copy from the device with the emulator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Name of the buffer that was copied.
    pub buffer: String,
    /// Number of launches before the copy.
    pub after_launches: usize,
    /// Number of bytes that were compared.
    pub bytes: u64,
    /// Number of 4-byte words that differ.
    pub differ: u64,
    /// First differing word: its index, the emulator's value and the device's.
    pub first: Option<(u64, u32, u32)>,
}

/// Reasons that a program cannot be replayed on another device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The device returned an error for a request.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A pointer argument points to no buffer and cannot be translated.
    #[error(
        "launch {launch} of `{kernel}`: argument {argument} points to {address:#x}, which is outside all buffers"
    )]
    Pointer {
        /// Number of the launch in the program.
        launch: usize,
        /// Name of the kernel that is launched.
        kernel: String,
        /// Position of the argument in the kernel's parameter list.
        argument: usize,
        /// Emulated address held by the argument.
        address: u64,
    },
    /// An address inside a structure cannot be located and replaced.
    #[error(
        "launch {launch} of `{kernel}`: argument {argument} is a structure that contains the address {address:#x}, which differs on this device; pass the pointer as a separate argument"
    )]
    Inside {
        /// Number of the launch in the program.
        launch: usize,
        /// Name of the kernel that is launched.
        kernel: String,
        /// Position of the argument in the kernel's parameter list.
        argument: usize,
        /// Emulated address inside the structure.
        address: u64,
    },
    /// A copy accesses memory that has no counterpart on the device.
    #[error(
        "after {launches} launches: a copy of {bytes} bytes at {address:#x}, which is outside all buffers and variables"
    )]
    Copy {
        /// Number of launches before the copy.
        launches: usize,
        /// Emulated address of the copied range.
        address: u64,
        /// Number of bytes to be copied.
        bytes: u64,
    },
    /// The device's variable is smaller than the emulator's, so the modules differ.
    #[error("variable `{name}` has {found} bytes on this device and {bytes} in the emulator")]
    Variable {
        /// Name of the variable in its module.
        name: String,
        /// Size of the variable in the emulator, bytes.
        bytes: u64,
        /// Size of the variable on the device, bytes.
        found: u64,
    },
    /// A module needs linking, which this device does not support.
    #[error(
        "module `{file}` declares the variable `{variable}` of another module: modules are loaded separately on this device and are not linked\nhint: merge both into one module"
    )]
    Linked {
        /// File name of the module that needs linking.
        file: String,
        /// Name of the variable from the other module.
        variable: String,
    },
    /// Textures are not supported on other devices.
    #[error("texture `{0}`: textures are not supported on other devices")]
    Texture(String),
    /// The module with this number has no such kernel, so the modules differ.
    #[error("module {0} has no kernel `{1}`")]
    Kernel(usize, String),
}

/// Buffer, or variable of a module, on both devices.
struct Twin {
    name: String,
    emulated: u64,
    bytes: u64,
    /// Address on this device. For variables it is known after the first use.
    here: Option<u64>,
    /// Number of the module, for variables only.
    module: usize,
}

/// Replays the host actions of an emulated program on a device.
pub struct Replay<'d> {
    driver: &'d mut dyn Driver,
    modules: Vec<&'d Module>,
    twins: Vec<Twin>,
    /// Completed launches, in order, with their durations.
    pub launches: Vec<TimedLaunch>,
    /// Comparisons of the copies from the device, in order.
    pub comparisons: Vec<Comparison>,
}

impl<'d> Replay<'d> {
    /// Loads the modules, each from its PTX text.
    ///
    /// # Errors
    /// Returns [`ReplayError::Linked`], or the driver's error.
    pub fn new(
        driver: &'d mut dyn Driver,
        modules: impl IntoIterator<Item = (&'d Module, &'d str)>,
    ) -> Result<Self, ReplayError> {
        let mut loaded = Vec::new();
        for (module, ptx) in modules {
            if let Some(variable) = module.undefined_variables().next() {
                return Err(ReplayError::Linked {
                    file: module.file().to_owned(),
                    variable: variable.to_owned(),
                });
            }
            driver.load(ptx)?;
            loaded.push(module);
        }
        Ok(Self {
            driver,
            modules: loaded,
            twins: Vec::new(),
            launches: Vec::new(),
            comparisons: Vec::new(),
        })
    }

    /// Executes one host action on the device.
    ///
    /// # Errors
    /// Returns [`ReplayError`] if the action cannot be replayed.
    pub fn act(&mut self, action: DeviceAction) -> Result<(), ReplayError> {
        match action {
            DeviceAction::Allocate {
                name,
                address,
                bytes,
            } => {
                let here = Some(self.driver.allocate(bytes)?);
                self.twins.push(Twin {
                    name,
                    emulated: address,
                    bytes,
                    here,
                    module: 0,
                });
            }
            DeviceAction::Variable {
                module,
                name,
                address,
                bytes,
            } => self.twins.push(Twin {
                name,
                emulated: address,
                bytes,
                here: None,
                module,
            }),
            DeviceAction::Texture { name, .. } => return Err(ReplayError::Texture(name)),
            DeviceAction::Write {
                address,
                mut bytes,
                pointers,
            } => {
                let to = self.copied(address, bytes.len())?;
                self.translate(&mut bytes, &pointers)?;
                self.driver.write(to, &bytes)?;
            }
            DeviceAction::Launch {
                module,
                kernel,
                grid,
                block,
                dynamic_local_bytes,
                arguments,
            } => {
                let arguments = self.marshal(module, &kernel, &arguments)?;
                let launch = Launch {
                    module,
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
            DeviceAction::Read {
                address,
                mut bytes,
                pointers,
            } => {
                self.translate(&mut bytes, &pointers)?;
                self.compare(address, &bytes)?;
            }
        }
        Ok(())
    }

    /// True if everything copied back equals the emulator's data.
    pub fn agrees(&self) -> bool {
        self.comparisons.iter().all(|c| c.differ == 0)
    }

    fn twin(&self, address: u64) -> Option<usize> {
        let holds = |twin: &Twin| (twin.emulated..=twin.emulated + twin.bytes).contains(&address);
        self.twins.iter().position(holds)
    }

    /// Translates an address to this device. Returns `None` if it is in no buffer and no variable.
    fn here(&mut self, address: u64) -> Result<Option<u64>, ReplayError> {
        let Some(twin) = self.twin(address) else {
            return Ok(None);
        };
        let twin = &mut self.twins[twin];
        let base = if let Some(base) = twin.here {
            base
        } else {
            let (base, found) = self.driver.variable(twin.module, &twin.name)?;
            if found < twin.bytes {
                return Err(ReplayError::Variable {
                    name: twin.name.clone(),
                    bytes: twin.bytes,
                    found,
                });
            }
            *twin.here.insert(base)
        };
        Ok(Some(base + (address - twin.emulated)))
    }

    /// Translates the address of bytes to be copied.
    fn copied(&mut self, address: u64, bytes: usize) -> Result<u64, ReplayError> {
        let missing = ReplayError::Copy {
            launches: self.launches.len(),
            address,
            bytes: bytes as u64,
        };
        self.here(address)?.ok_or(missing)
    }

    /// Replaces emulated addresses by addresses of this device. Pointers to nothing stay unchanged.
    fn translate(&mut self, bytes: &mut [u8], pointers: &[u64]) -> Result<(), ReplayError> {
        for &place in pointers {
            let place = place as usize;
            let Some(word) = bytes
                .get_mut(place..)
                .and_then(<[u8]>::first_chunk_mut::<8>)
            else {
                continue;
            };
            if let Some(here) = self.here(u64::from_le_bytes(*word))? {
                *word = here.to_le_bytes();
            }
        }
        Ok(())
    }

    /// Finds a buffer address within a structure.
    fn inside(&self, structure: &[u8]) -> Option<u64> {
        let words = structure.as_chunks::<8>().0.iter();
        let mut words = words.map(|word| u64::from_le_bytes(*word));
        words.find(|word| self.twin(*word).is_some())
    }

    /// Returns the bytes of each parameter, with pointers translated to this device.
    fn marshal(
        &mut self,
        module: usize,
        kernel: &str,
        arguments: &[KernelArgument],
    ) -> Result<Vec<Vec<u8>>, ReplayError> {
        let found = self.modules.get(module).map(|module| module.kernel(kernel));
        let Some(Ok(found)) = found else {
            return Err(ReplayError::Kernel(module, kernel.to_owned()));
        };
        let parameters = found.parameters();
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
                let missing = ReplayError::Pointer {
                    launch: self.launches.len(),
                    kernel: kernel.to_owned(),
                    argument: number,
                    address,
                };
                let here = self.here(address)?.ok_or(missing)?;
                Ok(KernelArgument::Pointer(here).bytes(parameter.bytes))
            })
            .collect()
    }

    fn compare(&mut self, address: u64, emulated: &[u8]) -> Result<(), ReplayError> {
        let from = self.copied(address, emulated.len())?;
        let twin = self.twin(address).map(|twin| &self.twins[twin]);
        let buffer = twin.map_or_else(String::new, |twin| twin.name.clone());
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
