//! Content hash of a trace, which depends on the program's records and not on how the trace is
//! stored.
//!
//! A kernel's hash covers its head, followed by the length and bytes of every stream in linear
//! order. Equal record sequences have equal bytes. Chunks and compression have no influence.

use serde::Serialize;

use crate::encoding::ENCODING_VERSION;
use crate::kernel::Launch;
use crate::program::ProgramHead;
use crate::{ContentHash, KernelTrace, Program};

/// Incremental hash of one kernel, stream by stream.
pub(crate) struct KernelHasher(blake3::Hasher);

impl KernelHasher {
    pub(crate) fn new(launch: &Launch) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("warpweave trace, kernel");
        hasher.update(&ENCODING_VERSION.to_le_bytes());
        let Launch {
            code,
            grid,
            block,
            dynamic_local_bytes,
            arguments,
            parent,
            attributes,
            geometry: _,
        } = launch;
        update(
            &mut hasher,
            &(code.as_ref(), grid, block, dynamic_local_bytes, arguments),
        );
        // A launch of the host of which nothing is said is named by what it did alone.
        if parent.is_some() || !attributes.is_empty() {
            update(&mut hasher, &(parent, attributes));
        }
        Self(hasher)
    }

    /// Appends the next stream in linear order.
    pub(crate) fn stream(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }
}

/// Computes the hash of a program with these kernels.
pub(crate) fn program(head: &ProgramHead, kernels: &[ContentHash]) -> ContentHash {
    let mut hasher = blake3::Hasher::new_derive_key("warpweave trace, program");
    update(&mut hasher, &(head, kernels));
    ContentHash(*hasher.finalize().as_bytes())
}

fn update(hasher: &mut blake3::Hasher, value: &impl Serialize) {
    hasher.update(&postcard::to_stdvec(value).expect("plain values can always be serialized"));
}

impl KernelTrace {
    /// Computes the content hash of the kernel trace.
    pub fn hash(&self) -> ContentHash {
        let mut hasher = KernelHasher::new(&self.launch());
        for stream in self.raw_streams() {
            hasher.stream(&stream);
        }
        hasher.finish()
    }
}

impl Program {
    /// Computes the content hash of the program. It is equal for equal programs however they are
    /// stored, and different if any record, command or front-end setting differs.
    pub fn hash(&self) -> ContentHash {
        let kernels: Vec<_> = self.kernels.iter().map(|kernel| kernel.hash()).collect();
        program(&self.head(), &kernels)
    }
}
