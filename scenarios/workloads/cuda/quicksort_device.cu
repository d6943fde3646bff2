// Quicksort that launches itself: a work-group parts a piece of the array around a pivot, and one kernel for either
// side goes on, each in a stream of its own, until a side has at most `threshold` values or the launches are
// `depth_left` deep; then one thread sorts what is left. The two arrays take turns; sorted values end in `values`.
#include "device_launch.h"

struct Arguments {
    unsigned *values;
    unsigned *other;
    unsigned first;
    unsigned count;
    unsigned in_other;
    unsigned threshold;
    unsigned depth_left;
};

static const unsigned THREADS = 128;

// Sorts `count` values from `from` into `to` by insertion.
static __device__ void sort_serially(const unsigned *from, unsigned *to, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        unsigned value = from[i];
        unsigned place = i;
        while (place > 0 && to[place - 1] > value) {
            to[place] = to[place - 1];
            place--;
        }
        to[place] = value;
    }
}

KERNEL quicksort(unsigned *values, unsigned *other, unsigned first, unsigned count, unsigned in_other,
                 unsigned threshold, unsigned depth_left) {
    __shared__ unsigned below[THREADS];
    __shared__ unsigned above[THREADS];
    const unsigned *from = (in_other ? other : values) + first;
    unsigned *to = (in_other ? values : other) + first;
    unsigned thread = threadIdx.x;

    if (count <= threshold || depth_left == 0) {
        if (thread == 0) {
            // Out of place, or by way of the other array.
            if (in_other) {
                sort_serially(from, values + first, count);
            } else {
                sort_serially(from, to, count);
                for (unsigned i = 0; i < count; i++)
                    values[first + i] = to[i];
            }
        }
        return;
    }

    // The middle of three values.
    unsigned a = from[0], b = from[count / 2], c = from[count - 1];
    unsigned low = a < b ? a : b, high = a < b ? b : a;
    unsigned pivot = c < low ? low : (c > high ? high : c);

    unsigned smaller = 0, larger = 0;
    for (unsigned i = thread; i < count; i += THREADS) {
        smaller += from[i] < pivot;
        larger += from[i] > pivot;
    }
    below[thread] = smaller;
    above[thread] = larger;
    __syncthreads();
    unsigned below_before = 0, above_before = 0, below_all = 0, above_all = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        if (i < thread) {
            below_before += below[i];
            above_before += above[i];
        }
        below_all += below[i];
        above_all += above[i];
    }
    unsigned right = count - above_all;
    unsigned down = below_before, up = right + above_before;
    for (unsigned i = thread; i < count; i += THREADS) {
        unsigned value = from[i];
        if (value < pivot)
            to[down++] = value;
        else if (value > pivot)
            to[up++] = value;
    }
    // Everybody has read before the places of the pivot are written.
    __syncthreads();
    for (unsigned i = below_all + thread; i < right; i += THREADS)
        values[first + i] = pivot;

    if (thread < 2) {
        unsigned side_first = thread == 0 ? first : first + right;
        unsigned side_count = thread == 0 ? below_all : above_all;
        if (side_count > 0) {
            void *buffer = cudaGetParameterBufferV2(ADDRESS_OF(quicksort), dim3(1), dim3(THREADS), 0);
            Arguments *arguments = (Arguments *)buffer;
            arguments->values = values;
            arguments->other = other;
            arguments->first = side_first;
            arguments->count = side_count;
            arguments->in_other = !in_other;
            arguments->threshold = threshold;
            arguments->depth_left = depth_left - 1;
            cudaLaunchDeviceV2(buffer, new_stream());
        }
    }
}
