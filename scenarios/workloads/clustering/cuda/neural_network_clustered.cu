// The forms of neural_network: inference of a small convolutional network on a batch of images of 29 x 29 pixels,
// one kernel for each of its four layers. The first layer, whose work-groups have six wavefronts, stays plain.
//
// A neuron gives x / (1 + |x|) of x = bias + sum of weight * input; the terms are added in ascending order,
// each product rounded before it is added. Weights of a map or neuron: bias first, then one for each input.
#include "clustered.h"

static const unsigned IMAGE = 29; // pixels along a side
static const unsigned MIDDLE = 13; // after the first layer
static const unsigned SMALL = 5;   // after the second
static const unsigned WINDOW = 5;

static __device__ __forceinline__ float activation(float x) {
    return x / (1.0f + (x < 0.0f ? -x : x));
}

// Sum over a window of 5 x 5 of a square with `side` cells a row.
static __device__ __forceinline__ float window_sum(float sum, const float *weights, const float *cells,
                                                   unsigned side) {
#pragma unroll
    for (unsigned wy = 0; wy < WINDOW; ++wy) {
#pragma unroll
        for (unsigned wx = 0; wx < WINDOW; ++wx) {
            sum += weights[wy * WINDOW + wx] * cells[wy * side + wx];
        }
    }
    return sum;
}

// Block (map, image), thread (x, y): 29 x 29 pixels to maps of 13 x 13, stride 2.
KERNEL __launch_bounds__(169)
    nn_first_layer(const float *images, const float *weights, float *output) {
    unsigned map = blockIdx.x;
    unsigned image = blockIdx.y;
    const float *cells = images + image * IMAGE * IMAGE + 2 * threadIdx.y * IMAGE + 2 * threadIdx.x;
    const float *own = weights + map * (1 + WINDOW * WINDOW);
    float sum = window_sum(own[0], own + 1, cells, IMAGE);
    unsigned at = (image * gridDim.x + map) * MIDDLE * MIDDLE;
    output[at + threadIdx.y * MIDDLE + threadIdx.x] = activation(sum);
}

// Block (map, image), thread (x, y): all maps of 13 x 13 to maps of 5 x 5, stride 2.
static __device__ __forceinline__ void second_layer(Block block, const float *input, const float *weights,
                                                    float *output, unsigned inputs) {
    unsigned map = block.x;
    unsigned image = block.y;
    const float *cells =
        input + image * inputs * MIDDLE * MIDDLE + 2 * threadIdx.y * MIDDLE + 2 * threadIdx.x;
    const float *own = weights + map * (1 + inputs * WINDOW * WINDOW);
    float sum = own[0];
#pragma unroll 1
    for (unsigned from = 0; from < inputs; ++from) {
        sum = window_sum(sum, own + 1 + from * WINDOW * WINDOW, cells + from * MIDDLE * MIDDLE, MIDDLE);
    }
    unsigned at = (image * block.width + map) * SMALL * SMALL;
    output[at + threadIdx.y * SMALL + threadIdx.x] = activation(sum);
}

// Block (neuron, image), one thread: all cells to one neuron. The third and the fourth layer.
static __device__ __forceinline__ void full_layer(Block block, const float *input, const float *weights, float *output,
                                                  unsigned inputs) {
    unsigned neuron = block.x;
    unsigned image = block.y;
    const float *cells = input + image * inputs;
    const float *own = weights + neuron * (1 + inputs);
    float sum = own[0];
#pragma unroll 5
    for (unsigned at = 0; at < inputs; ++at) {
        sum += own[1 + at] * cells[at];
    }
    output[image * block.width + neuron] = activation(sum);
}

#define PARAMETERS (const float *input, const float *weights, float *output, unsigned inputs)
#define ARGUMENTS (input, weights, output, inputs)

FORMS_BY_ROWS(nn_second_layer, 25, false, second_layer, PARAMETERS, ARGUMENTS)
TABLE_FORMS(nn_second_layer, 25, Rows, false, second_layer, PARAMETERS, ARGUMENTS)
FORMS_BY_ROWS(nn_full_layer, 1, false, full_layer, PARAMETERS, ARGUMENTS)
TABLE_FORMS(nn_full_layer, 1, Rows, false, full_layer, PARAMETERS, ARGUMENTS)
