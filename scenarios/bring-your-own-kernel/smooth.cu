// Smooths a series of temperatures and marks the minutes that are warm all the same.
// smooth.ptx was made from it with the command of scenarios/workloads/regenerate.sh; `nvcc -ptx` does as well,
// without the header, which stands for a CUDA toolkit.
#include "../workloads/cuda/warpweave_cuda.h"

KERNEL smooth(const float *celsius, float *smoothed, unsigned char *warm, unsigned n,
              float threshold) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float before = celsius[i == 0 ? 0 : i - 1];
    float after = celsius[i + 1 == n ? i : i + 1];
    float value = (before + 2.0f * celsius[i] + after) * 0.25f;
    smoothed[i] = value;
    warm[i] = value > threshold;
}
