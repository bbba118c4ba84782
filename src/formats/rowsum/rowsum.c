#include "formats/rowsum/rowsum.h"
#include "core/isa.h"
#include "formats/rowsum/driver.h"
#include "tensor/tensor.h"
#include <string.h>

int pd_rowsum_lanes(polyad_type type, uint64_t rank) {
  return PD_ISA_PICK(const struct pd_rowsum_isa, &pd_rowsum)->lanes(type, rank);
}

static uint64_t rowsum_blocks_for(uint64_t rank, uint64_t lanes) {
  return rank / (lanes * PD_VECTORS_MAX) + 1;
}

uint64_t pd_rowsum_block_rows(const struct pd_rowsum *list) {
  return list->blocks == 0 ? 1 : UINT64_C(1) << list->block_shift;
}

uint64_t pd_rowsum_scratch_bytes(uint64_t rank, uint64_t block_rows, int threads) {
  uint64_t each = pd_mul_saturated(block_rows, pd_rowsum_padded(rank));
  uint64_t numbers = pd_add_saturated(pd_mul_saturated(3, each), pd_rowsum_weighing(rank));
  return sizeof(struct pd_rowsum_scratch) +
         rowsum_blocks_for(rank, 1) * sizeof(struct pd_column_block) +
         pd_mul_saturated((uint64_t)threads * sizeof(double), numbers);
}

struct pd_rowsum_job pd_rowsum_job_of(const struct pd_rowsum *list, polyad_type type,
                                      const struct pd_call *call) {
  struct pd_rowsum_job job = {.list = list, .type = type, .rank = pd_call_rank(call)};
  for (int g = 0; g < list->columns; ++g) {
    const struct pd_matrix *factor = call->factors[list->mode[g]];
    job.factor[g] = factor->data;
    job.stride[g] = factor->stride;
    job.factor_rows[g] = factor->rows;
    job.version[g] = factor->version;
  }
  if (call->op.into == PD_INTO_ROWS) {
    job.out = call->out->data;
    job.out_rows = call->out->rows;
    job.out_stride = call->out->stride;
  }
  if (pd_op_needs_model(&call->op)) {
    const struct pd_matrix *b = call->factors[call->mode];
    job.b = b->data;
    job.b_stride = b->stride;
    job.out_rows = b->rows;
    job.loss = call->op.loss;
  }
  return job;
}

/* Vectors number `from` and on, as many as registers hold. */
static struct pd_column_block block_at(const struct pd_rowsum_isa *isa, polyad_type type,
                                       uint64_t rank, uint64_t lanes, uint64_t from) {
  uint64_t vectors = (rank + lanes - 1) / lanes - from;
  if (vectors > PD_VECTORS_MAX) vectors = PD_VECTORS_MAX;
  uint64_t first = from * lanes, last = (from + vectors - 1) * lanes;
  if (last + lanes > rank) last = rank - lanes;
  if (vectors == 1) first = last;
  return (struct pd_column_block){.kernel = *isa->pick(type, (int)lanes, (int)vectors),
                                  .first = first,
                                  .lanes = (int)lanes,
                                  .vectors = (int)vectors,
                                  .tail = last - first};
}

polyad_status pd_rowsum_scratch_create(struct pd_scratch *owner, polyad_type type, uint64_t rank,
                                       uint64_t block_rows, int threads,
                                       struct pd_rowsum_scratch **result) {
  struct pd_rowsum_scratch *scratch;
  PD_TRY(PD_SCRATCH_ZERO(owner, 1, result));
  scratch = *result;
  scratch->owner = owner;
  scratch->isa = PD_ISA_PICK(const struct pd_rowsum_isa, &pd_rowsum);
  scratch->pi_mode = -1;
  scratch->threads = scratch->workers = threads;
  scratch->block_rows = block_rows;
  uint64_t lanes = (uint64_t)scratch->isa->lanes(type, rank), parts = (uint64_t)threads;
  PD_TRY(PD_SCRATCH(owner, rowsum_blocks_for(rank, lanes), &scratch->blocks.block));
  PD_TRY(PD_SCRATCH(owner,
                    pd_mul_saturated(pd_mul_saturated(pd_mul_saturated(3, parts), block_rows),
                                     pd_rowsum_padded(rank)),
                    &scratch->sums));
  PD_TRY(PD_SCRATCH(owner, pd_mul_saturated(parts, pd_rowsum_weighing(rank)), &scratch->weighing));
  for (uint64_t from = 0; from * lanes < rank; from += PD_VECTORS_MAX)
    scratch->blocks.block[scratch->blocks.count++] =
        block_at(scratch->isa, type, rank, lanes, from);
  return POLYAD_OK;
}

