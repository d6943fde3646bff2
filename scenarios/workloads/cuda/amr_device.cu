// Refinement of a mesh where a field changes much: a work-group samples the field over a square on a grid of 8 x 8. If
// the values differ by more than `tolerance`, a kernel for each quarter goes on, in a stream of its own, until squares
// have at most `threshold` cells a side or launches are `depth_left` deep; else the cells get the level of the square.
// The field is the sum of heat sources, each strength / (1 + squared distance * focus).
#include "device_launch.h"

static const unsigned SAMPLES = 8;

struct Square {
    const float *sources;
    unsigned *levels;
    unsigned number;
    unsigned x;
    unsigned y;
    unsigned size;
    unsigned width;
    unsigned level;
    unsigned threshold;
    unsigned depth_left;
    float tolerance;
    float focus;
};

KERNEL amr_device(const float *sources, unsigned *levels, unsigned number, unsigned x, unsigned y, unsigned size,
                  unsigned width, unsigned level, unsigned threshold, unsigned depth_left, float tolerance,
                  float focus) {
    __shared__ float sampled[SAMPLES * SAMPLES];
    unsigned thread = threadIdx.x;
    if (thread < SAMPLES * SAMPLES) {
        float cell = (float)size / (float)SAMPLES;
        float px = (float)x + ((float)(thread % SAMPLES) + 0.5f) * cell;
        float py = (float)y + ((float)(thread / SAMPLES) + 0.5f) * cell;
        float value = 0;
        for (unsigned i = 0; i < number; i++) {
            float dx = px - sources[3 * i] * (float)width, dy = py - sources[3 * i + 1] * (float)width;
            value += sources[3 * i + 2] / (1.0f + (dx * dx + dy * dy) * focus);
        }
        sampled[thread] = value;
    }
    __syncthreads();
    float low = sampled[0], high = sampled[0];
    for (unsigned i = 1; i < SAMPLES * SAMPLES; i++) {
        low = sampled[i] < low ? sampled[i] : low;
        high = sampled[i] > high ? sampled[i] : high;
    }
    if (high - low > tolerance && size > threshold && depth_left > 0) {
        if (thread < 4) {
            unsigned half = size / 2;
            LAUNCH_CHILD(amr_device, 1, CHILD_THREADS, Square, sources, levels, number, x + thread % 2 * half,
                         y + thread / 2 * half, half, width, level + 1, threshold, depth_left - 1, tolerance, focus);
        }
        return;
    }
    for (unsigned i = thread; i < size * size; i += CHILD_THREADS)
        levels[(y + i / size) * width + x + i % size] = level;
}
