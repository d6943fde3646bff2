// Steps of heat conduction on a chip, several in one launch: each block computes an inner square from a
// larger one with a halo, and the halo is computed by its neighbours as well.
//
// new = cell + step * (((power + vertical) + horizontal) + to_air) with
//   vertical = ((north + south) - (cell + cell)) * ry, horizontal = ((east + west) - (cell + cell)) * rx,
//   to_air = (ambient - cell) * rz.
// Beyond the edge of the grid a cell sees itself. Every operation rounds once.
#include "warpweave_cuda.h"

static const int SIDE = 16;  // of a block
static const int BORDER = 2; // rings of halo: most steps of one launch
static const int INNER = SIDE - 2 * BORDER;

KERNEL __launch_bounds__(256)
    hotspot(const float *power, const float *input, float *output, unsigned width, unsigned height,
            unsigned steps, float step, float rx, float ry, float rz, float ambient) {
    __shared__ float temperature[SIDE][SIDE];
    __shared__ float power_tile[SIDE][SIDE];

    int tx = (int)threadIdx.x;
    int ty = (int)threadIdx.y;
    int x = (int)blockIdx.x * INNER - BORDER + tx;
    int y = (int)blockIdx.y * INNER - BORDER + ty;
    bool in_grid = x >= 0 && y >= 0 && x < (int)width && y < (int)height;
    unsigned here = (unsigned)y * width + (unsigned)x;
    if (in_grid) {
        temperature[ty][tx] = input[here];
        power_tile[ty][tx] = power[here];
    }
    __syncthreads();

    // Neighbours inside the tile; those beyond the edge of the grid are the cell itself.
    int north = y > 0 ? ty - 1 : ty;
    int south = y + 1 < (int)height ? ty + 1 : ty;
    int west = x > 0 ? tx - 1 : tx;
    int east = x + 1 < (int)width ? tx + 1 : tx;
    float value = 0.0f;
    bool computed = false;
#pragma unroll 1
    for (int done = 0; done < (int)steps; ++done) {
        // Each step leaves one more ring of the tile without neighbours.
        int low = done + 1;
        int high = SIDE - 2 - done;
        computed = in_grid && tx >= low && tx <= high && ty >= low && ty <= high;
        if (computed) {
            float cell = temperature[ty][tx];
            float vertical = ((temperature[north][tx] + temperature[south][tx]) - (cell + cell)) * ry;
            float horizontal = ((temperature[ty][east] + temperature[ty][west]) - (cell + cell)) * rx;
            float to_air = (ambient - cell) * rz;
            value = cell + step * (((power_tile[ty][tx] + vertical) + horizontal) + to_air);
        }
        __syncthreads();
        if (computed) {
            temperature[ty][tx] = value;
        }
        __syncthreads();
    }

    bool inner = tx >= BORDER && tx < SIDE - BORDER && ty >= BORDER && ty < SIDE - BORDER;
    if (in_grid && inner) {
        output[here] = temperature[ty][tx];
    }
}
