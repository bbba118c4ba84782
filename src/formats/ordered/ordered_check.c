/* Invariants of the tables of an order. */
#include "formats/ordered/ordered.h"

/* What is being checked. */
struct subject {
  polyad_context *context;
  const char *format;
  const void *storage;
  int mode;
  uint64_t nnz, dim;
  const struct pd_ordered *order;
  pd_ordered_index index;
};

static polyad_status ordered_check_broken(const struct subject *subject, uint64_t p,
                                          const char *what) {
  return pd_fail(subject->context, POLYAD_INTERNAL, "%s, mode %d, nonzero %llu: %s",
                 subject->format, pd_shown_mode(subject->context, subject->mode),
                 (unsigned long long)p, what);
}

static polyad_status ordered_check_check_rows(const struct subject *subject) {
  const struct pd_ordered *order = subject->order;
  if (order->row_start[0] != 0 || order->row_start[order->rows] != subject->nnz)
    return ordered_check_broken(subject, 0, "rows do not cover the nonzeros");
  for (uint64_t k = 0; k < order->rows; ++k)
    if (order->row_start[k] >= order->row_start[k + 1])
      return ordered_check_broken(subject, order->row_start[k], "a row is empty");
  if (order->row_id == NULL)
    return order->rows == subject->dim ? POLYAD_OK
                                       : ordered_check_broken(subject, 0, "row_id is missing");
  for (uint64_t k = 0; k < order->rows; ++k)
    if (order->row_id[k] >= subject->dim)
      return ordered_check_broken(subject, order->row_start[k], "row_id is outside the mode");
  return POLYAD_OK;
}

/* The first input in which nonzeros p and p + 1 differ; -1 when the second is not the greater. */
static int ordered_check_difference(const struct subject *subject, uint64_t p) {
  for (int k = 0; k < subject->order->inputs; ++k) {
    uint32_t a = subject->index(subject->storage, subject->mode, k, p);
    uint32_t b = subject->index(subject->storage, subject->mode, k, p + 1);
    if (a != b) return a < b ? k : -1;
  }
  return -1;
}

static bool bit_at(uint32_t word, uint64_t p) { return word >> p % PD_ORDERED_MARKS & 1; }

/* Those of nonzero p and its neighbours; without runs where the ends alone are stored. */
static struct pd_ordered_marks marks_at(const struct pd_ordered *order, uint64_t p) {
  if (order->marks != NULL) return order->marks[p / PD_ORDERED_MARKS];
  return (struct pd_ordered_marks){.ends = order->ends[p / PD_ORDERED_MARKS]};
}

static polyad_status check_used(const struct subject *subject) {
  const struct pd_ordered *order = subject->order;
  uint64_t set = 0;
  if (order->used == NULL) return POLYAD_OK;
  for (uint64_t i = 0; i < subject->dim; ++i)
    set += order->used[i / 32] >> i % 32 & 1;
  for (uint64_t k = 0; k < order->rows; ++k)
    if (!(order->used[order->row_id[k] / 32] >> order->row_id[k] % 32 & 1))
      return ordered_check_broken(subject, order->row_start[k], "its row is said to be empty");
  return set == order->rows ? POLYAD_OK
                            : ordered_check_broken(subject, 0, "empty rows are said to be used");
}

static polyad_status check_nonzeros(const struct subject *subject) {
  const struct pd_ordered *order = subject->order;
  uint64_t row = 0;
  bool begins = true; /* whether a run begins at p */
  for (uint64_t p = 0; p < subject->nnz; ++p) {
    if (p % PD_ORDERED_CHUNK == 0 && order->chunk_row[p / PD_ORDERED_CHUNK] != row)
      return ordered_check_broken(subject, p, "chunk_row names another row");
    struct pd_ordered_marks marks = marks_at(order, p);
    bool ends = p + 1 == order->row_start[row + 1];
    if (bit_at(marks.ends, p) != ends)
      return ordered_check_broken(subject, p, "end of row and its mark disagree");
    if (order->marks != NULL && bit_at(marks.runs, p) != begins)
      return ordered_check_broken(subject, p, "beginning of run and its mark disagree");
    row += ends;
    begins = ends;
    if (ends) continue;
    int first = ordered_check_difference(subject, p);
    if (first < 0) return ordered_check_broken(subject, p, "not in order");
    begins = first < order->inputs - 1;
  }
  for (uint64_t p = subject->nnz; p % PD_ORDERED_MARKS != 0; ++p) {
    struct pd_ordered_marks marks = marks_at(order, p);
    if (bit_at(marks.ends | marks.runs, p))
      return ordered_check_broken(subject, p, "marks go on past the end");
  }
  if (order->chunk_row[pd_ordered_chunks(subject->nnz)] != order->rows)
    return ordered_check_broken(subject, subject->nnz, "chunk_row does not end with the rows");
  return POLYAD_OK;
}

polyad_status pd_ordered_check(polyad_context *context, const char *format, const void *storage,
                               int mode, uint64_t nnz, uint64_t dim, const struct pd_ordered *order,
                               pd_ordered_index index) {
  struct subject subject = {context, format, storage, mode, nnz, dim, order, index};
  PD_TRY(ordered_check_check_rows(&subject));
  PD_TRY(check_used(&subject));
  return check_nonzeros(&subject);
}
