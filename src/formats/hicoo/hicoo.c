/* Building, checking and describing "hicoo". */
#include "core/numbers.h"
#include "core/radix_sort.h"
#include "formats/hicoo/hicoo_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>

/* The largest number of blocks, with 2^bits indices in every mode, that may be stored: only blocks
 * that hold a nonzero are. So they are no more than the nonzeros, and no more than the blocks that
 * the whole tensor is divided into. */
static uint64_t hicoo_most_blocks(const struct pd_traits *traits, int bits) {
  uint64_t blocks = 1;
  for (int n = 0; n < traits->order; ++n)
    blocks = pd_mul_saturated(blocks, ((traits->dims[n] - 1) >> bits) + 1);
  return blocks < traits->nnz ? blocks : traits->nnz;
}

enum { BLOCK }; /* the number of the format's parameter */

/* The number of bits of an index within a block: block=128 takes 7. */
static int hicoo_bits(const struct pd_request *request) {
  return pd_bit_length((uint64_t)pd_parameter(request, BLOCK, PD_HICOO_USUAL)) - 1;
}

static bool hicoo_supports(const struct pd_traits *traits, const struct pd_request *request,
                           char reason[PD_REASON_BYTES]) {
  int edge = pd_parameter(request, BLOCK, PD_HICOO_USUAL);
  if ((edge & (edge - 1)) != 0) {
    snprintf(reason, PD_REASON_BYTES, "block=%d found; expected a power of two", edge);
    return false;
  }
  return pd_nz_supports(traits, request, reason);
}

static void hicoo_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t *storage, uint64_t *building) {
  struct pd_nz_curve curve;
  pd_nz_curve_init(&curve, traits->order, traits->dims, 0);
  struct pd_hicoo like = {
      .head = {.order = traits->order, .nnz = traits->nnz, .type = request->precision},
      .blocks = (uint32_t)hicoo_most_blocks(traits, hicoo_bits(request)),
      .superblocks = (uint32_t)hicoo_most_blocks(traits, PD_HICOO_SUPER_BITS)};
  for (int n = 0; n < traits->order; ++n) {
    uint64_t most = ((traits->dims[n] - 1) >> PD_HICOO_SUPER_BITS) + 1;
    like.schedule[n].groups = (uint32_t)(most < like.superblocks ? most : like.superblocks);
  }
  *storage = pd_storage_bytes(&pd_hicoo_format, &like);
  *building = pd_add_saturated(*storage, pd_nz_sorting_bytes(traits->nnz, curve.words));
}

static void hicoo_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_hicoo *hicoo = storage;
  uint64_t nnz = hicoo->head.nnz, blocks = hicoo->blocks, supers = hicoo->superblocks;
  for (int n = 0; n < hicoo->head.order; ++n) {
    pd_show_array(arrays, &hicoo->block[n], blocks, sizeof *hicoo->block[n], PD_ARRAY_DECODED);
    pd_show_array(arrays, &hicoo->element[n], nnz, sizeof *hicoo->element[n], PD_ARRAY_DECODED);
    pd_show_array(arrays, &hicoo->group_start[n], (uint64_t)hicoo->schedule[n].groups + 1,
                  sizeof *hicoo->group_start[n], PD_ARRAY_HOST);
    pd_show_array(arrays, &hicoo->group_super[n], supers, sizeof *hicoo->group_super[n],
                  PD_ARRAY_HOST);
  }
  pd_show_array(arrays, &hicoo->super_start, supers + 1, sizeof *hicoo->super_start, PD_ARRAY_HOST);
  pd_show_array(arrays, &hicoo->start, blocks + 1, sizeof *hicoo->start, PD_ARRAY_DECODED);
  pd_show_array(arrays, &hicoo->values, nnz, pd_type_bytes(hicoo->head.type), PD_ARRAY_DECODED);
  pd_show_array(arrays, &hicoo->unit_block, pd_nz_units(nnz, PD_HICOO_UNIT),
                sizeof *hicoo->unit_block, PD_ARRAY_DECODED);
}

