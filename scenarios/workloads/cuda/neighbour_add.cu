// Adds two elements that lie `offset` apart: output[i] = input[i] + input[i + offset].
//
// Work-groups are numbered row by row, and each adds blockDim.x elements. With an offset of one work-group
// neighbours along x share what they read, with an offset of one row neighbours along y. `input` has
// `offset` elements more than `output`.
#include "warpweave_cuda.h"

KERNEL neighbour_add(const unsigned *input, unsigned *output, unsigned offset) {
    unsigned group = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned i = group * blockDim.x + threadIdx.x;
    output[i] = input[i] + input[i + offset];
}
