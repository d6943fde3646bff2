// One launch of a breadth-first search by the strategies that no kernel of the cache study is: warps that share the
// neighbours of a vertex, with any chunk and either way to find it, and vertices that unroll the search.
//
// `bfs_warp_visit_serial`, `bfs_warp_visit_ballot`: a warp takes the vertices of its chunk that are in the mask; its
// lanes share the neighbours of one, give those that are not visited its cost plus one, and mark them.
// `h_bfs_update_u8` makes the marks the next mask.
//
// `bfs_unrolled_relax`: every vertex that is reached lowers the depths of its neighbours, and so do the first of those
// whose depth changed: `limit` vertices in all, itself included. The host sets depth[] to UNREACHED except 0 at the
// source, and repeats: clear *changed_flag, launch, stop when the flag still reads zero. The number of launches depends
// on the order of the threads; the final depths do not.
#include "strategies.h"

static const unsigned LIMIT_MAX = 16;

template <typename Scan>
static __device__ __forceinline__ void visit(const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns, unsigned char *mask,
                                             unsigned char *marked, const unsigned char *__restrict__ visited,
                                             unsigned *cost, unsigned chunk, unsigned n) {
    auto is_active = [&] __device__(unsigned vertex) { return mask[vertex] != 0; };
    auto take = [&] __device__(unsigned vertex) { mask[vertex] = 0; };
    Scan::each(chunk, n, is_active, take, [&] __device__(unsigned vertex) {
        unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned edge = row_offsets[vertex] + lane(); edge < end; edge += LANES) {
            unsigned neighbour = columns[edge];
            if (visited[neighbour] == 0) {
                cost[neighbour] = cost[vertex] + 1;
                marked[neighbour] = 1;
            }
        }
    });
}

KERNEL bfs_warp_visit_serial(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                             unsigned char *mask, unsigned char *marked, const unsigned char *__restrict__ visited,
                             unsigned *cost, unsigned chunk, unsigned n) {
    visit<Serial>(row_offsets, columns, mask, marked, visited, cost, chunk, n);
}

KERNEL bfs_warp_visit_ballot(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                             unsigned char *mask, unsigned char *marked, const unsigned char *__restrict__ visited,
                             unsigned *cost, unsigned chunk, unsigned n) {
    visit<Ballot>(row_offsets, columns, mask, marked, visited, cost, chunk, n);
}

KERNEL bfs_unrolled_relax(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                          unsigned *depth, unsigned *changed_flag, unsigned limit, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || depth[vertex] == UNREACHED) {
        return;
    }
    unsigned queue[LIMIT_MAX];
    queue[0] = vertex;
    unsigned pushed = 1;
#pragma unroll 1 // one vertex of the queue at a time
    for (unsigned popped = 0; popped < pushed; ++popped) {
        unsigned here = queue[popped];
        unsigned candidate = depth[here] + 1;
        unsigned end = row_offsets[here + 1];
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned edge = row_offsets[here]; edge < end; ++edge) {
            unsigned neighbour = columns[edge];
            if (candidate < atomicMin(&depth[neighbour], candidate)) {
                *changed_flag = 1;
                if (pushed < limit) {
                    queue[pushed] = neighbour;
                    ++pushed;
                }
            }
        }
    }
}
