/* What the kernels of "hls" get, and their launchers. Plain C on both sides. */
#ifndef PD_HLS_LAUNCH_H
#define PD_HLS_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PD_HLS_MODES = 8, PD_HLS_BLOCK = 16 /* columns of a fragment */ };

/** What products are computed in on a GPU. */
enum pd_hls_kernel { PD_HLS_KERNEL_F16, PD_HLS_KERNEL_BF16, PD_HLS_KERNEL_TF32, PD_HLS_KERNEL_F64 };

/** One factor: its rows for single nonzeros, its fragments for tiles. */
struct pd_hls_input {
  const void *rows; /* floats (doubles with PD_HLS_KERNEL_F64); rows begin at 16 bytes */
  uint64_t stride;
  uint64_t dim;
  int rank, width;      /* columns; numbers of a row that may be read, a multiple of 4 */
  int blocks;           /* fragments across: 1 or even */
  const void *fragment; /* NULL: no tile spans the mode, it is the output, or own_fragments */
  const float *scale;   /* by column: what the fragments were divided by */
  int tile_bits, tile_shift, bits, shift; /* of its index, see hls_layout.h */
  uint64_t column_stride;                 /* chain: of its column in the output's */
};

/** Both kernels. Work is cut into segments of tiles (in the order of the output) and items of
 *  single nonzeros (likewise); each writes sums of its own, which pd_hls_finish() adds up. */
struct pd_hls_run {
  struct pd_hls_input input[PD_HLS_MODES];
  int order, mode;
  int output;         /* place of the output in a tile; -1: a tile has one output row */
  int mode_k, mode_j; /* modes summed over first and second, in tiles */
  int mode_s;         /* mode of the slices: the output, or the third one of the tile */
  int others;         /* modes that a tile does not span, but the output */
  int other[PD_HLS_MODES];
  int inputs; /* all modes but the output, ascending */
  int input_mode[PD_HLS_MODES];
  uint64_t columns; /* of a row of sums */
  int tile_linear_bits, linear_bits;
  const uint32_t *b_inds, *b_bmp, *b_vals_ptr;
  const void *b_vals;
  const uint32_t *nnz_inds;
  const void *nnz_vals;
  uint32_t segments, items;
  const uint32_t *tile_order, *segment_start, *item_start;
  uint64_t nonzeros;
  void *dense_sums;  /* segments x (16 or 1) x columns */
  void *sparse_sums; /* items x columns */
  float *sums;       /* atomic: rows x columns, zeroed before */
  int atomic, diagonal;
  int own_fragments; /* a segment is one tile, and its blocks make the fragments that they need */
  /* Set by the launchers. */
  uint32_t dense_blocks, dense_parts, sparse_parts;
};

cudaError_t pd_hls_mttkrp_run(enum pd_hls_kernel kernel, const struct pd_hls_run *run,
                              cudaStream_t stream);
cudaError_t pd_hls_chain_run(enum pd_hls_kernel kernel, const struct pd_hls_run *run,
                             cudaStream_t stream);

/** Where one mode's index lies in a linear index of `linear_bits`. */
struct pd_hls_field {
  int linear_bits, shift, bits;
};
/** rows[p] = that index of nonzero p. */
cudaError_t pd_hls_rows_run(const uint32_t *inds, uint64_t count, const struct pd_hls_field *field,
                            uint32_t *rows, cudaStream_t stream);

/** Single nonzeros in the order of one mode's output: out_vals[p], and the linear index in `words`
 *  whole words from out_inds[p words] on, are those of nonzero order[p]. */
struct pd_hls_reorder {
  const uint32_t *order, *nnz_inds;
  const void *nnz_vals;
  uint64_t nonzeros;
  int linear_bits, words, value_bytes;
  uint32_t *out_inds;
  void *out_vals;
};
cudaError_t pd_hls_reorder_run(const struct pd_hls_reorder *reorder, cudaStream_t stream);

/** Preparing one factor. */
struct pd_hls_source {
  const void *factor; /* of the plan's type */
  uint64_t stride, rows;
  int rank, width, blocks;
  void *fragment; /* NULL: none wanted */
  float *copy;    /* rows x width floats; NULL: none wanted */
  uint32_t *most; /* bits of the largest magnitude of each column; 0 before, for half precision */
  float *scale;   /* blocks x 16 */
};
struct pd_hls_pack {
  int count;
  int wide; /* factors are doubles */
  struct pd_hls_source source[PD_HLS_MODES];
};
cudaError_t pd_hls_pack_run(enum pd_hls_kernel kernel, const struct pd_hls_pack *pack,
                            cudaStream_t stream);

/** out = scale x the sums of its segments and items, in order. */
struct pd_hls_finish {
  void *out;
  uint64_t rows, columns, stride;
  int wide;      /* out is doubles */
  int wide_sums; /* sums are doubles */
  double scale;
  int spanned;    /* a segment has 16 rows */
  uint64_t width; /* columns of a row of sums */
  uint64_t segments, items;
  const uint32_t *line_segment, *row_item;
  const void *dense_sums, *sparse_sums;
  const float *sums; /* atomic, else NULL */
  uint32_t *most;    /* set back to 0 */
  uint32_t most_count;
};
cudaError_t pd_hls_finish_run(const struct pd_hls_finish *finish, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
