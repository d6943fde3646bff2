// One level of a breadth-first search from a queue, one thread for each queued vertex.
//
// A vertex claims each neighbour that is not reached by an atomic minimum, so none is queued twice. Claimed vertices go
// to a queue of the block in local memory, and to the next queue once that is full. At the end the block reserves a
// range of the next queue and copies its own into it. The host sets depth[] to UNREACHED except 0 at the source, which
// alone is queued, and launches as many threads as there are queued vertices until there are none.
#include "warpweave_cuda.h"

static const unsigned CAPACITY_MAX = 1024;

KERNEL bfs_dd_expand(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns, unsigned *depth,
                     const unsigned *__restrict__ queue, unsigned *next_queue, unsigned *next_count, unsigned count,
                     unsigned level, unsigned capacity) {
    __shared__ unsigned own_queue[CAPACITY_MAX];
    __shared__ unsigned own_count;
    __shared__ unsigned own_place;
    if (threadIdx.x == 0) {
        own_count = 0;
    }
    __syncthreads();
    unsigned thread = global_thread();
    if (thread < count) {
        unsigned vertex = queue[thread];
        unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
            unsigned neighbour = columns[edge];
            if (atomicMin(&depth[neighbour], level + 1) > level + 1) {
                unsigned place = atomicAdd(&own_count, 1);
                if (place < capacity) {
                    own_queue[place] = neighbour;
                } else {
                    next_queue[atomicAdd(next_count, 1)] = neighbour;
                }
            }
        }
    }
    __syncthreads();
    unsigned queued = own_count < capacity ? own_count : capacity;
    if (threadIdx.x == 0) {
        own_place = atomicAdd(next_count, queued);
    }
    __syncthreads();
#pragma unroll 1 // one store per vertex and per instruction address
    for (unsigned i = threadIdx.x; i < queued; i += blockDim.x) {
        next_queue[own_place + i] = own_queue[i];
    }
}
