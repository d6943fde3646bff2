// Transposes a row-major matrix straight from and to global memory, one thread for each element.
//
// A row of 16 threads reads 64 bytes: two work-groups next to each other along x share every line.
#include "warpweave_cuda.h"

KERNEL transpose(const float *input, float *output, unsigned width, unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        output[x * height + y] = input[y * width + x];
    }
}
