// Prices of European options by the formula of Black and Scholes, one thread for each option.
//
// The normal distribution is a polynomial of degree five in 1 / (1 + 0.2316419 |d|). Logarithm, exponential and
// square root are approximate; every other operation rounds once.
#include "clustered.h"

static const float LOG2_E = 1.44269504f;
static const float LN_2 = 0.693147181f;

static __device__ __forceinline__ float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * __nvvm_fabs_f(d));
    float tail = 1.330274429f;
    tail = -1.821255978f + k * tail;
    tail = 1.781477937f + k * tail;
    tail = -0.356563782f + k * tail;
    tail = 0.31938153f + k * tail;
    tail = 0.39894228f * __nvvm_ex2_approx_f(-0.5f * LOG2_E * (d * d)) * (k * tail);
    return d > 0.0f ? 1.0f - tail : tail;
}

static __device__ __forceinline__ void price_options(Block block, const float *prices, const float *strikes,
                                                     const float *years, float *calls, float *puts, unsigned n,
                                                     float rate, float volatility) {
    unsigned i = block.x * 128 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float price = prices[i];
    float strike = strikes[i];
    float time = years[i];
    float root = __nvvm_sqrt_approx_f(time);
    float spread = volatility * root;
    float log = LN_2 * __nvvm_lg2_approx_f(price / strike);
    float d1 = (log + (rate + 0.5f * volatility * volatility) * time) / spread;
    float d2 = d1 - spread;
    float above1 = normal(d1);
    float above2 = normal(d2);
    float discounted = strike * __nvvm_ex2_approx_f(-LOG2_E * (rate * time));
    calls[i] = price * above1 - discounted * above2;
    puts[i] = discounted * (1.0f - above2) - price * (1.0f - above1);
}

template <class Binding>
static __device__ __forceinline__ void price_ahead(Block block, const float *prices, const float *strikes,
                                                   const float *years, float *, float *, unsigned n, float, float) {
    unsigned i = block.x * 128 + threadIdx.x;
    if (i < n) {
        Binding::prefetch(&prices[i]);
        Binding::prefetch(&strikes[i]);
        Binding::prefetch(&years[i]);
    }
}

#define PARAMETERS                                                                                                     \
    (const float *prices, const float *strikes, const float *years, float *calls, float *puts, unsigned n, float rate, \
     float volatility)
#define ARGUMENTS (prices, strikes, years, calls, puts, n, rate, volatility)

FORMS_OF_LINE(black_scholes, 128, Line, false, price_options, PARAMETERS, ARGUMENTS)
AHEAD_FORMS(black_scholes_agents_rows_ahead, 128, Line, false, price_options, price_ahead, PARAMETERS, ARGUMENTS)
