// A 3 x 3 convolution of a row-major matrix, straight from global memory.
//
// The nine products are added row by row, left to right, each rounded before it is added. The outermost
// ring of `output` is not written.
#include "warpweave_cuda.h"

KERNEL convolution_2d(const float *input, float *output, unsigned width, unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) {
        return;
    }
    const float *above = input + (y - 1) * width + x;
    const float *row = input + y * width + x;
    const float *below = input + (y + 1) * width + x;
    float sum = 0.25f * above[-1];
    sum += -0.5f * above[0];
    sum += 0.75f * above[1];
    sum += 0.375f * row[-1];
    sum += 0.625f * row[0];
    sum += -0.875f * row[1];
    sum += -0.125f * below[-1];
    sum += 0.9f * below[0];
    sum += 0.1f * below[1];
    output[y * width + x] = sum;
}
