/* The formats of other papers without a GPU: what goes where, the bytes they take, and damage that
 * their checks must see. */
#include "harness.h"

#include "formats/bcsf/bcsf_layout.h"
#include "formats/blco/blco_layout.h"
#include "formats/fcoo/fcoo_layout.h"
#include "formats/fwc/fwc_layout.h"
#include "formats/hbcsf/hbcsf_layout.h"
#include "formats/hicoo/hicoo_layout.h"
#include "formats/mmcsf/mmcsf_layout.h"
#include "formats/tables.h"
#include "inputs.h"
#include "unit/format_fixture.h"
#include <stdio.h>
#include <string.h>

enum { HEADER_BYTES = 64 /* of an allocation */ };

/* Builds and checks; the bytes it tells are those it has, and no more than were estimated by far.
 */
static void *build(polyad_context *context, const struct polyad_format *format,
                   polyad_tensor *tensor, int parameter) {
  struct pd_request request = {.variant = "auto",
                               .rank = 5,
                               .precision = polyad_tensor_type(tensor),
                               .threads = polyad_threads(context),
                               .parameter = {parameter}};
  uint64_t before = polyad_memory_in_use(context);
  void *storage = NULL;
  assert_int_equal(pd_device_of(context, &request.device), POLYAD_OK);
  if (pd_storage_build(context, format, tensor, false, &request, &storage) != POLYAD_OK)
    fail_msg("%s: %s", format->name, polyad_last_error(context));
  uint64_t headers = polyad_memory_in_use(context) - before - pd_storage_bytes(format, storage);
  assert_int_equal(headers % HEADER_BYTES, 0);
  assert_true(headers / HEADER_BYTES <= 4 * POLYAD_MAX_ORDER * POLYAD_MAX_ORDER);
  fixture_check(context, format, storage, POLYAD_OK);
  return storage;
}

/* A tensor of ones at the given coordinates. */
static polyad_tensor *tensor_at(polyad_context *context, const uint64_t *dims, uint64_t nnz,
                                const uint64_t (*at)[3]) {
  const double one = 1;
  polyad_tensor_input input = input_of_rows(3, dims, nnz, POLYAD_U64, at, &one);
  polyad_tensor *tensor = NULL;
  input.value_stride = 0; /* the one value is that of every nonzero */
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  assert_int_equal(polyad_tensor_nnz(tensor), nnz);
  return tensor;
}

static void comes_back(polyad_context *context, const struct polyad_format *format,
                       const void *storage, const polyad_tensor *tensor) {
  polyad_tensor *back = NULL;
  assert_int_equal(pd_storage_expand(context, format, storage, tensor, &back), POLYAD_OK);
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
  polyad_tensor_destroy(back);
}

/* ---- blco ----------------------------------------------------------------------------------- */

/* 90 bits of indices: 64 in the key, the others in the block. */
static void keys_longer_than_64_bits_make_blocks(void **state) {
  (void)state;
  static const uint64_t dims[3] = {1 << 30, 1 << 30, 1 << 30};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 3000, false, POLYAD_F64);
  struct pd_blco *blco = build(context, &pd_blco_format, tensor, 0);
  int bits = 0;
  for (int n = 0; n < 3; ++n)
    bits += blco->bits[n];
  assert_int_equal(bits, 64);
  assert_true(blco->blocks > 2000);
  comes_back(context, &pd_blco_format, blco, tensor);
  blco->base[1][7] ^= 1;
  fixture_check(context, &pd_blco_format, blco, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_blco_format, blco);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void blco_is_ordered_for_a_mode(void **state) {
  (void)state;
  static const uint64_t dims[3] = {50, 60, 70};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 5000, false, POLYAD_F32);
  for (int mode = 0; mode < 3; ++mode) {
    char text[PD_REASON_BYTES], expected[64];
    struct pd_blco *blco = build(context, &pd_blco_format, tensor, mode + 1);
    assert_int_equal(blco->blocks, 1);
    for (uint64_t p = 1; p < blco->head.nnz; ++p)
      assert_true(pd_blco_index(blco, mode, blco->key[p - 1], 0) <=
                  pd_blco_index(blco, mode, blco->key[p], 0));
    pd_blco_format.describe(blco, 1, text);
    snprintf(expected, sizeof expected, "ordered for mode %d in ", mode + 1);
    assert_non_null(strstr(text, expected));
    comes_back(context, &pd_blco_format, blco, tensor);
    pd_storage_free(context, &pd_blco_format, blco);
  }
  struct pd_traits traits;
  struct pd_request request = {.variant = "auto", .parameter = {4}};
  char reason[PD_REASON_BYTES];
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  assert_false(pd_blco_format.supports(&traits, &request, reason));
  assert_non_null(strstr(reason, "mode 3"));
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- trees ---------------------------------------------------------------------------------- */

