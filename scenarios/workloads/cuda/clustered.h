// Forms of a kernel that execute its work-groups in other orders and on chosen units.
//
// The body of a kernel is a device function of a Block, which stands for blockIdx and gridDim. The
// work-groups 0 to count - 1 are numbered by an indexing and cut into one cluster for each unit; the first
// count % units clusters have one member more.
//
//   plain       a work-group executes the body for its own number
//   redirected  work-group u executes member u / UNITS of cluster u % UNITS
//   agents      a work-group asks for its unit and shares the unit's cluster with the other agents there
//
// Agents need a grid of exactly as many work-groups as the units can hold at the same time.
#pragma once

#include "warpweave_cuda.h"

struct Block {
    unsigned x, y, z;
    unsigned width, height; // of the grid
};

// The Block of the running work-group.
static __device__ __forceinline__ Block launched() {
    return Block{blockIdx.x, blockIdx.y, blockIdx.z, gridDim.x, gridDim.y};
}

// Indexings: from a number to the Block. Grids of one row or column are the same by rows and by columns.
struct Line {
    static __device__ __forceinline__ Block block(unsigned number, unsigned width, unsigned height) {
        return Block{number, 0, 0, width, height};
    }
};
struct Pole {
    static __device__ __forceinline__ Block block(unsigned number, unsigned width, unsigned height) {
        return Block{0, number, 0, width, height};
    }
};
struct Rows {
    static __device__ __forceinline__ Block block(unsigned number, unsigned width, unsigned height) {
        return Block{number % width, number / width, 0, width, height};
    }
};
struct Columns {
    static __device__ __forceinline__ Block block(unsigned number, unsigned width, unsigned height) {
        return Block{number / height, number % height, 0, width, height};
    }
};

// Tiles row by row, and row by row in each. Those at the right and lower edge are cut off by the grid.
template <unsigned WIDE, unsigned HIGH> struct Tiles {
    static __device__ __forceinline__ Block block(unsigned number, unsigned width, unsigned height) {
        unsigned band = number / (width * HIGH);
        unsigned in_band = number % (width * HIGH);
        unsigned high = height - band * HIGH < HIGH ? height - band * HIGH : HIGH;
        unsigned tile = in_band / (WIDE * high);
        unsigned in_tile = in_band % (WIDE * high);
        unsigned wide = width - tile * WIDE < WIDE ? width - tile * WIDE : WIDE;
        return Block{tile * WIDE + in_tile % wide, band * HIGH + in_tile / wide, 0, width, height};
    }
};

// Planes along z one after the other, each by an indexing of its own.
template <class Plane> struct Planes {
    static __device__ __forceinline__ Block block(unsigned number, unsigned width, unsigned height) {
        Block block = Plane::block(number % (width * height), width, height);
        block.z = number / (width * height);
        return block;
    }
};

// A cluster: number of its first member, and the number after the last.
struct Cluster {
    unsigned first, end;
    __device__ __forceinline__ Cluster(unsigned unit, unsigned each, unsigned more) {
        first = unit * each + (unit < more ? unit : more);
        end = first + each + (unit < more ? 1 : 0);
    }
};

template <unsigned UNITS, class Indexing, class Body>
static __device__ __forceinline__ void redirected(Body body) {
    unsigned plane = gridDim.x * gridDim.y;
    unsigned count = plane * gridDim.z;
    unsigned number = blockIdx.z * plane + blockIdx.y * gridDim.x + blockIdx.x;
    Cluster cluster(number % UNITS, count / UNITS, count % UNITS);
    body(Indexing::block(cluster.first + number / UNITS, gridDim.x, gridDim.y));
}

// What the host tells agents.
struct Tasks {
    unsigned *arrivals;    // agents of each unit so far, 0 before every launch
    const unsigned *order; // number of the work-group that stands at each place, for listed forms
    unsigned width, height; // of the plain grid
    unsigned each, more;    // count / units and count % units
    unsigned active;        // agents of a unit that take tasks; the others end at once
};

static __device__ __forceinline__ unsigned own_unit() {
    unsigned value;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
    return value;
}

// The tasks of an agent: `first`, and every `active`-th below `end`. The agent's number on its unit comes from
// the slots of its wavefronts. One without tasks ends before its cluster is computed.
template <unsigned THREADS> struct BySlot {
    static __device__ __forceinline__ Cluster own_tasks(const Tasks &tasks) {
        unsigned slot;
        asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
        unsigned agent = slot / ((THREADS + 31) / 32);
        if (agent >= tasks.active) {
            return Cluster(0, 0, 0);
        }
        Cluster own(own_unit(), tasks.each, tasks.more);
        own.first += agent;
        return own;
    }

    // Asks for the line of an address that the next task reads.
    static __device__ __forceinline__ void prefetch(const void *address) {
        asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
    }
};

// The agent's number comes from a counter of its unit. One without tasks ends after its cluster is computed.
template <unsigned THREADS> struct ByArrival {
    static __device__ __forceinline__ Cluster own_tasks(const Tasks &tasks) {
        __shared__ unsigned arrived;
        unsigned unit = own_unit();
        Cluster own(unit, tasks.each, tasks.more);
        asm volatile("" : "+r"(own.first), "+r"(own.end)); // computed here, not where they are used
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            arrived = atomicAdd(&tasks.arrivals[unit], 1);
        }
        __syncthreads();
        unsigned agent = arrived;
        own.first = agent < tasks.active ? own.first + agent : own.end;
        return own;
    }

    // A load whose result nobody waits for.
    static __device__ __forceinline__ void prefetch(const void *address) {
        unsigned unused;
        asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(unused) : "l"(address));
    }
};

