// Compresses 4 x 4 pixels to 8 bytes: two colours and a choice among four for each pixel. One block of 64 threads
// for each square, which tries all pairs of its pixels' colours.
//
// A pixel is red + green * 2^8 + blue * 2^16. The colours are those of two pixels, cut to 5, 6 and 5 bits, the
// greater first; between them lie two more, a third of the way. The pair with the least sum of squared distances
// wins, the first of equal ones; a pixel chooses the nearest of the four, the first of equal ones.
#include "clustered.h"

static const unsigned THREADS = 64;
static const unsigned PAIRS = 120; // of different pixels among 16

struct Colour {
    int red, green, blue;
};

static __device__ __forceinline__ Colour colour(unsigned pixel) {
    return Colour{(int)(pixel & 255), (int)(pixel >> 8 & 255), (int)(pixel >> 16 & 255)};
}

// Red in the upper 5 bits, then 6 of green, then 5 of blue.
static __device__ __forceinline__ unsigned cut(unsigned pixel) {
    return (pixel >> 3 & 31) << 11 | (pixel >> 10 & 63) << 5 | (pixel >> 19 & 31);
}

static __device__ __forceinline__ Colour widened(unsigned code) {
    unsigned red = code >> 11;
    unsigned green = code >> 5 & 63;
    unsigned blue = code & 31;
    return Colour{(int)(red << 3 | red >> 2), (int)(green << 2 | green >> 4), (int)(blue << 3 | blue >> 2)};
}

static __device__ __forceinline__ int between(int near, int far) { return (2 * near + far) / 3; }

struct Palette {
    unsigned code; // both colours
    Colour colours[4];
    __device__ __forceinline__ Palette(unsigned one, unsigned other) {
        unsigned a = cut(one);
        unsigned b = cut(other);
        unsigned first = a > b ? a : b;
        unsigned last = a > b ? b : a;
        code = first | last << 16;
        Colour from = widened(first);
        Colour to = widened(last);
        colours[0] = from;
        colours[1] = to;
        colours[2] = Colour{between(from.red, to.red), between(from.green, to.green), between(from.blue, to.blue)};
        colours[3] = Colour{between(to.red, from.red), between(to.green, from.green), between(to.blue, from.blue)};
    }
    // Four times the least squared distance, plus the number of the nearest colour.
    __device__ __forceinline__ unsigned nearest(unsigned pixel) const {
        Colour own = colour(pixel);
        unsigned best = 0xffffffffu;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            int red = own.red - colours[i].red;
            int green = own.green - colours[i].green;
            int blue = own.blue - colours[i].blue;
            unsigned distance = (unsigned)(red * red + green * green + blue * blue) * 4 + i;
            best = distance < best ? distance : best;
        }
        return best;
    }
};

static __device__ __forceinline__ void compress(Block block, const unsigned *picture, unsigned *blocks,
                                                unsigned width) {
    __shared__ unsigned pixels[16];
    __shared__ unsigned best[THREADS];
    __shared__ unsigned choices[16];

    unsigned t = threadIdx.x;
    unsigned across = width / 4;
    if (t < 16) {
        pixels[t] = picture[(block.x / across * 4 + t / 4) * width + block.x % across * 4 + t % 4];
    }
    __syncthreads();
    // Sum of distances times 128, plus the number of the pair.
    unsigned least = 0xffffffffu;
#pragma unroll 1
    for (unsigned pair = t; pair < PAIRS; pair += THREADS) {
        unsigned one = 0;
        unsigned rest = pair;
#pragma unroll 1
        while (rest >= 15 - one) {
            rest -= 15 - one;
            one += 1;
        }
        Palette palette(pixels[one], pixels[one + 1 + rest]);
        unsigned sum = 0;
#pragma unroll 4
        for (unsigned i = 0; i < 16; ++i) {
            sum += palette.nearest(pixels[i]) / 4;
        }
        unsigned key = sum * 128 + pair;
        least = key < least ? key : least;
    }
    best[t] = least;
    __syncthreads();
#pragma unroll 1
    for (unsigned distance = THREADS / 2; distance > 0; distance /= 2) {
        if (t < distance && best[t + distance] < best[t]) {
            best[t] = best[t + distance];
        }
        __syncthreads();
    }
    unsigned one = 0;
    unsigned rest = best[0] % 128;
#pragma unroll 1
    while (rest >= 15 - one) {
        rest -= 15 - one;
        one += 1;
    }
    Palette palette(pixels[one], pixels[one + 1 + rest]);
    if (t < 16) {
        choices[t] = palette.nearest(pixels[t]) % 4 << 2 * t;
    }
    __syncthreads();
    if (t == 0) {
        unsigned all = 0;
#pragma unroll
        for (unsigned i = 0; i < 16; ++i) {
            all |= choices[i];
        }
        blocks[2 * block.x] = palette.code;
        blocks[2 * block.x + 1] = all;
    }
}

template <class Binding>
static __device__ __forceinline__ void compress_ahead(Block block, const unsigned *picture, unsigned *,
                                                      unsigned width) {
    unsigned t = threadIdx.x;
    unsigned across = width / 4;
    if (t < 16) {
        Binding::prefetch(&picture[(block.x / across * 4 + t / 4) * width + block.x % across * 4 + t % 4]);
    }
}

#define PARAMETERS (const unsigned *picture, unsigned *blocks, unsigned width)
#define ARGUMENTS (picture, blocks, width)

FORMS_OF_LINE(block_compression, 64, Line, true, compress, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(block_compression_agents_rows_ahead, 64, Line, true, compress, compress_ahead, PARAMETERS, ARGUMENTS)
