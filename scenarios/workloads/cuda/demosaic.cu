// Makes three colour planes of a mosaic in which each cell knows one colour, by gradient-corrected linear
// interpolation in integers.
//
// Even rows are red, green, red, green ..; odd rows green, blue, green, blue ... Each thread reads the 13
// cells of a diamond of radius 2. The outermost two rings are not written. All sums are sixteenths, shifted
// right arithmetically and limited to 0 to 1023.
#include "warpweave_cuda.h"

static __device__ __forceinline__ unsigned limited(int sixteenths) {
    int value = sixteenths >> 4;
    value = value < 0 ? 0 : value;
    return value > 1023 ? 1023 : value;
}

KERNEL demosaic(const int *mosaic, unsigned *red, unsigned *green, unsigned *blue, unsigned width,
                unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x + 2 >= width || y + 2 >= height) {
        return;
    }
    const int *row = mosaic + y * width + x;
    const int *above = mosaic + (y - 1) * width + x;
    const int *below = mosaic + (y + 1) * width + x;
    int far_above = mosaic[(y - 2) * width + x];
    int far_below = mosaic[(y + 2) * width + x];
    int cell = row[0];
    int beside = row[-1] + row[1];
    int over = above[0] + below[0];
    int corners = above[-1] + above[1] + below[-1] + below[1];
    int far_beside = row[-2] + row[2];
    int far_over = far_above + far_below;

    // Green where the cell is red or blue; the colour of the row, and that of the other rows, where it is
    // green; the opposite colour where it is red or blue.
    unsigned as_green = limited(8 * cell + 4 * (beside + over) - 2 * (far_beside + far_over));
    unsigned from_row = limited(10 * cell + 8 * beside - 2 * (corners + far_beside) + far_over);
    unsigned from_column = limited(10 * cell + 8 * over - 2 * (corners + far_over) + far_beside);
    unsigned opposite = limited(12 * cell + 4 * corners - 3 * (far_beside + far_over));

    unsigned odd_row = y & 1;
    bool is_green = ((x ^ y) & 1) != 0;
    unsigned own = cell;
    unsigned of_even_rows = is_green ? (odd_row ? from_column : from_row) : (odd_row ? opposite : own);
    unsigned of_odd_rows = is_green ? (odd_row ? from_row : from_column) : (odd_row ? own : opposite);
    unsigned at = y * width + x;
    red[at] = of_even_rows;
    green[at] = is_green ? own : as_green;
    blue[at] = of_odd_rows;
}
