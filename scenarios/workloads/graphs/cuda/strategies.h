// What the kernels of the study of graph algorithms by strategy have in common: warps that share the neighbours of the
// vertices of their chunk, and queues of a block.
#pragma once

#include "warpweave_cuda.h"

static const unsigned UNREACHED = 0xffffffffu;
static const unsigned NO_COLOUR = 0xffffffffu;
static const unsigned LANES = 32;

// Waits for the lanes of the warp, and orders their accesses to memory.
static __device__ __forceinline__ void sync_warp() { __nvvm_bar_warp_sync(FULL_WARP); }

// Lanes for which `holds` is true, as bits; all lanes of the warp take part.
static __device__ __forceinline__ unsigned ballot(bool holds) { return __nvvm_vote_ballot_sync(FULL_WARP, holds); }

static __device__ __forceinline__ bool any_lane(bool holds) { return __nvvm_vote_any_sync(FULL_WARP, holds); }

static __device__ __forceinline__ unsigned lane() { return global_thread() % LANES; }

// First vertex of the chunk of this thread's warp.
static __device__ __forceinline__ unsigned chunk_begin(unsigned chunk) { return global_thread() / LANES * chunk; }

static __device__ __forceinline__ unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

// How a warp finds the active vertices of its chunk: it tests them one after the other, all lanes the same one, or each
// lane tests one and a ballot tells the others. `take` is called by the lane that takes a vertex out of the frontier.
struct Serial {
    template <typename Active, typename Take, typename Visit>
    static __device__ __forceinline__ void each(unsigned chunk, unsigned n, Active is_active, Take take, Visit visit) {
        unsigned begin = chunk_begin(chunk);
        unsigned end = smaller(begin + chunk, n);
#pragma unroll 1 // one load per vertex and per instruction address
        for (unsigned vertex = begin; vertex < end; ++vertex) {
            if (!is_active(vertex)) {
                continue;
            }
            sync_warp();
            if (lane() == 0) {
                take(vertex);
            }
            visit(vertex);
        }
    }
};

struct Ballot {
    template <typename Active, typename Take, typename Visit>
    static __device__ __forceinline__ void each(unsigned chunk, unsigned n, Active is_active, Take take, Visit visit) {
        unsigned begin = chunk_begin(chunk);
        unsigned own = begin + lane();
        bool active = false;
        if (lane() < chunk && own < n) {
            active = is_active(own);
        }
        if (active) {
            take(own);
        }
        unsigned left = ballot(active);
#pragma unroll 1 // one vertex at a time, by all lanes
        while (left != 0) {
            visit(begin + (unsigned)__builtin_ctz(left));
            left &= left - 1;
        }
    }
};

// Queue of a block in local memory, and behind it the global one, which takes what finds no room.
static const unsigned CAPACITY_MAX = 1024;

struct BlockQueue {
    unsigned *own, *own_count, *own_place, *next, *next_count;
    unsigned capacity;

    // All threads of the block begin together.
    __device__ __forceinline__ void begin() {
        if (threadIdx.x == 0) {
            *own_count = 0;
        }
        __syncthreads();
    }

    __device__ __forceinline__ void push(unsigned vertex) {
        unsigned place = atomicAdd(own_count, 1);
        if (place < capacity) {
            own[place] = vertex;
        } else {
            next[atomicAdd(next_count, 1)] = vertex;
        }
    }

    // One thread reserves a range of the global queue, to which all copy.
    __device__ __forceinline__ void end() {
        __syncthreads();
        unsigned queued = smaller(*own_count, capacity);
        if (threadIdx.x == 0) {
            *own_place = atomicAdd(next_count, queued);
        }
        __syncthreads();
#pragma unroll 1 // one store per vertex and per instruction address
        for (unsigned i = threadIdx.x; i < queued; i += blockDim.x) {
            next[*own_place + i] = own[i];
        }
    }
};

#define BLOCK_QUEUE(queue, next_queue, next_count, capacity)                                                           \
    __shared__ unsigned own_queue[CAPACITY_MAX];                                                                       \
    __shared__ unsigned own_count;                                                                                     \
    __shared__ unsigned own_place;                                                                                     \
    BlockQueue queue = {own_queue, &own_count, &own_place, next_queue, next_count, capacity}
