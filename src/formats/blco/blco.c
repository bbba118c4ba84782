/* Building, checking and describing "blco". */
#include "core/numbers.h"
#include "formats/blco/blco_layout.h"
#include "formats/sent.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

enum { ORDER_FOR_MODE }; /* its parameter */

/* Bits of each mode among the lowest 64 of the curve, placed one mode after the other. */
static void divide_bits(const struct pd_nz_curve *curve, int order, int *bits, int *shift) {
  memset(bits, 0, POLYAD_MAX_ORDER * sizeof *bits);
  for (int k = 0; k < curve->bits && k < 64; ++k)
    ++bits[curve->place[k].mode];
  for (int n = 0, at = 0; n < order; at += bits[n++])
    shift[n] = at < 64 ? at : 0; /* a mode without bits needs no place */
}

static uint64_t blco_most_blocks(const struct pd_traits *traits) {
  struct pd_nz_curve curve;
  pd_nz_curve_init(&curve, traits->order, traits->dims, 0);
  if (traits->nnz == 0 || curve.bits <= 64) return traits->nnz > 0;
  uint64_t most = curve.bits >= 128 ? UINT64_MAX : UINT64_C(1) << (curve.bits - 64);
  return most < traits->nnz ? most : traits->nnz;
}

static void blco_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t *storage, uint64_t *building) {
  struct pd_nz_curve curve;
  pd_nz_curve_init(&curve, traits->order, traits->dims, 0);
  const struct pd_blco like = {
      .head = {.order = traits->order, .nnz = traits->nnz, .type = request->precision},
      .blocks = (uint32_t)blco_most_blocks(traits)};
  *storage = pd_storage_bytes(&pd_blco_format, &like);
  *building = pd_add_saturated(
      *storage, pd_add_saturated(pd_nz_sorting_bytes(traits->nnz, curve.words), 4 * traits->nnz));
}

static bool blco_supports(const struct pd_traits *traits, const struct pd_request *request,
                          char reason[PD_REASON_BYTES]) {
  int mode = pd_parameter(request, ORDER_FOR_MODE, 0);
  if (mode > traits->order) {
    snprintf(reason, PD_REASON_BYTES, "it cannot be ordered for mode %d: there are %d modes",
             mode - 1 + request->first_mode, traits->order);
    return false;
  }
  return pd_nz_supports(traits, request, reason);
}

static void blco_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_blco *blco = storage;
  uint64_t nnz = blco->head.nnz, blocks = blco->blocks;
  enum pd_array_use nonzeros = blco->stream ? PD_ARRAY_STREAMED : PD_ARRAY_DECODED;
  for (int n = 0; n < blco->head.order; ++n)
    pd_show_array(arrays, &blco->base[n], blocks, sizeof *blco->base[n], PD_ARRAY_DECODED);
  pd_show_array(arrays, &blco->start, blocks + 1, sizeof *blco->start, PD_ARRAY_DECODED);
  pd_show_array(arrays, &blco->key, nnz, sizeof *blco->key, nonzeros);
  pd_show_array(arrays, &blco->values, nnz, pd_type_bytes(blco->head.type), nonzeros);
  pd_show_array(arrays, &blco->tile_block, pd_nz_units(nnz, PD_BLCO_TILE), sizeof *blco->tile_block,
                PD_ARRAY_MOVES);
}

static polyad_status blco_build_blocks(polyad_context *context, const polyad_tensor *tensor,
                                       const uint32_t *permutation, struct pd_blco *blco) {
  PD_TRY(pd_nz_runs(context, tensor, tensor->nnz, permutation, blco->bits, &blco->start,
                    &blco->blocks));
  for (int n = 0; n < tensor->order; ++n) {
    PD_TRY(PD_NEW(context, blco->blocks, &blco->base[n]));
    for (uint32_t b = 0; b < blco->blocks; ++b)
      blco->base[n][b] = (uint32_t)(pd_tensor_index(tensor, n, permutation[blco->start[b]]) &
                                    ~pd_low_mask(blco->bits[n]));
  }
  return POLYAD_OK;
}

static polyad_status build_keys(polyad_context *context, const polyad_tensor *tensor,
                                const uint32_t *permutation, struct pd_blco *blco) {
  uint64_t nnz = tensor->nnz;
  int threads = pd_threads_for(context, nnz, 1 << 14);
  PD_TRY(PD_NEW(context, nnz, &blco->key));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < nnz; ++p) {
    uint64_t key = 0;
    for (int n = 0; n < tensor->order; ++n)
      key |= (pd_tensor_index(tensor, n, permutation[p]) & pd_low_mask(blco->bits[n]))
             << blco->shift[n];
    blco->key[p] = key;
  }
  return pd_nz_gather_values(context, tensor, nnz, permutation, &blco->values);
}

static void blco_decode(const void *storage, int mode, uint64_t first, int count,
                        struct pd_chunk *block) {
  (void)mode;
  const struct pd_blco *blco = storage;
  uint64_t at = pd_nz_piece_of(blco->start, blco->blocks, first);
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    while (p >= blco->start[at + 1])
      ++at;
    for (int n = 0; n < blco->head.order; ++n)
      block->index[n][k] = pd_blco_index(blco, n, blco->key[p], blco->base[n][at]);
    block->value[k] = pd_load(blco->head.type, blco->values, p);
  }
}

