/* See host_steps.h. */
#include "unit/host_steps.h"
#include "core/radix_sort.h"
#include "device/build_steps.h"
#include "harness.h"
#include "tensor/tuple_hash.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pd_build {
  const polyad_tensor *tensor;
  uint32_t *permutation, *sorted;
  polyad_tensor grouped; /* of a child, with arrays of its own for mode 0, and of ones */
  int least;             /* how many pieces of a key a sort must look at, whatever they are */
  polyad_tensor *own;    /* of a caller's arrays */
};

static bool takes(uint64_t nnz, int order, const uint64_t *dims) {
  (void)order, (void)dims;
  return nnz > 0;
}

static uint64_t bytes(uint64_t nnz, int order, const uint64_t *dims, polyad_type type) {
  (void)order, (void)dims, (void)type;
  return 8 * nnz;
}

static void close_build(polyad_context *context, struct pd_build *build) {
  if (build == NULL) return;
  polyad_tensor_destroy(build->own);
  pd_free(context, build->grouped.index[0]);
  if (build->grouped.order > 0 && build->least == 0) pd_free(context, build->grouped.values);
  pd_free(context, build->permutation);
  pd_free(context, build->sorted);
  pd_free(context, build);
}

static polyad_status open_build(polyad_context *context, const struct pd_device *device,
                                const polyad_tensor *tensor, struct pd_build **out) {
  (void)device;
  struct pd_build *build;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &build));
  build->tensor = tensor;
  polyad_status status = PD_NEW(context, tensor->nnz, &build->permutation);
  if (status == POLYAD_OK) status = PD_NEW(context, tensor->nnz, &build->sorted);
  if (status == POLYAD_OK)
    *out = build;
  else
    close_build(context, build);
  return status;
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
    if (degree[i] > found->most) found->most = degree[i];
  }
  pd_free(context, degree);
  return POLYAD_OK;
}

static polyad_status see_tuples(polyad_context *context, struct pd_build *build, int modes,
                                bool sampled, uint8_t *registers) {
  (void)context;
  const polyad_tensor *tensor = build->tensor;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    for (int n = 0; n < tensor->order; ++n) {
      uint64_t total = 0;
      for (int k = 0; k < modes; ++k) {
        int mode = (n + k) % tensor->order;
        uint64_t index = pd_tensor_index(tensor, mode, p);
        total += sampled ? pd_tuple_factor(mode) * index : pd_tuple_term(mode, index);
      }
      if (sampled && !pd_tuple_drawn(total)) continue;
      uint64_t hash = pd_mix64(total);
      uint8_t *place = &registers[n * PD_TUPLE_REGISTERS + (int)pd_tuple_register(hash)];
      if (*place < pd_tuple_rank(hash)) *place = (uint8_t)pd_tuple_rank(hash);
    }
  return POLYAD_OK;
}

static polyad_status degrees(polyad_context *context, struct pd_build *build, int mode,
                             uint32_t *degree) {
  (void)context;
  memset(degree, 0, build->tensor->dims[mode] * sizeof *degree);
  for (uint64_t p = 0; p < build->tensor->nnz; ++p)
    ++degree[pd_tensor_index(build->tensor, mode, p)];
  return POLYAD_OK;
}

static void list_modes(const struct pd_build *build, const uint32_t **index) {
  for (int n = 0; n < build->tensor->order; ++n)
    index[n] = build->tensor->index[n];
}

