// A sparse matrix times a dense one, in whole numbers: one thread for each row leaves a row of more than `threshold`
// entries to a child kernel, one thread for each column of the result.
#include "device_launch.h"

struct Row {
    const unsigned *columns;
    const unsigned *values;
    const unsigned *dense;
    unsigned *result;
    unsigned count;
    unsigned width;
};

static __device__ __forceinline__ unsigned dot(const unsigned *columns, const unsigned *values, const unsigned *dense,
                                               unsigned count, unsigned width, unsigned column) {
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += values[i] * dense[columns[i] * width + column];
    return sum;
}

KERNEL spmm_device_row(const unsigned *columns, const unsigned *values, const unsigned *dense, unsigned *result,
                       unsigned count, unsigned width) {
    unsigned column = global_thread();
    if (column < width)
        result[column] = dot(columns, values, dense, count, width, column);
}

KERNEL spmm_device(const unsigned *row_offsets, const unsigned *columns, const unsigned *values, const unsigned *dense,
                   unsigned *result, unsigned rows, unsigned width, unsigned threshold) {
    unsigned row = global_thread();
    if (row >= rows)
        return;
    unsigned first = row_offsets[row], count = row_offsets[row + 1] - first;
    unsigned *own = result + row * width;
    if (count > threshold) {
        LAUNCH_CHILD(spmm_device_row, child_groups(width), CHILD_THREADS, Row, columns + first, values + first, dense,
                     own, count, width);
    } else {
        for (unsigned column = 0; column < width; column++)
            own[column] = dot(columns + first, values + first, dense, count, width, column);
    }
}
