// One level of a breadth-first search in two kernels, with masks of the vertices to visit.
//
// `bfs_mask_visit`: every vertex of the mask gives its neighbours that are not visited its own cost plus
// one and marks them; several may store to one neighbour, all the same. `bfs_mask_update` makes the marks
// the next mask. The host sets mask[source] = visited[source] = 1 and cost[source] = 0, everything else to
// none, and repeats both until nothing was marked.
#include "warpweave_cuda.h"

KERNEL bfs_mask_visit(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                      unsigned *mask, unsigned *marked, const unsigned *__restrict__ visited,
                      unsigned *cost, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || mask[vertex] == 0) {
        return;
    }
    mask[vertex] = 0;
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned neighbour = columns[edge];
        if (visited[neighbour] == 0) {
            cost[neighbour] = cost[vertex] + 1;
            marked[neighbour] = 1;
        }
    }
}

KERNEL bfs_mask_update(unsigned *mask, unsigned *marked, unsigned *visited, unsigned *found, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex < n && marked[vertex] != 0) {
        mask[vertex] = 1;
        visited[vertex] = 1;
        *found = 1;
        marked[vertex] = 0;
    }
}
