// bins[min(v, 255)] += 1 for every value v: counted per block with atomics in shared memory, then added
// to the global bins with one atomic per bin that is not empty.
#include "warpweave_cuda.h"

KERNEL __launch_bounds__(256) histogram(const unsigned *values, unsigned *bins, unsigned n) {
    __shared__ unsigned local_bins[256];
    unsigned t = threadIdx.x;
    local_bins[t] = 0;
    __syncthreads();

    for (unsigned i = global_thread(); i < n; i += gridDim.x * 256) {
        unsigned value = values[i];
        atomicAdd(&local_bins[value < 255 ? value : 255], 1);
    }
    __syncthreads();

    unsigned count = local_bins[t];
    if (count > 0) {
        atomicAdd(&bins[t], count);
    }
}
