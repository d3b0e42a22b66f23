// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/async_copy.cuh"
#include "common/mma.cuh"

#include <cmath>
#include <cstdint>

namespace headroom::kernels {

// The growth of a row's maximum (in powers of two) that is left uncorrected. Any reference point gives the
// same quotient; it only has to keep 2^(x - reference) in the range of a 16-bit float, so most steps rescale
// nothing.
constexpr float kSlack = 8.0f;

// One warp's softmax(q K^T) V over M tiles of 16 query rows, one pass, scores in registers only (Milakov and
// Gimelshein 2018; Dao et al. 2022). A lane holds rows lane/4 and lane/4 + 8 of each tile.
//
// K and V tiles are in shared memory as pairs of eight tokens: 16 swizzled rows of D values, PairBytes apart.
// The output has `Columns` of V's D columns.
template <class T, int D, int M, int Columns = D>
struct OnlineSoftmax {
    float output[M][Columns / 8][4] = {};
    float maximum[M][2];   // of the unscaled logits, up to kSlack behind
    float sum[M][2] = {};  // this lane's columns only, until total() is asked

    __device__ OnlineSoftmax() {
#pragma unroll
        for (int m = 0; m < M; ++m) maximum[m][0] = maximum[m][1] = -INFINITY;
    }

    // s = q K^T for 8 * Tiles tokens. `query(k, a)` gives the A fragments of columns 16 k .. 16 k + 15.
    template <int PairBytes, int Tiles, class Query>
    __device__ static void scores(float (&s)[M][Tiles][4], const Query& query, std::uint32_t keys, int lane) {
        const int row = (lane / 16) * 8 + lane % 8;
        const int half = (lane / 8) & 1;
#pragma unroll
        for (int k = 0; k < D / 16; ++k) {
            std::uint32_t a[M][4];
            query(k, a);
#pragma unroll
            for (int pair = 0; pair < Tiles / 2; ++pair) {
                std::uint32_t b[4];
                load_matrix(b, keys + pair * PairBytes + swizzled<D / 8>(row, k * 2 + half));
#pragma unroll
                for (int m = 0; m < M; ++m) {
                    mma<T>(s[m][pair * 2], a[m], b[0], b[1]);
                    mma<T>(s[m][pair * 2 + 1], a[m], b[2], b[3]);
                }
            }
        }
    }

    // Hides columns at or past `limit(m, r)`, r telling the lane's row in tile m.
    template <int Tiles, class Limit>
    __device__ static void mask(float (&s)[M][Tiles][4], const Limit& limit, int lane) {
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
            for (int t = 0; t < Tiles; ++t) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (t * 8 + 2 * (lane & 3) + (i & 1) >= limit(m, i / 2)) s[m][t][i] = -INFINITY;
                }
            }
        }
    }

    // The largest logit of each row so far, in all four lanes that share the row.
    template <int Tiles>
    __device__ void largest_seen(float (&seen)[M][2], const float (&s)[M][Tiles][4]) const {
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float largest = maximum[m][r];
#pragma unroll
                for (int t = 0; t < Tiles; ++t)
                    largest = fmaxf(largest, fmaxf(s[m][t][2 * r], s[m][t][2 * r + 1]));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                seen[m][r] = largest;
            }
        }
    }

    // From logits to unnormalised probabilities. Every row must have seen at least one finite logit.
    template <int Tiles>
    __device__ void soften(float (&s)[M][Tiles][4], const float (&seen)[M][2], float scale_log2) {
        bool grown = false;
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
            for (int r = 0; r < 2; ++r) grown |= (seen[m][r] - maximum[m][r]) * scale_log2 > kSlack;
        }
        if (__any_sync(0xffffffff, grown)) rescale(seen, scale_log2);
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const float offset = maximum[m][r] * scale_log2;
#pragma unroll
                for (int t = 0; t < Tiles; ++t) {
#pragma unroll
                    for (int i = 2 * r; i < 2 * r + 2; ++i) {
                        s[m][t][i] = exp2_fast(fmaf(s[m][t][i], scale_log2, -offset));
                        sum[m][r] += s[m][t][i];
                    }
                }
            }
        }
    }

    template <int Tiles>
    __device__ void soften(float (&s)[M][Tiles][4], float scale_log2) {
        float seen[M][2];
        largest_seen(seen, s);
        soften(s, seen, scale_log2);
    }

    // A pair of eight tokens' probabilities, as the first operand of a product with V.
    template <int Tiles>
    __device__ static void pack_pair(std::uint32_t (&p)[M][4], const float (&s)[M][Tiles][4], int pair) {
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                p[m][i] =
                    pack<T>(s[m][pair * 2 + i / 2][2 * (i & 1)], s[m][pair * 2 + i / 2][2 * (i & 1) + 1]);
            }
        }
    }

    // output += p V over one pair of eight tokens; the columns start at V's chunk of eight `first_chunk`.
    __device__ void accumulate_pair(const std::uint32_t (&p)[M][4], std::uint32_t values, int lane,
                                    int first_chunk = 0) {
        const int row = ((lane / 8) & 1) * 8 + lane % 8;
        const int chunk = first_chunk + lane / 16;
#pragma unroll
        for (int n = 0; n < Columns / 16; ++n) {
            std::uint32_t b[4];
            load_matrix_transposed(b, values + swizzled<D / 8>(row, n * 2 + chunk));
#pragma unroll
            for (int m = 0; m < M; ++m) {
                mma<T>(output[m][n * 2], p[m], b[0], b[1]);
                mma<T>(output[m][n * 2 + 1], p[m], b[2], b[3]);
            }
        }
    }

    // output += s V.
    template <int PairBytes, int Tiles>
    __device__ void accumulate(const float (&s)[M][Tiles][4], std::uint32_t values, int lane) {
#pragma unroll
        for (int pair = 0; pair < Tiles / 2; ++pair) {
            std::uint32_t p[M][4];
            pack_pair(p, s, pair);
            accumulate_pair(p, values + pair * PairBytes, lane);
        }
    }

    // A row's sum over all columns seen, in all four lanes that share the row.
    __device__ float total(int m, int r) const {
        const float half = sum[m][r] + __shfl_xor_sync(0xffffffff, sum[m][r], 1);
        return half + __shfl_xor_sync(0xffffffff, half, 2);
    }

  private:
    __device__ void rescale(const float (&seen)[M][2], float scale_log2) {
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const float factor = exp2_fast((maximum[m][r] - seen[m][r]) * scale_log2);
                maximum[m][r] = seen[m][r];
                sum[m][r] *= factor;
#pragma unroll
                for (int n = 0; n < Columns / 8; ++n) {
                    output[m][n][2 * r] *= factor;
                    output[m][n][2 * r + 1] *= factor;
                }
            }
        }
    }
};

}  // namespace headroom::kernels
