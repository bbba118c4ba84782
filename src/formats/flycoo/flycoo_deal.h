/* Dealing the output rows of a mode to partitions, from their sizes, or leaving them as they are:
 * the same for every device. */
#ifndef PD_FLYCOO_DEAL_H
#define PD_FLYCOO_DEAL_H

#include "formats/flycoo/flycoo_layout.h"

/** How the rows of one mode were dealt; arrays on the host, as long as the longest mode needs. */
struct pd_flycoo_deal {
  uint32_t *degree; /* nonzeros of each row: what is dealt by */
  uint32_t *part;   /* of each row */
  uint32_t *place;  /* of each row with nonzeros, among them: partition after partition, ascending
                       within one */
  uint64_t *load;   /* of each partition */
  uint64_t *start;  /* partitions + 1: where each begins */
};

polyad_status pd_flycoo_deal_create(polyad_context *context, const struct pd_flycoo *storage,
                                    struct pd_flycoo_deal *deal);
void pd_flycoo_deal_clear(polyad_context *context, struct pd_flycoo_deal *deal);
/** Deals the rows of a mode by their degrees; storage->fullest is told of the fullest partition.
 *  Where rows are not dealt there are their places alone. */
polyad_status pd_flycoo_deal_rows(polyad_context *context, struct pd_flycoo *storage, int mode,
                                  struct pd_flycoo_deal *deal);

#endif
