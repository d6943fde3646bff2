// The forms of b_plus_tree: one block for each query and one thread for each key of a node, of 256 entries.
//
// keys, children: nodes of 256 entries, the root first; unused entries have the key 0xffffffff. In a node of the
// last level children are records. answers[query] = record of the key; of a key that is not there it stays what
// the host has set.
#include "clustered.h"

static const unsigned ORDER = 256;

static __device__ __forceinline__ void find(Block block, const unsigned *keys, const unsigned *children,
                                            const unsigned *queries, unsigned *answers, unsigned levels) {
    __shared__ unsigned node;
    __shared__ unsigned next;

    unsigned lane = threadIdx.x;
    unsigned wanted = queries[block.x];
    if (lane == 0) {
        node = 0;
        next = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned level = 1; level < levels; ++level) {
        unsigned at = node * ORDER + lane;
        // The last key not above the wanted one leads down; before the first one, the first does.
        bool not_above = lane == 0 || keys[at] <= wanted;
        bool above_next = lane + 1 == ORDER || keys[at + 1] > wanted;
        if (not_above && above_next) {
            next = children[at];
        }
        __syncthreads();
        if (lane == 0) {
            node = next;
        }
        __syncthreads();
    }
    unsigned at = node * ORDER + lane;
    if (keys[at] == wanted) {
        answers[block.x] = children[at];
    }
}

// The query; of the tree, only the root is known before it is read.
template <class Binding>
static __device__ __forceinline__ void find_ahead(Block block, const unsigned *keys, const unsigned *children,
                                                  const unsigned *queries, unsigned *, unsigned) {
    Binding::prefetch(&queries[block.x]);
    Binding::prefetch(&keys[threadIdx.x]);
    Binding::prefetch(&children[threadIdx.x]);
}

#define PARAMETERS                                                                                                     \
    (const unsigned *keys, const unsigned *children, const unsigned *queries, unsigned *answers, unsigned levels)
#define ARGUMENTS (keys, children, queries, answers, levels)

FORMS_OF_LINE(b_plus_tree_find, 256, Line, true, find, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(b_plus_tree_find_agents_rows_ahead, 256, Line, true, find, find_ahead, PARAMETERS, ARGUMENTS)
