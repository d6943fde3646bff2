// c = a * b for square row-major matrices of any size n, tile by tile through shared memory.
//
// Cells of a tile that stick out of the matrix are zero. Each product is rounded before it is
// added and k ascends, so every element equals the plain triple loop bit for bit: adding the
// padding's +0 never changes an accumulator that started at +0.
#include "warpweave_cuda.h"

template <unsigned TILE>
static __device__ __forceinline__ void multiply(const float *a, const float *b, float *c,
                                                unsigned n) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned row = blockIdx.y * TILE + ty;
    unsigned column = blockIdx.x * TILE + tx;
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

KERNEL __launch_bounds__(256) matrix_multiply(const float *a, const float *b, float *c,
                                              unsigned n) {
    multiply<16>(a, b, c, n);
}

KERNEL __launch_bounds__(1024) matrix_multiply_tile32(const float *a, const float *b, float *c,
                                                      unsigned n) {
    multiply<32>(a, b, c, n);
}
