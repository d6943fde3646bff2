// Breadth-first search, one thread for each vertex: a vertex of the current level with more than `threshold`
// neighbours leaves them to a child kernel, one thread for each; then a barrier kernel says whether to go on.
#include "device_launch.h"

static const unsigned UNREACHED = 0xffffffffu;

struct Visit {
    const unsigned *neighbours;
    unsigned *level;
    unsigned *found;
    unsigned count;
    unsigned next;
};

static __device__ __forceinline__ void visit(unsigned vertex, unsigned *level, unsigned next, unsigned *found) {
    if (level[vertex] == UNREACHED) {
        level[vertex] = next;
        *found = 1;
    }
}

KERNEL bfs_device_visit(const unsigned *neighbours, unsigned *level, unsigned *found, unsigned count, unsigned next) {
    unsigned i = global_thread();
    if (i < count)
        visit(neighbours[i], level, next, found);
}

KERNEL bfs_device(const unsigned *row_offsets, const unsigned *columns, unsigned *level, unsigned *found,
                  unsigned current, unsigned n, unsigned threshold) {
    unsigned vertex = global_thread();
    if (vertex >= n || level[vertex] != current)
        return;
    unsigned first = row_offsets[vertex];
    unsigned count = row_offsets[vertex + 1] - first;
    if (count > threshold) {
        LAUNCH_CHILD(bfs_device_visit, child_groups(count), CHILD_THREADS, Visit, columns + first, level, found, count,
                     current + 1);
    } else {
        for (unsigned i = 0; i < count; i++)
            visit(columns[first + i], level, current + 1, found);
    }
}

KERNEL bfs_device_barrier(unsigned *found, unsigned *changed) {
    *changed = *found;
    *found = 0;
}
