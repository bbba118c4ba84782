#include "formats/rowsum/rowsum_build.h"
#include "core/bits.h"
#include "core/radix_sort.h"
#include "formats/rowsum/driver.h"
#include <string.h>

static int permutation_bytes(uint64_t nnz) { return nnz <= UINT32_MAX ? 4 : 8; }

static int start_bytes(uint64_t nnz, bool force_index64) {
  return nnz <= UINT32_MAX && !force_index64 ? 4 : 8;
}

/* Runs that begin among rows [begin, end) of the sorted nonzeros. */
static inline __attribute__((always_inline)) uint64_t count_sized(const void *row, int bytes,
                                                                  uint64_t begin, uint64_t end) {
  uint64_t runs = begin == 0 && end > 0;
  for (uint64_t p = begin == 0 ? 1 : begin; p < end; ++p)
    runs += pd_id_at(row, bytes, p) != pd_id_at(row, bytes, p - 1);
  return runs;
}

static uint64_t count_runs(const void *row, int bytes, uint64_t begin, uint64_t end) {
  return bytes == 2   ? count_sized(row, 2, begin, end)
         : bytes == 4 ? count_sized(row, 4, begin, end)
                      : count_sized(row, 8, begin, end);
}

static inline __attribute__((always_inline)) void list_sized(const void *row, int bytes,
                                                             uint64_t begin, uint64_t end,
                                                             uint64_t run, void *id, int id_bytes,
                                                             void *start, int start_bytes) {
  for (uint64_t p = begin; p < end; ++p) {
    uint64_t i = pd_id_at(row, bytes, p);
    if (p > 0 && i == pd_id_at(row, bytes, p - 1)) continue;
    pd_id_put(id, id_bytes, run, i);
    pd_id_put(start, start_bytes, run++, p);
  }
}

/* row_id and row_start from the sorted nonzeros' indices in the list's mode: each thread counts the
 * runs of a part and lists them behind those of the parts before. */
static polyad_status build_runs(polyad_context *context, const void *row, int bytes,
                                struct pd_rowsum *list) {
  int threads = pd_threads_for(context, list->nnz, 1 << 14);
  uint64_t *before;
  void *id = NULL, *start = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW(context, (uint64_t)threads + 1, &before));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    before[part + 1] = count_runs(row, bytes, pd_part_begin(list->nnz, part, threads),
                                  pd_part_begin(list->nnz, part + 1, threads));
  before[0] = 0;
  for (int part = 0; part < threads; ++part)
    before[part + 1] += before[part];
  list->runs = before[threads];
  PD_TRY_CLEANUP(pd_alloc(context, list->runs, (size_t)list->row_bytes, &id));
  list->row_id = id;
  PD_TRY_CLEANUP(pd_alloc(context, list->runs + 1, (size_t)list->start_bytes, &start));
  list->row_start = start;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t begin = pd_part_begin(list->nnz, part, threads);
    uint64_t end = pd_part_begin(list->nnz, part + 1, threads);
    if (bytes == 2)
      list_sized(row, 2, begin, end, before[part], id, list->row_bytes, start, list->start_bytes);
    else
      list_sized(row, bytes, begin, end, before[part], id, list->row_bytes, start,
                 list->start_bytes);
  }
  pd_id_put(start, list->start_bytes, list->runs, list->nnz);
cleanup:
  pd_free(context, before);
  return status;
}

static polyad_status rowsum_build_build_blocks(polyad_context *context, struct pd_rowsum *list) {
  int shift = list->block_shift;
  uint64_t blocks = 0, *start;
  for (uint64_t r = 0; r < list->runs; ++r)
    blocks += r == 0 || pd_rowsum_row(list, r) >> shift != pd_rowsum_row(list, r - 1) >> shift;
  PD_TRY(PD_NEW(context, blocks + 1, &start));
  list->block_start = start;
  for (uint64_t r = 0; r < list->runs; ++r)
    if (r == 0 || pd_rowsum_row(list, r) >> shift != pd_rowsum_row(list, r - 1) >> shift)
      start[list->blocks++] = r;
  start[list->blocks] = list->runs;
  return POLYAD_OK;
}

/* ---- sorting ----------------------------------------------------------------------------------
 */

