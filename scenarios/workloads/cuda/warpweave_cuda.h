// The part of CUDA C++ our kernels use, over clang's builtins, so that PTX can be made without a
// CUDA toolkit. Device side only: there is no host API here, launches are described in RON.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

// Kernel names stay readable in the PTX.
#define KERNEL extern "C" __global__ void

// clang's threadIdx and friends convert to these two.
struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#include <__clang_cuda_builtin_vars.h>

// `__syncthreads()` is itself a clang builtin.

static __device__ __forceinline__ unsigned atomicAdd(unsigned *address, unsigned value) {
    return (unsigned)__nvvm_atom_add_gen_i((int *)address, (int)value);
}
static __device__ __forceinline__ unsigned atomicMin(unsigned *address, unsigned value) {
    return __nvvm_atom_min_gen_ui(address, value);
}

static const unsigned FULL_WARP = 0xffffffffu;

// Value of the lane `distance` above, in a warp of 32; lanes without such a lane keep their own.
static __device__ __forceinline__ float __shfl_down_sync(unsigned mask, float value,
                                                         unsigned distance) {
    return __nvvm_shfl_sync_down_f32(mask, value, distance, 31);
}

// Linear index of the thread in a one-dimensional grid.
static __device__ __forceinline__ unsigned global_thread() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}
