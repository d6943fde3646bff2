// One step of a Jacobi solver of the Laplace equation in three dimensions.
//
// A block covers 32 x 4 columns and marches along z; the current plane with its halo lies in shared memory,
// the planes below and above in registers.
// output = factor * (((((north + south) + west) + east) + below) + above), each sum rounded. The outermost
// cells of `output` are not written.
#include "warpweave_cuda.h"

static const unsigned WIDE = 32;
static const unsigned HIGH = 4;

KERNEL __launch_bounds__(128)
    laplace_3d(const float *input, float *output, unsigned nx, unsigned ny, unsigned nz, float factor) {
    __shared__ float tile[HIGH + 2][WIDE + 2];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned x = blockIdx.x * WIDE + tx;
    unsigned y = blockIdx.y * HIGH + ty;
    unsigned plane = nx * ny;
    unsigned column = y * nx + x;
    bool inside = x < nx && y < ny;
    bool inner = x > 0 && y > 0 && x + 1 < nx && y + 1 < ny;

    float below = 0.0f;
    float cell = 0.0f;
    if (inside && nz > 2) {
        below = input[column];
        cell = input[column + plane];
    }
#pragma unroll 1
    for (unsigned z = 1; z + 1 < nz; ++z) {
        unsigned here = column + z * plane;
        tile[ty + 1][tx + 1] = cell;
        float above = 0.0f;
        if (inside) {
            above = input[here + plane];
            if (ty == 0 && y > 0) {
                tile[0][tx + 1] = input[here - nx];
            }
            if (ty == HIGH - 1 && y + 1 < ny) {
                tile[HIGH + 1][tx + 1] = input[here + nx];
            }
            if (tx == 0 && x > 0) {
                tile[ty + 1][0] = input[here - 1];
            }
            if (tx == WIDE - 1 && x + 1 < nx) {
                tile[ty + 1][WIDE + 1] = input[here + 1];
            }
        }
        __syncthreads();
        if (inner) {
            float sum = tile[ty][tx + 1] + tile[ty + 2][tx + 1];
            sum += tile[ty + 1][tx];
            sum += tile[ty + 1][tx + 2];
            sum += below;
            sum += above;
            output[here] = factor * sum;
        }
        __syncthreads();
        below = cell;
        cell = above;
    }
}
