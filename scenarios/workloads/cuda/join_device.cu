// A join of two relations that counts, for each tuple of the left one, the tuples of the right one with the same key.
// Both are parted into buckets of keys first; then one thread for each bucket leaves more than `threshold` tuples on
// the left to a child kernel.
#include "device_launch.h"

struct Probe {
    const unsigned *left;
    const unsigned *places;
    const unsigned *right;
    unsigned *matches;
    unsigned left_count;
    unsigned right_count;
};

KERNEL join_device_count(const unsigned *keys, unsigned *counts, unsigned n, unsigned shift) {
    unsigned i = global_thread();
    if (i < n)
        atomicAdd(&counts[keys[i] >> shift], 1);
}

// Where each bucket begins, twice: one is moved on by what is put there.
KERNEL join_device_scan(const unsigned *counts, unsigned *offsets, unsigned *cursors, unsigned buckets) {
    unsigned sum = 0;
    for (unsigned bucket = 0; bucket < buckets; bucket++) {
        offsets[bucket] = sum;
        cursors[bucket] = sum;
        sum += counts[bucket];
    }
    offsets[buckets] = sum;
}

KERNEL join_device_scatter(const unsigned *keys, unsigned *cursors, unsigned *parted, unsigned *places, unsigned n,
                           unsigned shift) {
    unsigned i = global_thread();
    if (i >= n)
        return;
    unsigned key = keys[i];
    unsigned place = atomicAdd(&cursors[key >> shift], 1);
    parted[place] = key;
    places[place] = i;
}

static __device__ __forceinline__ void probe(unsigned key, unsigned place, const unsigned *right, unsigned right_count,
                                             unsigned *matches) {
    unsigned found = 0;
    for (unsigned i = 0; i < right_count; i++)
        found += right[i] == key;
    matches[place] = found;
}

KERNEL join_device_probe(const unsigned *left, const unsigned *places, const unsigned *right, unsigned *matches,
                         unsigned left_count, unsigned right_count) {
    unsigned i = global_thread();
    if (i < left_count)
        probe(left[i], places[i], right, right_count, matches);
}

KERNEL join_device(const unsigned *left, const unsigned *places, const unsigned *left_offsets, const unsigned *right,
                   const unsigned *right_offsets, unsigned *matches, unsigned buckets, unsigned threshold) {
    unsigned bucket = global_thread();
    if (bucket >= buckets)
        return;
    unsigned first = left_offsets[bucket], count = left_offsets[bucket + 1] - first;
    unsigned right_first = right_offsets[bucket], right_count = right_offsets[bucket + 1] - right_first;
    if (count > threshold) {
        LAUNCH_CHILD(join_device_probe, child_groups(count), CHILD_THREADS, Probe, left + first, places + first,
                     right + right_first, matches, count, right_count);
    } else {
        for (unsigned i = first; i < first + count; i++)
            probe(left[i], places[i], right + right_first, right_count, matches);
    }
}
