// Smooths an image and keeps its edges: every pixel becomes a mean of the 7 x 7 pixels around it.
//
// The weight of a pixel falls with its distance and with its difference in value:
// 2^-(space * (dx^2 + dy^2) + value * difference^2). Beyond the edge the nearest pixel counts. Sums are added row
// by row, from left to right, each product rounded.
#include "clustered.h"

static const int SIDE = 8;
static const int RADIUS = 3;

static __device__ __forceinline__ int within(int at, int size) {
    int low = at < 0 ? 0 : at;
    return low < size ? low : size - 1;
}

static __device__ __forceinline__ void denoise(Block block, const float *image, float *output, int width, int height,
                                               float space, float value) {
    int x = (int)block.x * SIDE + (int)threadIdx.x;
    int y = (int)block.y * SIDE + (int)threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float centre = image[y * width + x];
    float weights = 0.0f;
    float sum = 0.0f;
#pragma unroll 1
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        const float *row = image + within(y + dy, height) * width;
#pragma unroll
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            float pixel = row[within(x + dx, width)];
            float difference = pixel - centre;
            float away = space * (float)(dx * dx + dy * dy) + value * (difference * difference);
            float weight = __nvvm_ex2_approx_f(-away);
            weights += weight;
            sum += weight * pixel;
        }
    }
    output[y * width + x] = sum / weights;
}

#define PARAMETERS (const float *image, float *output, int width, int height, float space, float value)
#define ARGUMENTS (image, output, width, height, space, value)

FORMS_BY_ROWS(image_denoising, 64, false, denoise, PARAMETERS, ARGUMENTS)
TABLE_FORMS(image_denoising, 64, Rows, false, denoise, PARAMETERS, ARGUMENTS)