/* Nonzeros are sorted by block, tile, row, and within a run by the columns. */
void pd_rowsum_layout(const polyad_tensor *tensor, int mode, const struct pd_tiling *tiling,
                      struct pd_layout *layout) {
  int row_bits = pd_index_bits(tensor->dims[mode]), below = row_bits;
  *layout = (struct pd_layout){0};
  if (tiling->tiled) {
    below = tiling->block_shift < row_bits ? tiling->block_shift : row_bits;
    pd_layout_add(layout, mode, below, row_bits);
    for (int g = 0; g < tiling->columns; ++g)
      pd_layout_add(layout, tiling->mode[g], tiling->shift[g],
                    pd_index_bits(tensor->dims[tiling->mode[g]]));
  }
  pd_layout_add(layout, mode, 0, below);
  for (int g = 0; g < tiling->columns; ++g) {
    int bits = pd_index_bits(tensor->dims[tiling->mode[g]]);
    if (tiling->tiled && tiling->shift[g] < bits) bits = tiling->shift[g];
    pd_layout_add(layout, tiling->mode[g], 0, bits);
  }
}

/* What 64 bits do not hold is left unsorted: it is the order of the columns within a run, where it
 * matters least. */
static int sort_bits(const struct pd_layout *layout, const struct pd_room *room) {
  int bits = room->unordered ? layout->key_bits : pd_layout_unsorted_bits(layout);
  return bits < 64 ? bits : 64;
}

/* Where records come from, and where they go when they are sorted. */
struct filling {
  const struct pd_record_source *source;
  struct pd_rowsum *list;
  bool force_index64;
  struct pd_layout layout;
  int mode, row_bytes, columns;
  char *row; /* indices of the list's mode; NULL: they are not wanted */
  const int *column_mode, *id_bytes;
  char *id[POLYAD_MAX_ORDER]; /* of each column; not those of permuted lists */
  char *values;               /* or numbers of the nonzeros */
};

static void rowsum_build_fill(void *user, uint64_t first, uint64_t count, const uint64_t *records) {
  const struct filling *f = user;
  if (f->row != NULL)
    pd_records_index(&f->layout, count, records, f->mode, f->row_bytes,
                     f->row + first * (uint64_t)f->row_bytes);
  for (int g = 0; g < f->columns; ++g)
    pd_records_index(&f->layout, count, records, f->column_mode[g], f->id_bytes[g],
                     f->id[g] + first * (uint64_t)f->id_bytes[g]);
  pd_records_values(&f->layout, count, records,
                    f->values + first * (uint64_t)f->layout.value_bytes);
}

/* The arrays of a list's columns and values. */
static polyad_status allocate_columns(polyad_context *context, const uint64_t *dims,
                                      polyad_type type, bool force_index64, struct pd_rowsum *list,
                                      struct filling *filling) {
  filling->columns = list->columns;
  filling->column_mode = list->mode;
  filling->id_bytes = list->id_bytes;
  for (int g = 0; g < list->columns; ++g) {
    list->id_bytes[g] = pd_rowsum_index_bytes(dims[list->mode[g]], force_index64);
    PD_TRY(pd_alloc(context, list->nnz, (size_t)list->id_bytes[g], (void **)&filling->id[g]));
    list->id[g] = filling->id[g];
  }
  PD_TRY(pd_alloc(context, list->nnz, pd_type_bytes(type), (void **)&filling->values));
  list->values = filling->values;
  return POLYAD_OK;
}

static void rowsum_build_fetch(const void *user, uint64_t first, uint64_t count, uint32_t modes,
                               struct pd_block *block) {
  const struct pd_record_source *source = ((const struct filling *)user)->source;
  source->fetch(source->user, first, count, modes, block);
}

/* The source gives up its memory before the list's is taken. */
static polyad_status rowsum_build_packed(polyad_context *context, void *user) {
  struct filling *filling = user;
  const struct pd_record_source *source = filling->source;
  if (source->packed != NULL) PD_TRY(source->packed(context, source->user));
  PD_TRY(
      pd_alloc(context, source->tensor->nnz, (size_t)filling->row_bytes, (void **)&filling->row));
  if (source->places) return POLYAD_OK;
  return allocate_columns(context, source->tensor->dims, source->tensor->type,
                          filling->force_index64, filling->list, filling);
}

