// One level of a breadth-first search, one thread per vertex of a graph in CSR form.
//
// The host sets level[] to UNREACHED except level[source] = 0, then for current = 0, 1, ...
// clears *changed_flag, launches, and stops when the flag still reads zero. Several threads may
// store to one neighbour, but all store the same value.
#include "warpweave_cuda.h"

static const unsigned UNREACHED = 0xffffffffu;

KERNEL bfs_level(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                 unsigned *level, unsigned current, unsigned *changed_flag, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || level[vertex] != current) {
        return;
    }
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned neighbour = columns[edge];
        if (level[neighbour] == UNREACHED) {
            level[neighbour] = current + 1;
            *changed_flag = 1;
        }
    }
}
