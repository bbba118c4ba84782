/* Building "hls": tile, classify, linearise, make bitmaps. Nonzeros are sorted by tile and cell;
 * threads then take tiles of their own, and packed words of their own: no atomics. */
#include "build/sorted.h"
#include "formats/hls/hls_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <math.h>
#include <string.h>

/* What building works on. */
struct job {
  polyad_tensor tensor; /* the nonzeros by tile, then cell */
  struct pd_hls *hls;
  int threads;
  uint64_t *begin;         /* threads + 1: nonzeros of a thread, whole tiles */
  uint64_t *tiles, *dense; /* threads + 1: dense tiles and their nonzeros before it */
  uint32_t *sparse;        /* nonzeros of HLS-S, in their order */
};

static void hls_build_clear(polyad_context *context, struct job *job) {
  pd_tensor_free_arrays(&job->tensor);
  PD_FREE(context, job->begin, job->tiles, job->dense, job->sparse);
}

void pd_hls_set_bits(struct pd_hls *hls) {
  hls->linear_bits = hls->tile_linear_bits = 0;
  for (int n = 0; n < hls->order; ++n)
    hls->place[n] = -1;
  for (int k = 0; k < PD_HLS_SPAN; ++k)
    hls->place[hls->span[k]] = k;
  for (int n = hls->order - 1; n >= 0; --n) {
    uint64_t dim = hls->dims[n];
    hls->bits[n] = pd_index_bits(dim);
    hls->shift[n] = hls->linear_bits;
    hls->linear_bits += hls->bits[n];
    hls->tile_bits[n] = pd_index_bits(hls->place[n] >= 0 ? pd_hls_tiles_along(dim) : dim);
    hls->tile_shift[n] = hls->tile_linear_bits;
    hls->tile_linear_bits += hls->tile_bits[n];
  }
}

/* ---- tiling ---------------------------------------------------------------------------------- */

enum { SIDE_BITS = 4 };
_Static_assert(1 << SIDE_BITS == PD_HLS_SIDE, "bits of an index in its tile");

/* Keys are the tile's coordinates, mode by mode, and then the cell. */
static polyad_status sort_by_tile(polyad_context *context, const polyad_tensor *tensor,
                                  struct job *job) {
  const struct pd_hls *hls = job->hls;
  struct pd_layout keys = {.words = 0};
  struct pd_room room = {0};
  for (int n = 0; n < tensor->order; ++n)
    pd_layout_add(&keys, n, hls->place[n] >= 0 ? SIDE_BITS : 0, pd_index_bits(tensor->dims[n]));
  for (int k = 0; k < PD_HLS_SPAN; ++k) {
    int bits = pd_index_bits(tensor->dims[hls->span[k]]);
    pd_layout_add(&keys, hls->span[k], 0, bits < SIDE_BITS ? bits : SIDE_BITS);
  }
  polyad_status status = pd_sorted_create(context, tensor, &keys, &room, &job->tensor);
  pd_room_destroy(context, &room);
  return status;
}

static uint32_t hls_build_index(const struct job *job, int mode, uint64_t p) {
  return ((const uint32_t *)job->tensor.index[mode])[p];
}

static uint32_t tile_coordinate(const struct job *job, int mode, uint64_t p) {
  return hls_build_index(job, mode, p) >> (job->hls->place[mode] < 0 ? 0 : SIDE_BITS);
}

/* Bit in the tile's bitmap. */
static uint32_t hls_build_cell(const struct job *job, uint64_t p) {
  uint32_t cell = 0;
  for (int k = 0; k < PD_HLS_SPAN; ++k)
    cell = cell << SIDE_BITS | hls_build_index(job, job->hls->span[k], p) % PD_HLS_SIDE;
  return cell;
}

static bool same_tile(const struct job *job, uint64_t p, uint64_t q) {
  for (int n = 0; n < job->tensor.order; ++n)
    if (tile_coordinate(job, n, p) != tile_coordinate(job, n, q)) return false;
  return true;
}

static uint64_t tile_end(const struct job *job, uint64_t p) {
  uint64_t q = p + 1;
  while (q < job->tensor.nnz && same_tile(job, p, q))
    ++q;
  return q;
}

/* ---- classifying ----------------------------------------------------------------------------- */