void pd_rowsum_share_parts(struct pd_rowsum_scratch *scratch, int threads) {
  scratch->workers = threads < scratch->threads ? threads : scratch->threads;
}

polyad_status pd_rowsum_scratch_add_tables(struct pd_rowsum_scratch *scratch, uint64_t bytes) {
  if (bytes == 0) return POLYAD_OK;
  PD_TRY(pd_scratch_array(scratch->owner, bytes, 1, &scratch->tables));
  scratch->table_bytes = bytes;
  return POLYAD_OK;
}

uint64_t pd_rowsum_run_of(const struct pd_rowsum *list, uint64_t p) {
  return pd_id_find(list->row_start, list->start_bytes, 0, list->runs, p);
}

/* The block that a run belongs to; for plain lists the run itself. */
static uint64_t rowsum_block_of(const struct pd_rowsum *list, uint64_t run) {
  return list->blocks == 0 ? run : pd_id_find(list->block_start, 8, 0, list->blocks, run);
}

/* First nonzero of a block, or of a run of a plain list. */
static uint64_t block_begin(const struct pd_rowsum *list, uint64_t block) {
  return pd_rowsum_start(list, list->blocks == 0 ? block : list->block_start[block]);
}

static struct pd_rowsum_part rowsum_part_of(const struct pd_rowsum_job *job,
                                            const struct pd_rowsum_scratch *scratch, int thread) {
  const struct pd_rowsum *list = job->list;
  uint64_t each = scratch->block_rows * pd_rowsum_padded(job->rank);
  struct pd_rowsum_part part = {.begin = pd_part_begin(list->nnz, thread, scratch->threads),
                                .end = pd_part_begin(list->nnz, thread + 1, scratch->threads),
                                .sums = scratch->sums + 3 * (uint64_t)thread * each};
  part.head = part.sums + each;
  part.tail = part.head + each;
  part.b = scratch->weighing + (uint64_t)thread * pd_rowsum_weighing(job->rank);
  part.gain = (double *)part.b + pd_rowsum_padded(job->rank);
  if (part.begin == part.end) return part;
  part.run = pd_rowsum_run_of(list, part.begin);
  part.block = rowsum_block_of(list, part.run);
  return part;
}

static void rowsum_write_rows(const struct pd_rowsum_job *job,
                              const struct pd_rowsum_scratch *scratch, uint64_t block,
                              const double *sums) {
  const struct pd_rowsum *list = job->list;
  uint64_t rows = pd_rowsum_block_rows(list);
  uint64_t first = pd_rowsum_row(list, list->blocks == 0 ? block : list->block_start[block]);
  first = first / rows * rows;
  for (uint64_t i = 0; i < rows && first + i < job->out_rows; ++i)
    scratch->isa->write_row(job, &scratch->blocks, sums + i * pd_rowsum_padded(job->rank),
                            first + i);
}