static polyad_status sort(polyad_context *context, struct pd_build *build,
                          const struct pd_build_key *key) {
  const polyad_tensor *tensor = build->tensor;
  const uint32_t *index[POLYAD_MAX_ORDER];
  int widths[POLYAD_MAX_ORDER];
  uint64_t *keys;
  list_modes(build, index);
  for (int n = 0; n < tensor->order; ++n)
    widths[n] = pd_index_bits(tensor->dims[n]);
  int count = pd_build_leading(key->piece, key->pieces, key->table != NULL, tensor->order, widths);
  if (count < build->least) count = build->least < key->pieces ? build->least : key->pieces;
  PD_TRY(PD_NEW(context, tensor->nnz, &keys));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    build->permutation[p] = (uint32_t)p;
  polyad_status status = POLYAD_OK;
  for (int k = count - 1; k >= 0 && status == POLYAD_OK; --k) {
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      keys[p] = pd_build_key_of(index, key->piece + k, 1, k == 0 ? key->table : NULL,
                                build->permutation[p]);
    status = pd_sort_u64(context, tensor->nnz, keys, key->piece[k].bits, build->permutation, 4);
  }
  pd_free(context, keys);
  return status;
}

static void write_planes(const struct pd_build *build, const struct pd_build_planes *to, uint64_t p,
                         bool real, uint64_t from) {
  const uint32_t *index[POLYAD_MAX_ORDER];
  list_modes(build, index);
  for (int k = 0; k < to->planes; ++k) {
    uint64_t word = 0;
    for (int f = 0; f < to->fields && real; ++f)
      if (to->field[f].plane == k) word |= pd_build_word(index, &to->field[f], 1, from);
    if (to->wide[k])
      ((uint64_t *)to->plane[k])[p] = word;
    else
      ((uint32_t *)to->plane[k])[p * (to->step == 0 ? 1 : (uint64_t)to->step)] = (uint32_t)word;
  }
}

