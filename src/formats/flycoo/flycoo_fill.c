/* Filling "flycoo": for every mode the vertices are partitioned and the nonzeros ordered by
 * partition; the place in that order becomes the remap id. Elements are laid out in the order of
 * mode 0. */
#include "core/radix_sort.h"
#include "formats/flycoo/flycoo_layout.h"
#include "formats/modecopy/modecopy_layout.h"

/* What ordering one mode works on. */
struct job {
  const polyad_tensor *tensor;
  const struct pd_traits *traits;
  const struct pd_request *request;
  struct pd_flycoo *storage;
  int mode;
  uint32_t *degree, *part; /* per vertex */
  uint64_t *load;          /* per partition */
  uint32_t *rank;          /* per vertex: its place among rows, in order of partitions */
  uint32_t *key;           /* per nonzero */
  uint32_t *permutation;   /* nonzero at each place */
  uint32_t *place;         /* place in mode 0's order of each nonzero */
};

static int threads_of(const polyad_context *context, uint64_t nnz) {
  return pd_threads_for(context, nnz, 1 << 14);
}

static void count_degrees(const polyad_context *context, const struct job *job) {
  const uint32_t *index = job->tensor->index[job->mode];
  uint64_t nnz = job->tensor->nnz;
  memset(job->degree, 0, job->tensor->dims[job->mode] * sizeof *job->degree);
  int threads = threads_of(context, nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < nnz; ++p)
#pragma omp atomic
    ++job->degree[index[p]];
}

/* Rows with nonzeros, partition after partition, ascending within one. */
static polyad_status list_rows(polyad_context *context, const struct job *job) {
  struct pd_flycoo_mode *order = &job->storage->mode[job->mode];
  uint64_t dim = job->tensor->dims[job->mode];
  int partitions = job->storage->partitions;
  uint64_t *next; /* place of the next row of each partition */
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)partitions + 1, &next));
  order->rows = 0;
  for (uint64_t i = 0; i < dim; ++i)
    if (job->degree[i] > 0) {
      ++order->rows;
      ++next[job->part[i] + 1];
    }
  for (int k = 0; k < partitions; ++k)
    next[k + 1] += next[k];
  polyad_status status = PD_NEW(context, order->rows + 1, &order->row_start);
  if (status == POLYAD_OK) status = PD_NEW(context, order->rows, &order->row_id);
  if (status == POLYAD_OK) {
    for (uint64_t i = 0; i < dim; ++i) {
      if (job->degree[i] == 0) continue;
      uint64_t row = next[job->part[i]]++;
      order->row_id[row] = (uint32_t)i;
      job->rank[i] = (uint32_t)row;
    }
    uint64_t start = 0;
    for (uint64_t row = 0; row < order->rows; ++row) {
      order->row_start[row] = start;
      start += job->degree[order->row_id[row]];
    }
    order->row_start[order->rows] = start;
  }
  pd_free(context, next);
  return status;
}

static polyad_status list_chunks(polyad_context *context, const struct job *job) {
  struct pd_flycoo_mode *order = &job->storage->mode[job->mode];
  uint64_t chunks = (job->tensor->nnz + PD_FLYCOO_CHUNK - 1) / PD_FLYCOO_CHUNK, row = 0;
  PD_TRY(PD_NEW(context, chunks + 1, &order->chunk_row));
  for (uint64_t c = 0; c < chunks; ++c) {
    while (order->row_start[row + 1] <= c * PD_FLYCOO_CHUNK)
      ++row;
    order->chunk_row[c] = (uint32_t)row;
  }
  order->chunk_row[chunks] = (uint32_t)order->rows;
  return POLYAD_OK;
}

static void list_inputs(const struct job *job) {
  struct pd_flycoo_mode *order = &job->storage->mode[job->mode];
  struct pd_modecopy_copy like = {0};
  if (job->storage->sorted) {
    pd_modecopy_order_inputs(job->traits, job->request->rank, job->tensor->type, job->mode,
                             job->degree, &like);
  } else {
    for (int n = 0; n < job->tensor->order; ++n)
      if (n != job->mode) like.field[like.inputs++].mode = n;
  }
  order->inputs = like.inputs;
  for (int k = 0; k < like.inputs; ++k)
    order->input[k] = like.field[k].mode;
}

