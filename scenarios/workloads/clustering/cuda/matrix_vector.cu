// Products of a row-major matrix of `rows` x `columns` with a vector, and of its transpose.
//
// Row walk: one thread for each row, so that neighbours are `columns` elements apart. Column walk: one thread
// for each column. Terms are added in ascending order, each product rounded. Only the row walk has forms.
#include "clustered.h"

static __device__ __forceinline__ void walk_rows(Block block, const float *matrix, const float *vector, float *sums,
                                                 unsigned rows, unsigned columns) {
    unsigned row = block.x * 256 + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (unsigned column = 0; column < columns; ++column) {
        sum += matrix[row * columns + column] * vector[column];
    }
    sums[row] = sum;
}

KERNEL __launch_bounds__(256) column_walk(const float *matrix, const float *vector, float *sums, unsigned rows,
                                          unsigned columns) {
    unsigned column = blockIdx.x * 256 + threadIdx.x;
    if (column >= columns) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned row = 0; row < rows; ++row) {
        sum += matrix[row * columns + column] * vector[row];
    }
    sums[column] = sum;
}

#define PARAMETERS (const float *matrix, const float *vector, float *sums, unsigned rows, unsigned columns)
#define ARGUMENTS (matrix, vector, sums, rows, columns)

FORMS_OF_LINE(row_walk, 256, Line, false, walk_rows, PARAMETERS, ARGUMENTS)
TABLE_FORMS(row_walk, 256, Line, false, walk_rows, PARAMETERS, ARGUMENTS)
