/* Building one copy of format "modecopy": sort, then pack in that order. */
#include "formats/modecopy/modecopy_build.h"
#include "core/radix_sort.h"
#include <string.h>

static int threads_of(const polyad_context *context, uint64_t nnz) {
  return pd_threads_for(context, nnz, 1 << 14);
}

static polyad_status count_rows(polyad_context *context, const struct pd_modecopy_job *job,
                                uint32_t **size) {
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

polyad_status pd_modecopy_build_sorted(polyad_context *context, const struct pd_modecopy_job *job) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  struct pd_modecopy_copy *copy = &job->storage->copy[job->mode];
  uint32_t *size = NULL, *permutation = NULL;
  PD_TRY_CLEANUP(count_rows(context, job, &size));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &permutation));
  struct pd_ordered_job order = {.tensor = tensor,
                                 .traits = job->traits,
                                 .rank = job->request->rank,
                                 .mode = job->mode,
                                 .degree = size};
  PD_TRY_CLEANUP(pd_ordered_build(context, &order, &copy->order, permutation));
  copy->inputs = copy->order.inputs;
  for (int k = 0; k < copy->inputs; ++k)
    copy->field[k].mode = copy->order.input[k];
  pd_modecopy_pack(copy, copy->inputs, tensor->dims);
  PD_TRY_CLEANUP(allocate_nonzeros(context, job, copy));
  gather_nonzeros(context, job, permutation, copy->inputs, copy);
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

/* Scheme 1 sorts by partition, scheme 2 by output index; both keep the tensor's order besides. */
static polyad_status paper_order(polyad_context *context, const struct pd_modecopy_job *job,
                                 const uint32_t *size, struct pd_modecopy_copy *copy,
                                 uint32_t *permutation) {
  polyad_status status = POLYAD_OK;
  const polyad_tensor *tensor = job->tensor;
  uint64_t nnz = tensor->nnz, dim = tensor->dims[job->mode];
  int partitions = job->storage->partitions;
  uint32_t *part = NULL, *key = NULL;
  uint64_t *load = NULL;
  if (copy->scheme == 2) {
    struct pd_key output = {tensor->index[job->mode], 4, dim};
    for (int k = 0; k <= partitions; ++k)
      copy->part_start[k] = k == partitions ? nnz : pd_part_begin(nnz, k, partitions);
    return pd_sort_permutation(context, nnz, 1, &output, 4, permutation);
  }
  PD_TRY_CLEANUP(PD_NEW(context, dim, &part));
  PD_TRY_CLEANUP(PD_NEW(context, nnz, &key));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)partitions, &load));
  PD_TRY_CLEANUP(pd_partition_vertices(context, dim, size, partitions, true, part, load));
  copy->part_start[0] = 0;
  for (int k = 0; k < partitions; ++k)
    copy->part_start[k + 1] = copy->part_start[k] + load[k];
  for (uint64_t p = 0; p < nnz; ++p)
    key[p] = part[((const uint32_t *)tensor->index[job->mode])[p]];
  struct pd_key by_part = {key, 4, (uint64_t)partitions};
  status = pd_sort_permutation(context, nnz, 1, &by_part, 4, permutation);
cleanup:
  pd_free(context, load);
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
  pd_modecopy_pack(copy, copy->inputs + 1, tensor->dims);
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
