// The forms of matrix_multiply_tile32: c = a * b for square row-major matrices of any size n, tiles of 32 x 32.
//
// Cells of a tile that stick out of the matrix are zero. Products are rounded before they are added and k
// ascends, so every element equals the plain triple loop bit for bit.
#include "clustered.h"

static const unsigned TILE = 32;

static __device__ __forceinline__ void multiply(Block block, const float *a, const float *b, float *c, unsigned n) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned row = block.y * TILE + ty;
    unsigned column = block.x * TILE + tx;
    float sum = 0.0f;

    for (unsigned start = 0; start < n; start += TILE) {
        bool a_inside = row < n && start + tx < n;
        bool b_inside = start + ty < n && column < n;
        a_tile[ty][tx] = a_inside ? a[row * n + start + tx] : 0.0f;
        b_tile[ty][tx] = b_inside ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < TILE; ++k) {
            sum += a_tile[ty][k] * b_tile[k][tx];
        }
        __syncthreads();
    }

    if (row < n && column < n) {
        c[row * n + column] = sum;
    }
}

#define PARAMETERS (const float *a, const float *b, float *c, unsigned n)
#define ARGUMENTS (a, b, c, n)

FORMS_BY_ROWS(matrix_multiply_tile32, 1024, true, multiply, PARAMETERS, ARGUMENTS)
TABLE_FORMS(matrix_multiply_tile32, 1024, Rows, true, multiply, PARAMETERS, ARGUMENTS)

// `Tiles<2, 2>` cannot stand in a macro's arguments.
using Tiles2 = Tiles<2, 2>;
using Tiles4 = Tiles<4, 4>;
AGENT_FORMS(matrix_multiply_tile32_agents_tiles2, 1024, Tiles2, true, false, multiply, PARAMETERS, ARGUMENTS)
AGENT_FORMS(matrix_multiply_tile32_agents_tiles4, 1024, Tiles4, true, false, multiply, PARAMETERS, ARGUMENTS)
