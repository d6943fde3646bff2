// LU decomposition of a square matrix without pivoting, in place, by tiles of 16 x 16.
//
// For each step s the host launches three kernels: `lud_diagonal` decomposes tile (s, s), `lud_perimeter`
// the tiles right of it and below it, `lud_internal` updates all tiles beyond. Every element loses its
// products l * u in ascending order, each rounded before it is subtracted, and elements below the diagonal
// are divided last, so results equal the plain triple loop bit for bit. n is a multiple of 16.
#include "warpweave_cuda.h"

static const unsigned TILE = 16;

KERNEL __launch_bounds__(16) lud_diagonal(float *matrix, unsigned n, unsigned step) {
    __shared__ float tile[TILE][TILE];

    unsigned tx = threadIdx.x;
    float *corner = matrix + step * TILE * n + step * TILE;
#pragma unroll 1
    for (unsigned row = 0; row < TILE; ++row) {
        tile[row][tx] = corner[row * n + tx];
    }
    __syncthreads();

    // Thread tx owns column i of L below the diagonal, then row i + 1 of U.
#pragma unroll 1
    for (unsigned i = 0; i + 1 < TILE; ++i) {
        if (tx > i) {
            float value = tile[tx][i];
#pragma unroll 1
            for (unsigned k = 0; k < i; ++k) {
                value -= tile[tx][k] * tile[k][i];
            }
            tile[tx][i] = value / tile[i][i];
        }
        __syncthreads();
        if (tx > i) {
            float value = tile[i + 1][tx];
#pragma unroll 1
            for (unsigned k = 0; k <= i; ++k) {
                value -= tile[i + 1][k] * tile[k][tx];
            }
            tile[i + 1][tx] = value;
        }
        __syncthreads();
    }

    // Row 0 of U is what it was.
#pragma unroll 1
    for (unsigned row = 1; row < TILE; ++row) {
        corner[row * n + tx] = tile[row][tx];
    }
}

// Block b: threads 0..15 work on tile (s, s + 1 + b) of U, threads 16..31 on tile (s + 1 + b, s) of L.
KERNEL __launch_bounds__(32) lud_perimeter(float *matrix, unsigned n, unsigned step) {
    __shared__ float diagonal[TILE][TILE];
    __shared__ float right[TILE][TILE];
    __shared__ float below[TILE][TILE];

    unsigned lane = threadIdx.x % TILE;
    bool upper = threadIdx.x < TILE;
    unsigned beyond = (blockIdx.x + 1) * TILE;
    float *corner = matrix + step * TILE * n + step * TILE;
    // Half of the diagonal tile each; then a tile each.
    unsigned first = upper ? 0 : TILE / 2;
#pragma unroll 1
    for (unsigned row = first; row < first + TILE / 2; ++row) {
        diagonal[row][lane] = corner[row * n + lane];
    }
#pragma unroll 1
    for (unsigned row = 0; row < TILE; ++row) {
        if (upper) {
            right[row][lane] = corner[row * n + beyond + lane];
        } else {
            below[row][lane] = corner[(beyond + row) * n + lane];
        }
    }
    __syncthreads();

    if (upper) { // a column of U
#pragma unroll 1
        for (unsigned i = 1; i < TILE; ++i) {
            float value = right[i][lane];
#pragma unroll 1
            for (unsigned k = 0; k < i; ++k) {
                value -= diagonal[i][k] * right[k][lane];
            }
            right[i][lane] = value;
        }
    } else { // a row of L
#pragma unroll 1
        for (unsigned i = 0; i < TILE; ++i) {
            float value = below[lane][i];
#pragma unroll 1
            for (unsigned k = 0; k < i; ++k) {
                value -= below[lane][k] * diagonal[k][i];
            }
            below[lane][i] = value / diagonal[i][i];
        }
    }
    __syncthreads();

#pragma unroll 1
    for (unsigned row = 0; row < TILE; ++row) {
        if (upper) {
            corner[row * n + beyond + lane] = right[row][lane];
        } else {
            corner[(beyond + row) * n + lane] = below[row][lane];
        }
    }
}

KERNEL __launch_bounds__(256) lud_internal(float *matrix, unsigned n, unsigned step) {
    __shared__ float left[TILE][TILE];
    __shared__ float above[TILE][TILE];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned row = (step + 1 + blockIdx.y) * TILE + ty;
    unsigned column = (step + 1 + blockIdx.x) * TILE + tx;
    left[ty][tx] = matrix[row * n + step * TILE + tx];
    above[ty][tx] = matrix[(step * TILE + ty) * n + column];
    __syncthreads();

    float value = matrix[row * n + column];
#pragma unroll
    for (unsigned k = 0; k < TILE; ++k) {
        value -= left[ty][k] * above[k][tx];
    }
    matrix[row * n + column] = value;
}
