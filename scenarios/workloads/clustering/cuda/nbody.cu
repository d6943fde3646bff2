// Acceleration of targets by sources of a mass each, one thread for each target.
//
// Positions have four components: x, y, z and the mass. The sources pass through local memory, 256 at a time.
// acceleration = sum of mass * (source - target) / (distance^2 + softening)^(3/2), in ascending order of the
// sources, each operation rounded; the root is approximate.
#include "clustered.h"

struct alignas(16) Body {
    float x, y, z, mass;
};

static __device__ __forceinline__ void attract(Block block, const Body *targets, const Body *sources, Body *output,
                                               unsigned targets_number, unsigned sources_number, float softening) {
    __shared__ Body tile[256];

    unsigned number = block.x * 256 + threadIdx.x;
    bool inside = number < targets_number;
    Body own = inside ? targets[number] : Body{};
    float x = 0.0f;
    float y = 0.0f;
    float z = 0.0f;
#pragma unroll 1
    for (unsigned start = 0; start < sources_number; start += 256) {
        if (start > 0) {
            __syncthreads();
        }
        unsigned at = start + threadIdx.x;
        tile[threadIdx.x] = at < sources_number ? sources[at] : Body{};
        __syncthreads();
#pragma unroll 4
        for (unsigned i = 0; i < 256; ++i) {
            Body source = tile[i];
            float dx = source.x - own.x;
            float dy = source.y - own.y;
            float dz = source.z - own.z;
            float root = __nvvm_rsqrt_approx_f(((dx * dx + dy * dy) + dz * dz) + softening);
            float pull = source.mass * ((root * root) * root);
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
    }
    if (inside) {
        output[number] = Body{x, y, z, 0.0f};
    }
}

#define PARAMETERS                                                                                                     \
    (const Body *targets, const Body *sources, Body *output, unsigned targets_number,                                  \
     unsigned sources_number, float softening)
#define ARGUMENTS (targets, sources, output, targets_number, sources_number, softening)

FORMS_OF_LINE(nbody, 256, Line, true, attract, PARAMETERS, ARGUMENTS)
TABLE_FORMS(nbody, 256, Line, true, attract, PARAMETERS, ARGUMENTS)
