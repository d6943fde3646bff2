//! Functions that a module declares and the device runtime defines.

macro_rules! externals {
    ($($(#[$doc:meta])* $variant:ident = $($name:literal)|+, ($($argument:literal),*) -> ($($result:literal)?);)*) => {
        /// A device runtime function that programs can call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum External {
            $($(#[$doc])* $variant,)*
        }

        impl External {
            /// Names of the functions in compiled code.
            pub(crate) const NAMES: &'static [(&'static str, Self)] =
                &[$($(($name, Self::$variant),)+)*];

            /// Returns the sizes of the arguments and of the results, in bytes.
            pub(crate) const fn shape(self) -> (&'static [u32], &'static [u32]) {
                match self {
                    $(Self::$variant => (&[$($argument),*], &[$($result)?]),)*
                }
            }
        }
    };
}

// Source: CUDA C++ Programming Guide, "Device-Side Launch from PTX", and the runtime functions that
// compilers emit under these names. Those of CUDA 12 and later begin with `__cudaCDP2`.
externals! {
    /// Allocates the argument buffer of a launch: alignment, size.
    ParameterBuffer = "cudaGetParameterBuffer" | "__cudaCDP2GetParameterBuffer", (8, 8) -> (8);
    /// Allocates the argument buffer of a launch with a given shape: function, grid, block, dynamic
    /// local memory bytes.
    ParameterBufferV2 = "cudaGetParameterBufferV2" | "__cudaCDP2GetParameterBufferV2", (8, 12, 12, 4) -> (8);
    /// Launches a kernel: function, arguments, grid, block, dynamic local memory bytes, stream.
    Launch = "cudaLaunchDevice" | "__cudaCDP2LaunchDevice", (8, 8, 12, 12, 4, 8) -> (4);
    /// Launches a kernel with the shape given earlier: arguments, stream.
    LaunchV2 = "cudaLaunchDeviceV2" | "__cudaCDP2LaunchDeviceV2", (8, 8) -> (4);
    /// Launches like [`Self::Launch`]; the null stream is that of the thread.
    LaunchPerThread = "cudaLaunchDevice_ptsz" | "__cudaCDP2LaunchDevice_ptsz", (8, 8, 12, 12, 4, 8) -> (4);
    /// Launches like [`Self::LaunchV2`]; the null stream is that of the thread.
    LaunchV2PerThread = "cudaLaunchDeviceV2_ptsz" | "__cudaCDP2LaunchDeviceV2_ptsz", (8, 8) -> (4);
    /// Creates a stream: address for its handle, flags.
    StreamCreate = "cudaStreamCreateWithFlags" | "__cudaCDP2StreamCreateWithFlags", (8, 4) -> (4);
    /// Destroys a stream that is no longer needed.
    StreamDestroy = "cudaStreamDestroy" | "__cudaCDP2StreamDestroy", (8) -> (4);
    /// Creates an event: address for its handle, flags.
    EventCreate = "cudaEventCreateWithFlags" | "__cudaCDP2EventCreateWithFlags", (8, 4) -> (4);
    /// Records an event in a stream: event, stream.
    EventRecord = "cudaEventRecord" | "__cudaCDP2EventRecord", (8, 8) -> (4);
    /// Records an event like [`Self::EventRecord`]; the null stream is that of the thread.
    EventRecordPerThread = "cudaEventRecord_ptsz" | "__cudaCDP2EventRecord_ptsz", (8, 8) -> (4);
    /// Lets a stream wait for an event: stream, event, flags.
    StreamWait = "cudaStreamWaitEvent" | "__cudaCDP2StreamWaitEvent", (8, 8, 4) -> (4);
    /// Waits like [`Self::StreamWait`]; the null stream is that of the thread.
    StreamWaitPerThread = "cudaStreamWaitEvent_ptsz" | "__cudaCDP2StreamWaitEvent_ptsz", (8, 8, 4) -> (4);
    /// Destroys an event that is no longer needed.
    EventDestroy = "cudaEventDestroy" | "__cudaCDP2EventDestroy", (8) -> (4);
    /// Returns the thread's last error and clears it.
    LastError = "cudaGetLastError" | "__cudaCDP2GetLastError", () -> (4);
    /// Returns the thread's last error without clearing it.
    PeekError = "cudaPeekAtLastError" | "__cudaCDP2PeekAtLastError", () -> (4);
    /// Prints formatted output: address of the format, address of the arguments.
    Print = "vprintf", (8, 8) -> (4);
    /// Reports a failed assertion: expression, file, line, function, bytes per character.
    AssertFail = "__assertfail", (8, 8, 4, 8, 8) -> ();
    /// Allocates memory from the device heap: bytes.
    Malloc = "malloc", (8) -> (8);
    /// Frees memory of the device heap: address.
    Free = "free", (8) -> ();
}

/// Runtime functions that wait for child kernels, which device code can no longer do.
pub(crate) const WAITING: [&str; 2] = ["cudaDeviceSynchronize", "__cudaCDP2DeviceSynchronize"];

impl External {
    /// Looks up a runtime function by its name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, external)| *external)
    }

    /// True if a call of the function launches kernels.
    pub(crate) fn launches(self) -> bool {
        self.takes_shape() || matches!(self, Self::LaunchV2 | Self::LaunchV2PerThread)
    }

    /// True if a launching function takes the shape of the launch itself.
    pub(crate) fn takes_shape(self) -> bool {
        matches!(self, Self::Launch | Self::LaunchPerThread)
    }

    /// True if the null stream of the function is that of the thread.
    pub(crate) fn is_per_thread(self) -> bool {
        matches!(
            self,
            Self::LaunchPerThread
                | Self::LaunchV2PerThread
                | Self::EventRecordPerThread
                | Self::StreamWaitPerThread
        )
    }
}

/// Call of a runtime function, with frame offsets of arguments and results in bytes.
#[derive(Clone, Debug)]
pub(crate) struct ExternalSite {
    pub(crate) function: External,
    pub(crate) arguments: Vec<u32>,
    pub(crate) results: Vec<u32>,
}