static polyad_status hicoo_build_blocks(polyad_context *context, const polyad_tensor *tensor,
                                        const uint32_t *permutation, struct pd_hicoo *hicoo) {
  int shift[POLYAD_MAX_ORDER];
  for (int n = 0; n < tensor->order; ++n)
    shift[n] = hicoo->bits;
  PD_TRY(
      pd_nz_runs(context, tensor, tensor->nnz, permutation, shift, &hicoo->start, &hicoo->blocks));
  uint32_t blocks = hicoo->blocks;
  int threads = pd_threads_for(context, blocks, 1 << 14);
  for (int n = 0; n < tensor->order; ++n) {
    PD_TRY(PD_NEW(context, blocks, &hicoo->block[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint32_t b = 0; b < blocks; ++b)
      hicoo->block[n][b] =
          (uint32_t)(pd_tensor_index(tensor, n, permutation[hicoo->start[b]]) >> hicoo->bits);
  }
  return POLYAD_OK;
}

static polyad_status build_elements(polyad_context *context, const polyad_tensor *tensor,
                                    const uint32_t *permutation, struct pd_hicoo *hicoo) {
  uint64_t nnz = tensor->nnz;
  int threads = pd_threads_for(context, nnz, 1 << 14);
  for (int n = 0; n < tensor->order; ++n) {
    PD_TRY(PD_NEW(context, nnz, &hicoo->element[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t p = 0; p < nnz; ++p)
      hicoo->element[n][p] =
          (uint8_t)(pd_tensor_index(tensor, n, permutation[p]) & pd_low_mask(hicoo->bits));
  }
  return pd_nz_gather_values(context, tensor, nnz, permutation, &hicoo->values);
}

/* Index of a superblock in a mode. */
static uint32_t super_index(const struct pd_hicoo *hicoo, int mode, uint64_t block) {
  return hicoo->block[mode][block] >> (PD_HICOO_SUPER_BITS - hicoo->bits);
}

static bool superblock_begins(const void *user, uint64_t block) {
  const struct pd_hicoo *hicoo = user;
  for (int n = 0; n < hicoo->head.order && block > 0; ++n)
    if (super_index(hicoo, n, block) != super_index(hicoo, n, block - 1)) return true;
  return block == 0;
}

/* Superblocks in the order of their index in a mode. */
struct grouped {
  const uint32_t *index, *order;
};

static bool group_begins(const void *user, uint64_t s) {
  const struct grouped *grouped = user;
  return s == 0 || grouped->index[grouped->order[s]] != grouped->index[grouped->order[s - 1]];
}

/* The superblocks of equal index in the mode are a group. */
static polyad_status build_groups(polyad_context *context, struct pd_hicoo *hicoo, int mode,
                                  const uint32_t *first_block, uint32_t *index) {
  uint32_t count = hicoo->superblocks, groups, *order;
  for (uint32_t s = 0; s < count; ++s)
    index[s] = super_index(hicoo, mode, first_block[s]);
  PD_TRY(PD_NEW(context, count, &hicoo->group_super[mode]));
  order = hicoo->group_super[mode];
  struct pd_key key = {index, 4, 0};
  PD_TRY(pd_sort_permutation(context, count, 1, &key, 4, order));
  const struct grouped grouped = {index, order};
  PD_TRY(pd_nz_places(context, count, group_begins, &grouped, &hicoo->group_start[mode], &groups));
  hicoo->schedule[mode] = (struct pd_nz_schedule){.groups = groups,
                                                  .group_start = hicoo->group_start[mode],
                                                  .part = order,
                                                  .start = hicoo->super_start};
  return POLYAD_OK;
}

/* Superblocks are runs of blocks: along the curve a cube of any power of two is one run. */
static polyad_status build_superblocks(polyad_context *context, struct pd_hicoo *hicoo) {
  polyad_status status = POLYAD_OK;
  uint32_t *first_block = NULL, *index = NULL;
  PD_TRY_CLEANUP(pd_nz_places(context, hicoo->blocks, superblock_begins, hicoo, &first_block,
                              &hicoo->superblocks));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)hicoo->superblocks + 1, &hicoo->super_start));
  PD_TRY_CLEANUP(PD_NEW(context, hicoo->superblocks, &index));
  for (uint32_t s = 0; s <= hicoo->superblocks; ++s)
    hicoo->super_start[s] = hicoo->start[first_block[s]];
  for (int n = 0; n < hicoo->head.order; ++n)
    PD_TRY_CLEANUP(build_groups(context, hicoo, n, first_block, index));
cleanup:
  PD_FREE(context, first_block, index);
  return status;
}

static void hicoo_decode(const void *storage, int mode, uint64_t first, int count,
                         struct pd_chunk *block) {
  (void)mode;
  const struct pd_hicoo *hicoo = storage;
  uint64_t at = pd_nz_piece_of(hicoo->start, hicoo->blocks, first);
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    while (p >= hicoo->start[at + 1])
      ++at;
    for (int n = 0; n < hicoo->head.order; ++n)
      block->index[n][k] = (uint64_t)hicoo->block[n][at] << hicoo->bits | hicoo->element[n][p];
    block->value[k] = pd_load(hicoo->head.type, hicoo->values, p);
  }
}

static const struct pd_nz_schedule *schedule_of(const void *storage, int mode) {
  return &((const struct pd_hicoo *)storage)->schedule[mode];
}

static const struct pd_nz_ops ops = {.decode = hicoo_decode, .schedule = schedule_of};