/* Sorts the nonzeros into the arrays of `filling`, and finds runs and blocks. */
static polyad_status sort_list(polyad_context *context, int mode, const struct pd_tiling *tiling,
                               struct pd_room *room, struct filling *filling,
                               struct pd_rowsum *list) {
  const polyad_tensor *tensor = filling->source->tensor;
  const bool permuted = filling->source->places;
  const struct pd_record_source source = {
      .tensor = tensor,
      .places = permuted,
      .fetch = filling->source->fetch != NULL ? rowsum_build_fetch : NULL,
      .packed = rowsum_build_packed,
      .user = filling};
  polyad_status status = POLYAD_OK;
  pd_rowsum_layout(tensor, mode, tiling, &filling->layout);
  if (permuted)
    pd_layout_end(&filling->layout, 8 * permutation_bytes(tensor->nnz));
  else
    pd_layout_end_values(&filling->layout, tensor->type, room->value_bits);
  filling->mode = mode;
  filling->row_bytes = pd_rowsum_index_bytes(tensor->dims[mode], false);
  PD_TRY_CLEANUP(pd_records_sort(context, &source, &filling->layout,
                                 sort_bits(&filling->layout, room), room, rowsum_build_fill,
                                 filling));
  PD_TRY_CLEANUP(build_runs(context, filling->row, filling->row_bytes, list));
  if (tiling->tiled && list->runs > 0) status = rowsum_build_build_blocks(context, list);
cleanup:
  pd_free(context, filling->row);
  return status;
}

static void begin_list(uint64_t nnz, uint64_t rows, bool force_index64,
                       const struct pd_tiling *tiling, struct pd_rowsum *list) {
  *list = (struct pd_rowsum){.nnz = nnz, .block_shift = tiling->block_shift};
  list->start_bytes = start_bytes(nnz, force_index64);
  list->row_bytes = force_index64 ? 8 : pd_index_bytes(rows);
  list->columns = tiling->columns;
  memcpy(list->mode, tiling->mode, sizeof list->mode);
}

polyad_status pd_rowsum_room_create(polyad_context *context, const polyad_tensor *tensor,
                                    bool permuted, struct pd_room *room) {
  int bits = pd_index_bits_of_all(tensor->order, tensor->dims);
  struct pd_key keys[POLYAD_MAX_ORDER];
  bool strict;
  if (permuted)
    PD_TRY(pd_room_create(context, tensor->nnz,
                          pd_record_words(bits, 8 * permutation_bytes(tensor->nnz)), room));
  else
    PD_TRY(pd_room_create_values(context, tensor, bits, room));
  for (int n = 0; n < tensor->order; ++n)
    keys[n] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  room->unordered = !pd_is_sorted(context, tensor->nnz, tensor->order, keys, &strict);
  return POLYAD_OK;
}

polyad_status pd_rowsum_build_from(polyad_context *context, const struct pd_record_source *source,
                                   int mode, bool force_index64, const struct pd_tiling *tiling,
                                   struct pd_room *room, struct pd_rowsum *list) {
  const polyad_tensor *tensor = source->tensor;
  struct filling filling = {.source = source, .list = list, .force_index64 = force_index64};
  begin_list(tensor->nnz, tensor->dims[mode], force_index64, tiling, list);
  polyad_status status = sort_list(context, mode, tiling, room, &filling, list);
  if (status != POLYAD_OK) pd_rowsum_clear(context, list);
  return status;
}

polyad_status pd_rowsum_build(polyad_context *context, const polyad_tensor *tensor, int mode,
                              bool force_index64, const struct pd_tiling *tiling,
                              struct pd_room *room, struct pd_rowsum *list) {
  const struct pd_record_source source = {.tensor = tensor};
  return pd_rowsum_build_from(context, &source, mode, force_index64, tiling, room, list);
}

polyad_status pd_rowsum_fill(polyad_context *context, const struct pd_rowsum_sorted *sorted,
                             bool force_index64, const struct pd_tiling *tiling, void *start,
                             struct pd_rowsum *list) {
  enum { BLOCK = 1 << 12 }; /* records that stay in the nearest cache for all columns */
  polyad_status status = POLYAD_OK;
  struct filling filling = {.layout = *sorted->layout};
  uint64_t nnz = sorted->nnz, blocks = (nnz + BLOCK - 1) / BLOCK;
  int threads = pd_threads_for(context, nnz, 1 << 14);
  void *id = NULL;
  begin_list(nnz, sorted->runs, force_index64, tiling, list);
  list->row_start = start;
  list->runs = sorted->runs;
  PD_TRY_CLEANUP(pd_alloc(context, list->runs, (size_t)list->row_bytes, &id));
  list->row_id = id;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t r = 0; r < list->runs; ++r)
    pd_id_put(id, list->row_bytes, r, r);
  PD_TRY_CLEANUP(
      allocate_columns(context, sorted->dims, sorted->type, force_index64, list, &filling));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t first = block * BLOCK, count = nnz - first < BLOCK ? nnz - first : BLOCK;
    rowsum_build_fill(&filling, first, count,
                      sorted->records + first * (uint64_t)sorted->layout->words);
  }
