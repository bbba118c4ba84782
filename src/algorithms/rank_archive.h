/* What a rank scan has found so far, and how that is kept in a checkpoint. */
#ifndef PD_RANK_ARCHIVE_H
#define PD_RANK_ARCHIVE_H

#include "algorithms/archive.h"
#include <polyad/rank.h>

/** What is done. Ranks on the whole tensor come first, then folds one after the other, the ranks of
 *  a fold from the smallest on. */
struct pd_rank_found {
  int done;                 /* rows that are complete but for their held-out error */
  polyad_rank_row *rows;    /* one for each rank that is asked for */
  polyad_ktensor **best;    /* model of each rank that is done */
  int folds;                /* of the held-out error; 0: none */
  int fold;                 /* folds that are done */
  int next;                 /* ranks that are done in the fold that is not */
  polyad_ktensor *previous; /* the model of the last of these on the fold's training part */
  double *error;            /* ranks x folds: held-out errors, NaN where there is none */
  double *match;            /* ranks x folds: replicability */
  double seconds;           /* that scans before this one have taken */
};

/** A scan's checkpoint. */
struct pd_rank_archive {
  polyad_context *context;
  const polyad_plan *plan;
  const polyad_rank_options *options;
  struct pd_rank_found *found;
  double started; /* clock at the beginning of this scan */
  struct pd_checkpoint *checkpoint;
};

/** Claims the file that the options name, if any, and fills `found` from the one that they resume,
 *  if any. `found` has its arrays, and nothing is done.
 *  @return POLYAD_MISMATCH for another tensor, other options or another seed; POLYAD_IO,
 * POLYAD_PARSE */
polyad_status pd_rank_archive_open(struct pd_rank_archive *archive);
/** Saves what is found, where a file was claimed. */
polyad_status pd_rank_archive_save(struct pd_rank_archive *archive);
void pd_rank_archive_close(struct pd_rank_archive *archive);

#endif
