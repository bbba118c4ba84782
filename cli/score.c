/* polyad score: how alike two or more models are. */
#include "command.h"
#include "json.h"
#include "phases.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_MODELS = 1000 };

struct score {
  struct cli_session session;
  char **file;
  int count; /* models */
  bool no_weights;
  polyad_ktensor **model;
  polyad_tensor **labels;    /* names and labels that each file has, or NULL */
  double value;              /* of the first two */
  uint64_t pairs, *matching; /* of the first two: partner of each component of that with fewer */
  double *scores;            /* count x count */
  double *alike; /* components of the first model x (1 + modes): means over the other models of the
                    product of |cosines|, and of each mode's |cosine| */
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

/* ---- more than two models ------------------------------------------------------------------- */

static double mean_score(const struct score *s) {
  double sum = 0;
  for (int k = 0; k < s->count; ++k)
    for (int m = 0; m < k; ++m)
      sum += s->scores[k * s->count + m];
  return sum / (0.5 * s->count * (s->count - 1));
}

/* Adds how alike the first model's components and their partners in model k are. A component that
 * has no partner, or a zero column, adds nothing. */
static int add_likeness(struct score *s, int k, uint64_t *matching) {
  uint64_t rank = polyad_ktensor_rank(s->model[0]), other = polyad_ktensor_rank(s->model[k]);
  int order = polyad_ktensor_order(s->model[0]);
  double ignored;
  if (polyad_ktensor_score(s->session.context, s->model[0], s->model[k], !s->no_weights, &ignored,
                           matching) != POLYAD_OK)
    return cli_library_failure(s->session.context);
  for (uint64_t pair = 0; pair < (rank < other ? rank : other); ++pair) {
    uint64_t r = rank < other ? pair : matching[pair], t = rank < other ? matching[pair] : pair;
    double product = 1, *row = s->alike + r * (uint64_t)(order + 1);
    for (int n = 0; n < order; ++n) {
      double of_mode = fabs(cosine(s->model[0], r, s->model[k], t, n));
      if (isnan(of_mode)) of_mode = 0;
      row[1 + n] += of_mode / (s->count - 1);
      product *= of_mode;
    }
    row[0] += product / (s->count - 1);
  }
  return 0;
}

static int compare_all(struct score *s) {
  uint64_t rank = polyad_ktensor_rank(s->model[0]), most = rank;
  uint64_t columns = (uint64_t)polyad_ktensor_order(s->model[0]) + 1;
  size_t count = (size_t)s->count;
  for (int k = 0; k < s->count; ++k)
    if (polyad_ktensor_rank(s->model[k]) > most) most = polyad_ktensor_rank(s->model[k]);
  uint64_t *matching = calloc(most, sizeof *matching);
  s->scores = calloc(count * count, sizeof *s->scores);
  s->alike = calloc(rank * columns, sizeof *s->alike);
  int status =
      matching == NULL || s->scores == NULL || s->alike == NULL ? cli_failure("out of memory") : 0;
  for (int k = 0; status == 0 && k < s->count; ++k) {
    s->scores[k * s->count + k] = 1;
    for (int m = 0; status == 0 && m < k; ++m) {
      double *value = &s->scores[k * s->count + m];
      if (polyad_ktensor_score(s->session.context, s->model[m], s->model[k], !s->no_weights, value,
                               NULL) != POLYAD_OK)
        status = cli_library_failure(s->session.context);
      s->scores[m * s->count + k] = *value;
    }
    if (status == 0 && k > 0) status = add_likeness(s, k, matching);
  }
  free(matching);
  return status;
}

static void print_matrix(const struct score *s) {
  puts("\nscore of each pair");
  for (int k = 0; k < s->count; ++k) {
    printf("%6d", k + 1);
    for (int m = 0; m < s->count; ++m)
      printf("  %.4f", s->scores[k * s->count + m]);
    printf("  %s\n", s->file[k]);
  }
}

static void print_likeness(const struct score *s) {
  int order = polyad_ktensor_order(s->model[0]);
  printf("\ncomponents of %s and their partners, mean over the other models\n%9s  %10s", s->file[0],
         "component", "similarity");
  for (int n = 0; n < order; ++n)
    printf("  mode %-3d", n + 1);
  puts("");
  for (uint64_t r = 0; r < polyad_ktensor_rank(s->model[0]); ++r) {
    const double *row = s->alike + r * (uint64_t)(order + 1);
    printf("%9llu  %10.4f", (unsigned long long)r + 1, row[0]);
    for (int n = 0; n < order; ++n)
      printf("  %8.4f", row[1 + n]);
    puts("");
  }
}

/* ---- results -------------------------------------------------------------------------------- */

static void print_matches(const struct score *s) {
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

static void print_score(const struct score *s) {
  printf("%.6f\n", mean_score(s));
  if (s->count > 2) {
    print_matrix(s);
    print_likeness(s);
  } else if (s->session.verbose) {
    print_matches(s);
  }
}

static void put_likeness(const struct score *s, cJSON *object) {
  int order = polyad_ktensor_order(s->model[0]);
  cJSON *rows = cJSON_AddArrayToObject(object, "components");
  for (uint64_t r = 0; r < polyad_ktensor_rank(s->model[0]); ++r) {
    const double *row = s->alike + r * (uint64_t)(order + 1);
    cJSON *item = cJSON_CreateObject();
    cli_json_count(item, "component", r + 1);
    cli_json_real(item, "similarity", row[0]);
    cli_json_reals(item, "modes", row + 1, order);
    cJSON_AddItemToArray(rows, item);
  }
}

static void put_scores(const struct score *s, cJSON *object) {
  cJSON *names = cJSON_AddArrayToObject(object, "models");
  cJSON *rows = cJSON_AddArrayToObject(object, "scores");
  for (int k = 0; k < s->count; ++k) {
    cJSON *holder = cJSON_CreateObject();
    cli_json_text(holder, "name", s->file[k]);
    cli_json_reals(holder, "row", s->scores + k * s->count, s->count);
    cJSON_AddItemToArray(names, cJSON_DetachItemFromObject(holder, "name"));
    cJSON_AddItemToArray(rows, cJSON_DetachItemFromObject(holder, "row"));
    cJSON_Delete(holder);
  }
  cli_json_real(object, "mean_score", mean_score(s));
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
  put_likeness(s, object);
  put_scores(s, object);
  return cli_json_write(&s->session, object);
}

static int read_models(struct score *s) {
  polyad_context *context = s->session.context;
  s->model = calloc((size_t)s->count, sizeof(polyad_ktensor *));
  s->labels = calloc((size_t)s->count, sizeof(polyad_tensor *));
  if (s->model == NULL || s->labels == NULL) return cli_failure("out of memory");
  for (int k = 0; k < s->count; ++k)
    if (polyad_ktensor_read_labelled(context, s->file[k], POLYAD_F64, &s->model[k],
                                     &s->labels[k]) != POLYAD_OK)
      return cli_library_failure(context);
  return 0;
}

/* Rows of one label are compared, wherever they stand. */
static int order_rows(struct score *s) {
  polyad_context *context = s->session.context;
  int first = 0; /* of the models with labels */
  while (first < s->count && s->labels[first] == NULL)
    ++first;
  for (int k = first + 1; k < s->count; ++k)
    if (polyad_ktensor_match_labels(context, s->labels[first], s->labels[k], s->model[k]) !=
        POLYAD_OK)
      return cli_library_failure(context);
  return 0;
}

static int run(struct score *s) {
  polyad_context *context = s->session.context;
  const struct cli_output outputs[] = {{"--json", s->session.json}};
  int status = cli_check_outputs(&s->session, outputs, 1, (const char *const *)s->file, s->count);
  cli_phase(CLI_READ);
  if (status == 0) status = read_models(s);
  if (status == 0) status = order_rows(s);
  if (status != 0) return status;
  cli_phase(CLI_ITERATIONS);
  uint64_t a = polyad_ktensor_rank(s->model[0]), b = polyad_ktensor_rank(s->model[1]);
  s->pairs = a < b ? a : b;
  s->matching = calloc(s->pairs, sizeof *s->matching);
  if (s->matching == NULL) return cli_failure("out of memory");
  if (polyad_ktensor_score(context, s->model[0], s->model[1], !s->no_weights, &s->value,
                           s->matching) != POLYAD_OK)
    return cli_library_failure(context);
  status = compare_all(s);
  if (status != 0) return status;
  if (cli_shows_results(&s->session, NULL)) print_score(s);
  status = write_json(s);
  return status == 0 ? cli_finish_output() : status;
}

static const struct cli_option option_table[] = {CLI_HEADING("comparison"),
                                                 CLI_OPTION(struct score, FLAG, no_weights,
                                                            "no-weights", NULL,
                                                            "compare directions only, not weights"),
                                                 CLI_TALK_OPTIONS(struct score)};

const struct cli_usage cli_score_usage = {
    .command = "score",
    .synopsis = "A B [C...] [options]",
    .summary =
        "Compares models (ktensor files) of the same dims: the factor match score is 1 when\n"
        "two are equal up to the order, scale and sign of components, 0 when nothing matches.\n"
        "Of two, --verbose tells which component matches which, and how closely in every mode;\n"
        "of more, the mean score of all pairs is followed by the score of each pair and by how\n"
        "alike the components of A and their partners are. Rows with labels are compared by\n"
        "name.",
    .example = "  polyad score truth.ktensor found.ktensor",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = MOST_MODELS};

int cli_score(int argc, char **argv) {
  struct score s = {0};
  cli_session_init(&s.session);
  int first, status = cli_parse(&cli_score_usage, argc, argv, &s, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  s.file = argv + first;
  s.count = argc - first;
  status = cli_session_open(&s.session);
  if (status == 0) status = run(&s);
  free(s.matching);
  free(s.scores);
  free(s.alike);
  for (int k = 0; s.model != NULL && k < s.count; ++k)
    polyad_ktensor_destroy(s.model[k]);
  for (int k = 0; s.labels != NULL && k < s.count; ++k)
    polyad_tensor_destroy(s.labels[k]);
  free(s.model);
  free(s.labels);
  cli_session_close(&s.session);
  return status;
}
