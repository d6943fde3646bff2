// sum[i] = a[i] + b[i]: the streaming kernel, no reuse at all.
#include "warpweave_cuda.h"

KERNEL vector_add(const float *a, const float *b, float *sum, unsigned n) {
    unsigned i = global_thread();
    if (i < n) {
        sum[i] = a[i] + b[i];
    }
}
