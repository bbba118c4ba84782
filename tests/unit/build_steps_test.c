/* A device's builder of "modecopy" gives the bits of the host's. The device here is the host, with
 * steps made of the functions that the kernels of GPUs call for each nonzero, row or word; so what
 * a GPU adds is only that it calls them in parallel. */
#include "core/radix_sort.h"
#include "device/build.h"
#include "device/build_steps.h"
#include "formats/modecopy/modecopy.h"
#include "formats/modecopy/modecopy_device.h"
#include "formats/portable/portable_store.h"
#include "formats/twotree/twotree.h"
#include "formats/twotree/twotree_copies.h"
#include "harness.h"
#include "portable/portable_launch.h"
#include "unit/same_modecopy.h"
#include <stdlib.h>
#include <string.h>

/* ---- the steps --------------------------------------------------------------------------------
 */

struct pd_build {
  const polyad_tensor *tensor;
  uint32_t *permutation, *sorted;
  polyad_tensor grouped; /* of a child, with arrays of its own for mode 0, and of ones */
  int least;             /* how many modes a sort must look at, however they are ordered */
};

static bool takes(uint64_t nnz, int order, const uint64_t *dims) {
  (void)order, (void)dims;
  return nnz > 0;
}

static uint64_t bytes(uint64_t nnz, int order, const uint64_t *dims, polyad_type type) {
  (void)order, (void)dims, (void)type;
  return 8 * nnz;
}

static polyad_status open_build(polyad_context *context, const struct pd_device *device,
                                const polyad_tensor *tensor, struct pd_build **out) {
  (void)device;
  struct pd_build *build;
  PD_TRY(PD_NEW_ZERO(context, 1, &build));
  build->tensor = tensor;
  *out = build;
  assert_int_equal(PD_NEW(context, tensor->nnz, &build->permutation), POLYAD_OK);
  assert_int_equal(PD_NEW(context, tensor->nnz, &build->sorted), POLYAD_OK);
  return POLYAD_OK;
}

static void close_build(polyad_context *context, struct pd_build *build) {
  pd_free(context, build->grouped.index[0]);
  if (build->grouped.order > 0 && build->least == 0) pd_free(context, build->grouped.values);
  pd_free(context, build->permutation);
  pd_free(context, build->sorted);
  pd_free(context, build);
}

static polyad_status classes(polyad_context *context, struct pd_build *build, int mode,
                             struct pd_build_classes *found) {
  const polyad_tensor *tensor = build->tensor;
  uint32_t *degree;
  PD_TRY(PD_NEW_ZERO(context, tensor->dims[mode], &degree));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    ++degree[pd_tensor_index(tensor, mode, p)];
  memset(found, 0, sizeof *found);
  for (uint64_t i = 0; i < tensor->dims[mode]; ++i) {
    if (degree[i] == 0) continue;
    ++found->rows[pd_build_class(degree[i])];
    found->nonzeros[pd_build_class(degree[i])] += degree[i];
  }
  pd_free(context, degree);
  return POLYAD_OK;
}

static polyad_status sort(polyad_context *context, struct pd_build *build, const int *modes,
                          int count) {
  const polyad_tensor *tensor = build->tensor;
  uint64_t *keys;
  if (count == tensor->order) count = pd_build_leading(modes, count);
  if (count < build->least) count = build->least;
  PD_TRY(PD_NEW(context, tensor->nnz, &keys));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    build->permutation[p] = (uint32_t)p;
  for (int k = count - 1; k >= 0; --k) {
    int bits = pd_index_bits(tensor->dims[modes[k]]);
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      keys[p] = pd_build_append(
          0, (uint32_t)pd_tensor_index(tensor, modes[k], build->permutation[p]), bits);
    PD_TRY(pd_sort_u64(context, tensor->nnz, keys, bits, build->permutation, 4));
  }
  pd_free(context, keys);
  return POLYAD_OK;
}

