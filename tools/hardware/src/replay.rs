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
    /// A copy to or from memory that has no counterpart.
    #[error(
        "after {launches} launches: a copy of {bytes} bytes at {address:#x}, which is in no buffer and no variable"
    )]
    Copy {
        /// Launches before it.
        launches: usize,
        /// The address.
        address: u64,
        /// Bytes that are copied.
        bytes: u64,
    },
    /// The device has less room for a variable than the emulator: it is another module.
    #[error("variable `{name}` has {found} bytes on this device and {bytes} in the emulator")]
    Variable {
        /// The variable.
        name: String,
        /// Bytes that it has in the emulator.
        bytes: u64,
        /// Bytes that it has on the device.
        found: u64,
    },
    /// Modules are not linked.
    #[error(
        "module `{file}` declares the variable `{variable}` of another module: modules are loaded one by one on this \
         device and are not linked\n\
         hint: put both into one module"
    )]
    Linked {
        /// The module's file.
        file: String,
        /// The variable.
        variable: String,
    },
    /// Textures are not made on other devices.
    #[error("texture `{0}`: textures are not run on other devices")]
    Texture(String),
    /// A module, by its number, has no such kernel: it is another one.
    #[error("module {0} has no kernel `{1}`")]
    Kernel(usize, String),
}

/// A buffer, or a variable of a module, on both devices.
struct Twin {
    name: String,
    emulated: u64,
    bytes: u64,
    /// Its address on this device; of a variable once it is asked for.
    here: Option<u64>,
    /// Of a variable, the number of its module.
    module: usize,
}

/// Does on a device what the host of an emulated program does on its own.
pub struct Replay<'d> {
    driver: &'d mut dyn Driver,
    modules: Vec<&'d Module>,
    twins: Vec<Twin>,
    /// The launches, in order.
    pub launches: Vec<TimedLaunch>,
    /// The copies from the device, in order.
    pub comparisons: Vec<Comparison>,
}

impl<'d> Replay<'d> {
    /// Loads the modules, each with its text.
    ///
    /// # Errors
    /// [`ReplayError::Linked`], or as the driver says.
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

    /// Whether everything copied back was as the emulator has it.
    pub fn agrees(&self) -> bool {
        self.comparisons.iter().all(|c| c.differ == 0)
    }

    fn twin(&self, address: u64) -> Option<usize> {
        let holds = |twin: &Twin| (twin.emulated..=twin.emulated + twin.bytes).contains(&address);
        self.twins.iter().position(holds)
    }

    /// The address on this device; `None`: it is in no buffer and no variable.
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

    /// The address here of bytes that are copied.
    fn copied(&mut self, address: u64, bytes: usize) -> Result<u64, ReplayError> {
        let missing = ReplayError::Copy {
            launches: self.launches.len(),
            address,
            bytes: bytes as u64,
        };
        self.here(address)?.ok_or(missing)
    }

    /// Puts addresses of this device where those of the emulated one are; others stand for nothing and stay.
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

    /// An address of a buffer in a structure.
    fn inside(&self, structure: &[u8]) -> Option<u64> {
        let words = structure.as_chunks::<8>().0.iter();
        let mut words = words.map(|word| u64::from_le_bytes(*word));
        words.find(|word| self.twin(*word).is_some())
    }

    /// The bytes of each parameter, pointers as they are on this device.
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
