// One round of a maximal independent set, one thread for each vertex, priorities from the host.
//
// Select: an undecided vertex joins the set if its undecided neighbours all have lower priority. A neighbour that joined
// in this round still counts as undecided, so the set does not depend on the order of the threads. Exclude: an
// undecided vertex with a neighbour in the set leaves. The host sets all to UNDECIDED, then repeats: clear *left_flag,
// launch both, stop when the flag still reads zero.
#include "warpweave_cuda.h"

static const unsigned OUT = 0;
static const unsigned IN = 1;
static const unsigned UNDECIDED = 2;

KERNEL mis_select(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                  const unsigned *__restrict__ priorities, unsigned *status, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || status[vertex] != UNDECIDED) {
        return;
    }
    unsigned mine = priorities[vertex];
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned other = columns[edge];
        unsigned theirs = priorities[other];
        // Those in the set joined in this round: the vertex would be out else.
        bool counts = status[other] != OUT;
        bool is_higher = (theirs > mine) | ((theirs == mine) & (other > vertex));
        if (counts & is_higher) { // one branch, without short cuts
            return;
        }
    }
    status[vertex] = IN;
}

KERNEL mis_exclude(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns, unsigned *status,
                   unsigned *left_flag, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || status[vertex] != UNDECIDED) {
        return;
    }
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        if (status[columns[edge]] == IN) {
            status[vertex] = OUT;
            return;
        }
    }
    *left_flag = 1;
}