static polyad_status gather(polyad_context *context, struct pd_build *build,
                            const struct pd_build_planes *to) {
  (void)context;
  const polyad_tensor *tensor = build->tensor;
  size_t item = pd_type_bytes(tensor->type);
  for (uint64_t p = 0; p < to->padded; ++p) {
    bool real = p < tensor->nnz;
    uint64_t from = real ? build->permutation[p] : 0;
    for (int k = 0; k < to->planes; ++k)
      to->plane[k][p] = 0;
    for (int f = 0; f < to->fields && real; ++f)
      to->plane[to->field[f].plane][p] |= (uint32_t)pd_tensor_index(tensor, to->field[f].mode, from)
                                          << to->field[f].shift;
    memset((char *)to->values + p * item, 0, item);
    if (!real) continue;
    memcpy((char *)to->values + p * item, (const char *)tensor->values + from * item, item);
    build->sorted[p] = (uint32_t)pd_tensor_index(tensor, to->output, from);
  }
  return POLYAD_OK;
}

static void write_rows(const struct pd_build *build, const struct pd_build_tables *tables) {
  uint64_t nnz = build->tensor->nnz, chunks = (nnz + 63) / 64, rows = 0;
  for (uint64_t p = 0; p < nnz; ++p)
    if (pd_build_begins(build->sorted, p)) {
      assert_true(rows < tables->rows);
      tables->row_start[rows++] = p;
    }
  assert_true(rows == tables->rows);
  tables->row_start[rows] = nnz;
  for (uint64_t r = 0; r < rows; ++r) {
    uint32_t id = build->sorted[tables->row_start[r]];
    if (tables->row_id != NULL) tables->row_id[r] = id;
    if (tables->used != NULL) tables->used[id / 32] |= UINT32_C(1) << id % 32;
  }
  for (uint64_t c = 0; c < chunks; ++c)
    tables->chunk_row[c] = (uint32_t)pd_build_row_at(tables->row_start, rows, 64 * c);
  tables->chunk_row[chunks] = (uint32_t)rows;
}

static polyad_status write_tables(polyad_context *context, struct pd_build *build,
                                  const struct pd_build_planes *planes,
                                  const struct pd_build_tables *tables) {
  (void)context;
  const polyad_tensor *tensor = build->tensor;
  if (tables->used != NULL) memset(tables->used, 0, 4 * (tensor->dims[planes->output] / 32 + 1));
  write_rows(build, tables);
  for (uint64_t w = 0; w < tensor->nnz / 32 + 1; ++w) {
    uint32_t ends = 0, runs = 0;
    for (uint64_t p = 32 * w; p < 32 * w + 32; ++p) {
      ends |= (uint32_t)pd_build_ends(build->sorted, tensor->nnz, p) << p % 32;
      runs |= (uint32_t)pd_build_starts_run(build->sorted, (const uint32_t *const *)planes->plane,
                                            tables->outer_mask, planes->planes, tensor->nnz, p)
              << p % 32;
    }
    if (tables->marks != NULL && 32 * w < tensor->nnz) {
      tables->marks[2 * w] = ends;
      tables->marks[2 * w + 1] = runs;
    }
    if (tables->ends != NULL) tables->ends[w] = ends;
  }
  return POLYAD_OK;
}

/* A tensor whose mode 0 has an array of `nnz` numbers of its own. */
static struct pd_build *child_of(polyad_context *context, const polyad_tensor *like, uint64_t nnz,
                                 uint64_t tuples) {
  struct pd_build *child = NULL;
  polyad_tensor grouped = {
      .order = 1, .nnz = nnz, .type = like->type, .dims = {tuples}, .index_bytes = {4}};
  assert_int_equal(pd_alloc(context, nnz, 4, &grouped.index[0]), POLYAD_OK);
  assert_int_equal(open_build(context, NULL, &grouped, &child), POLYAD_OK);
  child->grouped = grouped;
  child->tensor = &child->grouped;
  return child;
}

static void add_mode(struct pd_build *child, void *index, uint64_t dim) {
  child->grouped.index[child->grouped.order] = index;
  child->grouped.index_bytes[child->grouped.order] = 4;
  child->grouped.dims[child->grouped.order++] = dim;
}