static polyad_status gather(polyad_context *context, struct pd_build *build,
                            const struct pd_build_planes *to) {
  (void)context;
  const polyad_tensor *tensor = build->tensor;
  size_t item = pd_type_bytes(tensor->type), step = to->step == 0 ? item : 4 * (size_t)to->step;
  uint64_t count = to->place != NULL ? to->padded : tensor->nnz;
  for (uint64_t p = 0; p < to->padded; ++p) {
    bool real = p < count;
    uint64_t from = real ? build->permutation[to->place == NULL ? p : to->place[p]] : 0;
    write_planes(build, to, p, real, from);
    if (to->converts && real) {
      pd_build_put_value(to->values, p, to->number, to->exponent, pd_tensor_value(tensor, from));
    } else if (to->values != NULL) {
      memset((char *)to->values + p * step, 0, item);
      if (real)
        memcpy((char *)to->values + p * step, (const char *)tensor->values + from * item, item);
    }
    if (real && to->output >= 0)
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

/* Marks of runs by planes in this order, or by the indices of the nonzeros. */
static void write_marks(const struct pd_build *build, const struct pd_build_planes *planes,
                        const struct pd_build_tables *tables) {
  const polyad_tensor *tensor = build->tensor;
  const uint32_t *plane[POLYAD_MAX_ORDER];
  uint32_t mask[POLYAD_MAX_ORDER];
  int count = tables->outers > 0 ? tables->outers : planes->planes;
  for (int k = 0; k < count; ++k) {
    plane[k] = tables->outers > 0 ? tensor->index[tables->outer[k]] : planes->plane[k];
    mask[k] = tables->outers > 0 ? UINT32_MAX : tables->outer_mask[k];
  }
  for (uint64_t w = 0; w < tensor->nnz / 32 + 1; ++w) {
    uint32_t ends = 0, runs = 0;
    for (uint64_t p = 32 * w; p < 32 * w + 32; ++p) {
      ends |= (uint32_t)pd_build_ends(build->sorted, tensor->nnz, p) << p % 32;
      runs |= (uint32_t)pd_build_starts_run(build->sorted, plane, mask, count,
                                            tables->outers > 0 ? build->permutation : NULL,
                                            tensor->nnz, p)
              << p % 32;
    }
    if (tables->marks != NULL && 32 * w < tensor->nnz) {
      tables->marks[2 * w] = ends;
      tables->marks[2 * w + 1] = runs;
    }
    if (tables->ends != NULL) tables->ends[w] = ends;
  }
}

static polyad_status write_tables(polyad_context *context, struct pd_build *build,
                                  const struct pd_build_planes *planes,
                                  const struct pd_build_tables *tables) {
  (void)context;
  if (tables->used != NULL)
    memset(tables->used, 0, 4 * (build->tensor->dims[planes->output] / 32 + 1));
  write_rows(build, tables);
  write_marks(build, planes, tables);
  return POLYAD_OK;
}

static polyad_status list_rows(polyad_context *context, struct pd_build *build, int mode,
                               uint32_t *place, const struct pd_build_tables *tables) {
  const polyad_tensor *tensor = build->tensor;
  uint64_t *keys;
  PD_TRY(PD_NEW(context, tensor->nnz, &keys));
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    keys[p] = pd_tensor_index(tensor, mode, build->permutation[p]);
    place[p] = (uint32_t)p;
  }
  PD_TRY(pd_sort_u64(context, tensor->nnz, keys, 32, place, 4));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    build->sorted[p] = (uint32_t)keys[p];
  pd_free(context, keys);
  write_rows(build, tables);
  return POLYAD_OK;
}

static polyad_status number(polyad_context *context, struct pd_build *build, const uint32_t *item,
                            const struct pd_build_slot *to) {
  (void)context;
  for (uint64_t p = 0; p < build->tensor->nnz; ++p) {
    uint64_t from = build->permutation[p];
    pd_build_put(to->words + (item == NULL ? from : item[from]) * (uint64_t)to->step, to->shift,
                 to->bits, (uint32_t)p);
  }
  return POLYAD_OK;
}

static polyad_status runs(polyad_context *context, struct pd_build *build,
                          const struct pd_build_key *key, uint32_t **start, uint32_t *found) {
  const uint32_t *index[POLYAD_MAX_ORDER];
  list_modes(build, index);
  for (int pass = 0; pass < 2; ++pass) {
    *found = 0;
    for (uint64_t p = 0; p < build->tensor->nnz; ++p)
      if (p == 0 || pd_build_apart(index, key->piece, key->pieces, build->permutation[p],
                                   build->permutation[p - 1])) {
        if (pass == 1) (*start)[*found] = (uint32_t)p;
        ++*found;
      }
    if (pass == 0) PD_TRY(PD_NEW(context, (uint64_t)*found + 1, start));
  }
  (*start)[*found] = (uint32_t)build->tensor->nnz;
  return POLYAD_OK;
}

/* Places of runs with `least` nonzeros or more, or the others. */
static polyad_status select_places(polyad_context *context, const struct pd_build *build,
                                   const uint32_t *start, uint32_t count, uint32_t least,
                                   bool large, bool begins, uint32_t **places, uint64_t *found) {
  PD_TRY(PD_NEW(context, build->tensor->nnz, places));
  *found = 0;
  for (uint32_t p = 0; p < build->tensor->nnz; ++p)
    if ((pd_build_in_large_run(start, count, least, begins, p) != 0) == large)
      (*places)[(*found)++] = p;
  return POLYAD_OK;
}

static polyad_status split(polyad_context *context, struct pd_build *build,
                           const struct pd_build_key *key, uint32_t least,
                           struct pd_build_parts *parts) {
  uint32_t *start, count;
  uint64_t rest;
  *parts = (struct pd_build_parts){0};
  PD_TRY(runs(context, build, key, &start, &count));
  PD_TRY(
      select_places(context, build, start, count, least, true, false, &parts->in, &parts->large));
  PD_TRY(select_places(context, build, start, count, least, false, false, &parts->rest, &rest));
  PD_TRY(
      select_places(context, build, start, count, least, true, true, &parts->first, &parts->runs));
  pd_free(context, start);
  assert_true(parts->large + rest == build->tensor->nnz);
  PD_TRY(PD_NEW(context, parts->runs + 1, &parts->begin));
  for (uint64_t r = 0, k = 0; r <= parts->runs; ++r) {
    while (k < parts->large && (r == parts->runs || parts->in[k] < parts->first[r]))
      ++k;
    parts->begin[r] = (uint32_t)k;
  }
  return POLYAD_OK;
}

static polyad_status bitmaps(polyad_context *context, struct pd_build *build,
                             const struct pd_build_parts *parts, const struct pd_build_planes *cell,
                             uint64_t words, uint32_t *bits) {
  (void)context;
  const uint32_t *index[POLYAD_MAX_ORDER];
  list_modes(build, index);
  memset(bits, 0, parts->runs * words * sizeof *bits);
  for (uint64_t k = 0; k < parts->large; ++k) {
    uint64_t bit =
        pd_build_word(index, cell->field, cell->fields, build->permutation[parts->in[k]]);
    uint64_t run = pd_build_run_at(parts->begin, (uint32_t)parts->runs, k);
    assert_true(bit / 32 < words);
    bits[run * words + bit / 32] |= UINT32_C(1) << bit % 32;
  }
  return POLYAD_OK;
}

static polyad_status pack(polyad_context *context, struct pd_build *build,
                          const struct pd_build_planes *items, int bits, uint64_t words) {
  (void)context;
  const uint32_t *index[POLYAD_MAX_ORDER];
  list_modes(build, index);
  for (uint64_t w = 0; w < words; ++w)
    ((uint32_t *)items->plane[0])[w] =
        pd_build_stream_word(index, items->field, items->fields, bits, build->permutation,
                             items->place, items->padded, w);
  return POLYAD_OK;
}

static polyad_status largest(polyad_context *context, struct pd_build *build, double *most) {
  (void)context;
  *most = 0;
  for (uint64_t p = 0; p < build->tensor->nnz; ++p)
    *most = fmax(*most, fabs(pd_tensor_value(build->tensor, p)));
  return POLYAD_OK;
}

static polyad_status runs_at(polyad_context *context, struct pd_build *build, const uint32_t *start,
                             uint32_t count, uint64_t unit, uint64_t places, uint32_t *run) {
  (void)context;
  uint64_t nnz = build->tensor->nnz;
  for (uint64_t c = 0; c < places; ++c)
    run[c] = pd_build_run_at(start, count, c * unit < nnz ? c * unit : nnz - 1);
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
  const struct pd_build_key key = pd_build_key_of_modes(modes, count, tensor->dims);
  PD_TRY(sort(context, build, &key));
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

static polyad_status see_cells(polyad_context *context, struct pd_build *build, int first,
                               int modes, uint64_t words, uint64_t *bits) {
  (void)context;
  const polyad_tensor *tensor = build->tensor;
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    uint64_t cell = 0;
    for (int k = 0; k < modes; ++k) {
      int n = (first + k) % tensor->order;
      cell = cell * tensor->dims[n] + pd_tensor_index(tensor, n, p);
    }
    assert_true(cell / 64 < words);
    bits[cell / 64] |= UINT64_C(1) << cell % 64;
  }
  return POLYAD_OK;
}

static uint64_t group_bytes(uint64_t nnz, uint64_t tuples, int count, polyad_type type) {
  (void)count, (void)type;
  return 8 * (nnz + tuples);
}

static polyad_status tell_facts(polyad_context *context, struct pd_build *build,
                                struct pd_build_facts *facts) {
  const polyad_tensor *tensor = build->tensor;
  *facts = (struct pd_build_facts){.nnz = tensor->nnz, .zeros = tensor->zeros_kept};
  memcpy(facts->dims, tensor->dims, sizeof facts->dims);
  facts->norm_square_scaled =
      pd_sum_of_squares(context, tensor->nnz, tensor->type, tensor->values, &facts->norm_exponent);
  for (uint64_t p = tensor->nnz; p-- > 0;) {
    double value = pd_tensor_value(tensor, p);
    facts->sum += value;
    if (value >= 0) continue;
    facts->has_negative = true;
    facts->negative = value;
    pd_tensor_coordinate(tensor, p, facts->negative_index);
  }
  return POLYAD_OK;
}

/* ---- a caller's arrays ------------------------------------------------------------------------
 */

static polyad_status open_arrays(polyad_context *context, const struct pd_device *device,
                                 const polyad_tensor_input *input, struct pd_build **out) {
  polyad_tensor *own;
  *out = NULL;
  PD_TRY(polyad_tensor_create(context, input, &own));
  polyad_status status = open_build(context, device, own, out);
  if (status == POLYAD_OK)
    (*out)->own = own;
  else
    polyad_tensor_destroy(own);
  return status;
}

static polyad_status scale(polyad_context *context, struct pd_build *build, int exponent) {
  (void)context;
  for (uint64_t p = 0; p < build->own->nnz; ++p)
    pd_store(build->own->type, build->own->values, p,
             ldexp(pd_tensor_value(build->own, p), exponent));
  return POLYAD_OK;
}

/* ---- sharing out ------------------------------------------------------------------------------
 */

static polyad_status deal(polyad_context *context, struct pd_build *build,
                          const struct pd_build_grid *grid, uint64_t *count) {
  const polyad_tensor *tensor = build->tensor;
  uint64_t *cell;
  memset(count, 0, (size_t)grid->cells * sizeof *count);
  PD_TRY(PD_NEW_ZERO(context, tensor->nnz, &cell));
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    for (int n = 0; n < tensor->order; ++n)
      cell[p] =
          cell[p] * (uint64_t)grid->ranges[n] +
          (uint64_t)pd_build_range_at(grid->cut[n], grid->ranges[n], pd_tensor_index(tensor, n, p));
    ++count[cell[p]];
    build->permutation[p] = (uint32_t)p;
  }
  polyad_status status = pd_sort_u64(context, tensor->nnz, cell, 32, build->permutation, 4);
  pd_free(context, cell);
  return status;
}

