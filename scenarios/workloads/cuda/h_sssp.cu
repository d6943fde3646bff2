// One round of shortest paths, one thread for each vertex, with flags of one or four bytes.
//
// Relax: every vertex of the mask leaves it and lowers the next costs of its neighbours. Update: vertices whose next
// cost is lower take it and form the next mask. The host sets cost and next[] to UNREACHED except 0 at the source,
// which alone is in the mask, and repeats both until no cost was lowered. Paths must be shorter than 2^32.
#include "warpweave_cuda.h"

template <typename Flag>
static __device__ __forceinline__ void relax(const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns,
                                             const unsigned *__restrict__ weights, Flag *mask, const unsigned *cost,
                                             unsigned *next, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || mask[vertex] == 0) {
        return;
    }
    mask[vertex] = 0;
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned neighbour = columns[edge];
        unsigned weight = weights[edge];
        // Read again for each edge, as the atomic may have changed it for all that the compiler knows.
        atomicMin(&next[neighbour], cost[vertex] + weight);
    }
}

template <typename Flag>
static __device__ __forceinline__ void update(Flag *mask, unsigned *cost, unsigned *next, unsigned *found, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    if (cost[vertex] > next[vertex]) {
        cost[vertex] = next[vertex];
        mask[vertex] = 1;
        *found = 1;
    }
    next[vertex] = cost[vertex];
}

KERNEL h_sssp_relax_u8(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                       const unsigned *__restrict__ weights, unsigned char *mask, const unsigned *cost,
                       unsigned *next, unsigned n) {
    relax(row_offsets, columns, weights, mask, cost, next, n);
}

KERNEL h_sssp_update_u8(unsigned char *mask, unsigned *cost, unsigned *next, unsigned *found, unsigned n) {
    update(mask, cost, next, found, n);
}

KERNEL h_sssp_relax_u32(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                        const unsigned *__restrict__ weights, unsigned *mask, const unsigned *cost, unsigned *next,
                        unsigned n) {
    relax(row_offsets, columns, weights, mask, cost, next, n);
}

KERNEL h_sssp_update_u32(unsigned *mask, unsigned *cost, unsigned *next, unsigned *found, unsigned n) {
    update(mask, cost, next, found, n);
}
