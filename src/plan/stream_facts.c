/* What a plan knows of a tensor, found in two passes over its file: sizes of slices, the first
 * negative value, norm, hash. The norm's sum is of the file's blocks in their order. */
#include "plan/stream.h"
#include "tensor/hash_items.h"
#include <math.h>
#include <string.h>

/* The file's value in the plan's type. */
static double converted(const struct pd_stream *stream, double value) {
  return stream->type == POLYAD_F32 ? (double)(float)value : value;
}

static polyad_status check_value(polyad_context *context, const struct pd_stream *stream,
                                 uint64_t p, double value) {
  double stored = converted(stream, value);
  if (stored != 0 && isfinite(stored)) return POLYAD_OK;
  if (value == 0)
    return pd_fail_at(context, POLYAD_UNSUPPORTED, stream->path, 0, 0,
                      "nonzero %llu is a zero that the file keeps; expected a tensor without zeros "
                      "to stream",
                      (unsigned long long)p + 1);
  return pd_fail_at(context, POLYAD_NUMERICAL, stream->path, 0, 0,
                    "nonzero %llu: value %.17g does not fit float32; expected a magnitude from "
                    "1.4e-45 to 3.4e38",
                    (unsigned long long)p + 1, value);
}

static void note_negative(const struct pd_stream *stream, uint64_t p, double value,
                          polyad_plan *plan) {
  plan->negative.found = true;
  plan->negative.value = converted(stream, value);
  for (int n = 0; n < stream->order; ++n)
    plan->negative.index[n] = pd_ptn_blocks_index(&stream->file, n, p);
}

static polyad_status stream_facts_look_at_values(polyad_context *context, struct pd_stream *stream,
                                                 uint64_t first, polyad_plan *plan,
                                                 struct pd_stream_facts *facts) {
  for (uint64_t p = 0; p < stream->file.count; ++p) {
    double value = pd_ptn_blocks_value(&stream->file, p), stored = fabs(converted(stream, value));
    if (!(stored > 0 && isfinite(stored))) PD_TRY(check_value(context, stream, first + p, value));
    if (stored > facts->largest) facts->largest = stored;
    if (value < 0 && !plan->negative.found) note_negative(stream, p, value, plan);
    plan->beside_bits |= converted(stream, value) != 1; /* nor 0, which check_value() refuses */
  }
  return POLYAD_OK;
}

static polyad_status stream_facts_count_rows(polyad_context *context, struct pd_stream *stream,
                                             polyad_plan *plan, struct pd_stream_facts *facts) {
  PD_TRY(pd_ptn_blocks_rewind(&stream->file));
  for (uint64_t first = 0;; first += stream->file.count) {
    PD_TRY(pd_ptn_blocks_next(&stream->file));
    if (stream->file.count == 0) return pd_ptn_blocks_same(&stream->file);
    PD_TRY(stream_facts_look_at_values(context, stream, first, plan, facts));
    for (int n = 0; n < stream->order; ++n)
      for (uint64_t p = 0; p < stream->file.count; ++p)
        ++facts->count[n][pd_ptn_blocks_index(&stream->file, n, p)];
  }
}

/* Values of a block in the plan's type, brought to about 1 by 2^-exponent. */
static void take_values(const struct pd_stream *stream, int exponent, double *values) {
  for (uint64_t p = 0; p < stream->file.count; ++p) {
    double value = converted(stream, pd_ptn_blocks_value(&stream->file, p));
    values[p] = exponent == 0 ? value : ldexp(value, -exponent);
  }
}

/* A block of the file is one of the hash. */
_Static_assert((int)PD_PTN_BLOCK_ENTRIES == (int)PD_HASH_BLOCK_ITEMS,
               "the hash of a tensor is made from its file's blocks");

/* The values that are hashed are those of the plan's type: where that is float32 they take the
 * first half of the array. */