// Asks for nothing.
struct NoPrefetch {
    __device__ __forceinline__ void operator()(Block) const {}
};

// Executes the tasks of an agent. A body with local memory needs a barrier before the next task writes it.
// Before each task but the last, `ahead` prefetches for the one after it.
template <class Binding, class Indexing, bool LOCAL, bool LISTED, class Body, class Ahead = NoPrefetch>
static __device__ __forceinline__ void agents(const Tasks &tasks, Body body, Ahead ahead = Ahead()) {
    Cluster own = Binding::own_tasks(tasks);
    unsigned next = own.first;
    if (next >= own.end) {
        return;
    }
#pragma unroll 1
    while (true) {
        unsigned number = LISTED ? tasks.order[next] : next;
        next += tasks.active;
        if (next < own.end) {
            ahead(Indexing::block(next, tasks.width, tasks.height));
        }
        body(Indexing::block(number, tasks.width, tasks.height));
        if (next >= own.end) {
            return;
        }
        if (LOCAL) {
            __syncthreads();
        }
    }
}

// A load that passes by the first-level cache.
static __device__ __forceinline__ float past_l1(const float *address) {
    float value;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(address));
    return value;
}

// Entries of a kernel. `parameters` and `arguments` of the body stand in parentheses; `threads` are those of
// a work-group, `local` is true for a body with local memory. All forms take the same parameters.
#define LIST(...) __VA_ARGS__

#define PLAIN_FORM(name, threads, body, parameters, arguments)                                                         \
    KERNEL __launch_bounds__(threads) name(LIST parameters, Tasks) { body(launched(), LIST arguments); }

#define REDIRECTED_FORM(entry, threads, units, Indexing, body, parameters, arguments)                                  \
    KERNEL __launch_bounds__(threads) entry(LIST parameters, Tasks) {                                                  \
        redirected<units, Indexing>([&](Block block) { body(block, LIST arguments); });                                \
    }

#define REDIRECTED_FORMS(entry, threads, Indexing, body, parameters, arguments)                                        \
    REDIRECTED_FORM(entry##_15, threads, 15, Indexing, body, parameters, arguments)                                    \
    REDIRECTED_FORM(entry##_16, threads, 16, Indexing, body, parameters, arguments)                                    \
    REDIRECTED_FORM(entry##_20, threads, 20, Indexing, body, parameters, arguments)

#define AGENT_FORM(entry, threads, Binding, Indexing, local, listed, body, parameters, arguments)                      \
    KERNEL __launch_bounds__(threads) entry(LIST parameters, Tasks tasks) {                                            \
        agents<Binding<threads>, Indexing, local, listed>(tasks, [&](Block block) { body(block, LIST arguments); });   \
    }

#define AGENT_FORMS(entry, threads, Indexing, local, listed, body, parameters, arguments)                              \
    AGENT_FORM(entry##_slot, threads, BySlot, Indexing, local, listed, body, parameters, arguments)                    \
    AGENT_FORM(entry##_arrival, threads, ByArrival, Indexing, local, listed, body, parameters, arguments)

#define AHEAD_FORM(entry, threads, Binding, Indexing, local, body, ahead, parameters, arguments)                        \
    KERNEL __launch_bounds__(threads) entry(LIST parameters, Tasks tasks) {                                            \
        agents<Binding<threads>, Indexing, local, false>(                                                              \
            tasks, [&](Block block) { body(block, LIST arguments); },                                                  \
            [&](Block block) { ahead<Binding<threads>>(block, LIST arguments); });                                     \
    }

#define AHEAD_FORMS(entry, threads, Indexing, local, body, ahead, parameters, arguments)                               \
    AHEAD_FORM(entry##_slot, threads, BySlot, Indexing, local, body, ahead, parameters, arguments)                     \
    AHEAD_FORM(entry##_arrival, threads, ByArrival, Indexing, local, body, ahead, parameters, arguments)

// Forms of a kernel with a grid of one row (Line) or column (Pole).
#define FORMS_OF_LINE(name, threads, Indexing, local, body, parameters, arguments)                                     \
    PLAIN_FORM(name, threads, body, parameters, arguments)                                                             \
    REDIRECTED_FORMS(name##_rd_rows, threads, Indexing, body, parameters, arguments)                                   \
    AGENT_FORMS(name##_agents_rows, threads, Indexing, local, false, body, parameters, arguments)

// Forms of a kernel whose agents take tasks row by row.
#define FORMS_BY_ROWS(name, threads, local, body, parameters, arguments)                                               \
    PLAIN_FORM(name, threads, body, parameters, arguments)                                                             \
    REDIRECTED_FORMS(name##_rd_rows, threads, Rows, body, parameters, arguments)                                       \
    REDIRECTED_FORMS(name##_rd_columns, threads, Columns, body, parameters, arguments)                                 \
    AGENT_FORMS(name##_agents_rows, threads, Rows, local, false, body, parameters, arguments)

// Forms of a kernel whose agents take tasks column by column.
#define FORMS_BY_COLUMNS(name, threads, local, body, parameters, arguments)                                            \
    PLAIN_FORM(name, threads, body, parameters, arguments)                                                             \
    REDIRECTED_FORMS(name##_rd_rows, threads, Rows, body, parameters, arguments)                                       \
    REDIRECTED_FORMS(name##_rd_columns, threads, Columns, body, parameters, arguments)                                 \
    AGENT_FORMS(name##_agents_columns, threads, Columns, local, false, body, parameters, arguments)

// The same agents in the order of a table, the control of every claim about an order.
#define TABLE_FORMS(name, threads, Indexing, local, body, parameters, arguments)                                       \
    AGENT_FORMS(name##_agents_table, threads, Indexing, local, true, body, parameters, arguments)
