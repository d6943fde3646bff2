// One round of shortest paths by the strategies that no kernel of the cache study is.
//
// `sssp_warp_relax_serial`, `sssp_warp_relax_ballot`: a warp takes the vertices of its chunk that are in the mask; its
// lanes share the arcs of one and lower the next costs of its neighbours. `h_sssp_update_u8` makes the next mask.
//
// `sssp_queue_relax`: one thread for each queued vertex does the same. `sssp_queue_build`: of all vertices, those whose
// next cost is lower take it and are queued.
//
// `sssp_queue_relax_claim`, `sssp_queue_settle`: the same without a look at all vertices, the control of that one.
// Whoever lowers a next cost claims the vertex, and queues it if nobody has; settling gives the claims back.
//
// The host sets cost and next[] to UNREACHED except 0 at the source, which alone is in the mask or queued, and repeats
// both kernels until no cost was lowered. Paths must be shorter than 2^32.
#include "strategies.h"

// Lowers the next costs of the ends of some arcs of a vertex.
static __device__ __forceinline__ void relax_arcs(const unsigned *__restrict__ columns,
                                                  const unsigned *__restrict__ weights, const unsigned *cost,
                                                  unsigned *next, unsigned vertex, unsigned edge, unsigned end,
                                                  unsigned step) {
#pragma unroll 1 // one load per edge and per instruction address
    for (; edge < end; edge += step) {
        unsigned neighbour = columns[edge];
        unsigned weight = weights[edge];
        // Read again for each edge, as the atomic may have changed it for all that the compiler knows.
        atomicMin(&next[neighbour], cost[vertex] + weight);
    }
}

template <typename Scan>
static __device__ __forceinline__ void relax(const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns,
                                             const unsigned *__restrict__ weights, unsigned char *mask,
                                             const unsigned *cost, unsigned *next, unsigned chunk, unsigned n) {
    auto is_active = [&] __device__(unsigned vertex) { return mask[vertex] != 0; };
    auto take = [&] __device__(unsigned vertex) { mask[vertex] = 0; };
    Scan::each(chunk, n, is_active, take, [&] __device__(unsigned vertex) {
        relax_arcs(columns, weights, cost, next, vertex, row_offsets[vertex] + lane(), row_offsets[vertex + 1], LANES);
    });
}

KERNEL sssp_warp_relax_serial(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                              const unsigned *__restrict__ weights, unsigned char *mask, const unsigned *cost,
                              unsigned *next, unsigned chunk, unsigned n) {
    relax<Serial>(row_offsets, columns, weights, mask, cost, next, chunk, n);
}

KERNEL sssp_warp_relax_ballot(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                              const unsigned *__restrict__ weights, unsigned char *mask, const unsigned *cost,
                              unsigned *next, unsigned chunk, unsigned n) {
    relax<Ballot>(row_offsets, columns, weights, mask, cost, next, chunk, n);
}

KERNEL sssp_queue_relax(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                        const unsigned *__restrict__ weights, const unsigned *cost, unsigned *next,
                        const unsigned *__restrict__ queue, unsigned count) {
    unsigned thread = global_thread();
    if (thread < count) {
        unsigned vertex = queue[thread];
        relax_arcs(columns, weights, cost, next, vertex, row_offsets[vertex], row_offsets[vertex + 1], 1);
    }
}

KERNEL sssp_queue_build(unsigned *cost, unsigned *next, unsigned *next_queue, unsigned *next_count, unsigned capacity,
                        unsigned n) {
    BLOCK_QUEUE(queue, next_queue, next_count, capacity);
    queue.begin();
    unsigned vertex = global_thread();
    if (vertex < n) {
        if (cost[vertex] > next[vertex]) {
            cost[vertex] = next[vertex];
            queue.push(vertex);
        }
        next[vertex] = cost[vertex];
    }
    queue.end();
}

KERNEL sssp_queue_relax_claim(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                              const unsigned *__restrict__ weights, const unsigned *cost, unsigned *next,
                              unsigned *claimed, const unsigned *__restrict__ frontier, unsigned *next_queue,
                              unsigned *next_count, unsigned count, unsigned capacity) {
    BLOCK_QUEUE(queue, next_queue, next_count, capacity);
    queue.begin();
    unsigned thread = global_thread();
    if (thread < count) {
        unsigned vertex = frontier[thread];
        unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
            unsigned neighbour = columns[edge];
            unsigned candidate = cost[vertex] + weights[edge];
            // Claims are counted, and the first one counts.
            if (candidate < atomicMin(&next[neighbour], candidate) && atomicAdd(&claimed[neighbour], 1) == 0) {
                queue.push(neighbour);
            }
        }
    }
    queue.end();
}

KERNEL sssp_queue_settle(unsigned *cost, const unsigned *__restrict__ next, unsigned *claimed,
                         const unsigned *__restrict__ queue, unsigned count) {
    unsigned thread = global_thread();
    if (thread < count) {
        unsigned vertex = queue[thread];
        cost[vertex] = next[vertex];
        claimed[vertex] = 0;
    }
}