static polyad_status hicoo_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                 const struct pd_request *request, void *storage) {
  (void)take;
  polyad_status status = POLYAD_OK;
  struct pd_hicoo *hicoo = storage;
  struct pd_nz_curve curve;
  uint32_t *permutation = NULL;
  pd_nz_init(&hicoo->head, &ops, tensor);
  hicoo->bits = hicoo_bits(request);
  for (int n = 0; n < tensor->order; ++n)
    hicoo->levels[n] = n;
  pd_nz_curve_init(&curve, tensor->order, tensor->dims, 0);
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &permutation));
  PD_TRY_CLEANUP(pd_nz_sort_curve(context, tensor, &curve, -1, permutation));
  PD_TRY_CLEANUP(hicoo_build_blocks(context, tensor, permutation, hicoo));
  PD_TRY_CLEANUP(build_elements(context, tensor, permutation, hicoo));
  PD_TRY_CLEANUP(build_superblocks(context, hicoo));
  PD_TRY_CLEANUP(pd_nz_pieces(context, tensor->nnz, PD_HICOO_UNIT, hicoo->start, hicoo->blocks,
                              &hicoo->unit_block));
cleanup:
  pd_free(context, permutation);
  return status;
}

/* Every superblock is in one group of each mode, with others of its index there. */
static polyad_status check_groups(polyad_context *context, const struct pd_hicoo *hicoo, int mode) {
  const struct pd_nz_schedule *schedule = &hicoo->schedule[mode];
  uint32_t before = 0, seen = 0;
  for (uint32_t g = 0; g < schedule->groups; ++g)
    for (uint32_t k = schedule->group_start[g]; k < schedule->group_start[g + 1]; ++k, ++seen) {
      uint32_t super = schedule->part[k];
      if (super >= hicoo->superblocks || k != seen)
        return pd_nz_broken(context, "hicoo", "bad group", g);
      uint64_t block = pd_nz_piece_of(hicoo->start, hicoo->blocks, schedule->start[super]);
      uint32_t index = super_index(hicoo, mode, block);
      bool first = k == schedule->group_start[g];
      bool ascending =
          first ? seen == 0 || index > before : index == before && super > schedule->part[k - 1];
      if (!ascending) return pd_nz_broken(context, "hicoo", "superblock in a wrong group", super);
      before = index;
    }
  return seen == hicoo->superblocks ? POLYAD_OK
                                    : pd_nz_broken(context, "hicoo", "superblocks left over", seen);
}

static polyad_status hicoo_check(polyad_context *context, const void *storage) {
  const struct pd_hicoo *hicoo = storage;
  /* Devices have no superblocks. */
  for (int n = 0; n < hicoo->head.order && hicoo->super_start != NULL; ++n)
    PD_TRY(check_groups(context, hicoo, n));
  if (hicoo->start[0] != 0 || hicoo->start[hicoo->blocks] != hicoo->head.nnz)
    return pd_nz_broken(context, "hicoo", "blocks do not hold all nonzeros", 0);
  for (uint32_t b = 0; b < hicoo->blocks; ++b)
    if (hicoo->start[b] >= hicoo->start[b + 1])
      return pd_nz_broken(context, "hicoo", "empty block", b);
  for (int n = 0; n < hicoo->head.order; ++n)
    for (uint64_t p = 0; p < hicoo->head.nnz; ++p)
      if (hicoo->element[n][p] >> hicoo->bits)
        return pd_nz_broken(context, "hicoo", "element outside its block", p);
  for (uint64_t c = 0; c * PD_HICOO_UNIT < hicoo->head.nnz; ++c)
    if (pd_nz_piece_of(hicoo->start, hicoo->blocks, c * PD_HICOO_UNIT) != hicoo->unit_block[c])
      return pd_nz_broken(context, "hicoo", "wrong block of unit", c);
  return pd_nz_check(context, &hicoo->head, "hicoo");
}

static void hicoo_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_hicoo *hicoo = storage;
  snprintf(text, PD_REASON_BYTES, "%u blocks of edge %d, %.3g nonzeros in each, %u superblocks",
           hicoo->blocks, 1 << hicoo->bits,
           (double)hicoo->head.nnz / (hicoo->blocks > 0 ? (double)hicoo->blocks : 1),
           hicoo->superblocks);
}

static const struct pd_parameter parameters[] = {
    [BLOCK] = {.about = {.name = "block",
                         .help = "indices of a block in every mode, a power of two",
                         .least = 2,
                         .most = 256,
                         .usual = PD_HICOO_USUAL}}};

const struct polyad_format pd_hicoo_format = {
    .name = "hicoo",
    .summary = "Blocks of a few indices in every mode, one byte per index in them; one copy",
    .paper = "J. Li, J. Sun and R. Vuduc, SC 2018",
    .variants = "auto",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .by_name = true,
    .supports = hicoo_supports,
    .estimate_seconds = pd_nz_estimate_seconds,
    PD_NZ_FORMAT_SLOTS(hicoo),
};

const struct polyad_kernels pd_hicoo_kernels_cpu = PD_NZ_KERNELS_CPU("hicoo");
