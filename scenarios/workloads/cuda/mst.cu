// Minimum spanning forests by Boruvka's algorithm, two ways to find the least edges.
//
// Every component takes the least edge that leaves it, in the order of (weight, component at the other end), joins the
// component there and takes its label. Both ends see this order alike, so equal weights make no cycle. The arcs must go
// both ways with equal weights.
//
// `super` is the component of each vertex, named by one of its vertices. `least` and `other`, by component, are the
// weight of its least edge and the component at its other end, both NONE at the start of a round. The host repeats:
// find, hook, pairs, jump until nothing changes, relabel; until no component has a least edge.
#include "warpweave_cuda.h"

static const unsigned NONE = 0xffffffffu;

// One thread for each vertex, for the components of its neighbours: its arcs are candidates for them.
KERNEL h_mst_find_weight(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                         const unsigned *__restrict__ weights, const unsigned *__restrict__ super, unsigned *least,
                         unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    unsigned mine = super[vertex];
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned component = super[columns[edge]];
        unsigned weight = weights[edge];
        if (component != mine && weight < least[component]) {
            atomicMin(&least[component], weight);
        }
    }
}

KERNEL h_mst_find_other(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                        const unsigned *__restrict__ weights, const unsigned *__restrict__ super,
                        const unsigned *__restrict__ least, unsigned *other, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    unsigned mine = super[vertex];
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned component = super[columns[edge]];
        if (component != mine && weights[edge] == least[component]) {
            atomicMin(&other[component], mine);
        }
    }
}

// One thread for each vertex, for its own component: the least of its arcs is a candidate.
KERNEL ls_mst_find_weight(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns,
                          const unsigned *__restrict__ weights, const unsigned *__restrict__ super,
                          unsigned *own_least, unsigned *own_other, unsigned *least, unsigned n) {
    unsigned vertex = global_thread();
    if (vertex >= n) {
        return;
    }
    unsigned mine = super[vertex];
    unsigned best = NONE;
    unsigned best_other = NONE;
    unsigned end = row_offsets[vertex + 1];
#pragma unroll 1 // one load per edge and per instruction address
    for (unsigned edge = row_offsets[vertex]; edge < end; ++edge) {
        unsigned component = super[columns[edge]];
        if (component != mine) {
            unsigned weight = weights[edge];
            if ((weight < best) | ((weight == best) & (component < best_other))) {
                best = weight;
                best_other = component;
            }
        }
    }
    own_least[vertex] = best;
    own_other[vertex] = best_other;
    if (best_other != NONE) {
        atomicMin(&least[mine], best);
    }
}

KERNEL ls_mst_find_other(const unsigned *__restrict__ super, const unsigned *__restrict__ own_least,
                         const unsigned *__restrict__ own_other, const unsigned *__restrict__ least, unsigned *other,
                         unsigned n) {
    unsigned vertex = global_thread();
    if (vertex < n && own_other[vertex] != NONE) {
        unsigned mine = super[vertex];
        if (own_least[vertex] == least[mine]) {
            atomicMin(&other[mine], own_other[vertex]);
        }
    }
}

// Each component joins the one at the other end of its least edge.
KERNEL mst_hook(const unsigned *__restrict__ other, unsigned *parent, unsigned *found, unsigned n) {
    unsigned component = global_thread();
    if (component < n && other[component] != NONE) {
        parent[component] = other[component];
        *found = 1;
    }
}

// Of two components that joined each other, the one with the lower name is the root, and their edge counts once.
KERNEL mst_pairs(const unsigned *__restrict__ other, const unsigned *__restrict__ least, unsigned *parent,
                 unsigned *forest, unsigned n) {
    unsigned component = global_thread();
    if (component >= n || other[component] == NONE) {
        return;
    }
    unsigned above = other[component];
    if (other[above] == component && component < above) {
        parent[component] = component;
    } else {
        atomicAdd(&forest[0], least[component]);
        atomicAdd(&forest[1], 0u - 1u);
    }
}

KERNEL mst_jump(unsigned *parent, unsigned *changed, unsigned n) {
    unsigned component = global_thread();
    if (component >= n) {
        return;
    }
    unsigned above = parent[component];
    unsigned top = parent[above];
    if (top != above) {
        parent[component] = top;
        *changed = 1;
    }
}

KERNEL mst_relabel(const unsigned *__restrict__ parent, unsigned *super, unsigned *least, unsigned *other,
                   unsigned n) {
    unsigned vertex = global_thread();
    if (vertex < n) {
        super[vertex] = parent[super[vertex]];
        least[vertex] = NONE;
        other[vertex] = NONE;
    }
}
