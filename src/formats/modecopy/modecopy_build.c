/* Building one copy of format "modecopy": packed records are sorted, and unpacked into planes while
 * they lie in the cache. */
#include "formats/modecopy/modecopy_build.h"
#include <string.h>

enum { BLOCK = 512 };

static int modecopy_build_threads_of(const polyad_context *context, uint64_t nnz) {
  return pd_threads_for(context, nnz, 1 << 14);
}

static polyad_status modecopy_build_count_rows(polyad_context *context,
                                               const struct pd_modecopy_job *job, uint32_t **size) {
  PD_TRY(PD_NEW(context, job->tensor->dims[job->mode], size));
  return pd_ordered_degrees(context, job->tensor, job->mode, *size);
}

static polyad_status allocate_nonzeros(polyad_context *context, const struct pd_modecopy_job *job,
                                       struct pd_modecopy_copy *copy) {
  uint64_t padded = pd_modecopy_padded(job->tensor->nnz);
  for (int k = 0; k < copy->planes; ++k)
    PD_TRY(PD_NEW(context, padded, &copy->plane[k]));
  return pd_alloc(context, padded, pd_type_bytes(job->tensor->type), &copy->values);
}

/* ---- sorting ----------------------------------------------------------------------------------
 */

/* What sorting works on, and where sorted nonzeros go. */
struct sorting {
  const polyad_tensor *tensor;
  struct pd_layout layout;
  struct pd_modecopy_copy *copy;
  int fields;
  int mode;
  const uint32_t *part; /* of each index of the mode, the first bits of the keys; NULL: none */
  int part_bits;
};

static void encode_part(const void *user, uint64_t first, uint64_t count, uint64_t *const *word) {
  const struct sorting *sorting = user;
  const uint32_t *index = (const uint32_t *)sorting->tensor->index[sorting->mode] + first;
  for (uint64_t p = 0; p < count; ++p)
    word[0][p] |= (uint64_t)sorting->part[index[p]] << (64 - sorting->part_bits);
}

/* Fills planes and values. */
static void modecopy_build_fill(void *visitor, uint64_t first, uint64_t count,
                                const uint64_t *records) {
  const struct sorting *sorting = visitor;
  const struct pd_modecopy_copy *copy = sorting->copy;
  uint32_t index[BLOCK];
  pd_records_values(&sorting->layout, count, records,
                    (char *)copy->values + first * (uint64_t)sorting->layout.value_bytes);
  for (uint64_t end = first + count, some; first < end; first += some) {
    some = end - first < BLOCK ? end - first : BLOCK;
    for (int k = 0; k < copy->planes; ++k)
      memset(copy->plane[k] + first, 0, some * sizeof *index);
    for (int k = 0; k < sorting->fields; ++k) {
      const struct pd_modecopy_field *field = &copy->field[k];
      uint32_t *plane = copy->plane[field->plane] + first;
      pd_records_index(&sorting->layout, some, records, field->mode, 4, index);
      for (uint64_t p = 0; p < some; ++p)
        plane[p] |= index[p] << field->shift;
    }
    records += some * (uint64_t)sorting->layout.words;
  }
}

/* Sorts the nonzeros by the first `bits` bits of the layout into planes and values. */
static polyad_status modecopy_build_sort(polyad_context *context, const struct pd_modecopy_job *job,
                                         struct sorting *sorting, int bits) {
  const struct pd_record_source source = {
      .tensor = job->tensor, .encode = sorting->part != NULL ? encode_part : NULL, .user = sorting};
  uint64_t nnz = job->tensor->nnz, padded = pd_modecopy_padded(nnz);
  struct pd_modecopy_copy *copy = sorting->copy;
  size_t item = pd_type_bytes(job->tensor->type);
  pd_layout_end_values(&sorting->layout, job->tensor->type, job->room->value_bits);
  PD_TRY(allocate_nonzeros(context, job, copy));
  for (int k = 0; k < copy->planes; ++k)
    memset(copy->plane[k] + nnz, 0, (padded - nnz) * sizeof **copy->plane);
  memset((char *)copy->values + nnz * item, 0, (padded - nnz) * item);
  return pd_records_sort(context, &source, &sorting->layout, bits, job->room, modecopy_build_fill,
                         sorting);
}

