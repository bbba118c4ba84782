#include "team_parts.h"
#include "formats/storage.h"
#include "plan/part.h"
#include <math.h>
#include <string.h>

static bool same_counts(const uint64_t *a, const uint64_t *b, uint64_t count) {
  return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

static bool same_rows(const struct pd_part_mode *a, const struct pd_part_mode *b, uint64_t size) {
  return a->length == b->length && a->owned == b->owned && a->rows == b->rows &&
         a->travels == b->travels && same_counts(a->held, b->held, size + 1) &&
         same_counts(a->index, b->index, a->held[size]) &&
         same_counts(a->lent, b->lent, size + 1) &&
         same_counts(a->lent_row, b->lent_row, a->lent[size]);
}

polyad_status part_hash(polyad_context *context, const polyad_plan *plan, uint64_t *hash) {
  void *storage = NULL;
  polyad_tensor *back = NULL;
  polyad_tensor shape = {
      .context = context, .order = plan->order, .nnz = plan->nnz, .type = plan->type};
  memcpy(shape.dims, plan->dims, sizeof shape.dims);
  shape.zeros = plan->zeros;
  PD_TRY(pd_storage_bring(context, plan->format, plan->device, plan->on_device, true, &storage));
  polyad_status status = plan->format->check(context, storage);
  if (status == POLYAD_OK)
    status = pd_storage_expand(context, plan->format, storage, &shape, &back);
  if (status == POLYAD_OK) *hash = polyad_tensor_hash(back);
  polyad_tensor_destroy(back);
  pd_storage_free(context, plan->format, storage);
  return status;
}

const char *part_difference(const polyad_plan *a, const polyad_plan *b) {
  const double unit = (double)a->part->nnz * 0x1p-52; /* sums in another order */
  const int size = a->part->team->size;
  for (int n = 0; n < a->order; ++n)
    if (!same_rows(&a->part->mode[n], &b->part->mode[n], (uint64_t)size)) return "rows";
  if (memcmp(a->part->grid, b->part->grid, sizeof a->part->grid) != 0) return "grid";
  if (a->nnz != b->nnz || a->part->nnz != b->part->nnz || a->part->most_nnz != b->part->most_nnz)
    return "nonzeros";
  if (a->zeros != b->zeros) return "zeros";
  if (!same_counts(a->dims, b->dims, (uint64_t)a->order)) return "dims";
  if (!same_counts(a->longest_row, b->longest_row, (uint64_t)a->order)) return "longest rows";
  if (!(fabs(a->norm - b->norm) <= unit * b->norm) || a->value_exponent != b->value_exponent)
    return "norm";
  /* No sum of magnitudes is more than the root of their number times the norm. */
  double most = ldexp(sqrt((double)a->part->nnz) * b->norm, -b->value_exponent);
  if (!(fabs(a->sum - b->sum) <= unit * most)) return "sum";
  if (a->negative.found != b->negative.found || a->negative.value != b->negative.value ||
      !same_counts(a->negative.index, b->negative.index, (uint64_t)a->order))
    return "negative value";
  return NULL;
}
