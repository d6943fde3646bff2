// c = a * b for column-major matrices: a of m x k, b of k x n, c of m x n.
//
// A work-group computes 128 rows and 8 columns of c. It reads its columns of b through local memory, 16 rows at
// a time; each thread reads its row of a directly and keeps 8 sums. Beyond the edge b counts as zero. Terms are
// added in ascending order, each product rounded.
#include "clustered.h"

static const unsigned ROWS = 128;
static const unsigned COLUMNS = 8;
static const unsigned STEP = 16;

static __device__ __forceinline__ void sgemm_body(Block block, const float *a, const float *b, float *c, unsigned m,
                                                  unsigned n, unsigned k) {
    __shared__ float tile[COLUMNS][STEP];

    unsigned thread = threadIdx.y * STEP + threadIdx.x;
    unsigned row = block.x * ROWS + thread;
    unsigned first = block.y * COLUMNS;
    float sums[COLUMNS] = {};
#pragma unroll 1
    for (unsigned start = 0; start < k; start += STEP) {
        unsigned inner = start + threadIdx.x;
        unsigned column = first + threadIdx.y;
        tile[threadIdx.y][threadIdx.x] = inner < k && column < n ? b[column * k + inner] : 0.0f;
        __syncthreads();
        unsigned end = k - start < STEP ? k - start : STEP;
        if (row < m) {
#pragma unroll 1
            for (unsigned i = 0; i < end; ++i) {
                float left = a[(start + i) * m + row];
#pragma unroll
                for (unsigned j = 0; j < COLUMNS; ++j) {
                    sums[j] += left * tile[j][i];
                }
            }
        }
        __syncthreads();
    }
    if (row < m) {
#pragma unroll
        for (unsigned j = 0; j < COLUMNS; ++j) {
            if (first + j < n) {
                c[(first + j) * m + row] = sums[j];
            }
        }
    }
}

#define PARAMETERS (const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k)
#define ARGUMENTS (a, b, c, m, n, k)

FORMS_BY_COLUMNS(sgemm, 128, true, sgemm_body, PARAMETERS, ARGUMENTS)
TABLE_FORMS(sgemm, 128, Rows, true, sgemm_body, PARAMETERS, ARGUMENTS)