/* ---- the deterministic default ------------------------------------------------------------- */

/* The bits of the outer inputs in each plane. */
static void outer_bits(const struct pd_modecopy_copy *copy, uint32_t *mask) {
  memset(mask, 0, (size_t)copy->planes * sizeof *mask);
  for (int k = 0; k + 1 < copy->inputs; ++k)
    mask[copy->field[k].plane] |= copy->field[k].mask << copy->field[k].shift;
}

/* Bit k: nonzero first + k differs from the one before in an outer input. */
static uint32_t modecopy_build_apart(const struct pd_modecopy_copy *copy, const uint32_t *mask,
                                     uint64_t nnz, uint64_t first) {
  uint32_t bits = 0;
  for (uint64_t k = first == 0; k < PD_ORDERED_MARKS && first + k < nnz; ++k) {
    uint32_t differ = 0;
    for (int m = 0; m < copy->planes; ++m)
      differ |= (copy->plane[m][first + k] ^ copy->plane[m][first + k - 1]) & mask[m];
    bits |= (uint32_t)(differ != 0) << k;
  }
  return bits;
}

static polyad_status modecopy_build_mark(polyad_context *context, uint64_t nnz,
                                         struct pd_modecopy_copy *copy) {
  struct pd_ordered *order = &copy->order;
  uint64_t words = pd_ordered_mark_words(nnz);
  uint32_t mask[POLYAD_MAX_ORDER];
  int threads = modecopy_build_threads_of(context, nnz);
  outer_bits(copy, mask);
  PD_TRY(PD_NEW(context, words, &order->marks));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    uint64_t w = pd_part_begin(words, part, threads), end = pd_part_begin(words, part + 1, threads);
    uint64_t row = w == end ? 0 : order->chunk_row[w * PD_ORDERED_MARKS / PD_ORDERED_CHUNK];
    while (w < end && order->row_start[row + 1] <= w * PD_ORDERED_MARKS)
      ++row;
    for (; w < end; ++w)
      pd_ordered_mark(order, nnz, w, modecopy_build_apart(copy, mask, nnz, w * PD_ORDERED_MARKS),
                      &row);
  }
  return POLYAD_OK;
}

polyad_status pd_modecopy_order(polyad_context *context, const struct pd_modecopy_job *job,
                                struct pd_layout *keys) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  struct pd_modecopy_copy *copy = &job->storage->copy[job->mode];
  uint32_t *size = NULL;
  *keys = (struct pd_layout){0};
  PD_TRY_CLEANUP(modecopy_build_count_rows(context, job, &size));
  struct pd_ordered_job order = {.tensor = tensor,
                                 .traits = job->traits,
                                 .rank = job->request->rank,
                                 .kernel = job->request->kernel,
                                 .mode = job->mode,
                                 .degree = size};
  PD_TRY_CLEANUP(pd_ordered_tables(context, &order, &copy->order));
  copy->inputs = copy->order.inputs;
  pd_layout_add(keys, job->mode, 0, pd_index_bits(tensor->dims[job->mode]));
  for (int k = 0; k < copy->inputs; ++k) {
    int mode = copy->field[k].mode = copy->order.input[k];
    pd_layout_add(keys, mode, 0, pd_index_bits(tensor->dims[mode]));
  }
  pd_modecopy_pack(copy, copy->inputs, tensor->dims);
cleanup:
  pd_free(context, size);
  return status;
}

