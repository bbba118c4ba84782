/* The nonzeros of each output row, in the order of their keys: what kernels of devices that pull
 * need. A row's places are found by counting. */
#include "formats/alto/alto_build.h"
#include "formats/alto/alto_code.h"

enum { BLOCK = 1024 };

/* Where the next nonzero of each row goes, and what it is counted from. */
static uint64_t count_rows(const struct pd_alto *alto, int mode, uint32_t *count) {
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  uint64_t index[BLOCK], rows = 0;
  for (uint64_t first = 0, some; first < alto->nnz; first += some) {
    some = alto->nnz - first < BLOCK ? alto->nnz - first : BLOCK;
    decode(alto, mode, first, some, index);
    for (uint64_t p = 0; p < some; ++p)
      rows += count[index[p]]++ == 0;
  }
  return rows;
}

/* Names the rows; from their counts to where they begin. */
static void begin_rows(uint64_t dim, struct pd_alto_rows *list, uint32_t *place) {
  uint64_t row = 0, start = 0;
  for (uint64_t i = 0; i < dim; ++i) {
    uint32_t count = place[i];
    if (count == 0) continue;
    list->row_id[row] = (uint32_t)i;
    list->row_start[row++] = start;
    place[i] = (uint32_t)start;
    start += count;
  }
  list->row_start[row] = start;
}

static void place_nonzeros(const struct pd_alto *alto, int mode, struct pd_alto_rows *list,
                           uint32_t *place) {
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  uint64_t index[BLOCK];
  for (uint64_t first = 0, some; first < alto->nnz; first += some) {
    some = alto->nnz - first < BLOCK ? alto->nnz - first : BLOCK;
    decode(alto, mode, first, some, index);
    for (uint64_t p = 0; p < some; ++p)
      list->order[place[index[p]]++] = (uint32_t)(first + p);
  }
  for (uint64_t c = 0, r = 0; c < pd_alto_chunks(alto->nnz); ++c) {
    while (list->row_start[r + 1] <= c * PD_ALTO_CHUNK)
      ++r;
    list->chunk_row[c] = (uint32_t)r;
  }
  list->chunk_row[pd_alto_chunks(alto->nnz)] = (uint32_t)list->rows;
}

polyad_status pd_alto_list_rows(polyad_context *context, struct pd_alto *alto, int mode) {
  polyad_status status = POLYAD_OK;
  struct pd_alto_rows *list = &alto->list[mode];
  uint32_t *place = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, alto->dims[mode], &place));
  list->rows = count_rows(alto, mode, place);
  PD_TRY_CLEANUP(PD_NEW(context, alto->nnz, &list->order));
  PD_TRY_CLEANUP(PD_NEW(context, list->rows, &list->row_id));
  PD_TRY_CLEANUP(PD_NEW(context, list->rows + 1, &list->row_start));
  PD_TRY_CLEANUP(PD_NEW(context, pd_alto_chunks(alto->nnz) + 1, &list->chunk_row));
  begin_rows(alto->dims[mode], list, place);
  place_nonzeros(alto, mode, list, place);
cleanup:
  pd_free(context, place);
  return status;
}

static polyad_status rows_broken(polyad_context *context, int mode, const char *what,
                                 uint64_t place) {
  return pd_fail(context, POLYAD_INTERNAL, "alto, list of mode %d: %s at %llu",
                 pd_shown_mode(context, mode), what, (unsigned long long)place);
}

/* Whether places [begin, end) hold nonzeros of the row, in ascending order. */
static bool holds_row(const struct pd_alto *alto, int mode, uint64_t row) {
  const struct pd_alto_rows *list = &alto->list[mode];
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  uint64_t index;
  for (uint64_t q = list->row_start[row]; q < list->row_start[row + 1]; ++q) {
    uint32_t p = list->order[q];
    if (p >= alto->nnz || (q > list->row_start[row] && list->order[q - 1] >= p)) return false;
    decode(alto, mode, p, 1, &index);
    if (index != list->row_id[row]) return false;
  }
  return true;
}

polyad_status pd_alto_check_rows(polyad_context *context, const struct pd_alto *alto, int mode) {
  const struct pd_alto_rows *list = &alto->list[mode];
  if (list->row_start[0] != 0 || list->row_start[list->rows] != alto->nnz)
    return rows_broken(context, mode, "rows do not hold all nonzeros", 0);
  for (uint64_t r = 0; r < list->rows; ++r) {
    if (list->row_start[r] >= list->row_start[r + 1])
      return rows_broken(context, mode, "an empty row", r);
    if (r > 0 && list->row_id[r - 1] >= list->row_id[r])
      return rows_broken(context, mode, "rows not ascending", r);
    if (!holds_row(alto, mode, r)) return rows_broken(context, mode, "a row of others", r);
  }
  for (uint64_t c = 0; c < pd_alto_chunks(alto->nnz); ++c) {
    uint64_t r = list->chunk_row[c], p = c * PD_ALTO_CHUNK;
    if (r >= list->rows || list->row_start[r] > p || list->row_start[r + 1] <= p)
      return rows_broken(context, mode, "wrong row of a chunk", c);
  }
  if (list->chunk_row[pd_alto_chunks(alto->nnz)] != list->rows)
    return rows_broken(context, mode, "wrong end of the chunks", list->rows);
  return POLYAD_OK;
}