/* The permutation into the order of the mode. */
static polyad_status order_mode(polyad_context *context, const struct job *job) {
  struct pd_flycoo *storage = job->storage;
  struct pd_flycoo_mode *order = &storage->mode[job->mode];
  const polyad_tensor *tensor = job->tensor;
  const uint32_t *index = tensor->index[job->mode];
  struct pd_key keys[POLYAD_MAX_ORDER];
  count_degrees(context, job);
  list_inputs(job);
  PD_TRY(pd_flycoo_partition(context, tensor->dims[job->mode], job->degree, storage->partitions,
                             storage->cyclic, job->part, job->load));
  PD_TRY(PD_NEW(context, (uint64_t)storage->partitions + 1, &order->part_start));
  order->part_start[0] = 0;
  for (int k = 0; k < storage->partitions; ++k)
    order->part_start[k + 1] = order->part_start[k] + job->load[k];
  if (storage->sorted) {
    PD_TRY(list_rows(context, job));
    PD_TRY(list_chunks(context, job));
  }
  const uint32_t *from = storage->sorted ? job->rank : job->part;
  int threads = threads_of(context, tensor->nnz), count = 1;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    job->key[p] = from[index[p]];
  keys[0] =
      (struct pd_key){job->key, 4, storage->sorted ? order->rows : (uint64_t)storage->partitions};
  for (int k = 0; storage->sorted && k < order->inputs; ++k) {
    int mode = order->input[k];
    keys[count++] = (struct pd_key){tensor->index[mode], 4, tensor->dims[mode]};
  }
  return pd_sort_permutation(context, tensor->nnz, count, keys, 4, job->permutation);
}

/* Values and indices, in the order of mode 0. */
static void write_elements(const polyad_context *context, const struct job *job) {
  const polyad_tensor *tensor = job->tensor;
  const struct pd_flycoo_packing *packing = &job->storage->packing;
  size_t words = (size_t)packing->words, value_bytes = pd_type_bytes(tensor->type);
  int threads = threads_of(context, tensor->nnz);
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
  int threads = threads_of(context, nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t at = 0; at < nnz; ++at)
    pd_flycoo_set(job->storage->elements[0] + job->place[job->permutation[at]] * words,
                  &packing->remap[job->mode], (uint32_t)at);
}

/* For measurements without remapping: every mode's order, from mode 0's. */
static polyad_status write_ordered_copies(polyad_context *context, struct pd_flycoo *storage) {
  size_t words = (size_t)storage->packing.words;
  int threads = threads_of(context, storage->nnz);
  for (int mode = 1; mode < storage->order; ++mode) {
    PD_TRY(PD_NEW(context, storage->nnz * words, &storage->elements[mode]));
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
  uint64_t longest = 0, words;
  for (int n = 0; n < tensor->order; ++n)
    if (tensor->dims[n] > longest) longest = tensor->dims[n];
  if (!pd_mul(tensor->nnz, (uint64_t)storage->packing.words, &words))
    return pd_fail(context, POLYAD_OVERFLOW, "flycoo: too many nonzeros");
  PD_TRY_CLEANUP(PD_NEW(context, words, &storage->elements[0]));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &job.degree));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &job.part));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &job.rank));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)storage->partitions, &job.load));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &job.key));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &job.permutation));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &job.place));
  for (job.mode = 0; job.mode < tensor->order; ++job.mode) {
    PD_TRY_CLEANUP(order_mode(context, &job));
    if (job.mode == 0) write_elements(context, &job);
    write_remap_ids(context, &job);
  }
  if (!storage->remap) status = write_ordered_copies(context, storage);
cleanup:
  pd_free(context, job.degree);
  pd_free(context, job.part);
  pd_free(context, job.rank);
  pd_free(context, job.load);
  pd_free(context, job.key);
  pd_free(context, job.permutation);
  pd_free(context, job.place);
  return status;
}
