// Convolution of a volume with a window of 3 x 3 x 3, one launch for each plane.
//
// A cell at distance d from the centre of the window (0 to 3 axes away) has weight 0.5, 0.25, -0.125 or 0.0625.
// Products are added plane by plane, row by row, from left to right, each rounded. The outermost cells are not
// written.
#include "clustered.h"

static __device__ __forceinline__ void convolve(Block block, const float *input, float *output, unsigned width,
                                                unsigned height, unsigned plane) {
    unsigned x = block.x * 32 + threadIdx.x;
    unsigned y = block.y * 8 + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) {
        return;
    }
    unsigned here = (plane * height + y) * width + x;
    float sum = 0.0f;
#pragma unroll
    for (int dz = -1; dz <= 1; ++dz) {
#pragma unroll
        for (int dy = -1; dy <= 1; ++dy) {
#pragma unroll
            for (int dx = -1; dx <= 1; ++dx) {
                const float weights[4] = {0.5f, 0.25f, -0.125f, 0.0625f};
                int away = dx * dx + dy * dy + dz * dz;
                sum += weights[away] * input[here + (unsigned)((dz * (int)height + dy) * (int)width + dx)];
            }
        }
    }
    output[here] = sum;
}

#define PARAMETERS (const float *input, float *output, unsigned width, unsigned height, unsigned plane)
#define ARGUMENTS (input, output, width, height, plane)

FORMS_BY_ROWS(convolution_3d, 256, false, convolve, PARAMETERS, ARGUMENTS)
TABLE_FORMS(convolution_3d, 256, Rows, false, convolve, PARAMETERS, ARGUMENTS)
