/* The checkpoint of a rank scan: its options, which have to be the same where a scan goes on; how
 * many ranks and folds are done; their rows, held-out errors and models. One list serves writing
 * and reading (archive.h). It is saved when a group of ranks is done, so that a scan that goes on
 * fits the same groups as one that was left alone, to the same bits. */
#include "algorithms/rank_archive.h"
#include "core/core.h"
#include <math.h>
#include <stdio.h>

/* One number of the checkpoint is the algorithm plus ALGORITHMS times the set of nonnegative modes,
 * so that of a scan without such a set it is the algorithm. */
enum { ALGORITHMS = 8 };
_Static_assert((int)POLYAD_ALGORITHM_APR_PQNR < (int)ALGORITHMS,
               "an algorithm's number is a remainder");

static void rank_archive_words(polyad_context *context, double value,
                               char text[PD_OPTION_TEXT_BYTES]) {
  double modes = floor(value / ALGORITHMS);
  int length = snprintf(text, PD_OPTION_TEXT_BYTES, "%.17g", value - ALGORITHMS * modes);
  const char *between = ", nonnegative in modes ";
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    if (fmod(floor(ldexp(modes, -n)), 2) != 1) continue;
    length += snprintf(text + length, PD_OPTION_TEXT_BYTES - (size_t)length, "%s%d", between,
                       pd_shown_mode(context, n));
    between = ",";
  }
}

static polyad_status list_options(struct pd_archive *archive, const polyad_rank_options *o) {
  double algorithm = (double)o->algorithm + (double)ALGORITHMS * o->nonnegative_modes;
  PD_TRY(pd_archive_option_in_words(archive, "algorithm", algorithm, rank_archive_words));
  PD_TRY(pd_archive_option(archive, "number of ranks", o->rank_count));
  for (int k = 0; k < o->rank_count; ++k)
    PD_TRY(pd_archive_option(archive, "rank", (double)o->ranks[k]));
  PD_TRY(pd_archive_option(archive, "starts", o->starts));
  PD_TRY(pd_archive_option(archive, "max_iterations", o->max_iterations));
  PD_TRY(pd_archive_option(archive, "tolerance", o->tolerance));
  return pd_archive_option(archive, "folds", o->folds);
}

static polyad_status list_number(struct pd_archive *archive, const char *what, int most,
                                 int *number) {
  uint64_t value = (uint64_t)*number;
  PD_TRY(pd_archive_count(archive, &value));
  if (value > (uint64_t)most) return pd_archive_impossible(archive, what, value, (uint64_t)most);
  *number = (int)value;
  return POLYAD_OK;
}

static polyad_status list_row(struct pd_archive *archive, int starts, polyad_rank_row *row) {
  double *const numbers[] = {&row->fit_best,         &row->fit_median, &row->log_likelihood,
                             &row->core_consistency, &row->stability,  &row->seconds};
  PD_TRY(list_number(archive, "starts of a rank", starts, &row->starts));
  PD_TRY(list_number(archive, "starts at the best fit", starts, &row->starts_at_best));
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k)
    PD_TRY(pd_archive_real(archive, numbers[k]));
  return POLYAD_OK;
}

static polyad_status list_model(const struct pd_rank_archive *a, struct pd_archive *archive,
                                uint64_t rank, polyad_ktensor **model) {
  const polyad_plan *plan = a->plan;
  int order = polyad_plan_order(plan);
  const uint64_t *dims = polyad_plan_dims(plan);
  polyad_type type = polyad_plan_type(plan);
  if (*model == NULL) PD_TRY(polyad_ktensor_create(a->context, order, dims, rank, type, model));
  PD_TRY(pd_archive_numbers(archive, "weights", type, rank, polyad_ktensor_weights(*model)));
  for (int n = 0; n < order; ++n)
    PD_TRY(pd_archive_numbers(archive, "factors", type, dims[n] * rank,
                              polyad_ktensor_factor(*model, n)));
  return POLYAD_OK;
}

static polyad_status list_ranks(const struct pd_rank_archive *a, struct pd_archive *archive) {
  struct pd_rank_found *found = a->found;
  for (int k = 0; k < found->done; ++k) {
    found->rows[k].rank = a->options->ranks[k];
    PD_TRY(list_row(archive, a->options->starts, &found->rows[k]));
    PD_TRY(list_model(a, archive, a->options->ranks[k], &found->best[k]));
  }
  return POLYAD_OK;
}

/* Not all ranks are done before the first fold begins. */
static polyad_status list_folds(const struct pd_rank_archive *a, struct pd_archive *archive) {
  struct pd_rank_found *found = a->found;
  int ranks = found->done == a->options->rank_count ? found->done : 0;
  PD_TRY(list_number(archive, "folds", ranks > 0 ? found->folds : 0, &found->fold));
  PD_TRY(list_number(archive, "ranks of a fold", ranks > 0 ? ranks - 1 : 0, &found->next));
  for (int k = 0; k < ranks * found->folds; ++k) {
    PD_TRY(pd_archive_real(archive, &found->error[k]));
    PD_TRY(pd_archive_real(archive, &found->match[k]));
  }
  if (found->next == 0) return POLYAD_OK;
  return list_model(a, archive, a->options->ranks[found->next - 1], &found->previous);
}

static polyad_status list_scan(void *state, struct pd_archive *archive) {
  const struct pd_rank_archive *a = state;
  struct pd_rank_found *found = a->found;
  double seconds = found->seconds + (pd_seconds() - a->started);
  PD_TRY(list_options(archive, a->options));
  PD_TRY(list_number(archive, "ranks", a->options->rank_count, &found->done));
  PD_TRY(pd_archive_real(archive, &seconds));
  if (archive->task == PD_ARCHIVE_LOAD) found->seconds = seconds;
  PD_TRY(list_ranks(a, archive));
  return list_folds(a, archive);
}

static struct pd_archive_work work_of(struct pd_rank_archive *archive) {
  return (struct pd_archive_work){.context = archive->context,
                                  .plan = archive->plan,
                                  .name = "rank",
                                  .list = list_scan,
                                  .state = archive};
}

polyad_status pd_rank_archive_open(struct pd_rank_archive *archive) {
  const struct pd_archive_work work = work_of(archive);
  const polyad_rank_options *options = archive->options;
  if (options->checkpoint != NULL)
    PD_TRY(pd_archive_claim(&work, options->checkpoint, &archive->checkpoint));
  if (options->resume == NULL) return POLYAD_OK;
  PD_TRY(pd_archive_resume(&work, options->resume));
  pd_log(archive->context, POLYAD_LOG_INFO, "going on from %s after %d of %d ranks and %d folds",
         options->resume, archive->found->done, options->rank_count, archive->found->fold);
  return POLYAD_OK;
}

polyad_status pd_rank_archive_save(struct pd_rank_archive *archive) {
  const struct pd_archive_work work = work_of(archive);
  return archive->checkpoint == NULL ? POLYAD_OK : pd_archive_save(&work, archive->checkpoint);
}

void pd_rank_archive_close(struct pd_rank_archive *archive) {
  pd_archive_release(archive->checkpoint);
  archive->checkpoint = NULL;
}
