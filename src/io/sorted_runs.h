/* Sorting of more nonzeros than memory holds: they come in pieces, each of which is sorted and
 * written to a spill file as a run of records; at the end the runs are merged into a .ptn file. The
 * result is that of sorting all at once: equal coordinates are merged in the order in which they
 * came, whatever pieces they came in. */
#ifndef PD_SORTED_RUNS_H
#define PD_SORTED_RUNS_H

#include "io/coordinates.h"
#include "io/spill.h"

struct pd_run;

struct pd_runs {
  polyad_context *context;
  struct pd_spill spill;
  struct pd_run *run; /* in the order in which they came */
  uint64_t count, room;
  uint64_t bytes, nnz; /* of all */
  int order;
  polyad_type type;
};

/** Makes the spill file. `directory` lives as long as the runs. */
polyad_status pd_runs_create(polyad_context *context, const char *directory, struct pd_runs *runs);
/** Sorts what there is, writes it, and clears it. */
polyad_status pd_runs_take(struct pd_runs *runs, struct pd_coordinates *coordinates);
/** The most bytes that a nonzero takes in memory while it is collected and sorted. */
uint64_t pd_runs_entry_bytes(int order, polyad_type type, int index_bytes);
/** Merges all runs into a .ptn file in `packed`, which is created here; repeats are merged, zeros
 *  dropped. The runs are cleared on the way. */
polyad_status pd_runs_merge(struct pd_runs *runs, const uint64_t *dims,
                            polyad_duplicates duplicates, struct pd_spill *packed);
void pd_runs_clear(struct pd_runs *runs);

#endif
