// The forms of dct_8x8: cosine transform of squares of 8 x 8 pixels, quantisation, and the transform back.
//
// One block of 8 x 8 threads for each square, one thread for each pixel. A product of matrices takes its
// eight terms in ascending order, each rounded before it is added. Width and height are multiples of 8.
// Streamed forms read the pixels past the first-level cache: each is used once.
#include "clustered.h"

// Row k: weight(k) * cos((2 i + 1) k pi / 16), with weight(0) = sqrt(1/8), else 1/2.
static __constant__ const float COSINE[8][8] = {
#define A 0.353553391f
#define B 0.490392640f
#define C 0.461939766f
#define D 0.415734806f
#define E 0.277785117f
#define F 0.191341716f
#define G 0.0975451610f
    {A, A, A, A, A, A, A, A},         {B, D, E, G, -G, -E, -D, -B},
    {C, F, -F, -C, -C, -F, F, C},     {D, -G, -B, -E, E, B, G, -D},
    {A, -A, -A, A, A, -A, -A, A},     {E, -B, G, D, -D, -G, B, -E},
    {F, -C, C, -F, -F, C, -C, F},     {G, -E, D, -B, B, -D, E, -G},
};

// output = left * input * right, where the matrices of cosines are as they are or transposed.
template <bool FORWARD, bool STREAMED>
static __device__ __forceinline__ void transform(Block block, const float *input, float *output, unsigned width) {
    __shared__ float pixels[8][8];
    __shared__ float halfway[8][8];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned here = (block.y * 8 + ty) * width + block.x * 8 + tx;
    pixels[ty][tx] = STREAMED ? past_l1(&input[here]) : input[here];
    __syncthreads();

    float sum = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
        sum += (FORWARD ? COSINE[ty][k] : COSINE[k][ty]) * pixels[k][tx];
    }
    halfway[ty][tx] = sum;
    __syncthreads();

    sum = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
        sum += halfway[ty][k] * (FORWARD ? COSINE[tx][k] : COSINE[k][tx]);
    }
    output[here] = sum;
}

// Rounds every coefficient to the nearest multiple of its step, halves away from zero, in place. The step
// of row v and column u is 4 + 2 (u + v).
template <bool STREAMED>
static __device__ __forceinline__ void quantise(Block block, float *coefficients, unsigned width) {
    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned here = (block.y * 8 + ty) * width + block.x * 8 + tx;
    float step = (float)(4 + 2 * (tx + ty));
    float scaled = (STREAMED ? past_l1(&coefficients[here]) : coefficients[here]) / step;
    int rounded = (int)(scaled + (scaled < 0.0f ? -0.5f : 0.5f));
    coefficients[here] = (float)rounded * step;
}

#define TRANSFORM_PARAMETERS (const float *input, float *output, unsigned width)
#define TRANSFORM_ARGUMENTS (input, output, width)

FORMS_BY_COLUMNS(dct_forward, 64, true, (transform<true, false>), TRANSFORM_PARAMETERS, TRANSFORM_ARGUMENTS)
TABLE_FORMS(dct_forward, 64, Rows, true, (transform<true, false>), TRANSFORM_PARAMETERS, TRANSFORM_ARGUMENTS)
AGENT_FORMS(dct_forward_agents_columns_streamed, 64, Columns, true, false, (transform<true, true>),
            TRANSFORM_PARAMETERS, TRANSFORM_ARGUMENTS)
FORMS_BY_COLUMNS(dct_inverse, 64, true, (transform<false, false>), TRANSFORM_PARAMETERS, TRANSFORM_ARGUMENTS)
TABLE_FORMS(dct_inverse, 64, Rows, true, (transform<false, false>), TRANSFORM_PARAMETERS, TRANSFORM_ARGUMENTS)
AGENT_FORMS(dct_inverse_agents_columns_streamed, 64, Columns, true, false, (transform<false, true>),
            TRANSFORM_PARAMETERS, TRANSFORM_ARGUMENTS)
#define DCT_QUANTISE_PARAMETERS (float *coefficients, unsigned width)
#define DCT_QUANTISE_ARGUMENTS (coefficients, width)

FORMS_BY_COLUMNS(dct_quantise, 64, false, quantise<false>, DCT_QUANTISE_PARAMETERS, DCT_QUANTISE_ARGUMENTS)
TABLE_FORMS(dct_quantise, 64, Rows, false, quantise<false>, DCT_QUANTISE_PARAMETERS, DCT_QUANTISE_ARGUMENTS)
AGENT_FORMS(dct_quantise_agents_columns_streamed, 64, Columns, false, false, quantise<true>,
            (float *coefficients, unsigned width), (coefficients, width))
