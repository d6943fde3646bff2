// One level of a breadth-first search, a warp for each chunk of 32 vertices, with flags of one or four bytes.
//
// Visit: the warp tests the vertices of its chunk one after the other; its lanes share the neighbours of one that is in
// the mask. Update, one thread for each vertex: marked vertices form the next mask. The host sets mask, visited and
// cost 0 at the source, and repeats both until nothing was marked.
#include "warpweave_cuda.h"

static const unsigned LANES = 32;

template <typename Flag>
static __device__ __forceinline__ void visit(const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns, const Flag *__restrict__ mask,
                                             Flag *marked, const Flag *__restrict__ visited, unsigned *cost,
                                             unsigned n) {
    unsigned thread = global_thread();
    unsigned lane = thread % LANES;
    unsigned first = thread - lane;
    unsigned behind = first + LANES < n ? first + LANES : n;
#pragma unroll 1 // one load per vertex and per instruction address
    for (unsigned vertex = first; vertex < behind; ++vertex) {
        if (mask[vertex] == 0) {
            continue;
        }
        unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned edge = row_offsets[vertex] + lane; edge < end; edge += LANES) {
            unsigned neighbour = columns[edge];
            if (visited[neighbour] == 0) {
                cost[neighbour] = cost[vertex] + 1;
                marked[neighbour] = 1;
            }
        }
    }
}

template <typename Flag>
static __device__ __forceinline__ void update(Flag *mask, Flag *marked, Flag *visited, unsigned *found, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    Flag is_next = marked[vertex];
    mask[vertex] = is_next;
    if (is_next != 0) {
        visited[vertex] = 1;
        *found = 1;
        marked[vertex] = 0;
    }
}

KERNEL bfs_wc_visit_u8(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                       const unsigned char *__restrict__ mask, unsigned char *marked,
                       const unsigned char *__restrict__ visited, unsigned *cost, unsigned n) {
    visit(row_offsets, columns, mask, marked, visited, cost, n);
}

KERNEL bfs_wc_update_u8(unsigned char *mask, unsigned char *marked, unsigned char *visited, unsigned *found,
                        unsigned n) {
    update(mask, marked, visited, found, n);
}

KERNEL bfs_wc_visit_u32(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                        const unsigned *__restrict__ mask, unsigned *marked, const unsigned *__restrict__ visited,
                        unsigned *cost, unsigned n) {
    visit(row_offsets, columns, mask, marked, visited, cost, n);
}

KERNEL bfs_wc_update_u32(unsigned *mask, unsigned *marked, unsigned *visited, unsigned *found, unsigned n) {
    update(mask, marked, visited, found, n);
}
