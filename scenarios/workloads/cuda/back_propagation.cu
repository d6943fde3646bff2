// The two kernels of training one layer of a perceptron: many inputs, 16 hidden units.
//
// weights: (inputs + 1) x 17, row i of input i, column j of hidden unit j; row and column 0 are the bias.
// A block of 16 x 16 threads takes 16 inputs: thread (tx, ty) input 16 * block + ty + 1 and unit tx + 1.
#include "warpweave_cuda.h"

static const unsigned HIDDEN = 16;
static const unsigned PITCH = HIDDEN + 1;

// partial[block * 16 + unit] = sum of input * weight over the block's inputs, by a tree that adds halves at
// distance 1, 2, 4, 8. The sums take the place of the weights, as far as the tree leaves them there.
KERNEL __launch_bounds__(256)
    layer_forward(const float *input, float *weights, float *partial) {
    __shared__ float inputs[HIDDEN];
    __shared__ float products[HIDDEN][HIDDEN];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned number = blockIdx.y * HIDDEN + ty + 1;
    unsigned at = number * PITCH + tx + 1;
    if (tx == 0) {
        inputs[ty] = input[number];
    }
    __syncthreads();
    products[ty][tx] = weights[at] * inputs[ty];
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
        partial[blockIdx.y * HIDDEN + ty] = products[0][ty];
    }
}

// change = rate * delta[unit] * input + momentum * change of last time; weight += change. The rate is 0.3,
// the momentum 0.3; products from left to right.
KERNEL __launch_bounds__(256)
    adjust_weights(const float *delta, const float *input, float *weights, float *changes) {
    unsigned tx = threadIdx.x;
    unsigned number = blockIdx.y * HIDDEN + threadIdx.y + 1;
    unsigned at = number * PITCH + tx + 1;
    float change = 0.3f * delta[tx + 1] * input[number] + 0.3f * changes[at];
    weights[at] = weights[at] + change;
    changes[at] = change;
    if (blockIdx.y == 0 && threadIdx.y == 0) { // the bias row, once
        float of_bias = 0.3f * delta[tx + 1] + 0.3f * changes[tx + 1];
        weights[tx + 1] = weights[tx + 1] + of_bias;
        changes[tx + 1] = of_bias;
    }
}