cleanup:
  if (status != POLYAD_OK) pd_rowsum_clear(context, list);
  return status;
}

static polyad_status share_index(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 int bytes, void **id) {
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)bytes, id));
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    pd_id_put(*id, bytes, p, pd_tensor_index(tensor, mode, p));
  return POLYAD_OK;
}

polyad_status pd_rowsum_share(polyad_context *context, const polyad_tensor *tensor,
                              bool force_index64, struct pd_rowsum_shared *shared) {
  size_t item = pd_type_bytes(tensor->type);
  *shared = (struct pd_rowsum_shared){0};
  for (int n = 0; n < tensor->order; ++n) {
    shared->id_bytes[n] = pd_rowsum_index_bytes(tensor->dims[n], force_index64);
    PD_TRY(share_index(context, tensor, n, shared->id_bytes[n], &shared->id[n]));
  }
  PD_TRY(pd_alloc(context, tensor->nnz, item, &shared->values));
  memcpy(shared->values, tensor->values, tensor->nnz * item);
  return POLYAD_OK;
}

polyad_status pd_rowsum_build_permuted(polyad_context *context, const polyad_tensor *tensor,
                                       int mode, bool force_index64, const struct pd_tiling *tiling,
                                       const struct pd_rowsum_shared *shared, struct pd_room *room,
                                       struct pd_rowsum *list) {
  const struct pd_record_source source = {.tensor = tensor, .places = true};
  struct filling filling = {.source = &source};
  begin_list(tensor->nnz, tensor->dims[mode], force_index64, tiling, list);
  list->place_bytes = permutation_bytes(list->nnz);
  PD_TRY(pd_alloc(context, list->nnz, (size_t)list->place_bytes, (void **)&filling.values));
  list->place = filling.values;
  polyad_status status = sort_list(context, mode, tiling, room, &filling, list);
  list->values = shared->values;
  for (int g = 0; g < list->columns; ++g) {
    list->id[g] = shared->id[list->mode[g]];
    list->id_bytes[g] = shared->id_bytes[list->mode[g]];
  }
  if (status != POLYAD_OK) pd_rowsum_clear(context, list);
  return status;
}

uint64_t pd_rowsum_permuted_bytes(const uint64_t *dims, int mode, uint64_t nnz, uint64_t runs,
                                  bool force_index64) {
  uint64_t start = (uint64_t)start_bytes(nnz, force_index64);
  uint64_t row = (force_index64 ? 8 : (uint64_t)pd_index_bytes(dims[mode])) + start;
  uint64_t places = pd_mul_saturated(nnz, (uint64_t)permutation_bytes(nnz));
  return pd_add_saturated(places, pd_mul_saturated(runs, row) + start);
}

void pd_rowsum_arrays(struct pd_rowsum *list, polyad_type type, struct pd_arrays *arrays) {
  const enum pd_array_use use = PD_ARRAY_HOST;
  uint64_t blocks = list->blocks == 0 ? 0 : list->blocks + 1;
  pd_show_array(arrays, &list->row_start, list->runs + 1, (size_t)list->start_bytes, use);
  pd_show_array(arrays, &list->row_id, list->runs, (size_t)list->row_bytes, use);
  pd_show_array(arrays, &list->block_start, blocks, sizeof *list->block_start, use);
  pd_show_array(arrays, &list->place, list->nnz, (size_t)list->place_bytes, use);
  if (list->place_bytes > 0) return; /* somebody else owns the rest */
  pd_show_array(arrays, &list->values, list->nnz, pd_type_bytes(type), use);
  for (int g = 0; g < list->columns; ++g)
    pd_show_array(arrays, &list->id[g], list->nnz, (size_t)list->id_bytes[g], use);
}

