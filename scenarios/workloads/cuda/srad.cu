// Speckle-reducing anisotropic diffusion of an image, one step in two kernels of 16 x 16 threads.
//
// `srad_coefficients` stores the differences to the four neighbours and the diffusion coefficient of each
// pixel, `srad_update` moves each pixel by the divergence. Beyond the edge a pixel sees itself. Every
// operation rounds once, sums from left to right: north, south, west, east.
#include "warpweave_cuda.h"

static const unsigned SIDE = 16;

KERNEL __launch_bounds__(256)
    srad_coefficients(const float *image, float *north, float *south, float *west, float *east,
                      float *coefficient, unsigned width, unsigned height, float q0_squared) {
    __shared__ float tile[SIDE][SIDE];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned x = blockIdx.x * SIDE + tx;
    unsigned y = blockIdx.y * SIDE + ty;
    bool inside = x < width && y < height;
    unsigned here = y * width + x;
    if (inside) {
        tile[ty][tx] = image[here];
    }
    __syncthreads();
    if (!inside) {
        return;
    }
    float cell = tile[ty][tx];
    // Neighbours of the tile from shared memory, those beyond it from the image.
    float above = y == 0 ? cell : ty > 0 ? tile[ty - 1][tx] : image[here - width];
    float below = y + 1 == height ? cell : ty + 1 < SIDE ? tile[ty + 1][tx] : image[here + width];
    float left = x == 0 ? cell : tx > 0 ? tile[ty][tx - 1] : image[here - 1];
    float right = x + 1 == width ? cell : tx + 1 < SIDE ? tile[ty][tx + 1] : image[here + 1];

    float dn = above - cell;
    float ds = below - cell;
    float dw = left - cell;
    float de = right - cell;
    float gradient = (dn * dn + ds * ds + dw * dw + de * de) / (cell * cell);
    float laplacian = (dn + ds + dw + de) / cell;
    float numerator = 0.5f * gradient - 0.0625f * (laplacian * laplacian);
    float root = 1.0f + 0.25f * laplacian;
    float q_squared = numerator / (root * root);
    float deviation = (q_squared - q0_squared) / (q0_squared * (1.0f + q0_squared));
    float c = 1.0f / (1.0f + deviation);
    c = c < 0.0f ? 0.0f : c;
    c = c > 1.0f ? 1.0f : c;
    north[here] = dn;
    south[here] = ds;
    west[here] = dw;
    east[here] = de;
    coefficient[here] = c;
}

KERNEL __launch_bounds__(256)
    srad_update(float *image, const float *north, const float *south, const float *west,
                const float *east, const float *coefficient, unsigned width, unsigned height, float rate) {
    __shared__ float tile[SIDE][SIDE];

    unsigned tx = threadIdx.x;
    unsigned ty = threadIdx.y;
    unsigned x = blockIdx.x * SIDE + tx;
    unsigned y = blockIdx.y * SIDE + ty;
    bool inside = x < width && y < height;
    unsigned here = y * width + x;
    if (inside) {
        tile[ty][tx] = coefficient[here];
    }
    __syncthreads();
    if (!inside) {
        return;
    }
    float own = tile[ty][tx];
    float below = y + 1 == height ? own : ty + 1 < SIDE ? tile[ty + 1][tx] : coefficient[here + width];
    float right = x + 1 == width ? own : tx + 1 < SIDE ? tile[ty][tx + 1] : coefficient[here + 1];
    float divergence = own * north[here] + below * south[here] + own * west[here] + right * east[here];
    image[here] = image[here] + (0.25f * rate) * divergence;
}
