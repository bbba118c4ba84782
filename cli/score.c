/* polyad score: how alike two models are. */
#include "command.h"
#include "json.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct score {
  struct cli_session session;
  const char *file[2];
  bool no_weights;
  polyad_ktensor *model[2];
  double value;
  uint64_t pairs, *matching; /* partner of each component of the model with fewer */
};

/* Cosine of column r of one model's factor with column s of the other's; NaN where one is zero.
 * Entries are divided by their column's largest one, so that no square overflows or vanishes. */
static double cosine(const polyad_ktensor *a, uint64_t r, const polyad_ktensor *b, uint64_t s,
                     int mode) {
  const double *x = polyad_ktensor_factor((polyad_ktensor *)(uintptr_t)a, mode);
  const double *y = polyad_ktensor_factor((polyad_ktensor *)(uintptr_t)b, mode);
  uint64_t rank_a = polyad_ktensor_rank(a), rank_b = polyad_ktensor_rank(b);
  uint64_t rows = polyad_ktensor_dims(a)[mode];
  double most_x = 0, most_y = 0, xx = 0, yy = 0, xy = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    most_x = fmax(most_x, fabs(x[i * rank_a + r]));
    most_y = fmax(most_y, fabs(y[i * rank_b + s]));
  }
  if (most_x == 0 || most_y == 0) return NAN;
  for (uint64_t i = 0; i < rows; ++i) {
    double u = x[i * rank_a + r] / most_x, v = y[i * rank_b + s] / most_y;
    xx += u * u;
    yy += v * v;
    xy += u * v;
  }
  return xy / (sqrt(xx) * sqrt(yy));
}

/* The model with fewer components, whose components have partners, and the other one: B and A when
 * they have as many. */
static bool is_swapped(const struct score *s) {
  return polyad_ktensor_rank(s->model[0]) < polyad_ktensor_rank(s->model[1]);
}

static double cosine_of_pair(const struct score *s, uint64_t pair, int mode) {
  bool swapped = is_swapped(s);
  return cosine(s->model[swapped ? 0 : 1], pair, s->model[swapped ? 1 : 0], s->matching[pair],
                mode);
}

static void print_score(const struct score *s) {
  printf("%.6f\n", s->value);
  if (!s->session.verbose) return;
  bool swapped = is_swapped(s);
  for (uint64_t r = 0; r < s->pairs; ++r) {
    printf(
        "component %llu of %s matches %llu of %s; cosine of each mode:", (unsigned long long)r + 1,
        swapped ? "A" : "B", (unsigned long long)s->matching[r] + 1, swapped ? "B" : "A");
    for (int n = 0; n < polyad_ktensor_order(s->model[0]); ++n)
      printf(" %.4f", cosine_of_pair(s, r, n));
    fputs("\n", stdout);
  }
}

static int write_json(struct score *s) {
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "a", s->file[0]);
  cli_json_text(object, "b", s->file[1]);
  uint64_t ranks[2] = {polyad_ktensor_rank(s->model[0]), polyad_ktensor_rank(s->model[1])};
  cli_json_counts(object, "ranks", ranks, 2);
  cli_json_bool(object, "weights", !s->no_weights);
  cli_json_real(object, "score", s->value);
  int order = polyad_ktensor_order(s->model[0]);
  cJSON *cosines = cJSON_CreateArray();
  for (uint64_t r = 0; r < s->pairs; ++r) {
    double of_mode[POLYAD_MAX_ORDER];
    for (int n = 0; n < order; ++n)
      of_mode[n] = cosine_of_pair(s, r, n);
    cJSON *holder = cJSON_CreateObject();
    cli_json_reals(holder, "cosines", of_mode, order);
    cJSON_AddItemToArray(cosines, cJSON_DetachItemFromObject(holder, "cosines"));
    cJSON_Delete(holder);
  }
  for (uint64_t r = 0; r < s->pairs; ++r)
    ++s->matching[r]; /* from 1 on paper */
  cli_json_counts(object, "matching", s->matching, (int)s->pairs);
  cJSON_AddItemToObject(object, "cosines", cosines);
  return cli_json_write(&s->session, object);
}

static int run(struct score *s) {
  polyad_context *context = s->session.context;
  const struct cli_output outputs[] = {{"--json", s->session.json}};
  int status = cli_check_outputs(&s->session, outputs, 1, s->file, 2);
  if (status != 0) return status;
  for (int k = 0; k < 2; ++k)
    if (polyad_ktensor_read(context, s->file[k], POLYAD_F64, &s->model[k]) != POLYAD_OK)
      return cli_library_failure(context);
  uint64_t a = polyad_ktensor_rank(s->model[0]), b = polyad_ktensor_rank(s->model[1]);
  s->pairs = a < b ? a : b;
  s->matching = calloc(s->pairs, sizeof *s->matching);
  if (s->matching == NULL) return cli_failure("out of memory");
  if (polyad_ktensor_score(context, s->model[0], s->model[1], !s->no_weights, &s->value,
                           s->matching) != POLYAD_OK)
    return cli_library_failure(context);
  if (cli_shows_results(&s->session, NULL)) print_score(s);
  status = write_json(s);
  return status == 0 ? cli_finish_output() : status;
}

static const struct cli_option option_table[] = {{.kind = CLI_GROUP, .help = "comparison"},
                                                 {.name = "no-weights",
                                                  .kind = CLI_FLAG,
                                                  .offset = offsetof(struct score, no_weights),
                                                  .help = "compare directions only, not weights"},
                                                 CLI_TALK_OPTIONS(struct score)};

static const struct cli_usage usage = {
    .command = "score",
    .synopsis = "A B [options]",
    .summary =
        "Compares two models (ktensor files) of the same dims: the factor match score is 1\n"
        "when they are equal up to the order, scale and sign of components, 0 when nothing\n"
        "matches. --verbose tells which component matches which, and how closely in every mode.",
    .example = "  polyad score truth.ktensor found.ktensor",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2};

int cli_score(int argc, char **argv) {
  struct score s = {0};
  cli_session_init(&s.session);
  int first, status = cli_parse(&usage, argc, argv, &s, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  s.file[0] = argv[first];
  s.file[1] = argv[first + 1];
  status = cli_session_open(&s.session);
  if (status == 0) status = run(&s);
  free(s.matching);
  for (int k = 0; k < 2; ++k)
    polyad_ktensor_destroy(s.model[k]);
  cli_session_close(&s.session);
  return status;
}