static polyad_status group(polyad_context *context, struct pd_build *build, const int *modes,
                           int count, struct pd_build_groups *groups) {
  const polyad_tensor *tensor = build->tensor;
  const uint32_t *index[POLYAD_MAX_ORDER];
  uint64_t tuple = UINT64_MAX;
  *groups = (struct pd_build_groups){0};
  PD_TRY(sort(context, build, modes, count));
  for (int k = 0; k < count; ++k)
    index[k] = tensor->index[modes[k]];
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    groups->tuples += (uint64_t)pd_build_begins_tuple(index, count, build->permutation, p);
  groups->nonzeros = child_of(context, tensor, tensor->nnz, groups->tuples);
  groups->by_tuple = child_of(context, tensor, groups->tuples, groups->tuples);
  groups->nonzeros->least = 1;
  groups->nonzeros->grouped.values = tensor->values;
  for (int k = 0; k < count; ++k) {
    PD_TRY(PD_NEW(context, groups->tuples, &groups->index[k]));
    add_mode(groups->by_tuple, groups->index[k], tensor->dims[modes[k]]);
  }
  for (int n = 0; n < tensor->order; ++n) {
    bool grouped = false;
    for (int k = 0; k < count; ++k)
      grouped = grouped || modes[k] == n;
    if (!grouped) add_mode(groups->nonzeros, tensor->index[n], tensor->dims[n]);
  }
  PD_TRY(pd_alloc(context, groups->tuples, pd_type_bytes(tensor->type),
                  &groups->by_tuple->grouped.values));
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    uint64_t from = build->permutation[p];
    bool begins = pd_build_begins_tuple(index, count, build->permutation, p) != 0;
    tuple += begins;
    ((uint32_t *)groups->nonzeros->grouped.index[0])[from] = (uint32_t)tuple;
    if (!begins) continue;
    ((uint32_t *)groups->by_tuple->grouped.index[0])[tuple] = (uint32_t)tuple;
    for (int k = 0; k < count; ++k)
      groups->index[k][tuple] = index[k][from];
    if (tensor->type == POLYAD_F32)
      ((float *)groups->by_tuple->grouped.values)[tuple] = 1;
    else
      ((double *)groups->by_tuple->grouped.values)[tuple] = 1;
  }
  return POLYAD_OK;
}

static const struct pd_device_build steps = {.takes = takes,
                                             .bytes = bytes,
                                             .open = open_build,
                                             .close = close_build,
                                             .classes = classes,
                                             .sort = sort,
                                             .gather = gather,
                                             .tables = write_tables,
                                             .group = group};

/* ---- comparing --------------------------------------------------------------------------------
 */

static void attach(struct pd_modecopy *storage, const struct pd_modecopy_arrays *arrays) {
  for (int mode = 0; mode < storage->order; ++mode) {
    struct pd_modecopy_copy *copy = &storage->copy[mode];
    memcpy(copy->plane, arrays[mode].plane, sizeof copy->plane);
    copy->values = arrays[mode].values;
    copy->order.row_start = arrays[mode].row_start;
    copy->order.row_id = arrays[mode].row_id;
    copy->order.chunk_row = arrays[mode].chunk_row;
    copy->order.marks = (struct pd_ordered_marks *)(void *)arrays[mode].marks;
  }
}

/* Bits of the rows that have nonzeros, which the host's storage does not keep. */
static void check_used(const struct pd_modecopy *storage, int mode, const uint32_t *used) {
  const struct pd_ordered *order = &storage->copy[mode].order;
  uint64_t set = 0;
  if (order->rows == storage->dims[mode]) {
    assert_null(used);
    return;
  }
  for (uint64_t i = 0; i < storage->dims[mode]; ++i)
    set += used[i / 32] >> i % 32 & 1;
  assert_true(set == order->rows);
  for (uint64_t r = 0; r < order->rows; ++r)
    assert_true(used[order->row_id[r] / 32] >> order->row_id[r] % 32 & 1);
}