static polyad_status mark(polyad_context *context, const struct pd_device *device,
                          const uint32_t *index, uint64_t count, uint64_t first, uint64_t length,
                          uint32_t *has) {
  (void)context, (void)device;
  memset(has, 0, (length + 31) / 32 * sizeof *has);
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t i = index[p] - first;
    assert_true(i < length);
    has[i / 32] |= 1u << i % 32;
  }
  return POLYAD_OK;
}

static polyad_status renumber(polyad_context *context, const struct pd_device *device,
                              uint32_t *index, uint64_t count, uint64_t first, uint64_t length,
                              const uint32_t *numbers) {
  (void)context, (void)device;
  for (uint64_t p = 0; p < count; ++p) {
    assert_true(index[p] - first < length);
    index[p] = numbers[index[p] - first];
  }
  return POLYAD_OK;
}

const struct pd_device_build host_steps = {.takes = takes,
                                           .bytes = bytes,
                                           .open = open_build,
                                           .open_arrays = open_arrays,
                                           .scale = scale,
                                           .deal = deal,
                                           .mark = mark,
                                           .renumber = renumber,
                                           .facts = tell_facts,
                                           .close = close_build,
                                           .classes = classes,
                                           .tuples = see_tuples,
                                           .cells = see_cells,
                                           .group = group,
                                           .group_bytes = group_bytes,
                                           .degrees = degrees,
                                           .list = list_rows,
                                           .number = number,
                                           .runs = runs,
                                           .runs_at = runs_at,
                                           .split = split,
                                           .bitmaps = bitmaps,
                                           .pack = pack,
                                           .largest = largest,
                                           .sort = sort,
                                           .gather = gather,
                                           .tables = write_tables};
