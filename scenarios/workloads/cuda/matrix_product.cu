// c = a * b for row-major matrices of m x k and k x n elements.
//
// Each product is rounded before it is added and k ascends, so every element equals the plain triple loop
// bit for bit.
#include "warpweave_cuda.h"

static const unsigned TILE = 16;

// Tile by tile through shared memory. Cells of a tile that stick out of a matrix are zero.
KERNEL __launch_bounds__(256) matrix_product(const float *a, const float *b, float *c, unsigned m,
                                             unsigned n, unsigned k) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned row = blockIdx.y * TILE + ty;
    unsigned column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (unsigned start = 0; start < k; start += TILE) {
        bool a_inside = row < m && start + tx < k;
        bool b_inside = start + ty < k && column < n;
        a_tile[ty][tx] = a_inside ? a[row * k + start + tx] : 0.0f;
        b_tile[ty][tx] = b_inside ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll 4
        for (unsigned i = 0; i < TILE; ++i) {
            sum += a_tile[ty][i] * b_tile[i][tx];
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        c[row * n + column] = sum;
    }
}

// Straight from global memory.
KERNEL matrix_product_global(const float *a, const float *b, float *c, unsigned m, unsigned n,
                             unsigned k) {
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned i = 0; i < k; ++i) {
        sum += a[row * k + i] * b[i * n + column];
    }
    c[row * n + column] = sum;
}
