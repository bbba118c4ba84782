/* Building one copy of format "modecopy": sort, then pack in that order. */
#include "formats/modecopy/modecopy_build.h"
#include "core/radix_sort.h"
#include <string.h>

static int threads_of(const polyad_context *context, uint64_t nnz) {
  return pd_threads_for(context, nnz, 1 << 14);
}

/* size[i] = nonzeros with index i in the mode. */
static polyad_status count_rows(polyad_context *context, const struct pd_modecopy_job *job,
                                uint32_t **size) {
  const polyad_tensor *tensor = job->tensor;
  PD_TRY(PD_NEW_ZERO(context, tensor->dims[job->mode], size));
  uint32_t *count = *size;
  const uint32_t *index = tensor->index[job->mode];
  int threads = threads_of(context, tensor->nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < tensor->nnz; ++p)
#pragma omp atomic
    ++count[index[p]];
  return POLYAD_OK;
}

static polyad_status allocate_nonzeros(polyad_context *context, const struct pd_modecopy_job *job,
                                       struct pd_modecopy_copy *copy) {
  uint64_t padded = pd_modecopy_padded(job->tensor->nnz);
  for (int k = 0; k < copy->planes; ++k)
    PD_TRY(PD_NEW(context, padded, &copy->plane[k]));
  return pd_alloc(context, padded, pd_type_bytes(job->tensor->type), &copy->values);
}

/* Fills planes and values in the order of the permutation. */
static void gather_nonzeros(polyad_context *context, const struct pd_modecopy_job *job,
                            const uint32_t *permutation, int fields,
                            struct pd_modecopy_copy *copy) {
  const polyad_tensor *tensor = job->tensor;
  uint64_t nnz = tensor->nnz, padded = pd_modecopy_padded(nnz);
  int threads = threads_of(context, nnz);
  bool narrow = tensor->type == POLYAD_F32;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < nnz; ++p) {
    uint64_t from = permutation[p];
    for (int k = 0; k < copy->planes; ++k)
      copy->plane[k][p] = 0;
    for (int k = 0; k < fields; ++k) {
      const struct pd_modecopy_field *field = &copy->field[k];
      uint32_t index = ((const uint32_t *)tensor->index[field->mode])[from];
      copy->plane[field->plane][p] |= index << field->shift;
    }
    if (narrow)
      ((float *)copy->values)[p] = ((const float *)tensor->values)[from];
    else
      ((double *)copy->values)[p] = ((const double *)tensor->values)[from];
  }
  for (uint64_t p = nnz; p < padded; ++p) {
    for (int k = 0; k < copy->planes; ++k)
      copy->plane[k][p] = 0;
    memset((char *)copy->values + p * pd_type_bytes(tensor->type), 0, pd_type_bytes(tensor->type));
  }
}

/* ---- the deterministic default ------------------------------------------------------------- */

static polyad_status list_rows(polyad_context *context, const struct pd_modecopy_job *job,
                               const uint32_t *size, struct pd_modecopy_copy *copy) {
  uint64_t dim = job->tensor->dims[job->mode], rows = 0;
  for (uint64_t i = 0; i < dim; ++i)
    rows += size[i] > 0;
  copy->rows = rows;
  PD_TRY(PD_NEW(context, rows + 1, &copy->row_start));
  if (rows < dim) PD_TRY(PD_NEW(context, rows, &copy->row_id));
  uint64_t row = 0, start = 0;
  for (uint64_t i = 0; i < dim; ++i) {
    if (size[i] == 0) continue;
    copy->row_start[row] = start;
    if (copy->row_id != NULL) copy->row_id[row] = (uint32_t)i;
    start += size[i];
    ++row;
  }
  copy->row_start[rows] = start;
  return POLYAD_OK;
}

static polyad_status list_chunks(polyad_context *context, const struct pd_modecopy_job *job,
                                 struct pd_modecopy_copy *copy) {
  uint64_t nnz = job->tensor->nnz, chunks = pd_modecopy_chunks(nnz);
  PD_TRY(PD_NEW(context, chunks + 1, &copy->chunk_row));
  uint64_t row = 0;
  for (uint64_t c = 0; c < chunks; ++c) {
    while (copy->row_start[row + 1] <= c * PD_MODECOPY_CHUNK)
      ++row;
    copy->chunk_row[c] = (uint32_t)row;
  }
  copy->chunk_row[chunks] = (uint32_t)copy->rows;
  return POLYAD_OK;
}

