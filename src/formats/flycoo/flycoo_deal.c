#include "formats/flycoo/flycoo_deal.h"

void pd_flycoo_deal_clear(polyad_context *context, struct pd_flycoo_deal *deal) {
  PD_FREE(context, deal->degree, deal->part, deal->place, deal->load, deal->start);
  *deal = (struct pd_flycoo_deal){0};
}

polyad_status pd_flycoo_deal_create(polyad_context *context, const struct pd_flycoo *storage,
                                    struct pd_flycoo_deal *deal) {
  uint64_t longest = pd_longest(storage->order, storage->dims),
           partitions = (uint64_t)storage->partitions;
  polyad_status status = POLYAD_OK;
  *deal = (struct pd_flycoo_deal){0};
  PD_TRY_CLEANUP(PD_NEW(context, longest, &deal->degree));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &deal->part));
  PD_TRY_CLEANUP(PD_NEW(context, longest, &deal->place));
  PD_TRY_CLEANUP(PD_NEW(context, partitions, &deal->load));
  PD_TRY_CLEANUP(PD_NEW(context, partitions + 1, &deal->start));
cleanup:
  if (status != POLYAD_OK) pd_flycoo_deal_clear(context, deal);
  return status;
}

static void ascend_rows(const struct pd_flycoo *storage, int mode,
                        const struct pd_flycoo_deal *deal) {
  uint32_t next = 0;
  for (uint64_t i = 0; i < storage->dims[mode]; ++i)
    if (deal->degree[i] > 0) deal->place[i] = next++;
}

static polyad_status place_rows(polyad_context *context, const struct pd_flycoo *storage, int mode,
                                const struct pd_flycoo_deal *deal) {
  uint64_t dim = storage->dims[mode];
  uint64_t *next; /* place of the next row of each partition */
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)storage->partitions + 1, &next));
  for (uint64_t i = 0; i < dim; ++i)
    if (deal->degree[i] > 0) ++next[deal->part[i] + 1];
  for (int k = 0; k < storage->partitions; ++k)
    next[k + 1] += next[k];
  for (uint64_t i = 0; i < dim; ++i)
    if (deal->degree[i] > 0) deal->place[i] = (uint32_t)next[deal->part[i]]++;
  pd_free(context, next);
  return POLYAD_OK;
}

polyad_status pd_flycoo_deal_rows(polyad_context *context, struct pd_flycoo *storage, int mode,
                                  struct pd_flycoo_deal *deal) {
  if (!storage->dealt) {
    ascend_rows(storage, mode, deal);
    return POLYAD_OK;
  }
  PD_TRY(pd_partition_vertices(context, storage->dims[mode], deal->degree, storage->partitions,
                               storage->cyclic, deal->part, deal->load));
  uint64_t most = 0;
  deal->start[0] = 0;
  for (int k = 0; k < storage->partitions; ++k) {
    deal->start[k + 1] = deal->start[k] + deal->load[k];
    if (deal->load[k] > most) most = deal->load[k];
  }
  if (most > 0) {
    double share = (double)most * storage->partitions / (double)storage->nnz;
    if (share > storage->fullest) storage->fullest = share;
  }
  return storage->sorted ? place_rows(context, storage, mode, deal) : POLYAD_OK;
}
