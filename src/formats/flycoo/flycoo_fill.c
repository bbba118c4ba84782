/* Filling "flycoo": for every mode the nonzeros are ordered by output row, or the vertices are
 * partitioned and the nonzeros ordered by partition; the place in that order becomes the remap id.
 * Elements are laid out in the order of mode 0. */
#include "core/radix_sort.h"
#include "formats/flycoo/flycoo_deal.h"

/* What ordering one mode works on. */
struct job {
  const polyad_tensor *tensor;
  const struct pd_traits *traits;
  const struct pd_request *request;
  struct pd_flycoo *storage;
  int mode;
  struct pd_flycoo_deal deal;
  uint32_t *permutation; /* nonzero at each place */
  uint32_t *place;       /* place in mode 0's order of each nonzero */
};

static int flycoo_fill_threads_of(const polyad_context *context, uint64_t nnz) {
  return pd_threads_for(context, nnz, 1 << 14);
}

/* The paper's order: by partition alone, else as the tensor has it. */
static polyad_status order_by_partition(polyad_context *context, const struct job *job) {
  const polyad_tensor *tensor = job->tensor;
  const uint32_t *index = tensor->index[job->mode];
  struct pd_ordered *order = &job->storage->mode[job->mode].order;
  uint32_t *part;
  for (int n = 0; n < tensor->order; ++n)
    if (n != job->mode) order->input[order->inputs++] = n;
  PD_TRY(PD_NEW(context, tensor->nnz, &part));
  int threads = flycoo_fill_threads_of(context, tensor->nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    part[p] = job->deal.part[index[p]];
  struct pd_key key = {part, 4, (uint64_t)job->storage->partitions};
  polyad_status status = pd_sort_permutation(context, tensor->nnz, 1, &key, 4, job->permutation);
  pd_free(context, part);
  return status;
}

/* The permutation into the order of the mode. */
static polyad_status order_mode(polyad_context *context, struct job *job) {
  struct pd_flycoo *storage = job->storage;
  struct pd_flycoo_mode *mode = &storage->mode[job->mode];
  const polyad_tensor *tensor = job->tensor;
  uint64_t starts = (uint64_t)storage->partitions + 1;
  PD_TRY(pd_ordered_degrees(context, tensor, job->mode, job->deal.degree));
  PD_TRY(pd_flycoo_deal_rows(context, storage, job->mode, &job->deal));
  if (storage->dealt) {
    PD_TRY(PD_NEW(context, starts, &mode->part_start));
    memcpy(mode->part_start, job->deal.start, starts * sizeof *mode->part_start);
  }
  if (!storage->sorted) return order_by_partition(context, job);
  struct pd_ordered_job order = {.tensor = tensor,
                                 .traits = job->traits,
                                 .rank = job->request->rank,
                                 .kernel = job->request->kernel,
                                 .mode = job->mode,
                                 .moves = true,
                                 .degree = job->deal.degree,
                                 .place = job->deal.place};
  PD_TRY(pd_ordered_build(context, &order, &mode->order, job->permutation));
  return pd_ordered_set_used(context, tensor->dims[job->mode], &mode->order);
}

/* Values and indices, in the order of mode 0. */
static void write_elements(const polyad_context *context, const struct job *job) {
  const polyad_tensor *tensor = job->tensor;
  const struct pd_flycoo_packing *packing = &job->storage->packing;
  size_t words = (size_t)packing->words, value_bytes = pd_type_bytes(tensor->type);
  int threads = flycoo_fill_threads_of(context, tensor->nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t at = 0; at < tensor->nnz; ++at) {
    uint32_t *element = job->storage->elements[0] + at * words;
    uint64_t p = job->permutation[at];
    memset(element, 0, words * sizeof *element);
    memcpy(element, (const char *)tensor->values + p * value_bytes, value_bytes);
    for (int n = 0; n < packing->order; ++n)
      pd_flycoo_set(element, &packing->index[n], ((const uint32_t *)tensor->index[n])[p]);
    job->place[p] = (uint32_t)at;
  }
}

static void write_remap_ids(const polyad_context *context, const struct job *job) {
  const struct pd_flycoo_packing *packing = &job->storage->packing;
  size_t words = (size_t)packing->words;
  uint64_t nnz = job->tensor->nnz;
  int threads = flycoo_fill_threads_of(context, nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t at = 0; at < nnz; ++at)
    pd_flycoo_set(job->storage->elements[0] + job->place[job->permutation[at]] * words,
                  &packing->remap[job->mode], (uint32_t)at);
}

/* Zeros behind the last element, up to a multiple of 16 bytes. */
static polyad_status allocate_elements(polyad_context *context, struct pd_flycoo *storage,
                                       int mode) {
  uint64_t words = pd_flycoo_copy_bytes(storage) / 4;
  PD_TRY(PD_NEW(context, words, &storage->elements[mode]));
  for (uint64_t w = storage->nnz * (uint64_t)storage->packing.words; w < words; ++w)
    storage->elements[mode][w] = 0;
  return POLYAD_OK;
}

/* For measurements without remapping: every mode's order, from mode 0's. */
static polyad_status write_ordered_copies(polyad_context *context, struct pd_flycoo *storage) {
  size_t words = (size_t)storage->packing.words;
  int threads = flycoo_fill_threads_of(context, storage->nnz);
  for (int mode = 1; mode < storage->order; ++mode) {
    PD_TRY(allocate_elements(context, storage, mode));
    uint32_t *to = storage->elements[mode];
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t at = 0; at < storage->nnz; ++at) {
      const uint32_t *element = storage->elements[0] + at * words;
      uint64_t place = pd_flycoo_get(element, &storage->packing.remap[mode]);
      memcpy(to + place * words, element, words * sizeof *to);
    }
  }
  return POLYAD_OK;
}

polyad_status pd_flycoo_fill(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_traits *traits, const struct pd_request *request,
                             struct pd_flycoo *storage) {
  polyad_status status = POLYAD_OK;
  struct job job = {.tensor = tensor, .traits = traits, .request = request, .storage = storage};
  uint64_t words;
  if (!pd_mul(tensor->nnz, (uint64_t)storage->packing.words, &words))
    return pd_fail(context, POLYAD_OVERFLOW, "flycoo: too many nonzeros");
  PD_TRY_CLEANUP(allocate_elements(context, storage, 0));
  PD_TRY_CLEANUP(pd_flycoo_deal_create(context, storage, &job.deal));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &job.permutation));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &job.place));
  for (job.mode = 0; job.mode < tensor->order; ++job.mode) {
    PD_TRY_CLEANUP(order_mode(context, &job));
    if (job.mode == 0) write_elements(context, &job);
    write_remap_ids(context, &job);
  }
  if (!storage->remap) status = write_ordered_copies(context, storage);
cleanup:
  pd_flycoo_deal_clear(context, &job.deal);
  PD_FREE(context, job.permutation, job.place);
  return status;
}
