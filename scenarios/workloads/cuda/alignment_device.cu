// The place of a reference sequence at which each read differs least, without gaps. One thread for each chunk of
// reads leaves a chunk of more than `threshold` to a child kernel, one thread for each read; all children go over the
// same reference.
#include "device_launch.h"

struct Chunk {
    const unsigned *reference;
    const unsigned *reads;
    unsigned *best;
    unsigned reference_length;
    unsigned read_length;
    unsigned count;
};

// Writes equal bases and first such place.
static __device__ __forceinline__ void align(const unsigned *reference, const unsigned *read, unsigned *best,
                                             unsigned reference_length, unsigned read_length) {
    unsigned most = 0, where = 0;
    for (unsigned place = 0; place + read_length <= reference_length; place++) {
        unsigned equal = 0;
        for (unsigned i = 0; i < read_length; i++)
            equal += reference[place + i] == read[i];
        if (equal > most) {
            most = equal;
            where = place;
        }
    }
    best[0] = most;
    best[1] = where;
}

KERNEL alignment_device_chunk(const unsigned *reference, const unsigned *reads, unsigned *best,
                              unsigned reference_length, unsigned read_length, unsigned count) {
    unsigned read = global_thread();
    if (read < count)
        align(reference, reads + read * read_length, best + 2 * read, reference_length, read_length);
}

KERNEL alignment_device(const unsigned *reference, const unsigned *reads, unsigned *best, unsigned reference_length,
                        unsigned read_length, unsigned n, unsigned chunk, unsigned threshold) {
    unsigned first = global_thread() * chunk;
    if (first >= n)
        return;
    unsigned count = n - first < chunk ? n - first : chunk;
    const unsigned *own = reads + first * read_length;
    if (count > threshold) {
        LAUNCH_CHILD(alignment_device_chunk, child_groups(count), CHILD_THREADS, Chunk, reference, own,
                     best + 2 * first, reference_length, read_length, count);
    } else {
        for (unsigned i = 0; i < count; i++)
            align(reference, own + i * read_length, best + 2 * (first + i), reference_length, read_length);
    }
}
