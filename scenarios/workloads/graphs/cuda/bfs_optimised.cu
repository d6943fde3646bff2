// Visits of a breadth-first search, one thread for each vertex, with software prefetching and unrolling of the loop over
// the neighbours. All forms do what `bfs_base` does; `h_bfs_update_u8` makes the marks the next mask.
//
// `bfs_swp` loads the next neighbour and its flag before it handles the present one, and asks in each iteration whether
// there is a next. `bfs_swpnc` does without that question and handles the last neighbour after the loop. `bfs_unr2` and
// `bfs_unr3` load the numbers of two or three neighbours, then their flags, then handle them; the rest follows after the
// loop. `bfs_unr2_swp` and `bfs_unr2_swpnc` do both, two neighbours at a time.
#include "warpweave_cuda.h"

// Hides where a number comes from. Else the compiler merges the question for a next neighbour with that of the loop.
static __device__ __forceinline__ unsigned opaque(unsigned number) {
    asm volatile("" : "+r"(number));
    return number;
}

struct Graph {
    const unsigned *__restrict__ columns;
    unsigned char *marked;
    const unsigned char *__restrict__ visited;
    unsigned *cost;
    unsigned vertex;

    __device__ __forceinline__ void handle(unsigned neighbour, unsigned char is_visited) const {
        if (is_visited == 0) {
            cost[neighbour] = cost[vertex] + 1;
            marked[neighbour] = 1;
        }
    }

    __device__ __forceinline__ void handle_at(unsigned edge) const {
        unsigned neighbour = columns[edge];
        handle(neighbour, visited[neighbour]);
    }

    __device__ __forceinline__ void handle_all(unsigned edge, unsigned end) const {
#pragma unroll 1 // one load per edge and per instruction address
        for (; edge < end; ++edge) {
            handle_at(edge);
        }
    }
};

struct Base {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        graph.handle_all(begin, end);
    }
};

struct Swp {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        if (begin >= end) {
            return;
        }
        unsigned last = opaque(end - 1);
        unsigned next = graph.columns[begin];
        unsigned char next_visited = graph.visited[next];
#pragma unroll 1
        for (unsigned edge = begin; edge < end; ++edge) {
            unsigned neighbour = next;
            unsigned char is_visited = next_visited;
            if (edge < last) {
                next = graph.columns[edge + 1];
                next_visited = graph.visited[next];
            }
            graph.handle(neighbour, is_visited);
        }
    }
};

struct SwpNc {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        if (begin >= end) {
            return;
        }
        unsigned last = end - 1;
        unsigned next = graph.columns[begin];
        unsigned char next_visited = graph.visited[next];
#pragma unroll 1
        for (unsigned edge = begin; edge < last; ++edge) {
            unsigned neighbour = next;
            unsigned char is_visited = next_visited;
            next = graph.columns[edge + 1];
            next_visited = graph.visited[next];
            graph.handle(neighbour, is_visited);
        }
        graph.handle(next, next_visited);
    }
};

struct Unr2 {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        unsigned edge = begin;
        unsigned unrolled_end = begin + (end - begin) / 2 * 2;
#pragma unroll 1
        for (; edge < unrolled_end; edge += 2) {
            unsigned a = graph.columns[edge];
            unsigned b = graph.columns[edge + 1];
            unsigned char a_visited = graph.visited[a];
            unsigned char b_visited = graph.visited[b];
            graph.handle(a, a_visited);
            graph.handle(b, b_visited);
        }
        graph.handle_all(edge, end);
    }
};

// As Unr2, but each neighbour is handled before the number of the other is loaded: the loop is as long, and no two
// numbers are loaded together. The loads cannot move up, as the compiler does not know where they come from.
struct Unr2InSequence {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        unsigned edge = begin;
        unsigned unrolled_end = begin + (end - begin) / 2 * 2;
#pragma unroll 1
        for (; edge < unrolled_end; edge += 2) {
            graph.handle_at(edge);
            graph.handle_at(opaque(edge + 1));
        }
        graph.handle_all(edge, end);
    }
};

