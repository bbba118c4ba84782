/* Brings every nonzero to the member whose cell of the grid it lies in. Nonzeros travel as packed
 * records and arrive in the order of the ranks that had them, and in their order there: those of
 * equal coordinates are then added up as one process would that reads the shares one after the
 * other. */
#include "device/build.h"
#include "plan/part_making.h"
#include <string.h>

int pd_part_cell(const struct pd_part_making *making, const polyad_tensor *mine, uint64_t p) {
  const struct pd_part *part = making->part;
  int cell = 0;
  for (int n = 0; n < part->order; ++n) {
    if (part->grid[n] == 1) continue;
    cell = cell * part->grid[n] +
           pd_build_range_at(making->cut[n], part->grid[n], pd_tensor_index(mine, n, p));
  }
  return cell;
}

static void part_deal_put_record(const struct pd_part_making *making, const polyad_tensor *mine,
                                 uint64_t p, char *record) {
  for (int n = 0; n < mine->order; ++n) {
    uint64_t index = pd_tensor_index(mine, n, p);
    uint32_t narrow = (uint32_t)index;
    if (making->index_bytes[n] == 4)
      memcpy(record, &narrow, sizeof narrow);
    else
      memcpy(record, &index, sizeof index);
    record += making->index_bytes[n];
  }
  size_t item = pd_type_bytes(mine->type);
  memcpy(record, (const char *)mine->values + p * item, item);
}

/* Records whose indices all have 4 bytes: most tensors'. */
static void part_deal_put_narrow(const polyad_tensor *mine, uint64_t p, char *record) {
  size_t bytes = (size_t)mine->order * sizeof(uint32_t);
  for (int n = 0; n < mine->order; ++n)
    memcpy(record + (size_t)n * sizeof(uint32_t), (const uint32_t *)mine->index[n] + p,
           sizeof(uint32_t));
  if (mine->type == POLYAD_F64)
    memcpy(record + bytes, (const double *)mine->values + p, sizeof(double));
  else
    memcpy(record + bytes, (const float *)mine->values + p, sizeof(float));
}

static bool part_deal_is_narrow(const struct pd_part_making *making, const polyad_tensor *mine) {
  for (int n = 0; n < mine->order; ++n)
    if (making->index_bytes[n] != 4 || pd_index_bytes(mine->dims[n]) != 4) return false;
  return true;
}

/* Finds the cells of nonzeros, and counts those of each cell. */
static void part_deal_count(const struct pd_part_making *making, const polyad_tensor *mine,
                            uint64_t begin, uint64_t end, uint32_t *cell, uint64_t *count) {
  for (uint64_t p = begin; p < end; ++p) {
    cell[p] = (uint32_t)pd_part_cell(making, mine, p);
    ++count[cell[p]];
  }
}

static void part_deal_put(const struct pd_part_making *making, const polyad_tensor *mine,
                          uint64_t begin, uint64_t end, const uint32_t *cell, uint64_t *place,
                          char *records) {
  bool narrow = part_deal_is_narrow(making, mine);
  for (uint64_t p = begin; p < end; ++p) {
    char *record = records + place[cell[p]]++ * making->record_bytes;
    if (narrow)
      part_deal_put_narrow(mine, p, record);
    else
      part_deal_put_record(making, mine, p, record);
  }
}

/* Puts the records into the order of their cells, and within a cell in that of the nonzeros; `to`
 * gets a parcel for each. Parts of the nonzeros are packed at once: `place` has, for each part and
 * cell, how many records it has, and then where the next one goes. */
static void part_deal_pack(const struct pd_part_making *making, const polyad_tensor *mine,
                           uint32_t *cell, int parts, uint64_t *place, char *records,
                           struct pd_parcel *to) {
  int size = making->team->size;
  uint64_t next = 0, bytes = making->record_bytes;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part)
    part_deal_count(making, mine, pd_part_begin(mine->nnz, part, parts),
                    pd_part_begin(mine->nnz, part + 1, parts), cell, place + part * size);
  for (int k = 0; k < size; ++k) {
    to[k].data = records + next * bytes;
    for (int part = 0; part < parts; ++part) {
      uint64_t count = place[part * size + k];
      place[part * size + k] = next;
      next += count;
    }
    to[k].bytes = (uint64_t)(records + next * bytes - (char *)to[k].data);
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part)
    part_deal_put(making, mine, pd_part_begin(mine->nnz, part, parts),
                  pd_part_begin(mine->nnz, part + 1, parts), cell, place + part * size, records);
}

polyad_status pd_part_deal(polyad_context *context, struct pd_part_making *making,
                           const polyad_tensor *mine) {
  uint64_t size = (uint64_t)making->team->size;
  uint32_t *cell = NULL;
  char *records = NULL;
  struct pd_parcel *parcel = NULL;
  uint64_t *place = NULL;
  void *got = NULL;
  polyad_status status = POLYAD_OK;
  int threads = pd_threads_for(context, mine->nnz, 1 << 16);
  PD_TRY(pd_memory_check(context, pd_mul_saturated(mine->nnz, making->record_bytes + sizeof *cell),
                         "the nonzeros for other processes"));
  PD_TRY_CLEANUP(PD_NEW(context, mine->nnz, &cell));
  PD_TRY_CLEANUP(pd_alloc(context, mine->nnz, making->record_bytes, (void **)&records));
  PD_TRY_CLEANUP(PD_NEW(context, 2 * size, &parcel));
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, pd_mul_saturated(size, (uint64_t)threads), &place));
  part_deal_pack(making, mine, cell, threads, place, records, parcel);
  PD_TRY_CLEANUP(pd_team_deliver(context, making->team, parcel, parcel + size, &got));
  making->record = got;
  for (uint64_t k = 0; k < size; ++k)
    making->count += parcel[size + k].bytes / making->record_bytes;
cleanup:
  PD_FREE(context, cell, records, place, parcel);
  return status;
}