/* What a group of lanes does on a GPU: from the piece's path on, nodes follow their children. */
static void walk_pieces(const struct pd_fibers *tree) {
  int upper = tree->order - 1;
  for (uint32_t k = 0; k < tree->items; ++k) {
    uint32_t node[POLYAD_MAX_ORDER];
    memcpy(node, tree->path + (size_t)k * (size_t)upper, (size_t)upper * sizeof *node);
    for (uint32_t p = tree->item[k]; p < tree->item[k + 1]; ++p) {
      struct pd_chunk block;
      uint32_t child = p;
      for (int l = upper - 1; l >= 0 && child >= tree->start[l][node[l] + 1]; --l)
        child = ++node[l];
      pd_fibers_decode(tree, POLYAD_F64, p, 1, 0, &block);
      for (int l = 0; l < upper; ++l)
        assert_int_equal(tree->id[l][node[l]], block.index[tree->level[l]][0]);
    }
  }
}

/* A piece of whole slices begins and ends where slices do. */
static void whole_pieces_are_whole(const struct pd_fibers *tree) {
  for (uint32_t k = 0; k < tree->items; ++k) {
    uint64_t begin =
        pd_nz_piece_of(tree->start[tree->order - 2], tree->nodes[tree->order - 2], tree->item[k]);
    bool at_slice = tree->start[tree->order - 2][begin] == tree->item[k];
    for (int l = tree->order - 3; l >= 0; --l) {
      uint64_t parent = pd_nz_piece_of(tree->start[l], tree->nodes[l], begin);
      at_slice = at_slice && tree->start[l][parent] == begin;
      begin = parent;
    }
    if (tree->whole[k]) assert_true(at_slice);
    if (tree->whole[k] && k + 1 < tree->items)
      assert_true(tree->path[(size_t)(k + 1) * (size_t)(tree->order - 1)] !=
                  tree->path[(size_t)k * (size_t)(tree->order - 1)]);
    assert_true(tree->item[k + 1] - tree->item[k] <= 2 * pd_fibers_piece_most(tree->nnz));
  }
}

