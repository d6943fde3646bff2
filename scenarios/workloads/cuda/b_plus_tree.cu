// Looks up keys in a search tree, one block for each query and one thread for each key of a node.
//
// keys, children: nodes of blockDim.x entries, the root first; unused entries have the key 0xffffffff. In a
// node of the last level children are records. answers[query] = record of the key; of a key that is not there
// it stays what the host has set.
#include "warpweave_cuda.h"

KERNEL b_plus_tree_find(const unsigned *keys, const unsigned *children, const unsigned *queries,
                        unsigned *answers, unsigned levels) {
    __shared__ unsigned node;
    __shared__ unsigned next;

    unsigned lane = threadIdx.x;
    unsigned order = blockDim.x;
    unsigned wanted = queries[blockIdx.x];
    if (lane == 0) {
        node = 0;
        next = 0;
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned level = 1; level < levels; ++level) {
        unsigned at = node * order + lane;
        // The last key not above the wanted one leads down; before the first one, the first does.
        bool not_above = lane == 0 || keys[at] <= wanted;
        bool above_next = lane + 1 == order || keys[at + 1] > wanted;
        if (not_above && above_next) {
            next = children[at];
        }
        __syncthreads();
        if (lane == 0) {
            node = next;
        }
        __syncthreads();
    }
    unsigned at = node * order + lane;
    if (keys[at] == wanted) {
        answers[blockIdx.x] = children[at];
    }
}