static polyad_status hls_build_classify(polyad_context *context, struct job *job) {
  uint64_t nnz = job->tensor.nnz, threads = (uint64_t)job->threads;
  PD_TRY(PD_NEW_ZERO(context, threads + 1, &job->begin));
  PD_TRY(PD_NEW_ZERO(context, threads + 1, &job->tiles));
  PD_TRY(PD_NEW_ZERO(context, threads + 1, &job->dense));
  for (int t = 0; t <= job->threads; ++t) {
    uint64_t p = t == job->threads ? nnz : pd_part_begin(nnz, t, job->threads);
    while (p > 0 && p < nnz && same_tile(job, p - 1, p))
      ++p;
    job->begin[t] = p;
  }
#pragma omp parallel for num_threads(job->threads) schedule(static, 1)
  for (int t = 0; t < job->threads; ++t)
    for (uint64_t p = job->begin[t], q; p < job->begin[t + 1]; p = q) {
      q = tile_end(job, p);
      if (q - p < (uint64_t)job->hls->threshold) continue;
      job->tiles[t + 1] += 1;
      job->dense[t + 1] += q - p;
    }
  for (int t = 0; t < job->threads; ++t) {
    job->tiles[t + 1] += job->tiles[t];
    job->dense[t + 1] += job->dense[t];
  }
  job->hls->tiles = job->tiles[threads];
  job->hls->dense_nnz = job->dense[threads];
  job->hls->sparse_nnz = nnz - job->dense[threads];
  return POLYAD_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Largest magnitude; the maximum does not depend on the order. */
static double largest_value(const struct job *job) {
  double most = 0;
#pragma omp parallel for num_threads(job->threads) schedule(static) reduction(max : most)
  for (uint64_t p = 0; p < job->tensor.nnz; ++p) {
    double size = fabs(pd_tensor_value(&job->tensor, p));
    if (size > most) most = size;
  }
  return most;
}

bool pd_hls_scales(const struct pd_hls *hls) {
  return hls->value == PD_HLS_F16 ||
         (hls->value != PD_HLS_F64 && hls->compute != POLYAD_COMPUTE_NATIVE);
}

/* The power of two that brings values into the range of their type. Half precision: the largest
 * comes to at least 2^9 and below 2^10, so that sums of 16 products with numbers up to one stay
 * below 2^14 (half ends at 2^16) and 2^-24 of the largest is still a normal number. Others: only
 * what a float could not hold. */
void pd_hls_set_scale(struct pd_hls *hls, double most) {
  int exponent;
  (void)frexp(most, &exponent);
  hls->exponent = 0;
  if (most != 0 && hls->value == PD_HLS_F16)
    hls->exponent = exponent - 10;
  else if (most != 0 && pd_hls_scales(hls) && (exponent > 60 || exponent < -60))
    hls->exponent = exponent;
  hls->scale = ldexp(1, hls->exponent);
}

static void hls_build_put_value(const struct job *job, void *values, uint64_t at, uint64_t from) {
  pd_build_put_value(values, at, (int)job->hls->value, job->hls->exponent,
                     pd_tensor_value(&job->tensor, from));
}

/* ---- filling --------------------------------------------------------------------------------- */

static polyad_status hls_build_allocate(polyad_context *context, struct job *job) {
  struct pd_hls *hls = job->hls;
  size_t value = pd_hls_value_bytes(hls->value);
  PD_TRY(
      PD_NEW_ZERO(context, pd_hls_packed_words(hls->tiles, hls->tile_linear_bits), &hls->b_inds));
  PD_TRY(PD_NEW_ZERO(context, hls->tiles * PD_HLS_WORDS, &hls->b_bmp));
  PD_TRY(PD_NEW(context, hls->tiles + 1, &hls->b_vals_ptr));
  PD_TRY(pd_alloc(context, hls->dense_nnz, value, &hls->b_vals));
  PD_TRY(
      PD_NEW_ZERO(context, pd_hls_packed_words(hls->sparse_nnz, hls->linear_bits), &hls->nnz_inds));
  PD_TRY(pd_alloc(context, hls->sparse_nnz, value, &hls->nnz_vals));
  return PD_NEW(context, hls->sparse_nnz, &job->sparse);
}

/* Bitmap and values of a dense tile. */
static void fill_tile(const struct job *job, uint64_t tile, uint64_t at, uint64_t p, uint64_t q) {
  struct pd_hls *hls = job->hls;
  uint32_t *bitmap = hls->b_bmp + tile * PD_HLS_WORDS;
  hls->b_vals_ptr[tile] = (uint32_t)at;
  for (; p < q; ++p, ++at) {
    uint32_t cell = hls_build_cell(job, p);
    bitmap[cell / 32] |= UINT32_C(1) << cell % 32;
    hls_build_put_value(job, hls->b_vals, at, p);
  }
}

/* A thread's tiles and its list of single nonzeros; first[t]: the tile's first nonzero. */
static void fill_part(const struct job *job, int thread, uint32_t *first) {
  uint64_t tile = job->tiles[thread], at = job->dense[thread];
  uint64_t single = job->begin[thread] - at;
  for (uint64_t p = job->begin[thread], q; p < job->begin[thread + 1]; p = q) {
    q = tile_end(job, p);
    if (q - p < (uint64_t)job->hls->threshold) {
      for (; p < q; ++p)
        job->sparse[single++] = (uint32_t)p;
      continue;
    }
    first[tile] = (uint32_t)p;
    fill_tile(job, tile++, at, p, q);
    at += q - p;
  }
}

/* Linear indices of 32 tiles, which fill whole words. */
static void pack_tiles(const struct job *job, const uint32_t *first, uint64_t begin) {
  struct pd_hls *hls = job->hls;
  for (uint64_t t = begin; t < hls->tiles && t < begin + 32; ++t)
    for (int n = 0; n < hls->order; ++n)
      pd_hls_put(hls->b_inds, t * (uint64_t)hls->tile_linear_bits + (uint64_t)hls->tile_shift[n],
                 hls->tile_bits[n], tile_coordinate(job, n, first[t]));
}

static void pack_nonzeros(const struct job *job, uint64_t begin) {
  struct pd_hls *hls = job->hls;
  for (uint64_t p = begin; p < hls->sparse_nnz && p < begin + 32; ++p) {
    uint64_t from = job->sparse[p];
    for (int n = 0; n < hls->order; ++n)
      pd_hls_put(hls->nnz_inds, p * (uint64_t)hls->linear_bits + (uint64_t)hls->shift[n],
                 hls->bits[n], hls_build_index(job, n, from));
    hls_build_put_value(job, hls->nnz_vals, p, from);
  }
}

static polyad_status hls_build_fill(polyad_context *context, struct job *job) {
  struct pd_hls *hls = job->hls;
  uint32_t *first;
  PD_TRY(hls_build_allocate(context, job));
  PD_TRY(PD_NEW(context, hls->tiles, &first));
#pragma omp parallel num_threads(job->threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < job->threads; ++t)
      fill_part(job, t, first);
#pragma omp for schedule(static)
    for (uint64_t begin = 0; begin < hls->tiles; begin += 32)
      pack_tiles(job, first, begin);
#pragma omp for schedule(static)
    for (uint64_t begin = 0; begin < hls->sparse_nnz; begin += 32)
      pack_nonzeros(job, begin);
  }
  hls->b_vals_ptr[hls->tiles] = (uint32_t)hls->dense_nnz;
  pd_free(context, first);
  return POLYAD_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum pd_hls_value pd_hls_value_for(polyad_compute compute, polyad_type precision) {
  switch (compute) {
  case POLYAD_COMPUTE_F16:
    return PD_HLS_F16;
  case POLYAD_COMPUTE_BF16:
    return PD_HLS_BF16;
  case POLYAD_COMPUTE_TF32:
    return PD_HLS_F32;
  default:
    return precision == POLYAD_F32 ? PD_HLS_F32 : PD_HLS_F64;
  }
}

/* Tensor cores multiply in a compute type only: in full precision a GPU keeps single nonzeros. The
 * fall-backs are the paper's, for GPUs of compute capability 8.0 or more and for older ones. */
int pd_hls_threshold_of(const struct pd_request *request) {
  bool gpu = request->device != NULL && strcmp(request->device->kind, "cuda") == 0;
  bool chain = request->kernel == POLYAD_KERNEL_TTMC;
  if (gpu && request->compute == POLYAD_COMPUTE_NATIVE) return PD_HLS_ALL_SPARSE;
  int asked = pd_parameter(request, PD_HLS_TILE_THRESHOLD, 0);
  if (asked > 0) return asked;
  if (gpu && pd_hls_capability(request->device) < 80)
    return chain ? PD_HLS_THRESHOLD_TTMC_OLD : PD_HLS_THRESHOLD_MTTKRP_OLD;
  return chain ? PD_HLS_THRESHOLD_TTMC : PD_HLS_THRESHOLD_MTTKRP;
}

polyad_status pd_hls_begin(polyad_context *context, const polyad_tensor *tensor,
                           const struct pd_request *request, void *storage) {
  struct pd_hls *hls = storage;
  hls->order = tensor->order;
  memcpy(hls->dims, tensor->dims, sizeof hls->dims);
  hls->nnz = tensor->nnz;
  hls->type = tensor->type;
  hls->compute = request->compute;
  hls->value = pd_hls_value_for(request->compute, request->precision);
  hls->scheme = pd_hls_scheme_of(request->variant);
  hls->threshold = pd_hls_threshold_of(request);
  PD_TRY(pd_hls_choose_span(context, tensor, hls->threshold, hls->span));
  pd_hls_set_bits(hls);
  return POLYAD_OK;
}

polyad_status pd_hls_fill(polyad_context *context, const polyad_tensor *tensor,
                          struct pd_hls *hls) {
  polyad_status status = POLYAD_OK;
  struct job job = {.tensor = {.context = context},
                    .hls = hls,
                    .threads = pd_threads_for(context, tensor->nnz, 1 << 13)};
  PD_TRY_CLEANUP(sort_by_tile(context, tensor, &job));
  pd_hls_set_scale(hls, pd_hls_scales(hls) ? largest_value(&job) : 0);
  PD_TRY_CLEANUP(hls_build_classify(context, &job));
  PD_TRY_CLEANUP(hls_build_fill(context, &job));
cleanup:
  hls_build_clear(context, &job);
  return status;
}
