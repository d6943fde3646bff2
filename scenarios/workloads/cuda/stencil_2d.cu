// One step of a 5-point stencil on a row-major width x height grid:
// output = centre * input + neighbour * (((north + south) + west) + east).
// The outermost ring of cells is copied unchanged (fixed boundary).
#include "warpweave_cuda.h"

KERNEL stencil_2d(const float *input, float *output, unsigned width, unsigned height, float centre,
                  float neighbour) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    unsigned here = y * width + x;
    float value = input[here];
    if (x > 0 && y > 0 && x + 1 < width && y + 1 < height) {
        float around = input[here - width] + input[here + width] + input[here - 1] + input[here + 1];
        value = centre * value + neighbour * around;
    }
    output[here] = value;
}