static void check_ends(const struct pd_modecopy *storage, int mode, const uint32_t *ends) {
  const struct pd_ordered *order = &storage->copy[mode].order;
  for (uint64_t w = 0; w < pd_ordered_mark_words(storage->nnz); ++w)
    assert_true(ends[w] == order->marks[w].ends);
  if (storage->nnz % 32 == 0) assert_true(ends[storage->nnz / 32] == 0);
}

static void compare(polyad_context *context, const struct mttkrp_case *from, polyad_type type,
                    uint64_t rank) {
  struct problem problem;
  problem_make(from, 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, type);
  struct pd_device_functions functions = *pd_cpu_device.functions;
  struct pd_device device = pd_cpu_device;
  functions.build = &steps;
  device.functions = &functions;
  struct pd_request request = {
      .variant = "auto", .rank = rank, .precision = type, .threads = 2, .device = &device};
  struct pd_traits traits;
  void *wanted, *found, *again;
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  const struct polyad_format *format = &pd_modecopy_format;
  assert_int_equal(format->build(context, tensor, false, &request, &wanted), POLYAD_OK);
  struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER] = {0}, bits[POLYAD_MAX_ORDER] = {0};
  assert_int_equal(format->begin(context, tensor, &request, &found), POLYAD_OK);
  assert_int_equal(format->begin(context, tensor, &request, &again), POLYAD_OK);
  assert_int_equal(pd_modecopy_build_arrays(context, &device, tensor, &traits, &request,
                                            PD_MODECOPY_MARKS, found, arrays),
                   POLYAD_OK);
  assert_int_equal(pd_modecopy_build_arrays(context, &device, tensor, &traits, &request,
                                            PD_MODECOPY_ENDS, again, bits),
                   POLYAD_OK);
  assert_true(format->bytes(found) == format->bytes(wanted)); /* without any arrays */
  for (int mode = 0; mode < tensor->order; ++mode) {
    check_used(wanted, mode, arrays[mode].used);
    check_ends(wanted, mode, bits[mode].ends);
    pd_free(context, arrays[mode].used);
    pd_free(context, bits[mode].used);
    pd_free(context, bits[mode].ends);
  }
  attach(found, arrays);
  assert_same_modecopy(from->name, found, wanted);
  assert_int_equal(format->check(context, found), POLYAD_OK);
  attach(again, bits);
  format->destroy(context, wanted);
  format->destroy(context, found);
  format->destroy(context, again);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void test_same_storage(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t c = 0; c < built_case_count; ++c) {
    compare(context, &built_cases[c], POLYAD_F32, 32);
    compare(context, &built_cases[c], POLYAD_F64, 1);
  }
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- twotree ----------------------------------------------------------------------------------
 */

/* The copies of a side that the device builds from a group of modes are those that the host builds
 * from tuples that it has numbered. */
static void same_copies(polyad_context *context, const struct pd_device *device,
                        struct pd_build *build, const struct pd_traits *of,
                        const struct pd_request *request, const char *name,
                        struct pd_modecopy *found, const struct pd_modecopy *wanted) {
  struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER] = {0};
  assert_true(pd_modecopy_format.bytes(found) > 0);
  assert_int_equal(pd_modecopy_build_opened(context, device, build, of, request, PD_MODECOPY_MARKS,
                                            found, arrays),
                   POLYAD_OK);
  for (int mode = 0; mode < found->order; ++mode)
    pd_free(context, arrays[mode].used);
  attach(found, arrays);
  assert_same_modecopy(name, found, wanted);
}

