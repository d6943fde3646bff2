// One round of a breadth-first search without a frontier, one thread for each vertex: all vertices lower the depths of
// their neighbours, those that are not reached yet as well.
//
// The host sets depth[] to UNREACHED except depth[source] = 0, then repeats: clear *changed_flag, launch, stop when the
// flag still reads zero. The number of rounds depends on the order of the threads; the final depths do not.
#include "warpweave_cuda.h"

static const unsigned UNREACHED = 0xffffffffu;

KERNEL ls_bfs_relax(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns, unsigned *depth,
                    unsigned *changed_flag, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    unsigned here = depth[vertex];
    unsigned candidate = here == UNREACHED ? UNREACHED : here + 1;
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        if (candidate < atomicMin(&depth[columns[edge]], candidate)) {
            *changed_flag = 1;
        }
    }
}
