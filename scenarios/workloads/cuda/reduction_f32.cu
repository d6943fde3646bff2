// partial[block] = sum of the block's share of input: strided sums per thread, warp shuffles, then
// one warp over the eight warp sums. Launched again with one block over the partial sums it
// finishes the reduction. No atomics: the order of the additions depends on the grid alone.
#include "warpweave_cuda.h"

static __device__ __forceinline__ float warp_sum(float value) {
    for (unsigned distance = 16; distance > 0; distance /= 2) {
        value += __shfl_down_sync(FULL_WARP, value, distance);
    }
    return value;
}

KERNEL __launch_bounds__(256) reduction_f32(const float *input, float *partial, unsigned n) {
    __shared__ float warp_sums[8];
    unsigned t = threadIdx.x;

    float sum = 0.0f;
    for (unsigned i = global_thread(); i < n; i += gridDim.x * 256) {
        sum += input[i];
    }
    sum = warp_sum(sum);
    if (t % 32 == 0) {
        warp_sums[t / 32] = sum;
    }
    __syncthreads();

    if (t < 32) {
        sum = warp_sum(t < 8 ? warp_sums[t] : 0.0f);
        if (t == 0) {
            partial[blockIdx.x] = sum;
        }
    }
}
