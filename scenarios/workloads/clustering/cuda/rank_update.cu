// Symmetric updates of a square row-major matrix by long thin ones, one thread for each element of c.
//
// syrk: c += a * a^T; syr2k: c += a * b^T + b * a^T, both for n x m matrices a and b. Terms are added to c in
// ascending order of k, each product rounded. The threads of a wavefront read a column of the same matrix, so
// that neighbours are m elements apart.
#include "clustered.h"

static __device__ __forceinline__ void syrk_body(Block block, const float *a, float *c, unsigned n, unsigned m) {
    unsigned column = block.x * 32 + threadIdx.x;
    unsigned row = block.y * 8 + threadIdx.y;
    if (row >= n || column >= n) {
        return;
    }
    const float *left = a + row * m;
    const float *right = a + column * m;
    float sum = c[row * n + column];
#pragma unroll 1
    for (unsigned k = 0; k < m; ++k) {
        sum += left[k] * right[k];
    }
    c[row * n + column] = sum;
}

static __device__ __forceinline__ void syr2k_body(Block block, const float *a, const float *b, float *c, unsigned n,
                                                  unsigned m) {
    unsigned column = block.x * 32 + threadIdx.x;
    unsigned row = block.y * 8 + threadIdx.y;
    if (row >= n || column >= n) {
        return;
    }
    float sum = c[row * n + column];
#pragma unroll 1
    for (unsigned k = 0; k < m; ++k) {
        sum += a[row * m + k] * b[column * m + k];
        sum += b[row * m + k] * a[column * m + k];
    }
    c[row * n + column] = sum;
}

#define SYRK_PARAMETERS (const float *a, float *c, unsigned n, unsigned m)
#define SYRK_ARGUMENTS (a, c, n, m)

FORMS_BY_COLUMNS(syrk, 256, false, syrk_body, SYRK_PARAMETERS, SYRK_ARGUMENTS)
TABLE_FORMS(syrk, 256, Rows, false, syrk_body, SYRK_PARAMETERS, SYRK_ARGUMENTS)
#define SYR2K_PARAMETERS (const float *a, const float *b, float *c, unsigned n, unsigned m)
#define SYR2K_ARGUMENTS (a, b, c, n, m)

FORMS_BY_COLUMNS(syr2k, 256, false, syr2k_body, SYR2K_PARAMETERS, SYR2K_ARGUMENTS)
TABLE_FORMS(syr2k, 256, Rows, false, syr2k_body, SYR2K_PARAMETERS, SYR2K_ARGUMENTS)
