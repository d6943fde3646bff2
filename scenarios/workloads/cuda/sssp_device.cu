// Shortest paths by relaxation, one thread for each vertex: a vertex whose distance fell in the last round relaxes
// its arcs, more than `threshold` of them in a child kernel; then a barrier kernel makes the next round's list.
#include "device_launch.h"

struct Relax {
    const unsigned *columns;
    const unsigned *weights;
    unsigned *distance;
    unsigned *next;
    unsigned *found;
    unsigned count;
    unsigned base;
};

static __device__ __forceinline__ void relax(unsigned vertex, unsigned candidate, unsigned *distance, unsigned *next,
                                             unsigned *found) {
    if (atomicMin(&distance[vertex], candidate) > candidate) {
        next[vertex] = 1;
        *found = 1;
    }
}

KERNEL sssp_device_relax(const unsigned *columns, const unsigned *weights, unsigned *distance, unsigned *next,
                         unsigned *found, unsigned count, unsigned base) {
    unsigned i = global_thread();
    if (i < count)
        relax(columns[i], base + weights[i], distance, next, found);
}

KERNEL sssp_device(const unsigned *row_offsets, const unsigned *columns, const unsigned *weights, unsigned *distance,
                   const unsigned *active, unsigned *next, unsigned *found, unsigned n, unsigned threshold) {
    unsigned vertex = global_thread();
    if (vertex >= n || active[vertex] == 0)
        return;
    unsigned first = row_offsets[vertex];
    unsigned count = row_offsets[vertex + 1] - first;
    unsigned base = distance[vertex];
    if (count > threshold) {
        LAUNCH_CHILD(sssp_device_relax, child_groups(count), CHILD_THREADS, Relax, columns + first, weights + first,
                     distance, next, found, count, base);
    } else {
        for (unsigned i = first; i < first + count; i++)
            relax(columns[i], base + weights[i], distance, next, found);
    }
}

KERNEL sssp_device_barrier(unsigned *active, unsigned *next, unsigned *found, unsigned *changed, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex < n) {
        active[vertex] = next[vertex];
        next[vertex] = 0;
    }
    if (vertex == 0) {
        *changed = *found;
        *found = 0;
    }
}
