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

// Launches `kernel` with the fields of a struct as its arguments, in a stream of its own.
#define LAUNCH_CHILD(kernel, blocks, threads, Arguments, ...)                                                          \
    do {                                                                                                               \
        void *buffer = cudaGetParameterBufferV2(ADDRESS_OF(kernel), dim3(blocks), dim3(threads), 0);                   \
        *(Arguments *)buffer = Arguments{__VA_ARGS__};                                                                 \
        cudaLaunchDeviceV2(buffer, new_stream());                                                                      \
    } while (0)

// Threads of a child, and how many work-groups of them so much work takes.
static const unsigned CHILD_THREADS = 128;
static __device__ __forceinline__ unsigned child_groups(unsigned work) {
    return (work + CHILD_THREADS - 1) / CHILD_THREADS;
}
