// One round of a search for a path between two vertices, one thread for each vertex, with flags of one or four bytes.
//
// Two searches run at once, of colour SOURCE and of colour TARGET. Visit: every vertex of the mask leaves it, gives its
// neighbours without colour its own cost plus one and marks them for its colour; a neighbour of the other colour ends
// the search. Update: marked vertices take the colour and form the next mask; one that both searches marked ends the
// search. `met` is the round in which they met. Threads that store to one place in a launch store the same. The host
// sets mask and colour at both vertices, their cost 0, and repeats both until nothing was marked or they met.
#include "warpweave_cuda.h"

enum Colour { NONE, SOURCE, TARGET };

template <typename Flag>
static __device__ __forceinline__ void visit(const unsigned *__restrict__ row_offsets,
                                             const unsigned *__restrict__ columns, Flag *mask, Flag *marked_by_source,
                                             Flag *marked_by_target, const Flag *__restrict__ colour, unsigned *cost,
                                             unsigned *met, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    Flag mine = mask[vertex];
    if (mine == NONE) {
        return;
    }
    mask[vertex] = NONE;
    Flag *marked = mine == SOURCE ? marked_by_source : marked_by_target;
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned neighbour = columns[edge];
        Flag theirs = colour[neighbour];
        if (theirs == NONE) {
            cost[neighbour] = cost[vertex] + 1;
            marked[neighbour] = 1;
        } else if (theirs != mine) {
            *met = cost[vertex] + 1;
        }
    }
}

template <typename Flag>
static __device__ __forceinline__ void update(Flag *mask, Flag *marked_by_source, Flag *marked_by_target, Flag *colour,
                                              const unsigned *__restrict__ cost, unsigned *found, unsigned *met,
                                              unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    bool by_source = marked_by_source[vertex] != 0;
    bool by_target = marked_by_target[vertex] != 0;
    if (!by_source && !by_target) {
        return;
    }
    Flag mine = by_source ? SOURCE : TARGET;
    mask[vertex] = mine;
    colour[vertex] = mine;
    marked_by_source[vertex] = 0;
    marked_by_target[vertex] = 0;
    *found = 1;
    if (by_source && by_target) {
        *met = cost[vertex];
    }
}

KERNEL stcon_visit_u8(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                      unsigned char *mask, unsigned char *marked_by_source, unsigned char *marked_by_target,
                      const unsigned char *__restrict__ colour, unsigned *cost, unsigned *met, unsigned n) {
    visit(row_offsets, columns, mask, marked_by_source, marked_by_target, colour, cost, met, n);
}

KERNEL stcon_update_u8(unsigned char *mask, unsigned char *marked_by_source, unsigned char *marked_by_target,
                       unsigned char *colour, const unsigned *__restrict__ cost, unsigned *found, unsigned *met,
                       unsigned n) {
    update(mask, marked_by_source, marked_by_target, colour, cost, found, met, n);
}

KERNEL stcon_visit_u32(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                       unsigned *mask, unsigned *marked_by_source, unsigned *marked_by_target,
                       const unsigned *__restrict__ colour, unsigned *cost, unsigned *met, unsigned n) {
    visit(row_offsets, columns, mask, marked_by_source, marked_by_target, colour, cost, met, n);
}

KERNEL stcon_update_u32(unsigned *mask, unsigned *marked_by_source, unsigned *marked_by_target, unsigned *colour,
                        const unsigned *__restrict__ cost, unsigned *found, unsigned *met, unsigned n) {
    update(mask, marked_by_source, marked_by_target, colour, cost, found, met, n);
}
