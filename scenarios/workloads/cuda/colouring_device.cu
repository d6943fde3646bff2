// Colouring by independent sets (Jones and Plassmann 1993), one thread for each vertex: a vertex without a neighbour
// of higher priority that has no colour yet takes the round as its colour. More than `threshold` neighbours are looked
// at by a child kernel; a barrier kernel hands out the colours.
#include "device_launch.h"

static const unsigned NO_COLOUR = 0xffffffffu;

struct Compare {
    const unsigned *neighbours;
    const unsigned *colours;
    unsigned *loses;
    unsigned count;
    unsigned vertex;
    unsigned seed;
};

// Bits of a vertex mixed (the last steps of MurmurHash3).
static __device__ __forceinline__ unsigned priority(unsigned vertex, unsigned seed) {
    unsigned bits = vertex ^ seed;
    bits = (bits ^ bits >> 16) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    return bits ^ bits >> 16;
}

static __device__ __forceinline__ void compare(unsigned vertex, unsigned other, const unsigned *colours,
                                               unsigned *loses, unsigned seed) {
    unsigned mine = priority(vertex, seed), theirs = priority(other, seed);
    bool is_higher = theirs > mine || (theirs == mine && other > vertex);
    if (is_higher && colours[other] == NO_COLOUR)
        loses[vertex] = 1;
}

KERNEL colouring_device_compare(const unsigned *neighbours, const unsigned *colours, unsigned *loses, unsigned count,
                                unsigned vertex, unsigned seed) {
    unsigned i = global_thread();
    if (i < count)
        compare(vertex, neighbours[i], colours, loses, seed);
}

KERNEL colouring_device(const unsigned *row_offsets, const unsigned *columns, const unsigned *colours, unsigned *loses,
                        unsigned n, unsigned threshold, unsigned seed) {
    unsigned vertex = global_thread();
    if (vertex >= n || colours[vertex] != NO_COLOUR)
        return;
    unsigned first = row_offsets[vertex];
    unsigned count = row_offsets[vertex + 1] - first;
    if (count > threshold) {
        LAUNCH_CHILD(colouring_device_compare, child_groups(count), CHILD_THREADS, Compare, columns + first, colours,
                     loses, count, vertex, seed);
    } else {
        for (unsigned i = 0; i < count; i++)
            compare(vertex, columns[first + i], colours, loses, seed);
    }
}

KERNEL colouring_device_barrier(unsigned *colours, unsigned *loses, unsigned *changed, unsigned round, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n || colours[vertex] != NO_COLOUR)
        return;
    if (loses[vertex] == 0)
        colours[vertex] = round;
    else
        *changed = 1;
    loses[vertex] = 0;
}
