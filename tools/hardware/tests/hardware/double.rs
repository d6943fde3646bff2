//! Test double of a GPU: another emulated device, with other addresses, that receives only bytes
//! and whose clock runs with the instructions.

use std::cell::Cell;
use std::rc::Rc;

use warpweave_hardware::driver::{Driver, DriverError, Launch, Mark, Properties};
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, LaunchWatch, Module, Numbers,
    launch_family,
};
use warpweave_trace::KernelTrace;

/// Emulated device that accepts addresses and bytes like a driver.
pub(crate) struct Double {
    pub(crate) properties: Properties,
    memory: DeviceMemory,
    modules: Vec<Module>,
    /// Enables flipping the lowest bit of the first byte of every copy to the host.
    pub(crate) lies: bool,
    /// Number of the launch that is refused, if any.
    pub(crate) refuses: Option<usize>,
    pub(crate) launches: Vec<Launch>,
    /// Number of copies to the host so far.
    pub(crate) reads: u64,
    /// Number of bytes copied within the device.
    pub(crate) copied: u64,
    marks: Vec<f64>,
    /// Time of the device in nanoseconds: one for each wavefront instruction.
    pub(crate) clock: Rc<Cell<f64>>,
    /// Time that passes on the host for each launch, in nanoseconds.
    pub(crate) launch_nanoseconds: f64,
}

impl Double {
    pub(crate) fn new() -> Self {
        Self {
            properties: Properties {
                name: "double".to_owned(),
                driver: "12.2".to_owned(),
                capability: "7.0".to_owned(),
                units: 2,
                unit_clock_khz: 1_500_000,
                memory_clock_khz: 900_000,
                l2_bytes: 64 << 10,
                bus: "0000:00:00.0".to_owned(),
            },
            // Elsewhere than the emulator puts its buffers.
            memory: DeviceMemory::beginning_at(1 << 16),
            modules: Vec::new(),
            lies: false,
            refuses: None,
            launches: Vec::new(),
            reads: 0,
            copied: 0,
            marks: Vec::new(),
            clock: Rc::default(),
            launch_nanoseconds: 0.0,
        }
    }

    fn passes(&self, nanoseconds: f64) {
        self.clock.set(self.clock.get() + nanoseconds);
    }
}

fn refused(error: impl ToString) -> DriverError {
    DriverError::Call {
        call: "the double".to_owned(),
        reason: error.to_string(),
    }
}

impl Driver for Double {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn load(&mut self, ptx: &str) -> Result<usize, DriverError> {
        // The emulator refuses clocks. Here 4096 cycles pass in each round between two looks.
        let text = ptx
            .replace("mov.u64 %rd5, %clock64", "mov.u64 %rd5, 1000")
            .replace(
                "mov.u64 %rd6, %clock64",
                "mad.wide.u32 %rd6, %r1, 4096, 1000",
            );
        let file = format!("double{}.ptx", self.modules.len());
        let module = Module::parse(&file, &text).map_err(refused)?;
        self.memory.load(&module).map_err(refused)?;
        self.modules.push(module);
        Ok(self.modules.len() - 1)
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64), DriverError> {
        let module = &self.modules[module];
        let found = self.memory.variable(module, name);
        let found = found.zip(module.variable_bytes(name));
        found.ok_or_else(|| refused(format!("no variable `{name}`")))
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError> {
        Ok(self.memory.allocate("", bytes))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        self.memory.write(address, bytes).map_err(refused)
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        self.reads += 1;
        let found = self.memory.read(address, bytes.len() as u64);
        bytes.copy_from_slice(found.map_err(refused)?);
        if let (true, Some(first)) = (self.lies, bytes.first_mut()) {
            *first ^= 1;
        }
        Ok(())
    }

    fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), DriverError> {
        self.copied += bytes;
        let found = self.memory.read(from, bytes).map_err(refused)?.to_vec();
        self.memory.write(to, &found).map_err(refused)
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError> {
        if self.refuses == Some(self.launches.len()) {
            return Err(refused("CUDA_ERROR_LAUNCH_FAILED"));
        }
        let arguments = launch.arguments.iter();
        let arguments: Vec<_> = arguments
            .map(|bytes| KernelArgument::Bytes(bytes.clone()))
            .collect();
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            dynamic_local_bytes: launch.dynamic_local_bytes,
            args: &arguments,
        };
        let options = EmulationOptions {
            is_cooperative: launch.cooperative,
            ..EmulationOptions::default()
        };
        let (memory, numbers) = (&mut self.memory, &mut Numbers::default());
        let (module, watch) = (&self.modules[launch.module], LaunchWatch::default());
        let family = launch_family(
            module,
            &launch.kernel,
            config,
            memory,
            &options,
            numbers,
            watch,
        );
        let kernels = family.map_err(refused)?.kernels;
        let instructions: u64 = kernels
            .iter()
            .map(KernelTrace::wavefront_instructions)
            .sum();
        self.launches.push(launch.clone());
        self.passes(instructions as f64);
        Ok(())
    }

    fn mark(&mut self) -> Result<Mark, DriverError> {
        self.marks.push(self.clock.get());
        self.passes(self.launch_nanoseconds);
        Ok(Mark(self.marks.len() - 1))
    }

    fn between(&mut self, from: Mark, to: Mark) -> Result<f64, DriverError> {
        Ok(self.marks[to.0] - self.marks[from.0])
    }

    fn forget_marks(&mut self) {
        self.marks.clear();
    }

    fn wait(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    fn release(&mut self) {
        self.memory = DeviceMemory::beginning_at(1 << 16);
        self.modules.clear();
        self.marks.clear();
    }
}
