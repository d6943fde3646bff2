// The Mandelbrot set by subdivision (Mariani and Silver): a work-group looks at the border of a square. If all of it
// escapes after as many steps, so does the inside; if not, a kernel for each quarter goes on, in a stream of its own,
// until squares have at most `threshold` pixels a side or launches are `depth_left` deep.
#include "device_launch.h"

struct View {
    float left;
    float top;
    float step;
};

struct Square {
    unsigned *dwells;
    View view;
    unsigned x;
    unsigned y;
    unsigned size;
    unsigned width;
    unsigned limit;
    unsigned threshold;
    unsigned depth_left;
};

static __device__ __forceinline__ unsigned dwell(View view, unsigned x, unsigned y, unsigned limit) {
    float cx = view.left + (float)x * view.step, cy = view.top + (float)y * view.step;
    float zx = 0, zy = 0;
    unsigned steps = 0;
    while (steps < limit) {
        float xx = zx * zx, yy = zy * zy;
        if (xx + yy > 4.0f)
            break;
        zy = 2.0f * zx * zy + cy;
        zx = xx - yy + cx;
        steps++;
    }
    return steps;
}

KERNEL mandelbrot_device(unsigned *dwells, float left, float top, float step, unsigned x, unsigned y, unsigned size, unsigned width,
                         unsigned limit, unsigned threshold, unsigned depth_left) {
    const View view = {left, top, step};
    __shared__ unsigned lowest[CHILD_THREADS];
    __shared__ unsigned highest[CHILD_THREADS];
    unsigned thread = threadIdx.x;
    unsigned low = 0xffffffffu, high = 0;
    unsigned side = size - 1;
    for (unsigned i = thread; i < 4 * side; i += CHILD_THREADS) {
        unsigned along = i % side;
        unsigned px, py;
        switch (i / side) {
        case 0:
            px = along;
            py = 0;
            break;
        case 1:
            px = side;
            py = along;
            break;
        case 2:
            px = side - along;
            py = side;
            break;
        default:
            px = 0;
            py = side - along;
        }
        unsigned steps = dwell(view, x + px, y + py, limit);
        dwells[(y + py) * width + x + px] = steps;
        low = steps < low ? steps : low;
        high = steps > high ? steps : high;
    }
    lowest[thread] = low;
    highest[thread] = high;
    __syncthreads();
    for (unsigned i = 0; i < CHILD_THREADS; i++) {
        low = lowest[i] < low ? lowest[i] : low;
        high = highest[i] > high ? highest[i] : high;
    }
    if (low != high && size > threshold && depth_left > 0) {
        if (thread < 4) {
            unsigned half = size / 2;
            LAUNCH_CHILD(mandelbrot_device, 1, CHILD_THREADS, Square, dwells, view, x + thread % 2 * half,
                         y + thread / 2 * half, half, width, limit, threshold, depth_left - 1);
        }
        return;
    }
    unsigned inner = size - 2;
    for (unsigned i = thread; i < inner * inner; i += CHILD_THREADS) {
        unsigned px = x + 1 + i % inner, py = y + 1 + i / inner;
        dwells[py * width + px] = low == high ? low : dwell(view, px, py, limit);
    }
}