polyad_status pd_modecopy_build_sorted(polyad_context *context, const struct pd_modecopy_job *job) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  struct pd_modecopy_copy *copy = &job->storage->copy[job->mode];
  uint32_t *size = NULL, *permutation = NULL;
  struct pd_key keys[POLYAD_MAX_ORDER];
  PD_TRY_CLEANUP(count_rows(context, job, &size));
  pd_modecopy_order_inputs(job->traits, job->request->rank, tensor->type, job->mode, size, copy);
  pd_modecopy_pack(copy, copy->inputs, tensor->dims, true);
  keys[0] = (struct pd_key){tensor->index[job->mode], 4, tensor->dims[job->mode]};
  for (int k = 0; k < copy->inputs; ++k) {
    int mode = copy->field[k].mode;
    keys[k + 1] = (struct pd_key){tensor->index[mode], 4, tensor->dims[mode]};
  }
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &permutation));
  PD_TRY_CLEANUP(pd_sort_permutation(context, tensor->nnz, copy->inputs + 1, keys, 4, permutation));
  PD_TRY_CLEANUP(allocate_nonzeros(context, job, copy));
  gather_nonzeros(context, job, permutation, copy->inputs, copy);
  PD_TRY_CLEANUP(list_rows(context, job, size, copy));
  PD_TRY_CLEANUP(list_chunks(context, job, copy));
  for (uint64_t row = 0; row < copy->rows; ++row)
    copy->plane[0][copy->row_start[row + 1] - 1] |= (uint32_t)PD_MODECOPY_ROW_END;
cleanup:
  pd_free(context, permutation);
  pd_free(context, size);
  return status;
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

/* Where partitions begin, from the partition of each output index. */
static void count_parts(const struct pd_modecopy *storage, int mode, const uint32_t *size,
                        const uint32_t *part, uint64_t *part_start) {
  memset(part_start, 0, ((size_t)storage->partitions + 1) * sizeof *part_start);
  for (uint64_t i = 0; i < storage->dims[mode]; ++i)
    part_start[part[i] + 1] += size[i];
  for (int k = 0; k < storage->partitions; ++k)
    part_start[k + 1] += part_start[k];
}

/* Scheme 1 sorts by partition, scheme 2 by output index; both keep the tensor's order besides. */
static polyad_status paper_order(polyad_context *context, const struct pd_modecopy_job *job,
                                 const uint32_t *size, struct pd_modecopy_copy *copy,
                                 uint32_t *permutation) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  uint64_t nnz = tensor->nnz, dim = tensor->dims[job->mode];
  int partitions = job->storage->partitions;
  uint32_t *part = NULL, *key = NULL;
  if (copy->scheme == 2) {
    struct pd_key output = {tensor->index[job->mode], 4, dim};
    for (int k = 0; k <= partitions; ++k)
      copy->part_start[k] = k == partitions ? nnz : pd_part_begin(nnz, k, partitions);
    return pd_sort_permutation(context, nnz, 1, &output, 4, permutation);
  }
  PD_TRY_CLEANUP(PD_NEW(context, dim, &part));
  PD_TRY_CLEANUP(PD_NEW(context, nnz, &key));
  PD_TRY_CLEANUP(pd_modecopy_deal(context, dim, size, partitions, part));
  count_parts(job->storage, job->mode, size, part, copy->part_start);
  for (uint64_t p = 0; p < nnz; ++p)
    key[p] = part[((const uint32_t *)tensor->index[job->mode])[p]];
  struct pd_key by_part = {key, 4, (uint64_t)partitions};
  status = pd_sort_permutation(context, nnz, 1, &by_part, 4, permutation);
cleanup:
  pd_free(context, key);
  pd_free(context, part);
  return status;
}

polyad_status pd_modecopy_build_paper(polyad_context *context, const struct pd_modecopy_job *job) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  struct pd_modecopy_copy *copy = &job->storage->copy[job->mode];
  uint32_t *size = NULL, *permutation = NULL;
  for (int n = 0; n < tensor->order; ++n)
    if (n != job->mode) copy->field[copy->inputs++].mode = n;
  copy->field[copy->inputs].mode = job->mode;
  pd_modecopy_pack(copy, copy->inputs + 1, tensor->dims, false);
  copy->scheme = scheme_of(job->storage, job->mode);
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)job->storage->partitions + 1, &copy->part_start));
  PD_TRY_CLEANUP(count_rows(context, job, &size));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &permutation));
  PD_TRY_CLEANUP(paper_order(context, job, size, copy, permutation));
  PD_TRY_CLEANUP(allocate_nonzeros(context, job, copy));
  gather_nonzeros(context, job, permutation, copy->inputs + 1, copy);
cleanup:
  pd_free(context, permutation);
  pd_free(context, size);
  return status;
}
