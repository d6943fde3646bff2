// Radix sort from the highest bit down: a work-group parts a piece of the array by one bit, and one kernel for either
// side goes on with the next bit, each in a stream of its own, until a side has at most `threshold` values; then one
// thread sorts what is left. The two arrays take turns; sorted values end in `values`.
#include "device_launch.h"

struct Piece {
    unsigned *values;
    unsigned *other;
    unsigned first;
    unsigned count;
    unsigned in_other;
    unsigned bits_left;
    unsigned threshold;
};

KERNEL radix_sort_device(unsigned *values, unsigned *other, unsigned first, unsigned count, unsigned in_other,
                         unsigned bits_left, unsigned threshold) {
    __shared__ unsigned zeros[CHILD_THREADS];
    const unsigned *from = (in_other ? other : values) + first;
    unsigned *to = (in_other ? values : other) + first;
    unsigned thread = threadIdx.x;

    if (bits_left == 0) {
        // All are equal.
        if (in_other)
            for (unsigned i = thread; i < count; i += CHILD_THREADS)
                to[i] = from[i];
        return;
    }
    if (count <= threshold) {
        if (thread == 0) {
            unsigned *sorted = values + first;
            for (unsigned i = 0; i < count; i++) {
                unsigned value = from[i];
                unsigned place = i;
                while (place > 0 && sorted[place - 1] > value) {
                    sorted[place] = sorted[place - 1];
                    place--;
                }
                sorted[place] = value;
            }
        }
        return;
    }

    unsigned bit = bits_left - 1;
    unsigned own = 0;
    for (unsigned i = thread; i < count; i += CHILD_THREADS)
        own += (from[i] >> bit & 1) == 0;
    zeros[thread] = own;
    __syncthreads();
    unsigned before = 0, all = 0;
    for (unsigned i = 0; i < CHILD_THREADS; i++) {
        before += i < thread ? zeros[i] : 0;
        all += zeros[i];
    }
    // Values of earlier threads: each has one of every CHILD_THREADS.
    unsigned rows = count / CHILD_THREADS, rest = count % CHILD_THREADS;
    unsigned seen = thread * rows + (thread < rest ? thread : rest);
    unsigned down = before, up = all + seen - before;
    for (unsigned i = thread; i < count; i += CHILD_THREADS) {
        unsigned value = from[i];
        if ((value >> bit & 1) == 0)
            to[down++] = value;
        else
            to[up++] = value;
    }
    __syncthreads();
    if (thread < 2) {
        unsigned side_first = thread == 0 ? first : first + all;
        unsigned side_count = thread == 0 ? all : count - all;
        if (side_count > 0)
            LAUNCH_CHILD(radix_sort_device, 1, CHILD_THREADS, Piece, values, other, side_first, side_count, !in_other,
                         bit, threshold);
    }
}