void pd_rowsum_clear(polyad_context *context, struct pd_rowsum *list) {
  struct pd_arrays arrays = pd_arrays_freeing(context);
  pd_rowsum_arrays(list, POLYAD_F64, &arrays);
  *list = (struct pd_rowsum){0};
}

uint64_t pd_rowsum_estimate_bytes(int order, const uint64_t *dims, int mode, uint64_t nnz,
                                  uint64_t runs, polyad_type type, bool force_index64) {
  uint64_t item = pd_type_bytes(type);
  for (int m = 0; m < order; ++m)
    if (m != mode) item += (uint64_t)pd_rowsum_index_bytes(dims[m], force_index64);
  uint64_t start = (uint64_t)start_bytes(nnz, force_index64);
  uint64_t row = (force_index64 ? 8 : (uint64_t)pd_index_bytes(dims[mode])) + start;
  return pd_add_saturated(pd_mul_saturated(nnz, item), pd_mul_saturated(runs, row) + start);
}

uint64_t pd_rowsum_building_bytes(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                                  bool permuted, int threads) {
  int bytes = permuted ? permutation_bytes(nnz) : (int)pd_type_bytes(type), widest = 2;
  for (int n = 0; n < order; ++n)
    if (pd_rowsum_index_bytes(dims[n], false) > widest)
      widest = pd_rowsum_index_bytes(dims[n], false);
  int words = pd_record_words(pd_index_bits_of_all(order, dims), 8 * bytes);
  /* Records, and the sorted indices of one mode. */
  return pd_add_saturated(pd_sorting_bytes(nnz, words, threads),
                          pd_mul_saturated(nnz, (uint64_t)widest));
}

static polyad_status rowsum_build_broken(polyad_context *context, int mode, const char *what,
                                         uint64_t place) {
  return pd_fail(context, POLYAD_INTERNAL, "list of mode %d: %s at %llu",
                 pd_shown_mode(context, mode), what, (unsigned long long)place);
}

static polyad_status check_blocks(polyad_context *context, const struct pd_rowsum *list, int mode) {
  if (list->block_start[0] != 0 || list->block_start[list->blocks] != list->runs)
    return rowsum_build_broken(context, mode, "blocks do not hold all runs", list->blocks);
  for (uint64_t b = 0; b < list->blocks; ++b) {
    uint64_t id = pd_rowsum_row(list, list->block_start[b]) >> list->block_shift;
    if (list->block_start[b] >= list->block_start[b + 1])
      return rowsum_build_broken(context, mode, "empty block", b);
    if (b > 0 && pd_rowsum_row(list, list->block_start[b] - 1) >> list->block_shift >= id)
      return rowsum_build_broken(context, mode, "blocks not ascending", b);
    for (uint64_t r = list->block_start[b]; r < list->block_start[b + 1]; ++r)
      if (pd_rowsum_row(list, r) >> list->block_shift != id)
        return rowsum_build_broken(context, mode, "run in a wrong block", r);
  }
  return POLYAD_OK;
}

polyad_status pd_rowsum_check(polyad_context *context, const struct pd_rowsum *list, int mode,
                              const uint64_t *dims) {
  if (pd_rowsum_start(list, 0) != 0)
    return rowsum_build_broken(context, mode, "first run does not start", 0);
  if (pd_rowsum_start(list, list->runs) != list->nnz)
    return rowsum_build_broken(context, mode, "last run does not end with the nonzeros",
                               list->runs);
  for (uint64_t r = 0; r < list->runs; ++r) {
    if (pd_rowsum_start(list, r) >= pd_rowsum_start(list, r + 1))
      return rowsum_build_broken(context, mode, "empty run", r);
    if (pd_rowsum_row(list, r) >= dims[mode])
      return rowsum_build_broken(context, mode, "row too large", r);
    if (list->blocks == 0 && r > 0 && pd_rowsum_row(list, r - 1) >= pd_rowsum_row(list, r))
      return rowsum_build_broken(context, mode, "rows not ascending", r);
  }
  if (list->blocks > 0) PD_TRY(check_blocks(context, list, mode));
  for (int g = 0; g < list->columns; ++g)
    for (uint64_t p = 0; p < list->nnz; ++p)
      if (pd_rowsum_id(list, g, p) >= dims[list->mode[g]])
        return rowsum_build_broken(context, mode, "index too large", p);
  return POLYAD_OK;
}
