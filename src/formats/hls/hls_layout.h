/* Layout of format "hls": dense tiles (HLS-D) and single nonzeros (HLS-S), one copy for all modes.
 * See README.md. Array names are the paper's. */
#ifndef PD_HLS_LAYOUT_H
#define PD_HLS_LAYOUT_H

#include "core/half.h"
#include "device/build_steps.h"
#include "formats/format.h"
#include "formats/hls/hls_bits.h"

enum {
  PD_HLS_MIN_ORDER = 3,
  PD_HLS_MAX_ORDER = 8,
  PD_HLS_SPAN = 3,              /* modes that a tile spans */
  PD_HLS_THRESHOLD_MTTKRP = 78, /* the paper's, A100 and later */
  PD_HLS_THRESHOLD_TTMC = 82,
  PD_HLS_THRESHOLD_MTTKRP_OLD = 61, /* TITAN RTX */
  PD_HLS_THRESHOLD_TTMC_OLD = 41,
  PD_HLS_ALL_SPARSE = PD_HLS_CELLS + 1
};

/** Its parameters, in the order of its table. */
enum { PD_HLS_TILE_THRESHOLD };

/** How values are stored. */
enum pd_hls_value {
  PD_HLS_F16 = PD_BUILD_F16,
  PD_HLS_BF16 = PD_BUILD_BF16,
  PD_HLS_F32 = PD_BUILD_F32,
  PD_HLS_F64 = PD_BUILD_F64
};

/** What the variants switch. */
struct pd_hls_scheme {
  bool atomic;     /* the paper's way: results added in any order */
  bool sequential; /* HLS-D and HLS-S one after the other instead of in one launch */
  bool diagonal;   /* MTTKRP: the diagonal of a product of matrices (equation 10) */
};