static void same_side(polyad_context *context, const struct pd_request *request,
                      const polyad_tensor *tensor, const struct pd_traits *traits, const char *name,
                      struct pd_twotree_side *side, const struct pd_twotree_side *wanted) {
  const struct pd_device *device = request->device;
  struct pd_build *build = NULL;
  struct pd_build_groups groups;
  struct pd_traits of;
  assert_int_equal(open_build(context, device, tensor, &build), POLYAD_OK);
  if (side->modes.count == 1) {
    same_copies(context, device, build, traits, request, name, side->nonzeros, wanted->nonzeros);
    close_build(context, build);
    return;
  }
  assert_int_equal(group(context, build, side->modes.mode, side->modes.count, &groups), POLYAD_OK);
  assert_true(groups.tuples == wanted->tuples);
  side->tuples = side->nonzeros->dims[0] = groups.tuples;
  side->by_tuple->dims[0] = side->by_tuple->nnz = groups.tuples;
  for (int k = 0; k < side->modes.count; ++k) {
    assert_int_equal(wanted->id_bytes[k], 4);
    assert_memory_equal(groups.index[k], wanted->tuple_id[k], 4 * groups.tuples);
    side->tuple_id[k] = groups.index[k];
  }
  pd_twotree_pass_traits(traits, &side->modes, groups.tuples, &of);
  same_copies(context, device, groups.nonzeros, &of, request, name, side->nonzeros,
              wanted->nonzeros);
  pd_twotree_tuple_traits(traits, &side->modes, groups.tuples, &of);
  same_copies(context, device, groups.by_tuple, &of, request, name, side->by_tuple,
              wanted->by_tuple);
  close_build(context, groups.nonzeros);
  close_build(context, groups.by_tuple);
  close_build(context, build);
}