/* Blocks that span parts: the tail of one part and the heads of those after it, in their order. */
static void rowsum_join_parts(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch) {
  const struct pd_rowsum *list = job->list;
  uint64_t each = pd_rowsum_block_rows(list) * pd_rowsum_padded(job->rank);
  double *whole = NULL;
  for (int t = 0; t < scratch->threads; ++t) {
    struct pd_rowsum_part part = rowsum_part_of(job, scratch, t);
    if (part.begin == part.end) continue;
    uint64_t last = rowsum_block_of(list, pd_rowsum_run_of(list, part.end - 1));
    bool continues = block_begin(list, part.block) < part.begin;
    bool finished = block_begin(list, last + 1) == part.end;
    if (continues) {
      for (uint64_t k = 0; k < each; ++k)
        whole[k] += part.head[k];
      if (last == part.block && !finished) continue;
      rowsum_write_rows(job, scratch, part.block, whole);
    }
    if (!finished) whole = part.tail;
  }
}

/* The row that a part shares with those before it (head), and with those after it (tail). */
static bool shares_head(const struct pd_rowsum *list, const struct pd_rowsum_part *part) {
  return pd_rowsum_start(list, part->run) < part->begin;
}

static bool shares_tail(const struct pd_rowsum *list, const struct pd_rowsum_part *part,
                        uint64_t *last) {
  *last = pd_rowsum_run_of(list, part->end - 1);
  if (*last == part->run && shares_head(list, part)) return false; /* it is the head */
  return pd_rowsum_start(list, *last + 1) > part->end;
}

void pd_rowsum_zero(const struct pd_rowsum_job *job, uint64_t begin, uint64_t end) {
  if (job->out == NULL) return;
  uint64_t item = pd_type_bytes(job->type), row = job->out_stride * item;
  char *to = (char *)job->out + begin * row;
  if (job->out_stride == job->rank)
    memset(to, 0, (end - begin) * row);
  else
    for (uint64_t i = begin; i < end; ++i, to += row)
      memset(to, 0, job->rank * item);
}

/* Rows without nonzeros, of a list whose rows do not ascend. */
static void zero_unused(const struct pd_rowsum_job *job, const struct pd_rowsum_scratch *scratch) {
  const uint32_t *used = job->list->used;
#pragma omp parallel for num_threads(scratch->workers) schedule(static)
  for (uint64_t i = 0; i < job->out_rows; ++i)
    if ((used[i / 32] >> i % 32 & 1) == 0) pd_rowsum_zero(job, i, i + 1);
}

/* Permuted lists: rows that threads share begin with zero. */
static void clear_shared_rows(const struct pd_rowsum_job *job,
                              const struct pd_rowsum_scratch *scratch) {
  for (int t = 0; t < scratch->threads; ++t) {
    struct pd_rowsum_part part = rowsum_part_of(job, scratch, t);
    if (part.begin == part.end || !shares_head(job->list, &part)) continue;
    uint64_t row = pd_rowsum_row(job->list, part.run);
    pd_rowsum_zero(job, row, row + 1);
  }
}

/* Adds sums to a row of the output, number by number, against other threads. */
static void rowsum_add_atomically(const struct pd_rowsum_job *job,
                                  const struct pd_rowsum_scratch *scratch,
                                  const struct pd_rowsum_part *part, const double *sums,
                                  uint64_t run) {
  struct pd_rowsum_job row = *job; /* the sums put side by side */
  uint64_t at = pd_rowsum_row(job->list, run) * job->out_stride;
  row.out = part->sums;
  row.out_stride = job->rank;
  scratch->isa->write_row(&row, &scratch->blocks, sums, 0);
  for (uint64_t r = 0; r < job->rank; ++r)
    if (job->type == POLYAD_F32) {
      float *to = (float *)job->out + at + r, more = ((const float *)row.out)[r];
#pragma omp atomic
      *to += more;
    } else {
      double *to = (double *)job->out + at + r, more = ((const double *)row.out)[r];
#pragma omp atomic
      *to += more;
    }
}

static void add_shared_rows(const struct pd_rowsum_job *job,
                            const struct pd_rowsum_scratch *scratch,
                            const struct pd_rowsum_part *part) {
  uint64_t last;
  if (shares_head(job->list, part))
    rowsum_add_atomically(job, scratch, part, part->head, part->run);
  if (shares_tail(job->list, part, &last))
    rowsum_add_atomically(job, scratch, part, part->tail, last);
}