struct Unr3 {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        unsigned edge = begin;
        unsigned unrolled_end = begin + (end - begin) / 3 * 3;
#pragma unroll 1
        for (; edge < unrolled_end; edge += 3) {
            unsigned a = graph.columns[edge];
            unsigned b = graph.columns[edge + 1];
            unsigned c = graph.columns[edge + 2];
            unsigned char a_visited = graph.visited[a];
            unsigned char b_visited = graph.visited[b];
            unsigned char c_visited = graph.visited[c];
            graph.handle(a, a_visited);
            graph.handle(b, b_visited);
            graph.handle(c, c_visited);
        }
        graph.handle_all(edge, end);
    }
};

struct Unr2Swp {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        unsigned edge = begin;
        unsigned unrolled_end = begin + (end - begin) / 2 * 2;
        if (edge < unrolled_end) {
            unsigned last = opaque(unrolled_end - 2);
            unsigned next_a = graph.columns[edge];
            unsigned next_b = graph.columns[edge + 1];
            unsigned char next_a_visited = graph.visited[next_a];
            unsigned char next_b_visited = graph.visited[next_b];
#pragma unroll 1
            for (; edge < unrolled_end; edge += 2) {
                unsigned a = next_a;
                unsigned b = next_b;
                unsigned char a_visited = next_a_visited;
                unsigned char b_visited = next_b_visited;
                if (edge < last) {
                    next_a = graph.columns[edge + 2];
                    next_b = graph.columns[edge + 3];
                    next_a_visited = graph.visited[next_a];
                    next_b_visited = graph.visited[next_b];
                }
                graph.handle(a, a_visited);
                graph.handle(b, b_visited);
            }
        }
        graph.handle_all(edge, end);
    }
};

struct Unr2SwpNc {
    static __device__ __forceinline__ void visit(const Graph &graph, unsigned begin, unsigned end) {
        unsigned edge = begin;
        unsigned unrolled_end = begin + (end - begin) / 2 * 2;
        if (edge < unrolled_end) {
            unsigned last = unrolled_end - 2;
            unsigned next_a = graph.columns[edge];
            unsigned next_b = graph.columns[edge + 1];
            unsigned char next_a_visited = graph.visited[next_a];
            unsigned char next_b_visited = graph.visited[next_b];
#pragma unroll 1
            for (; edge < last; edge += 2) {
                unsigned a = next_a;
                unsigned b = next_b;
                unsigned char a_visited = next_a_visited;
                unsigned char b_visited = next_b_visited;
                next_a = graph.columns[edge + 2];
                next_b = graph.columns[edge + 3];
                next_a_visited = graph.visited[next_a];
                next_b_visited = graph.visited[next_b];
                graph.handle(a, a_visited);
                graph.handle(b, b_visited);
            }
            graph.handle(next_a, next_a_visited);
            graph.handle(next_b, next_b_visited);
            edge = unrolled_end;
        }
        graph.handle_all(edge, end);
    }
};

#define VISIT(name, Form)                                                                                              \
    KERNEL name(const unsigned *__restrict__ row_offsets, const unsigned *__restrict__ columns, unsigned char *mask,   \
                unsigned char *marked, const unsigned char *__restrict__ visited, unsigned *cost, unsigned n) {        \
        unsigned vertex = global_thread();                                                                             \
        if (vertex >= n || mask[vertex] == 0) {                                                                        \
            return;                                                                                                    \
        }                                                                                                              \
        mask[vertex] = 0;                                                                                              \
        Graph graph = {columns, marked, visited, cost, vertex};                                                        \
        Form::visit(graph, row_offsets[vertex], row_offsets[vertex + 1]);                                              \
    }

VISIT(bfs_base, Base)
VISIT(bfs_swp, Swp)
VISIT(bfs_swpnc, SwpNc)
VISIT(bfs_unr2, Unr2)
VISIT(bfs_unr2_in_sequence, Unr2InSequence)
VISIT(bfs_unr3, Unr3)
VISIT(bfs_unr2_swp, Unr2Swp)
VISIT(bfs_unr2_swpnc, Unr2SwpNc)
