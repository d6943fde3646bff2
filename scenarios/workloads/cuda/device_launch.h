// Launches from the device, over the two functions that compilers turn `kernel<<<>>>(..)` into. clang takes no
// kernel's address in a kernel, so one line of PTX gives it: ADDRESS_OF(kernel).
#pragma once

#include "warpweave_cuda.h"

typedef void *Stream;

extern "C" __device__ void *cudaGetParameterBufferV2(void *kernel, dim3 grid, dim3 block, unsigned shared);
extern "C" __device__ int cudaLaunchDeviceV2(void *buffer, Stream stream);
extern "C" __device__ int cudaStreamCreateWithFlags(Stream *stream, unsigned flags);

#define ADDRESS_OF(kernel)                                                                                             \
    ({                                                                                                                 \
        void *address;                                                                                                 \
        asm("mov.u64 %0, " #kernel ";" : "=l"(address));                                                               \
        address;                                                                                                       \
    })

// A stream of its own for a launch that waits for no sibling.
static __device__ __forceinline__ Stream new_stream() {
    Stream stream = 0;
    cudaStreamCreateWithFlags(&stream, 1);
    return stream;
}