/* What the threads share; pairs of columns need their tables, but not where Pi is stored, nor are
 * they looked up through a permutation. */
static void start_pass(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch,
                       struct pd_rowsum_pass *pass) {
  bool pairs = job->pi == NULL && job->list->place == NULL;
  *pass = (struct pd_rowsum_pass){.job = job, .blocks = &scratch->blocks};
  pd_sources_choose(job, scratch->tables, pairs ? scratch->table_bytes : 0, &pass->sources);
  pd_sources_fill(job, &pass->sources, scratch->workers, &scratch->made);
}

/* Every thread its part. */
static void drive_parts(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch) {
  struct pd_rowsum_pass pass;
  start_pass(job, scratch, &pass);
#pragma omp parallel for num_threads(scratch->workers) schedule(static, 1)
  for (int t = 0; t < scratch->threads; ++t) {
    struct pd_rowsum_part part = rowsum_part_of(job, scratch, t);
    *part.gain = 0;
    if (part.begin == part.end) continue;
    if (job->list->blocks == 0)
      scratch->isa->drive(&pass, &part);
    else
      scratch->isa->drive_tiled(&pass, &part);
    if (job->list->place != NULL && job->out != NULL) add_shared_rows(job, scratch, &part);
  }
}

/* Threads add their parts of a permuted list's rows in the type of the matrices. */
uint64_t pd_rowsum_depth(const struct pd_rowsum *list, uint64_t longest_row) {
  uint64_t most = list->place == NULL ? PD_TERMS + PD_BLOCK / PD_TERMS : PD_BLOCK;
  return longest_row < most ? longest_row : most;
}

void pd_rowsum_run(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch) {
  if (job->list->nnz == 0) {
    pd_rowsum_zero(job, 0, job->out_rows);
    return;
  }
  if (job->list->used != NULL) zero_unused(job, scratch);
  if (job->list->place != NULL) clear_shared_rows(job, scratch);
  drive_parts(job, scratch);
  if (job->list->place == NULL) rowsum_join_parts(job, scratch);
}

double pd_rowsum_gain(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch) {
  struct pd_rowsum_job silent = *job;
  double sum = 0;
  silent.out = NULL;
  if (job->list->nnz == 0) return 0;
  drive_parts(&silent, scratch);
  for (int t = 0; t < scratch->threads; ++t)
    sum += *rowsum_part_of(job, scratch, t).gain;
  return sum;
}

polyad_status pd_rowsum_pi_room(polyad_context *context, struct pd_rowsum_scratch *scratch,
                                int mode, uint64_t nnz, polyad_type type, uint64_t rank,
                                void **room) {
  uint64_t count;
  if (!pd_mul(nnz, rank, &count))
    return pd_fail(context, POLYAD_OVERFLOW, "Pi of %llu nonzeros is too large",
                   (unsigned long long)nnz);
  if (scratch->pi == NULL) {
    PD_TRY(pd_memory_check(context, pd_mul_saturated(count, pd_type_bytes(type)),
                           "the stored rows of Pi"));
    PD_TRY(pd_scratch_array(scratch->owner, count + 1, pd_type_bytes(type), &scratch->pi));
  }
  scratch->pi_mode = mode;
  *room = scratch->pi;
  return POLYAD_OK;
}

const void *pd_rowsum_stored_pi(struct pd_rowsum_scratch *scratch, int mode,
                                struct pd_versions **versions) {
  *versions = &scratch->pi_versions;
  return scratch->pi_mode == mode ? scratch->pi : NULL;
}

void pd_rowsum_pi(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch, void *pi) {
  struct pd_rowsum_pass pass;
  start_pass(job, scratch, &pass);
#pragma omp parallel for num_threads(scratch->workers) schedule(static, 1)
  for (int t = 0; t < scratch->threads; ++t) {
    struct pd_rowsum_part part = rowsum_part_of(job, scratch, t);
    if (part.begin < part.end) scratch->isa->drive_pi(&pass, &part, pi);
  }
}