static const struct pd_nz_ops ops = {.decode = blco_decode};

/* Whether the nonzeros stay on the host: as asked, or since a device of its own memory has not
 * enough for them and for computing. */
static bool blco_streams(polyad_context *context, const polyad_tensor *tensor,
                         const struct pd_request *request) {
  const struct pd_device *device = request->device;
  if (strcmp(request->variant, "stream") == 0) return true;
  if (device->functions->host_memory) return false;
  uint64_t available = device->functions->memory_available(context, device);
  return tensor->nnz * (8 + pd_type_bytes(tensor->type)) > available - available / 5;
}

static polyad_status blco_begin(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_request *request, void *storage) {
  (void)context;
  struct pd_blco *blco = storage;
  struct pd_nz_curve curve;
  pd_nz_init(&blco->head, &ops, tensor);
  blco->ordered_for = pd_parameter(request, ORDER_FOR_MODE, 0) - 1;
  pd_nz_curve_init(&curve, tensor->order, tensor->dims, 0);
  divide_bits(&curve, tensor->order, blco->bits, blco->shift);
  for (int n = 0; n < tensor->order; ++n)
    blco->levels[n] = n;
  return POLYAD_OK;
}

static polyad_status blco_fill(polyad_context *context, const polyad_tensor *tensor,
                               struct pd_blco *blco) {
  polyad_status status = POLYAD_OK;
  struct pd_nz_curve curve;
  uint32_t *permutation = NULL;
  pd_nz_curve_init(&curve, tensor->order, tensor->dims, 0);
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &permutation));
  double begin = pd_seconds();
  PD_TRY_CLEANUP(pd_nz_sort_curve(context, tensor, &curve, blco->ordered_for, permutation));
  blco->seconds_order = pd_seconds() - begin;
  PD_TRY_CLEANUP(blco_build_blocks(context, tensor, permutation, blco));
  PD_TRY_CLEANUP(build_keys(context, tensor, permutation, blco));
  PD_TRY_CLEANUP(pd_nz_pieces(context, tensor->nnz, PD_BLCO_TILE, blco->start, blco->blocks,
                              &blco->tile_block));
cleanup:
  pd_free(context, permutation);
  return status;
}

static polyad_status blco_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                const struct pd_request *request, void *storage) {
  (void)take;
  struct pd_blco *blco = storage;
  blco->stream = blco_streams(context, tensor, request);
  return blco_fill(context, tensor, blco);
}

/* What is streamed stays on the host, which builds it. */
static uint64_t blco_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes) {
  if (strcmp(request->variant, "stream") == 0) return 0;
  return pd_sent_bytes_there(traits, request, storage_bytes);
}

static polyad_status blco_check(polyad_context *context, const void *storage) {
  const struct pd_blco *blco = storage;
  if (blco->start[0] != 0 || blco->start[blco->blocks] != blco->head.nnz)
    return pd_nz_broken(context, "blco", "blocks do not hold all nonzeros", 0);
  for (uint32_t b = 0; b < blco->blocks; ++b) {
    if (blco->start[b] >= blco->start[b + 1])
      return pd_nz_broken(context, "blco", "empty block", b);
    for (int n = 0; n < blco->head.order; ++n)
      if (blco->base[n][b] & pd_low_mask(blco->bits[n]))
        return pd_nz_broken(context, "blco", "base with bits of the keys, block", b);
  }
  for (uint64_t t = 0; t * PD_BLCO_TILE < blco->head.nnz; ++t)
    if (pd_nz_piece_of(blco->start, blco->blocks, t * PD_BLCO_TILE) != blco->tile_block[t])
      return pd_nz_broken(context, "blco", "wrong block of tile", t);
  return pd_nz_check(context, &blco->head, "blco");
}

static void blco_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_blco *blco = storage;
  int bits = 0;
  for (int n = 0; n < blco->head.order; ++n)
    bits += blco->bits[n];
  int length = snprintf(text, PD_REASON_BYTES, "%u blocks, keys of %d bits", blco->blocks, bits);
  if (blco->ordered_for >= 0)
    length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length),
                       "; ordered for mode %d in %.3g s", blco->ordered_for + first_mode,
                       blco->seconds_order);
  if (blco->stream)
    snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "; streamed from host memory");
}

static const struct pd_parameter parameters[] = {
    [ORDER_FOR_MODE] = {
        .about = {.name = "order-for-mode",
                  .help = "mode, from 1, that the nonzeros are ordered for; none by default",
                  .least = 1,
                  .most = POLYAD_MAX_ORDER}}};

const struct polyad_format pd_blco_format = {
    .name = "blco",
    .summary = "Blocks of nonzeros whose indices are bits of one 64-bit key; one copy",
    .paper = "A. Nguyen et al., ICS 2022",
    .variants = "auto stream",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .by_name = true,
    .supports = blco_supports,
    .estimate_seconds = pd_nz_estimate_seconds,
    .begin = blco_begin,
    .build_there = pd_blco_fill_there,
    .bytes_there = blco_bytes_there,
    PD_NZ_FORMAT_SLOTS(blco),
};

const struct polyad_kernels pd_blco_kernels_cpu = PD_NZ_KERNELS_CPU("blco");