polyad_status pd_modecopy_build_sorted(polyad_context *context, const struct pd_modecopy_job *job,
                                       const struct pd_layout *keys) {
  const polyad_tensor *tensor = job->tensor;
  struct pd_modecopy_copy *copy = &job->storage->copy[job->mode];
  struct sorting sorting = {
      .tensor = tensor, .layout = *keys, .copy = copy, .fields = copy->inputs, .mode = job->mode};
  PD_TRY(modecopy_build_sort(context, job, &sorting, pd_layout_unsorted_bits(keys)));
  PD_TRY(pd_ordered_set_used(context, tensor->dims[job->mode], &copy->order));
  return job->storage->ends ? pd_ordered_set_ends(context, tensor->nnz, &copy->order)
                            : modecopy_build_mark(context, tensor->nnz, copy);
}

/* ---- the paper's variants -------------------------------------------------------------------- */

static int scheme_of(const struct pd_modecopy *storage, int mode) {
  switch (storage->variant) {
  case PD_MODECOPY_SCHEME1:
    return 1;
  case PD_MODECOPY_SCHEME2:
    return 2;
  default:
    return storage->dims[mode] >= (uint64_t)storage->partitions ? 1 : 2;
  }
}

/* Deals the rows to partitions, and finds where each partition's nonzeros begin. */
static polyad_status deal_rows(polyad_context *context, const struct pd_modecopy_job *job,
                               struct pd_modecopy_copy *copy, uint32_t *part) {
  polyad_status status = POLYAD_OK;
  int partitions = job->storage->partitions;
  uint32_t *size = NULL;
  uint64_t *load = NULL;
  PD_TRY_CLEANUP(modecopy_build_count_rows(context, job, &size));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)partitions, &load));
  PD_TRY_CLEANUP(pd_partition_vertices(context, job->tensor->dims[job->mode], size, partitions,
                                       true, part, load));
  copy->part_start[0] = 0;
  for (int k = 0; k < partitions; ++k)
    copy->part_start[k + 1] = copy->part_start[k] + load[k];
cleanup:
  PD_FREE(context, load, size);
  return status;
}

/* Scheme 1 sorts by partition, and within it by output index, which the paper does not say; scheme
 * 2 by output index. Both keep the tensor's order besides. */
polyad_status pd_modecopy_build_paper(polyad_context *context, const struct pd_modecopy_job *job) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  struct pd_modecopy_copy *copy = &job->storage->copy[job->mode];
  struct sorting sorting = {.tensor = tensor, .copy = copy, .mode = job->mode};
  int partitions = job->storage->partitions, bits = pd_index_bits(tensor->dims[job->mode]);
  uint32_t *part = NULL;
  for (int n = 0; n < tensor->order; ++n)
    if (n != job->mode) copy->field[copy->inputs++].mode = n;
  copy->field[copy->inputs].mode = job->mode;
  sorting.fields = copy->inputs + 1;
  pd_modecopy_pack(copy, sorting.fields, tensor->dims);
  copy->scheme = scheme_of(job->storage, job->mode);
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)partitions + 1, &copy->part_start));
  if (copy->scheme == 1) {
    PD_TRY_CLEANUP(PD_NEW(context, tensor->dims[job->mode], &part));
    PD_TRY_CLEANUP(deal_rows(context, job, copy, part));
    sorting.part_bits = pd_index_bits((uint64_t)partitions);
    if (sorting.part_bits > 0) sorting.part = part;
    pd_layout_skip(&sorting.layout, sorting.part_bits);
    bits += sorting.part_bits;
  } else {
    for (int k = 0; k <= partitions; ++k)
      copy->part_start[k] =
          k == partitions ? tensor->nnz : pd_part_begin(tensor->nnz, k, partitions);
  }
  for (int k = copy->inputs; k >= 0; --k) /* the output first */
    pd_layout_add(&sorting.layout, copy->field[k].mode, 0,
                  pd_index_bits(tensor->dims[copy->field[k].mode]));
  status = modecopy_build_sort(context, job, &sorting, bits);
cleanup:
  pd_free(context, part);
  return status;
}

int pd_modecopy_key_bits(int order, const uint64_t *dims, int partitions) {
  return pd_index_bits_of_all(order, dims) + pd_index_bits((uint64_t)partitions);
}
