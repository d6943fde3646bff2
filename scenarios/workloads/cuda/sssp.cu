// One round of Bellman-Ford relaxation, one thread per vertex of a weighted graph in CSR form.
//
// The host sets distance[] to UNREACHED except distance[source] = 0, then repeats: clear
// *changed_flag, launch, stop when the flag still reads zero. The number of rounds depends on the
// order of the threads; the final distances do not. A path longer than 32 bits is no path.
#include "warpweave_cuda.h"

static const unsigned UNREACHED = 0xffffffffu;

KERNEL sssp_relax(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                  const unsigned *__restrict__ weights, unsigned *distance,
                  unsigned *changed_flag, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    unsigned here = distance[vertex];
    if (here == UNREACHED) {
        return;
    }
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned candidate = here + weights[edge];
        bool overflow = candidate < here;
        if (!overflow && candidate < atomicMin(&distance[columns[edge]], candidate)) {
            *changed_flag = 1;
        }
    }
}
