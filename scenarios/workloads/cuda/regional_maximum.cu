// One round of the search for regional maxima: connected cells of one value whose other neighbours are all
// lower. Cells have eight neighbours.
//
// A marked cell loses its mark if a neighbour is higher, or is as high and has no mark. `changed` becomes 1
// if any mark was lost. The outermost ring is not looked at: it keeps its marks.
#include "warpweave_cuda.h"

KERNEL regional_maximum(const unsigned *image, const unsigned *marks, unsigned *next, unsigned *changed,
                        unsigned width, unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) {
        return;
    }
    unsigned at = y * width + x;
    unsigned rows[3] = {(y - 1) * width + x, at, (y + 1) * width + x};
    unsigned cell = image[at];
    unsigned mark = marks[at];
    unsigned keeps = mark;
#pragma unroll
    for (unsigned row = 0; row < 3; ++row) {
        const unsigned *values = image + rows[row];
        const unsigned *marked = marks + rows[row];
#pragma unroll
        for (int column = -1; column <= 1; ++column) {
            unsigned value = values[column];
            unsigned has_mark = marked[column];
            if (value > cell || (value == cell && has_mark == 0)) {
                keeps = 0;
            }
        }
    }
    next[at] = keeps;
    if (keeps != mark) {
        *changed = 1;
    }
}
