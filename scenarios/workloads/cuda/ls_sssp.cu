// One round of shortest paths without a frontier, one thread for each vertex: all vertices relax their arcs, those that
// are not reached yet as well.
//
// The host sets distance[] to UNREACHED except distance[source] = 0, then repeats: clear *changed_flag, launch, stop
// when the flag still reads zero. The number of rounds depends on the order of the threads; the final distances do not.
// A path longer than 32 bits is no path.
#include "warpweave_cuda.h"

static const unsigned UNREACHED = 0xffffffffu;

KERNEL ls_sssp_relax(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                     const unsigned *__restrict__ weights, unsigned *distance, unsigned *changed_flag, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    unsigned here = distance[vertex];
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned sum = here + weights[edge];
        unsigned candidate = sum < here ? UNREACHED : sum;
        if (candidate < atomicMin(&distance[columns[edge]], candidate)) {
            *changed_flag = 1;
        }
    }
}