struct pd_hls {
  int order;
  uint64_t dims[PD_HLS_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  polyad_compute compute;
  enum pd_hls_value value;
  struct pd_hls_scheme scheme;
  double scale;                    /* 2^exponent */
  int exponent;                    /* stored values are the tensor's times 2^-exponent */
  int threshold;                   /* b_threshold: a tile with as many nonzeros is dense */
  int span[PD_HLS_SPAN];           /* modes that a tile spans, ascending */
  int place[PD_HLS_MAX_ORDER];     /* of a mode in span; -1: its index selects the tile */
  int bits[PD_HLS_MAX_ORDER];      /* nnz_linear_bits */
  int shift[PD_HLS_MAX_ORDER];     /* of a mode's bits in a nonzero's linear index */
  int linear_bits;                 /* of a nonzero's index: equation 11 */
  int tile_bits[PD_HLS_MAX_ORDER]; /* b_linear_bits */
  int tile_shift[PD_HLS_MAX_ORDER];
  int tile_linear_bits; /* of a tile's index: equation 13 */
  uint64_t tiles, dense_nnz, sparse_nnz;
  uint32_t *b_inds;     /* packed, in ascending order */
  uint32_t *b_bmp;      /* PD_HLS_WORDS per tile; bit c of word w: cell 32 w + c */
  uint32_t *b_vals_ptr; /* tiles + 1 */
  void *b_vals;
  uint32_t *nnz_inds; /* packed, in the order of their tiles */
  void *nnz_vals;
};

static inline size_t pd_hls_value_bytes(enum pd_hls_value value) {
  return value == PD_HLS_F64 ? 8 : value == PD_HLS_F32 ? 4 : 2;
}

/** Words of `count` packed indices: 32 of them fill `bits` whole words, so that threads which take
 *  32 at a time share no word; two more, since reading takes two words at once. */
static inline uint64_t pd_hls_packed_words(uint64_t count, int bits) {
  return (count + 31) / 32 * (uint64_t)bits + 2;
}

static inline double pd_hls_value_at(const void *values, enum pd_hls_value kind, uint64_t p) {
  switch (kind) {
  case PD_HLS_F16:
    return (double)pd_float_of_half(((const uint16_t *)values)[p]);
  case PD_HLS_BF16:
    return (double)pd_float_of_bfloat(((const uint16_t *)values)[p]);
  case PD_HLS_F32:
    return (double)((const float *)values)[p];
  default:
    return ((const double *)values)[p];
  }
}

/** Index of nonzero p of HLS-S. */
static inline uint32_t pd_hls_index(const struct pd_hls *hls, int mode, uint64_t p) {
  return pd_hls_get(hls->nnz_inds, p * (uint64_t)hls->linear_bits + (uint64_t)hls->shift[mode],
                    hls->bits[mode]);
}

/** Coordinate of a tile: of its first index over 16 in a mode that it spans, else the index. */
static inline uint32_t pd_hls_tile_index(const struct pd_hls *hls, int mode, uint64_t tile) {
  return pd_hls_get(hls->b_inds,
                    tile * (uint64_t)hls->tile_linear_bits + (uint64_t)hls->tile_shift[mode],
                    hls->tile_bits[mode]);
}

/** Tiles along a mode. */
static inline uint64_t pd_hls_tiles_along(uint64_t dim) {
  return (dim + PD_HLS_SIDE - 1) / PD_HLS_SIDE;
}

/** The 16 bits of cells (a, b, *) of a tile. */
static inline uint32_t pd_hls_row_bits(const struct pd_hls *hls, uint64_t tile, uint32_t row) {
  return hls->b_bmp[tile * PD_HLS_WORDS + row / 2] >> (row % 2 * 16) & 0xffff;
}

/** Tiles and nonzeros of HLS-S in the order of the output rows of one mode: places, stable. */
struct pd_hls_order {
  uint64_t lines; /* tiles along the mode where a tile spans it, else rows */
  uint32_t *tile;
  uint32_t *tile_start; /* lines + 1 */
  uint64_t rows;
  uint32_t *nonzero;
  uint32_t *row_start; /* rows + 1 */
};
polyad_status pd_hls_order_create(struct pd_scratch *owner, const struct pd_hls *hls, int mode,
                                  struct pd_hls_order *order);
uint64_t pd_hls_order_bytes(const struct pd_hls *hls, int mode);

/** Compute capability of a GPU, 9.0 as 90; 0 for a device without one. */
int pd_hls_capability(const struct pd_device *device);
/** What a variant's name means. */
struct pd_hls_scheme pd_hls_scheme_of(const char *variant);
/** Chooses the modes that a tile spans, from the tensor where it has more than three. */
polyad_status pd_hls_choose_span(polyad_context *context, const polyad_tensor *tensor,
                                 int threshold, int span[PD_HLS_SPAN]);
/** Sets place, bits and shifts from dims and span. */
void pd_hls_set_bits(struct pd_hls *hls);
/** Equation 16, extended to any order: bits over 8, offsets not counted. */
double pd_hls_formula_bytes(const struct pd_hls *hls);

/** Whether the power of two that values are scaled by depends on the largest of them. */
bool pd_hls_scales(const struct pd_hls *hls);
/** Sets it: `most` is the largest magnitude, or 0 where it does not depend on it. */
void pd_hls_set_scale(struct pd_hls *hls, double most);
/** A storage without arrays: slot `begin`. */
polyad_status pd_hls_begin(polyad_context *context, const polyad_tensor *tensor,
                           const struct pd_request *request, void *storage);
/** Makes its arrays. What was allocated is in the storage also on failure. */
polyad_status pd_hls_fill(polyad_context *context, const polyad_tensor *tensor, struct pd_hls *hls);
/** The same on a device: slots `build_there` and `bytes_there`. */
polyad_status pd_hls_fill_there(polyad_context *context, struct pd_build *build,
                                const polyad_tensor *tensor, const struct pd_request *request,
                                void *storage);
uint64_t pd_hls_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                            uint64_t storage_bytes);
/** Nonzeros that make a tile dense, as the request asks for. */
int pd_hls_threshold_of(const struct pd_request *request);
polyad_status pd_hls_check(polyad_context *context, const void *storage);
void pd_hls_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk);
/** How values are stored for a compute type and precision. */
enum pd_hls_value pd_hls_value_for(polyad_compute compute, polyad_type precision);

#endif
