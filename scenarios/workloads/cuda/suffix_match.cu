// Longest prefixes of parts of queries that occur in a text, by walks through the text's suffix tree.
//
// children: four node numbers for each node, by letter, 0 without such a child; the root is node 0.
// edges: first position in the text and length of the edge into each node. A query has 32 letters of 0 to 3.
// One thread for each start: `step` letters apart, 32 / step in a query.
#include "warpweave_cuda.h"

static const unsigned LETTERS = 32;

KERNEL suffix_match(const unsigned *children, const unsigned *edges, const unsigned char *text,
                    const unsigned char *queries, unsigned *matched, unsigned step, unsigned starts) {
    unsigned thread = global_thread();
    if (thread >= starts) {
        return;
    }
    unsigned parts = LETTERS / step;
    unsigned first = thread % parts * step;
    const unsigned char *query = queries + thread / parts * LETTERS + first;
    unsigned length = LETTERS - first;
    unsigned node = 0;
    unsigned at = 0;
    bool goes_on = true;
#pragma unroll 1
    while (goes_on && at < length) {
        node = children[4 * node + query[at]];
        if (node == 0) {
            break;
        }
        unsigned from = edges[2 * node];
        unsigned edge = edges[2 * node + 1];
        // The first letter of the edge is that of the child.
        unsigned on_edge = 1;
        ++at;
#pragma unroll 1
        while (on_edge < edge && at < length && text[from + on_edge] == query[at]) {
            ++on_edge;
            ++at;
        }
        goes_on = on_edge == edge;
    }
    matched[thread] = at;
}
