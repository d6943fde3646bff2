// One round of graph colouring by independent sets of the highest priority, by strategies: a vertex whose neighbours
// without a colour all have lower priority takes the round as its colour. All forms give the same colours.
//
// A neighbour coloured in this round still counts as one without a colour, else both could take it. So the colours do
// not depend on the order of the threads. The loop over the neighbours ends at the first of higher priority, but for
// `_whole`, the control. The host sets colours[] to NO_COLOUR and repeats both kernels with the next round.
//
// `clr_thread_colour` and its kin: one thread for each vertex. `clr_warp_colour_serial` and its kin: a warp takes the
// vertices of its chunk that have no colour; its lanes share the neighbours of one and vote. `clr_count` sets the flag
// if a vertex is left. `clr_queue_colour` and its kin: one thread for each queued vertex. `clr_queue_build`: of all
// vertices, those without a colour are queued.
#include "strategies.h"

struct Colouring {
    const unsigned *__restrict__ row_offsets;
    const unsigned *__restrict__ columns;
    const unsigned *__restrict__ priorities;
    unsigned *colours;
    unsigned round;

    // True if the end of this arc keeps the vertex from its colour.
    __device__ __forceinline__ bool loses(unsigned vertex, unsigned mine, unsigned edge) const {
        unsigned other = columns[edge];
        unsigned theirs = priorities[other];
        unsigned colour = colours[other];
        bool counts = (colour == NO_COLOUR) | (colour == round);
        bool is_higher = (theirs > mine) | ((theirs == mine) & (other > vertex));
        return counts & is_higher; // one branch, without short cuts
    }

    template <bool EARLY> __device__ __forceinline__ void by_thread(unsigned vertex) const {
        unsigned mine = priorities[vertex];
        unsigned end = row_offsets[vertex + 1];
        bool lost = false;
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
            if (loses(vertex, mine, edge)) {
                lost = true;
                if (EARLY) {
                    break;
                }
            }
        }
        if (!lost) {
            colours[vertex] = round;
        }
    }

    template <bool EARLY> __device__ __forceinline__ void by_warp(unsigned vertex) const {
        unsigned mine = priorities[vertex];
        unsigned end = row_offsets[vertex + 1];
        bool lost = false;
#pragma unroll 1 // one load per edge and per instruction address
        for (unsigned first = row_offsets[vertex]; first < end; first += LANES) {
            unsigned edge = first + lane();
            bool loses_here = false;
            if (edge < end) {
                loses_here = loses(vertex, mine, edge);
            }
            if (any_lane(loses_here)) {
                lost = true;
                if (EARLY) {
                    break;
                }
            }
        }
        if (!lost && lane() == 0) {
            colours[vertex] = round;
        }
    }
};

template <bool EARLY, typename Scan>
static __device__ __forceinline__ void colour_by_warps(const Colouring &colouring, unsigned chunk, unsigned n) {
    auto is_active = [&] __device__(unsigned vertex) { return colouring.colours[vertex] == NO_COLOUR; };
    auto take = [] __device__(unsigned) {};
    Scan::each(chunk, n, is_active, take, [&] __device__(unsigned vertex) { colouring.by_warp<EARLY>(vertex); });
}

#define BY_THREADS(name, EARLY)                                                                                        \
    KERNEL name(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,                        \
                const unsigned *__restrict__ priorities, unsigned *colours, unsigned round, unsigned n) {              \
        unsigned vertex = global_thread();                                                                             \
        if (vertex < n && colours[vertex] == NO_COLOUR) {                                                              \
            Colouring{row_offsets, columns, priorities, colours, round}.by_thread<EARLY>(vertex);                      \
        }                                                                                                              \
    }

#define BY_WARPS(name, EARLY, Scan)                                                                                    \
    KERNEL name(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,                        \
                const unsigned *__restrict__ priorities, unsigned *colours, unsigned round, unsigned chunk,            \
                unsigned n) {                                                                                          \
        Colouring colouring = {row_offsets, columns, priorities, colours, round};                                      \
        colour_by_warps<EARLY, Scan>(colouring, chunk, n);                                                             \
    }

#define BY_QUEUE(name, EARLY)                                                                                          \
    KERNEL name(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,                        \
                const unsigned *__restrict__ priorities, unsigned *colours, const unsigned *__restrict__ queue,        \
                unsigned round, unsigned count) {                                                                      \
        unsigned thread = global_thread();                                                                             \
        if (thread < count) {                                                                                          \
            Colouring{row_offsets, columns, priorities, colours, round}.by_thread<EARLY>(queue[thread]);               \
        }                                                                                                              \
    }

BY_THREADS(clr_thread_colour, true)
BY_THREADS(clr_thread_colour_whole, false)
BY_WARPS(clr_warp_colour_serial, true, Serial)
BY_WARPS(clr_warp_colour_serial_whole, false, Serial)
BY_WARPS(clr_warp_colour_ballot, true, Ballot)
BY_WARPS(clr_warp_colour_ballot_whole, false, Ballot)
BY_QUEUE(clr_queue_colour, true)
BY_QUEUE(clr_queue_colour_whole, false)

KERNEL clr_count(const unsigned *__restrict__ colours, unsigned *left_flag, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex < n && colours[vertex] == NO_COLOUR) {
        *left_flag = 1;
    }
}

KERNEL clr_queue_build(const unsigned *__restrict__ colours, unsigned *next_queue, unsigned *next_count,
                       unsigned capacity, unsigned n) {
    BLOCK_QUEUE(queue, next_queue, next_count, capacity);
    queue.begin();
    unsigned vertex = global_thread();
    if (vertex < n && colours[vertex] == NO_COLOUR) {
        queue.push(vertex);
    }
    queue.end();
}
