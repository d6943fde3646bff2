// One level of a breadth-first search, one thread for each vertex, with flags of one or four bytes.
//
// Visit: every vertex of the mask leaves it, gives its neighbours that are not visited its own cost plus one and
// marks them; several may store to one neighbour, all the same. Update: marked vertices form the next mask. The host
// sets mask, visited and cost 0 at the source, and repeats both until nothing was marked.
#include "warpweave_cuda.h"

template <typename Flag>
static __device__ __forceinline__ void visit(const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns, Flag *mask, Flag *marked,
                                             const Flag *__restrict__ visited, unsigned *cost, unsigned n) {
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

template <typename Flag>
static __device__ __forceinline__ void update(Flag *mask, Flag *marked, Flag *visited, unsigned *found, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex < n && marked[vertex] != 0) {
        mask[vertex] = 1;
        visited[vertex] = 1;
        *found = 1;
        marked[vertex] = 0;
    }
}

KERNEL h_bfs_visit_u8(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                      unsigned char *mask, unsigned char *marked, const unsigned char *__restrict__ visited,
                      unsigned *cost, unsigned n) {
    visit(row_offsets, columns, mask, marked, visited, cost, n);
}

KERNEL h_bfs_update_u8(unsigned char *mask, unsigned char *marked, unsigned char *visited, unsigned *found,
                       unsigned n) {
    update(mask, marked, visited, found, n);
}

KERNEL h_bfs_visit_u32(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                       unsigned *mask, unsigned *marked, const unsigned *__restrict__ visited, unsigned *cost,
                       unsigned n) {
    visit(row_offsets, columns, mask, marked, visited, cost, n);
}

KERNEL h_bfs_update_u32(unsigned *mask, unsigned *marked, unsigned *visited, unsigned *found, unsigned n) {
    update(mask, marked, visited, found, n);
}
