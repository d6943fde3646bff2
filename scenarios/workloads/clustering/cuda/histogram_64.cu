// bins[min(v, 63)] += 1 for every value v.
//
// Each quarter of a work-group counts in bins of its own in local memory, by atomics; the sums go to the global
// bins with one atomic for each bin that is not empty.
#include "clustered.h"

static const unsigned BINS = 64;
static const unsigned COPIES = 4;

static __device__ __forceinline__ void count(Block block, const unsigned *values, unsigned *bins, unsigned n) {
    __shared__ unsigned local_bins[COPIES][BINS];
    unsigned t = threadIdx.x;
    unsigned *own = local_bins[t / BINS];
    own[t % BINS] = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = block.x * 256 + t; i < n; i += block.width * 256) {
        unsigned value = values[i];
        atomicAdd(&own[value < BINS - 1 ? value : BINS - 1], 1);
    }
    __syncthreads();
    if (t < BINS) {
        unsigned sum = 0;
#pragma unroll
        for (unsigned copy = 0; copy < COPIES; ++copy) {
            sum += local_bins[copy][t];
        }
        if (sum > 0) {
            atomicAdd(&bins[t], sum);
        }
    }
}

template <class Binding>
static __device__ __forceinline__ void count_ahead(Block block, const unsigned *values, unsigned *, unsigned n) {
    unsigned i = block.x * 256 + threadIdx.x;
    if (i < n) {
        Binding::prefetch(&values[i]);
    }
}

#define PARAMETERS (const unsigned *values, unsigned *bins, unsigned n)
#define ARGUMENTS (values, bins, n)

FORMS_OF_LINE(histogram_64, 256, Line, true, count, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(histogram_64_agents_rows_ahead, 256, Line, true, count, count_ahead, PARAMETERS, ARGUMENTS)
