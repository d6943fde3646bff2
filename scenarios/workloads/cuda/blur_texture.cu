// A blur with the weights 1 2 1 / 2 4 2 / 1 2 1 through a filtered texture.
//
// Each of the four reads lies on a corner between four cells, so that the texture unit gives their mean.
// Cells beyond the edge are those at the edge, by the texture's clamp. The four means are added left to
// right, above first.
#include "warpweave_cuda.h"

static __device__ __forceinline__ float read(unsigned long long texture, float x, float y) {
    float value, second, third, fourth;
    asm("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
        : "=f"(value), "=f"(second), "=f"(third), "=f"(fourth)
        : "l"(texture), "f"(x), "f"(y));
    return value;
}

KERNEL blur_texture(unsigned long long image, float *output, unsigned width, unsigned height) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float left = x, above = y;
    float sum = read(image, left, above);
    sum += read(image, left + 1, above);
    sum += read(image, left, above + 1);
    sum += read(image, left + 1, above + 1);
    output[y * width + x] = 0.25f * sum;
}
