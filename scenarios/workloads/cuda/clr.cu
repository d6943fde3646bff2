// One round of graph colouring by independent sets, one thread for each vertex, priorities from the host: a vertex whose
// neighbours without a colour all have lower priority takes the round as its colour.
//
// A neighbour coloured in this round still counts as one without a colour, else both could take it. So the colours do
// not depend on the order of the threads. The host sets colours[] to NO_COLOUR, then repeats: clear *left_flag, launch
// with the next round, stop when the flag still reads zero.
#include "warpweave_cuda.h"

static const unsigned NO_COLOUR = 0xffffffffu;

KERNEL clr_colour(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                  const unsigned *__restrict__ priorities, unsigned *colours, unsigned *left_flag, unsigned round,
                  unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || colours[vertex] != NO_COLOUR) {
        return;
    }
    unsigned mine = priorities[vertex];
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned other = columns[edge];
        unsigned theirs = priorities[other];
        unsigned colour = colours[other];
        bool counts = (colour == NO_COLOUR) | (colour == round);
        bool is_higher = (theirs > mine) | ((theirs == mine) & (other > vertex));
        if (counts & is_higher) { // one branch, without short cuts
            *left_flag = 1;
            return;
        }
    }
    colours[vertex] = round;
}