static void hash_values(const struct pd_stream *stream, double *values, struct pd_wide_hash *hash) {
  for (uint64_t p = 0; p < stream->file.count && stream->type == POLYAD_F32; ++p) {
    float narrow = (float)values[p];
    memcpy((char *)values + p * sizeof narrow, &narrow, sizeof narrow);
  }
  pd_hash_add_block(hash, stream->nnz, values, stream->file.count, pd_type_bytes(stream->type));
}

/* polyad_tensor_hash() of the tensor, which takes all indices of a mode before the next mode's, and
 * on the way the norm. */
static polyad_status hash_arrays(polyad_context *context, struct pd_stream *stream, double *values,
                                 const struct pd_stream_facts *facts, polyad_plan *plan) {
  struct pd_wide_hash hash;
  uint64_t blocks = pd_ptn_array_blocks(&stream->file.header);
  uint64_t head[3] = {(uint64_t)stream->order, stream->nnz, (uint64_t)stream->type};
  pd_wide_hash_begin(&hash);
  pd_hash_items(&hash, head, 3, sizeof head[0]);
  pd_hash_items(&hash, stream->dims, (uint64_t)stream->order, sizeof stream->dims[0]);
  if (facts->largest != 0 && (facts->largest < 0x1p-400 || facts->largest > 0x1p400))
    (void)frexp(facts->largest, &plan->norm_exponent);
  for (int s = 0; s <= stream->order; ++s)
    for (uint64_t block = 0; block < blocks; ++block) {
      if (pd_cancelled(context)) return pd_fail(context, POLYAD_CANCELLED, "reading was cancelled");
      PD_TRY(pd_ptn_blocks_section(&stream->file, s, block));
      if (s < stream->order) {
        pd_hash_add_block(&hash, stream->nnz, stream->file.array[s], stream->file.count,
                          stream->file.header.index_bytes[s]);
        continue;
      }
      int exponent;
      take_values(stream, 0, values);
      hash_values(stream, values, &hash);
      take_values(stream, plan->norm_exponent, values);
      double sum = pd_sum_of_squares(context, stream->file.count, POLYAD_F64, values, &exponent);
      plan->norm_square_scaled += ldexp(sum, 2 * exponent);
    }
  plan->tensor_hash = pd_wide_hash_end(&hash);
  plan->norm = ldexp(sqrt(plan->norm_square_scaled), plan->norm_exponent);
  return POLYAD_OK;
}

static void sum_up(const struct pd_stream *stream, polyad_plan *plan,
                   struct pd_stream_facts *facts) {
  for (int n = 0; n < stream->order; ++n)
    for (uint64_t i = 0; i < stream->dims[n]; ++i) {
      uint64_t count = facts->count[n][i];
      facts->nonempty[n] += count > 0;
      if (count > plan->longest_row[n]) plan->longest_row[n] = count;
    }
}

polyad_status pd_stream_look(polyad_context *context, struct pd_stream *stream, polyad_plan *plan,
                             struct pd_stream_facts *facts) {
  double *values = NULL;
  uint64_t rows = 0;
  for (int n = 0; n < stream->order; ++n)
    rows = pd_add_saturated(rows, stream->dims[n]);
  PD_TRY(pd_memory_check(context, pd_mul_saturated(rows, sizeof(uint64_t)),
                         "the numbers of nonzeros of every slice"));
  for (int n = 0; n < stream->order; ++n)
    PD_TRY(PD_NEW_ZERO(context, stream->dims[n], &facts->count[n]));
  PD_TRY(stream_facts_count_rows(context, stream, plan, facts));
  sum_up(stream, plan, facts);
  PD_TRY(PD_NEW(context, PD_PTN_BLOCK_ENTRIES, &values));
  polyad_status status = hash_arrays(context, stream, values, facts, plan);
  pd_free(context, values);
  return status;
}

void pd_stream_facts_clear(polyad_context *context, struct pd_stream_facts *facts) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    pd_free(context, facts->count[n]);
    facts->count[n] = NULL;
  }
}

double pd_stream_value(const struct pd_stream *stream, double value) {
  double stored = converted(stream, value);
  return stream->value_exponent == 0 ? stored : ldexp(stored, -stream->value_exponent);
}
