// *total += input[0] + ... + input[n - 1], modulo 2^32: a tree in shared memory per block, then one
// atomic per block. Integer addition commutes, so the result does not depend on the block order.
#include "warpweave_cuda.h"

KERNEL __launch_bounds__(256) reduction(const unsigned *input, unsigned *total, unsigned n) {
    __shared__ unsigned partial[256];
    unsigned t = threadIdx.x;

    unsigned sum = 0;
    for (unsigned i = global_thread(); i < n; i += gridDim.x * 256) {
        sum += input[i];
    }
    partial[t] = sum;
    __syncthreads();

    for (unsigned width = 128; width > 0; width /= 2) {
        if (t < width) {
            partial[t] += partial[t + width];
        }
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(total, partial[0]);
    }
}
