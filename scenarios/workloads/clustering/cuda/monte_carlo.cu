// Values of call options, each the mean over random paths, one block for each option.
//
// A path and its mirror end at price * 2^(drift +- spread * sample). The values of both, at least 0, and the
// squares of their sums are added by thread and then by a tree. estimates: mean value and mean square of the
// pair's mean, two for each option.
#include "clustered.h"

static const unsigned THREADS = 256;

static __device__ __forceinline__ float value_of(float price, float strike, float exponent) {
    float value = price * __nvvm_ex2_approx_f(exponent) - strike;
    return value > 0.0f ? value : 0.0f;
}

static __device__ __forceinline__ void simulate(Block block, const float *prices, const float *strikes,
                                                const float *samples, float *estimates, unsigned paths, float drift,
                                                float spread) {
    __shared__ float sums[THREADS];
    __shared__ float squares[THREADS];

    unsigned t = threadIdx.x;
    unsigned option = block.x;
    float price = prices[option];
    float strike = strikes[option];
    float sum = 0.0f;
    float square = 0.0f;
#pragma unroll 1
    for (unsigned path = t; path < paths; path += THREADS) {
        float move = spread * samples[option * paths + path];
        float mean = 0.5f * (value_of(price, strike, drift + move) + value_of(price, strike, drift - move));
        sum += mean;
        square += mean * mean;
    }
    sums[t] = sum;
    squares[t] = square;
    __syncthreads();
#pragma unroll 1
    for (unsigned distance = THREADS / 2; distance > 0; distance /= 2) {
        if (t < distance) {
            sums[t] += sums[t + distance];
            squares[t] += squares[t + distance];
        }
        __syncthreads();
    }
    if (t == 0) {
        estimates[2 * option] = sums[0] / (float)paths;
        estimates[2 * option + 1] = squares[0] / (float)paths;
    }
}

template <class Binding>
static __device__ __forceinline__ void simulate_ahead(Block block, const float *prices, const float *strikes,
                                                      const float *samples, float *, unsigned paths, float, float) {
    Binding::prefetch(&prices[block.x]);
    Binding::prefetch(&strikes[block.x]);
    if (threadIdx.x < paths) {
        Binding::prefetch(&samples[block.x * paths + threadIdx.x]);
    }
}

#define PARAMETERS                                                                                                     \
    (const float *prices, const float *strikes, const float *samples, float *estimates, unsigned paths, float drift,   \
     float spread)
#define ARGUMENTS (prices, strikes, samples, estimates, paths, drift, spread)

FORMS_OF_LINE(monte_carlo, 256, Line, true, simulate, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(monte_carlo_agents_rows_ahead, 256, Line, true, simulate, simulate_ahead, PARAMETERS, ARGUMENTS)
