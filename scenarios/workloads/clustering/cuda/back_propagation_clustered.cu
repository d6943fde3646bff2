// The forms of back_propagation: two kernels of training one layer of a perceptron, many inputs, 16 hidden units.
//
// weights: (inputs + 1) x 17, row i of input i, column j of hidden unit j; row and column 0 are the bias.
// A block of 16 x 16 threads takes 16 inputs: thread (tx, ty) input 16 * block + ty + 1 and unit tx + 1.
// Streamed forms read weights and changes past the first-level cache: each is used once.
#include "clustered.h"

static const unsigned HIDDEN = 16;
static const unsigned PITCH = HIDDEN + 1;

template <bool STREAMED> static __device__ __forceinline__ float used_once(const float *address) {
    return STREAMED ? past_l1(address) : *address;
}

// partial[block * 16 + unit] = sum of input * weight over the block's inputs, by a tree that adds halves at
// distance 1, 2, 4, 8. The sums take the place of the weights, as far as the tree leaves them there.
template <bool STREAMED>
static __device__ __forceinline__ void forward(Block block, const float *input, float *weights, float *partial) {
    __shared__ float inputs[HIDDEN];
    __shared__ float products[HIDDEN][HIDDEN];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned number = block.y * HIDDEN + ty + 1;
    unsigned at = number * PITCH + tx + 1;
    if (tx == 0) {
        inputs[ty] = input[number];
    }
    __syncthreads();
    products[ty][tx] = used_once<STREAMED>(&weights[at]) * inputs[ty];
    __syncthreads();
#pragma unroll 1
    for (unsigned distance = 1; distance < HIDDEN; distance *= 2) {
        if (ty % (2 * distance) == 0) {
            products[ty][tx] = products[ty][tx] + products[ty + distance][tx];
        }
        __syncthreads();
    }
    weights[at] = products[ty][tx];
    if (tx == 0) {
        partial[block.y * HIDDEN + ty] = products[0][ty];
    }
}

// change = rate * delta[unit] * input + momentum * change of last time; weight += change. The rate is 0.3,
// the momentum 0.3; products from left to right.
template <bool STREAMED>
static __device__ __forceinline__ void adjust(Block block, const float *delta, const float *input, float *weights,
                                              float *changes) {
    unsigned tx = threadIdx.x;
    unsigned number = block.y * HIDDEN + threadIdx.y + 1;
    unsigned at = number * PITCH + tx + 1;
    float change = 0.3f * delta[tx + 1] * input[number] + 0.3f * used_once<STREAMED>(&changes[at]);
    weights[at] = used_once<STREAMED>(&weights[at]) + change;
    changes[at] = change;
    if (block.y == 0 && threadIdx.y == 0) { // the bias row, once
        float of_bias = 0.3f * delta[tx + 1] + 0.3f * changes[tx + 1];
        weights[tx + 1] = weights[tx + 1] + of_bias;
        changes[tx + 1] = of_bias;
    }
}

#define FORWARD_PARAMETERS (const float *input, float *weights, float *partial)
#define FORWARD_ARGUMENTS (input, weights, partial)
#define ADJUST_PARAMETERS (const float *delta, const float *input, float *weights, float *changes)
#define ADJUST_ARGUMENTS (delta, input, weights, changes)

FORMS_OF_LINE(layer_forward, 256, Pole, true, forward<false>, FORWARD_PARAMETERS, FORWARD_ARGUMENTS)
TABLE_FORMS(layer_forward, 256, Pole, true, forward<false>, FORWARD_PARAMETERS, FORWARD_ARGUMENTS)
AGENT_FORMS(layer_forward_agents_rows_streamed, 256, Pole, true, false, forward<true>, FORWARD_PARAMETERS,
            FORWARD_ARGUMENTS)
FORMS_OF_LINE(adjust_weights, 256, Pole, false, adjust<false>, ADJUST_PARAMETERS, ADJUST_ARGUMENTS)
TABLE_FORMS(adjust_weights, 256, Pole, false, adjust<false>, ADJUST_PARAMETERS, ADJUST_ARGUMENTS)
AGENT_FORMS(adjust_weights_agents_rows_streamed, 256, Pole, false, false, adjust<true>, ADJUST_PARAMETERS,
            ADJUST_ARGUMENTS)
