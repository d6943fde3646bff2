// The forms of hotspot: steps of heat conduction on a chip, several in one launch.
//
// new = cell + step * (((power + vertical) + horizontal) + to_air) with
//   vertical = ((north + south) - (cell + cell)) * ry, horizontal = ((east + west) - (cell + cell)) * rx,
//   to_air = (ambient - cell) * rz.
// Each block computes an inner square from a larger one with a halo, which its neighbours compute as well. Beyond
// the edge of the grid a cell sees itself. Every operation rounds once. Streamed forms read the power past the
// first-level cache.
#include "clustered.h"

static const int SIDE = 16;  // of a block
static const int BORDER = 2; // rings of halo: most steps of one launch
static const int INNER = SIDE - 2 * BORDER;

template <bool STREAMED>
static __device__ __forceinline__ void conduct(Block block, const float *power, const float *input, float *output,
                                               unsigned width, unsigned height, unsigned steps, float step, float rx,
                                               float ry, float rz, float ambient) {
    __shared__ float temperature[SIDE][SIDE];
    __shared__ float power_tile[SIDE][SIDE];

    int tx = (int)threadIdx.x;
    int ty = (int)threadIdx.y;
    int x = (int)block.x * INNER - BORDER + tx;
    int y = (int)block.y * INNER - BORDER + ty;
    bool in_grid = x >= 0 && y >= 0 && x < (int)width && y < (int)height;
    unsigned here = (unsigned)y * width + (unsigned)x;
    if (in_grid) {
        temperature[ty][tx] = input[here];
        power_tile[ty][tx] = STREAMED ? past_l1(&power[here]) : power[here];
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

#define PARAMETERS                                                                                                     \
    (const float *power, const float *input, float *output, unsigned width, unsigned height, unsigned steps,           \
     float step, float rx, float ry, float rz, float ambient)
#define ARGUMENTS (power, input, output, width, height, steps, step, rx, ry, rz, ambient)

FORMS_BY_ROWS(hotspot, 256, true, conduct<false>, PARAMETERS, ARGUMENTS)
TABLE_FORMS(hotspot, 256, Rows, true, conduct<false>, PARAMETERS, ARGUMENTS)
AGENT_FORMS(hotspot_agents_rows_streamed, 256, Rows, true, false, conduct<true>, PARAMETERS, ARGUMENTS)
