// Scores of the best alignment of two sequences, one launch for each diagonal of tiles of 16 x 16.
//
// scores: (n + 1) x (n + 1), first row and column given. A score is the greatest of: the one to the upper left
// plus the cell's likeness, the left one and the upper one less the penalty. likeness: n x n. A block of one
// wavefront fills tile (first_x + block, first_y - block) diagonal by diagonal, in place. n is a multiple of 16.
#include "clustered.h"

static const int SIDE = 16;

static __device__ __forceinline__ int greater(int a, int b) { return a > b ? a : b; }

static __device__ __forceinline__ void align(Block block, int *scores, const int *likeness, int n, int first_x,
                                             int first_y, int penalty) {
    __shared__ int tile[SIDE + 1][SIDE + 1];
    __shared__ int like[SIDE][SIDE];

    int t = (int)threadIdx.x;
    int pitch = n + 1;
    int x = (first_x + (int)block.x) * SIDE;
    int y = (first_y - (int)block.x) * SIDE;
    // From the corner above and to the left of the tile.
    int *corner = scores + y * pitch + x;
#pragma unroll
    for (int row = 0; row < SIDE; ++row) {
        like[row][t] = likeness[(y + row) * n + x + t];
    }
    if (t == 0) {
        tile[0][0] = corner[0];
    }
    tile[0][t + 1] = corner[t + 1];
    tile[t + 1][0] = corner[(t + 1) * pitch];
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < 2 * SIDE - 1; ++step) {
        int column = step - t;
        if (column >= 0 && column < SIDE) {
            int diagonal = tile[t][column] + like[t][column];
            int left = tile[t + 1][column] - penalty;
            int upper = tile[t][column + 1] - penalty;
            tile[t + 1][column + 1] = greater(diagonal, greater(left, upper));
        }
        __syncthreads();
    }
#pragma unroll
    for (int row = 1; row <= SIDE; ++row) {
        corner[row * pitch + t + 1] = tile[row][t + 1];
    }
}

// The likeness, which no other tile of the launch changes, and the row above.
template <class Binding>
static __device__ __forceinline__ void align_ahead(Block block, int *scores, const int *likeness, int n, int first_x,
                                                   int first_y, int) {
    int t = (int)threadIdx.x;
    int x = (first_x + (int)block.x) * SIDE;
    int y = (first_y - (int)block.x) * SIDE;
    Binding::prefetch(&likeness[(y + t) * n + x]);
    Binding::prefetch(&scores[y * (n + 1) + x + t + 1]);
}

#define PARAMETERS (int *scores, const int *likeness, int n, int first_x, int first_y, int penalty)
#define ARGUMENTS (scores, likeness, n, first_x, first_y, penalty)

FORMS_OF_LINE(needleman_wunsch, 16, Line, true, align, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(needleman_wunsch_agents_rows_ahead, 16, Line, true, align, align_ahead, PARAMETERS, ARGUMENTS)
