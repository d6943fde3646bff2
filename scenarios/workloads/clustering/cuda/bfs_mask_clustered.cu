// The forms of bfs_mask: one level of a breadth-first search in two kernels, with masks of the vertices to visit.
//
// `bfs_mask_visit`: every vertex of the mask gives its neighbours that are not visited its own cost plus
// one and marks them; several may store to one neighbour, all the same. `bfs_mask_update` makes the marks
// the next mask. The host sets mask[source] = visited[source] = 1 and cost[source] = 0, everything else to
// none, and repeats both until nothing was marked.
#include "clustered.h"

static __device__ __forceinline__ void visit(Block block, const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns, unsigned *mask, unsigned *marked,
                                             const unsigned *__restrict__ visited, unsigned *cost, unsigned n) {
    unsigned vertex = block.x * 256 + threadIdx.x;
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

// The arrays whose addresses follow from the vertex.
template <class Binding>
static __device__ __forceinline__ void visit_ahead(Block block, const unsigned *row_offsets, const unsigned *,
                                                   unsigned *mask, unsigned *, const unsigned *, unsigned *,
                                                   unsigned n) {
    unsigned vertex = block.x * 256 + threadIdx.x;
    if (vertex < n) {
        Binding::prefetch(&mask[vertex]);
        Binding::prefetch(&row_offsets[vertex]);
    }
}

static __device__ __forceinline__ void update(Block block, unsigned *mask, unsigned *marked, unsigned *visited,
                                              unsigned *found, unsigned n) {
    unsigned vertex = block.x * 256 + threadIdx.x;
    if (vertex < n && marked[vertex] != 0) {
        mask[vertex] = 1;
        visited[vertex] = 1;
        *found = 1;
        marked[vertex] = 0;
    }
}

template <class Binding>
static __device__ __forceinline__ void update_ahead(Block block, unsigned *, unsigned *marked, unsigned *, unsigned *,
                                                    unsigned n) {
    unsigned vertex = block.x * 256 + threadIdx.x;
    if (vertex < n) {
        Binding::prefetch(&marked[vertex]);
    }
}

#define VISIT_PARAMETERS                                                                                               \
    (const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns, unsigned *mask, unsigned *marked, \
     const unsigned *__restrict__ visited, unsigned *cost, unsigned n)
#define VISIT_ARGUMENTS (row_offsets, columns, mask, marked, visited, cost, n)
#define UPDATE_PARAMETERS (unsigned *mask, unsigned *marked, unsigned *visited, unsigned *found, unsigned n)
#define UPDATE_ARGUMENTS (mask, marked, visited, found, n)

FORMS_OF_LINE(bfs_mask_visit, 256, Line, false, visit, VISIT_PARAMETERS, VISIT_ARGUMENTS)
AHEAD_FORMS(bfs_mask_visit_agents_rows_ahead, 256, Line, false, visit, visit_ahead, VISIT_PARAMETERS, VISIT_ARGUMENTS)
FORMS_OF_LINE(bfs_mask_update, 256, Line, false, update, UPDATE_PARAMETERS, UPDATE_ARGUMENTS)
AHEAD_FORMS(bfs_mask_update_agents_rows_ahead, 256, Line, false, update, update_ahead, UPDATE_PARAMETERS,
            UPDATE_ARGUMENTS)
