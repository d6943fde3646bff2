// One step of a 3-D finite-difference stencil of radius 4 on a volume with 4 cells of padding on each side.
//
// A block covers 32 x 16 columns and marches along z. The columns above and below lie in registers, the
// current plane with its halo in shared memory.
// output = c0 * cell + sum over r = 1..4 of c[r] * (((((north + south) + west) + east) + above) + below),
// r ascending, each product rounded before it is added. The padding of `output` is not written.
#include "warpweave_cuda.h"

static const unsigned RADIUS = 4;
static const unsigned WIDE = 32;
static const unsigned HIGH = 16;

KERNEL __launch_bounds__(512)
    fdtd_3d(const float *input, float *output, unsigned nx, unsigned ny, unsigned nz, float c0, float c1,
            float c2, float c3, float c4) {
    __shared__ float tile[HIGH + 2 * RADIUS][WIDE + 2 * RADIUS];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned x = blockIdx.x * WIDE + tx;
    unsigned y = blockIdx.y * HIGH + ty;
    unsigned pitch = nx + 2 * RADIUS;
    unsigned plane = pitch * (ny + 2 * RADIUS);
    // Whether the column lies in the volume, or in the padding that the halo needs.
    bool inside = x < nx && y < ny;
    bool readable = x < nx + RADIUS && y < ny + RADIUS;
    unsigned column = (y + RADIUS) * pitch + x + RADIUS;

    // below[r]: r + 1 planes below, above[r]: r + 1 planes above.
    float below[RADIUS] = {};
    float above[RADIUS] = {};
    float cell = 0.0f;
    if (readable) {
#pragma unroll
        for (unsigned r = 0; r < RADIUS; ++r) {
            below[RADIUS - 1 - r] = input[column + r * plane];
        }
        cell = input[column + RADIUS * plane];
#pragma unroll
        for (unsigned r = 0; r < RADIUS; ++r) {
            above[r] = input[column + (RADIUS + 1 + r) * plane];
        }
    }

#pragma unroll 1
    for (unsigned z = 0; z < nz; ++z) {
        unsigned here = column + (z + RADIUS) * plane;
        tile[ty + RADIUS][tx + RADIUS] = cell;
        if (ty < RADIUS) { // the halo in y
            if (x < nx + RADIUS && y < ny + RADIUS) {
                tile[ty][tx + RADIUS] = input[here - RADIUS * pitch];
            }
            if (x < nx + RADIUS && y + HIGH < ny + RADIUS) {
                tile[ty + RADIUS + HIGH][tx + RADIUS] = input[here + HIGH * pitch];
            }
        }
        if (tx < RADIUS) { // the halo in x
            if (x < nx + RADIUS && y < ny + RADIUS) {
                tile[ty + RADIUS][tx] = input[here - RADIUS];
            }
            if (x + WIDE < nx + RADIUS && y < ny + RADIUS) {
                tile[ty + RADIUS][tx + RADIUS + WIDE] = input[here + WIDE];
            }
        }
        __syncthreads();
        if (inside) {
            const float *at = &tile[ty + RADIUS][tx + RADIUS];
            const int row = WIDE + 2 * RADIUS;
            float value = c0 * cell;
            value += c1 * (((((at[-row] + at[row]) + at[-1]) + at[1]) + above[0]) + below[0]);
            value += c2 * (((((at[-2 * row] + at[2 * row]) + at[-2]) + at[2]) + above[1]) + below[1]);
            value += c3 * (((((at[-3 * row] + at[3 * row]) + at[-3]) + at[3]) + above[2]) + below[2]);
            value += c4 * (((((at[-4 * row] + at[4 * row]) + at[-4]) + at[4]) + above[3]) + below[3]);
            output[here] = value;
        }
        __syncthreads();
        // March: the planes move down by one, and the next one above is loaded.
        below[3] = below[2];
        below[2] = below[1];
        below[1] = below[0];
        below[0] = cell;
        cell = above[0];
        above[0] = above[1];
        above[1] = above[2];
        above[2] = above[3];
        if (readable && z + 1 < nz) {
            above[3] = input[here + (RADIUS + 1) * plane];
        }
    }
}