/* Nine of ten nonzeros in one slice, fibers of hundreds. */
static void long_fibers_and_slices_are_cut(void **state) {
  (void)state;
  static const uint64_t dims[4] = {40, 2, 3, 900};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 4, dims, 30000, true, POLYAD_F64);
  struct pd_bcsf *bcsf = build(context, &pd_bcsf_format, tensor, 0);
  bool cut = false;
  for (int n = 0; n < 4; ++n) {
    const struct pd_fibers *tree = &bcsf->tree[n];
    const uint32_t *id = tree->id[2];
    assert_true(tree->items > 1);
    for (uint32_t f = 1; f < tree->nodes[2]; ++f)
      cut = cut ||
            (id[f] == id[f - 1] && tree->start[2][f] - tree->start[2][f - 1] == PD_BCSF_FIBER_MOST);
    walk_pieces(tree);
    whole_pieces_are_whole(tree);
  }
  assert_true(cut);
  comes_back(context, &pd_bcsf_format, bcsf, tensor);
  bcsf->tree[2].path[4]++;
  fixture_check(context, &pd_bcsf_format, bcsf, POLYAD_INTERNAL);
  bcsf->tree[2].path[4]--;
  bcsf->tree[1].id[3][17] = 900;
  fixture_check(context, &pd_bcsf_format, bcsf, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_bcsf_format, bcsf);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void slices_are_divided_by_kind(void **state) {
  (void)state;
  static const uint64_t dims[3] = {3, 2, 2};
  static const uint64_t at[5][3] = {{0, 0, 0}, {1, 0, 1}, {1, 1, 0}, {2, 0, 0}, {2, 0, 1}};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = tensor_at(context, dims, 5, at);
  struct pd_hbcsf *hbcsf = build(context, &pd_hbcsf_format, tensor, 0);
  const struct pd_hbcsf_mode *mode = &hbcsf->mode[0];
  assert_int_equal(mode->level[2], 2);
  assert_int_equal(mode->singles, 1);
  assert_int_equal(mode->single_id[0][0], 0);
  assert_int_equal(mode->listed, 2);
  assert_int_equal(mode->slices, 1);
  assert_int_equal(mode->slice_id[0], 1);
  assert_int_equal(mode->tree.nnz, 2);
  assert_int_equal(mode->tree.id[0][0], 2);
  comes_back(context, &pd_hbcsf_format, hbcsf, tensor);
  hbcsf->mode[0].slice_start[1] = 1;
  fixture_check(context, &pd_hbcsf_format, hbcsf, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_hbcsf_format, hbcsf);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* A fiber of five along mode 1, one of six along mode 3, which meet in one nonzero. */
static void nonzeros_go_along_their_longest_fiber(void **state) {
  (void)state;
  static const uint64_t dims[3] = {5, 4, 6};
  static const uint64_t at[10][3] = {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}, {3, 1, 2}, {4, 1, 2},
                                     {2, 1, 0}, {2, 1, 1}, {2, 1, 3}, {2, 1, 4}, {2, 1, 5}};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = tensor_at(context, dims, 10, at);
  struct pd_mmcsf *mmcsf = build(context, &pd_mmcsf_format, tensor, 0);
  assert_int_equal(mmcsf->trees, 2);
  assert_int_equal(mmcsf->tree[0].level[2], 0);
  assert_int_equal(mmcsf->tree[0].nnz, 4);
  assert_int_equal(mmcsf->tree[1].level[2], 2);
  assert_int_equal(mmcsf->tree[1].nnz, 6);
  walk_pieces(&mmcsf->tree[0]);
  comes_back(context, &pd_mmcsf_format, mmcsf, tensor);
  mmcsf->first[1]++;
  mmcsf->first[2]--;
  fixture_check(context, &pd_mmcsf_format, mmcsf, POLYAD_INTERNAL);
  mmcsf->first[1]--;
  mmcsf->first[2]++;
  pd_storage_free(context, &pd_mmcsf_format, mmcsf);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- blocks, flags, fibers ------------------------------------------------------------------ */

static void blocks_have_128_indices(void **state) {
  (void)state;
  static const uint64_t dims[3] = {300, 300, 300};
  static const uint64_t at[4][3] = {{0, 0, 0}, {127, 127, 0}, {128, 0, 0}, {0, 0, 299}};
  polyad_context *context = cpu_context(1);
  polyad_tensor *tensor = tensor_at(context, dims, 4, at);
  struct pd_hicoo *hicoo = build(context, &pd_hicoo_format, tensor, 0);
  assert_int_equal(hicoo->blocks, 3);
  assert_int_equal(hicoo->start[1], 2);
  comes_back(context, &pd_hicoo_format, hicoo, tensor);
  hicoo->element[0][1] = 128;
  fixture_check(context, &pd_hicoo_format, hicoo, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_hicoo_format, hicoo);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* The same coordinates in blocks of other edges: (0, 0, 0) and (127, 127, 0) are apart in smaller
 * ones, (128, 0, 0) is with both in the largest. */
static void blocks_have_asked_indices(void **state) {
  (void)state;
  static const uint64_t dims[3] = {300, 300, 300};
  static const uint64_t at[4][3] = {{0, 0, 0}, {127, 127, 0}, {128, 0, 0}, {0, 0, 299}};
  static const struct {
    int edge;
    uint32_t blocks;
  } table[] = {{2, 4}, {64, 4}, {128, 3}, {256, 2}};
  for (size_t k = 0; k < sizeof table / sizeof *table; ++k) {
    polyad_context *context = cpu_context(1);
    polyad_tensor *tensor = tensor_at(context, dims, 4, at);
    struct pd_hicoo *hicoo = build(context, &pd_hicoo_format, tensor, table[k].edge);
    assert_int_equal(hicoo->blocks, table[k].blocks);
    assert_int_equal(1 << hicoo->bits, table[k].edge);
    comes_back(context, &pd_hicoo_format, hicoo, tensor);
    pd_storage_free(context, &pd_hicoo_format, hicoo);
    polyad_tensor_destroy(tensor);
    context_end(context);
  }
}

/* 1024 indices in every mode; those of one index in the output mode are a group. */
static void superblocks_are_grouped(void **state) {
  (void)state;
  static const uint64_t dims[3] = {9000, 40, 3000};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 5000, false, POLYAD_F64);
  struct pd_hicoo *hicoo = build(context, &pd_hicoo_format, tensor, 0);
  assert_int_equal(hicoo->superblocks, 9 * 1 * 3);
  assert_int_equal(hicoo->schedule[0].groups, 9);
  assert_int_equal(hicoo->schedule[1].groups, 1);
  assert_int_equal(hicoo->schedule[2].groups, 3);
  hicoo->group_super[0][0] ^= 1;
  fixture_check(context, &pd_hicoo_format, hicoo, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_hicoo_format, hicoo);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void flags_tell_where_rows_begin(void **state) {
  (void)state;
  static const uint64_t dims[3] = {30, 500, 7};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 4000, true, POLYAD_F32);
  /* Exact estimates. */
  struct pd_fcoo *fcoo = fixture_build(context, &pd_fcoo_format, "auto", 0, tensor);
  for (int n = 0; n < 3; ++n) {
    const struct pd_fcoo_mode *mode = &fcoo->mode[n];
    struct pd_chunk block;
    uint64_t before = UINT64_MAX;
    for (uint64_t p = 0; p < fcoo->head.nnz; ++p) {
      fcoo->head.ops->decode(fcoo, n, p, 1, &block);
      assert_int_equal(mode->flags[p / 64] >> p % 64 & 1, block.index[n][0] != before);
      before = block.index[n][0];
    }
  }
  comes_back(context, &pd_fcoo_format, fcoo, tensor);
  fcoo->mode[2].flags[3] ^= 1u << 9;
  fixture_check(context, &pd_fcoo_format, fcoo, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_fcoo_format, fcoo);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

static void fibers_know_their_indices(void **state) {
  (void)state;
  static const uint64_t dims[3] = {30, 50, 400};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 4000, true, POLYAD_F32);
  struct pd_fwc *fwc = build(context, &pd_fwc_format, tensor, 0);
  for (int n = 0; n < 3; ++n)
    for (uint32_t f = 1; f < fwc->mode[n].fibers; ++f) {
      const struct pd_fwc_mode *mode = &fwc->mode[n];
      assert_true(mode->id[0][f] > mode->id[0][f - 1] ||
                  (mode->id[0][f] == mode->id[0][f - 1] && mode->id[1][f] > mode->id[1][f - 1]));
    }
  comes_back(context, &pd_fwc_format, fwc, tensor);
  fwc->mode[0].start[5] = fwc->mode[0].start[4];
  fixture_check(context, &pd_fwc_format, fwc, POLYAD_INTERNAL);
  pd_storage_free(context, &pd_fwc_format, fwc);
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- for all -------------------------------------------------------------------------------- */

/* Named, they are taken; left to choose, the plan never takes one whose sums are in no order. */
static void atomic_formats_are_chosen_by_name_only(void **state) {
  (void)state;
  static const uint64_t dims[3] = {300, 20, 50};
  polyad_context *context = cpu_context(2);
  polyad_tensor *tensor = fixture_tensor(context, 3, dims, 2000, false, POLYAD_F64);
  for (int f = -1; f < pd_format_count(); ++f) {
    polyad_plan_options options;
    polyad_plan *plan = NULL;
    polyad_plan_options_init(&options);
    options.format = f < 0 ? "auto" : pd_format_at(f)->name;
    assert_int_equal(polyad_plan_create(context, tensor, &options, &plan), POLYAD_OK);
    if (f >= 0) assert_string_equal(polyad_plan_format(plan), options.format);
    if (f < 0) {
      assert_false(pd_format_find(polyad_plan_format(plan))->by_name);
      assert_non_null(
          strstr(polyad_plan_explanation(plan), "not blco: it is built in for comparison"));
    }
    polyad_plan_destroy(plan);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* No nonzeros at all. */
static void empty_tensors_are_held(void **state) {
  (void)state;
  static const uint64_t dims[3] = {3, 2, 2};
  polyad_context *context = cpu_context(2);
  static const uint64_t at[1][3] = {{0, 0, 0}};
  polyad_tensor *tensor = tensor_at(context, dims, 0, at);
  static const struct polyad_format *const formats[] = {
      &pd_blco_format,  &pd_mmcsf_format, &pd_bcsf_format, &pd_hbcsf_format,
      &pd_hicoo_format, &pd_fcoo_format,  &pd_fwc_format};
  for (int f = 0; f < 7; ++f) {
    char text[PD_REASON_BYTES];
    void *storage = build(context, formats[f], tensor, 0);
    formats[f]->describe(storage, 1, text);
    pd_storage_free(context, formats[f], storage);
  }
  polyad_tensor_destroy(tensor);
  context_end(context);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

/* Most bytes that a context of its own takes while a storage is built, beside those announced. */
static void build_within(const struct polyad_format *format, polyad_tensor *tensor) {
  const uint64_t HEADERS = 64 << 10; /* of allocations, and counts of threads */
  polyad_context *context = cpu_context(2);
  struct pd_traits traits;
  struct pd_request request = {.variant = "auto",
                               .rank = 5,
                               .precision = polyad_tensor_type(tensor),
                               .threads = polyad_threads(context),
                               .traits = &traits};
  uint64_t storage_bytes, building;
  void *storage = NULL;
  assert_int_equal(pd_device_of(context, &request.device), POLYAD_OK);
  assert_int_equal(pd_traits_compute(tensor->context, tensor, &traits), POLYAD_OK);
  format->estimate_bytes(&traits, &request, &storage_bytes, &building);
  assert_int_equal(pd_storage_build(context, format, tensor, false, &request, &storage), POLYAD_OK);
  uint64_t peak = polyad_memory_peak(context);
  if (peak > building + HEADERS || building > 4 * peak)
    fail_msg("%s: building took %llu bytes, %llu were announced", format->name,
             (unsigned long long)peak, (unsigned long long)building);
  pd_storage_free(context, format, storage);
  context_end(context);
}

static void building_takes_what_is_announced(void **state) {
  (void)state;
  const struct polyad_format *const formats[] = {
      &pd_fcoo_format,  &pd_fwc_format,   &pd_bcsf_format, &pd_hbcsf_format,
      &pd_mmcsf_format, &pd_hicoo_format, &pd_blco_format, &pd_hls_format};
  const uint64_t dims[][4] = {{70, 4000, 3, 900}, {5000, 12, 40, 7}};
  for (int d = 0; d < 2; ++d)
    for (int heavy = 0; heavy < 2; ++heavy) {
      polyad_context *context = cpu_context(2);
      polyad_type type = heavy ? POLYAD_F32 : POLYAD_F64;
      polyad_tensor *tensor = fixture_tensor(context, 4, dims[d], 150001, heavy, type);
      for (size_t f = 0; f < sizeof formats / sizeof *formats; ++f)
        build_within(formats[f], tensor);
      polyad_tensor_destroy(tensor);
      context_end(context);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_longer_than_64_bits_make_blocks),
      cmocka_unit_test(blco_is_ordered_for_a_mode),
      cmocka_unit_test(long_fibers_and_slices_are_cut),
      cmocka_unit_test(slices_are_divided_by_kind),
      cmocka_unit_test(nonzeros_go_along_their_longest_fiber),
      cmocka_unit_test(blocks_have_128_indices),
      cmocka_unit_test(blocks_have_asked_indices),
      cmocka_unit_test(superblocks_are_grouped),
      cmocka_unit_test(flags_tell_where_rows_begin),
      cmocka_unit_test(fibers_know_their_indices),
      cmocka_unit_test(atomic_formats_are_chosen_by_name_only),
      cmocka_unit_test(empty_tensors_are_held),
      cmocka_unit_test(building_takes_what_is_announced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