static void compare_twotree(polyad_context *context, const struct mttkrp_case *from,
                            polyad_type type) {
  const struct polyad_format *format = &pd_twotree_format;
  struct problem problem;
  problem_make(from, 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, type), *back;
  struct pd_device_functions functions = *pd_cpu_device.functions;
  struct pd_device device = pd_cpu_device;
  functions.build = &steps;
  device.functions = &functions;
  device.kind = "cuda";
  struct pd_request request = {
      .variant = "auto", .rank = 8, .precision = type, .threads = 2, .device = &device};
  struct pd_traits traits;
  struct pd_twotree *wanted, *found;
  uint64_t storage, building;
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  assert_int_equal(pd_traits_count_tuples(context, tensor, &traits), POLYAD_OK);
  format->estimate_bytes(&traits, &request, &storage, &building);
  assert_int_equal(format->build(context, tensor, false, &request, (void **)&wanted), POLYAD_OK);
  assert_int_equal(format->check(context, wanted), POLYAD_OK);
  assert_true(format->bytes(wanted) <= storage && storage <= building);
  assert_int_equal(pd_storage_expand(context, format, wanted, tensor, &back), POLYAD_OK);
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
  assert_int_equal(format->begin(context, tensor, &request, (void **)&found), POLYAD_OK);
  assert_int_equal(found->sides, wanted->sides);
  for (int s = 0; s < found->sides; ++s)
    same_side(context, &request, tensor, &traits, from->name, &found->side[s], &wanted->side[s]);
  assert_true(format->bytes(found) == format->bytes(wanted));
  assert_int_equal(format->check(context, found), POLYAD_OK);
  format->destroy(context, found);
  format->destroy(context, wanted);
  polyad_tensor_destroy(back);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void test_twotree(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t c = 0; c < built_case_count; ++c)
    if (built_cases[c].order >= 3)
      compare_twotree(context, &built_cases[c], c % 2 == 0 ? POLYAD_F32 : POLYAD_F64);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* ---- portable ---------------------------------------------------------------------------------
 */

static polyad_status run_rows(polyad_context *context, const struct pd_device *device,
                              const struct pd_rows_launch *launch) {
  (void)context, (void)device, (void)launch;
  fail_msg("nothing is to be computed");
  return POLYAD_INTERNAL;
}

static const struct pd_rows_shape *shape(const struct pd_device *device) {
  static const struct pd_rows_shape any = {.alignment = 16};
  (void)device;
  return &any;
}

/* Built there or copied there, it comes back as the host has built it. */
static void bring_portable(polyad_context *context, const struct pd_device *device,
                           const polyad_tensor *tensor, const char *name, bool whole,
                           const struct pd_portable *wanted, const void *on_device) {
  const struct polyad_format *format = &pd_portable_format;
  void *found;
  polyad_tensor *back;
  assert_int_equal(pd_portable_download(context, device, on_device, whole, &found), POLYAD_OK);
  if (whole) {
    assert_same_modecopy(name, ((struct pd_portable *)found)->lists, wanted->lists);
    assert_int_equal(format->check(context, found), POLYAD_OK);
  }
  assert_int_equal(pd_storage_expand(context, format, found, tensor, &back), POLYAD_OK);
  assert_true(polyad_tensor_hash(back) == polyad_tensor_hash(tensor));
  polyad_tensor_destroy(back);
  format->destroy(context, found);
}

static void compare_portable(polyad_context *context, const struct mttkrp_case *from,
                             polyad_type type) {
  struct problem problem;
  problem_make(from, 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, type);
  struct pd_device_functions functions = *pd_cpu_device.functions;
  struct pd_device device = pd_cpu_device;
  functions.build = &steps;
  functions.host_memory = false;
  functions.rows = run_rows;
  functions.rows_shape = shape;
  device.functions = &functions;
  struct pd_request request = {
      .variant = "atomic", .rank = 8, .precision = type, .threads = 2, .device = &device};
  const struct polyad_format *format = &pd_portable_format;
  struct pd_traits traits;
  void *wanted, *header, *made[2];
  assert_int_equal(pd_traits_compute(context, tensor, &traits), POLYAD_OK);
  assert_true(pd_portable_build_bytes(&traits, &request, 0) > 0);
  assert_int_equal(format->build(context, tensor, false, &request, &wanted), POLYAD_OK);
  assert_int_equal(pd_portable_upload(context, &device, wanted, &made[0]), POLYAD_OK);
  assert_int_equal(format->begin(context, tensor, &request, &header), POLYAD_OK);
  assert_int_equal(pd_portable_build(context, &device, tensor, &traits, &request, header, &made[1]),
                   POLYAD_OK);
  for (int k = 0; k < 2; ++k) {
    bring_portable(context, &device, tensor, from->name, false, wanted, made[k]);
    bring_portable(context, &device, tensor, from->name, true, wanted, made[k]);
    pd_portable_unload(context, &device, made[k]);
  }
  format->destroy(context, header);
  format->destroy(context, wanted);
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
}

static void test_portable(void **state) {
  (void)state;
  polyad_context *context = NULL;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  for (size_t c = 0; c < built_case_count; ++c)
    compare_portable(context, &built_cases[c], c % 2 == 0 ? POLYAD_F32 : POLYAD_F64);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

/* A storage without its arrays says of itself what it says with them. */
static void test_shed(void **state) {
  (void)state;
  static const char *const variants[] = {"auto", "paper"};
  polyad_context *context = NULL;
  struct problem problem;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  problem_make(&built_cases[8], 1, 3, &problem);
  polyad_tensor *tensor = problem_polyad(context, &problem, POLYAD_F32);
  for (int v = 0; v < 2; ++v) {
    const struct polyad_format *format = &pd_modecopy_format;
    struct pd_request request = {.variant = variants[v],
                                 .rank = 4,
                                 .precision = POLYAD_F32,
                                 .threads = 2,
                                 .device = &pd_cpu_device};
    char before[PD_REASON_BYTES], after[PD_REASON_BYTES];
    void *storage;
    assert_int_equal(format->build(context, tensor, false, &request, &storage), POLYAD_OK);
    uint64_t stored = format->bytes(storage), held = polyad_memory_in_use(context);
    format->describe(storage, 1, before);
    format->shed(context, storage);
    format->describe(storage, 1, after);
    assert_string_equal(before, after);
    assert_true(format->bytes(storage) == stored);
    assert_true(held - polyad_memory_in_use(context) > stored - 16384);
    format->destroy(context, storage);
  }
  polyad_tensor_destroy(tensor);
  problem_free(&problem);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_storage),
                                     cmocka_unit_test(test_twotree),
                                     cmocka_unit_test(test_portable), cmocka_unit_test(test_shed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
