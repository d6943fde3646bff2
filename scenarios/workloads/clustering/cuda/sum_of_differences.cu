// Sums of absolute differences between a picture and a reference moved by up to 4 pixels.
//
// A block of 64 threads takes a square of 16 x 16 pixels. For each of the 9 x 9 moves and each of the sixteen
// 4 x 4 squares in it a sum is written: sums[(square * 81 + move) * 16 + small square], squares and moves row by
// row. Beyond the edge of the reference the nearest pixel counts. Width and height are multiples of 16.
#include "clustered.h"

static const int REACH = 4;
static const int MOVES = (2 * REACH + 1) * (2 * REACH + 1);

static __device__ __forceinline__ int within(int at, int size) {
    int low = at < 0 ? 0 : at;
    return low < size ? low : size - 1;
}

static __device__ __forceinline__ void compare(Block block, const unsigned *picture, const unsigned *reference,
                                               unsigned *sums, int width, int height) {
    int small = (int)threadIdx.x % 16;
    int x = (int)block.x * 16 + small % 4 * 4;
    int y = (int)block.y * 16 + small / 4 * 4;
    int own[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        own[i] = (int)picture[(y + i / 4) * width + x + i % 4];
    }
    unsigned *out = sums + (block.y * block.width + block.x) * MOVES * 16 + small;
#pragma unroll 1
    for (int move = (int)threadIdx.x / 16; move < MOVES; move += 4) {
        int dx = move % (2 * REACH + 1) - REACH;
        int dy = move / (2 * REACH + 1) - REACH;
        unsigned sum = 0;
#pragma unroll
        for (int row = 0; row < 4; ++row) {
            const unsigned *other = reference + within(y + dy + row, height) * width;
#pragma unroll
            for (int column = 0; column < 4; ++column) {
                int difference = own[row * 4 + column] - (int)other[within(x + dx + column, width)];
                sum += (unsigned)(difference < 0 ? -difference : difference);
            }
        }
        out[move * 16] = sum;
    }
}

template <class Binding>
static __device__ __forceinline__ void compare_ahead(Block block, const unsigned *picture, const unsigned *reference,
                                                     unsigned *, int width, int) {
    int small = (int)threadIdx.x % 16;
    int x = (int)block.x * 16 + small % 4 * 4;
    int y = (int)block.y * 16 + small / 4 * 4;
    Binding::prefetch(&picture[y * width + x]);
    Binding::prefetch(&reference[y * width + x]);
}

#define PARAMETERS (const unsigned *picture, const unsigned *reference, unsigned *sums, int width, int height)
#define ARGUMENTS (picture, reference, sums, width, height)

FORMS_BY_COLUMNS(sum_of_differences, 64, false, compare, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(sum_of_differences_agents_columns_ahead, 64, Columns, false, compare, compare_ahead, PARAMETERS,
            ARGUMENTS)
