// Assigns points to the nearest of some centroids: one step of k-means.
//
// features: feature-major, feature f of point p at f * points + p. centroids: one row of features each. The
// distance is the sum of squared differences in ascending order of the features, each operation rounded; the
// first of the nearest centroids wins. Loads of four features are issued before the first is used.
#include "clustered.h"

static __device__ __forceinline__ void kmeans_body(Block block, const float *features,
                                                   const float *__restrict__ centroids, unsigned *membership,
                                                   unsigned points, unsigned width, unsigned clusters) {
    unsigned point = block.x * 256 + threadIdx.x;
    if (point >= points) {
        return;
    }
    const float *own = features + point;
    unsigned nearest = 0;
    float least = 0.0f;
#pragma unroll 1
    for (unsigned c = 0; c < clusters; ++c) {
        const float *centre = centroids + c * width;
        float distance = 0.0f;
        unsigned f = 0;
#pragma unroll 1
        for (; f + 4 <= width; f += 4) {
            float own4[4];
            float centre4[4];
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                own4[i] = own[(f + i) * points];
                centre4[i] = centre[f + i];
            }
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                float difference = own4[i] - centre4[i];
                distance += difference * difference;
            }
        }
#pragma unroll 1
        for (; f < width; ++f) {
            float difference = own[f * points] - centre[f];
            distance += difference * difference;
        }
        if (c == 0 || distance < least) {
            least = distance;
            nearest = c;
        }
    }
    membership[point] = nearest;
}

#define PARAMETERS                                                                                                     \
    (const float *features, const float *__restrict__ centroids, unsigned *membership, unsigned points,                \
     unsigned width, unsigned clusters)
#define ARGUMENTS (features, centroids, membership, points, width, clusters)

FORMS_OF_LINE(kmeans, 256, Line, false, kmeans_body, PARAMETERS, ARGUMENTS)
TABLE_FORMS(kmeans, 256, Line, false, kmeans_body, PARAMETERS, ARGUMENTS)
