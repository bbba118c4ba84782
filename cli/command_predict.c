/* polyad predict: values of a model at the cells of a file, and how well they are predicted. */
#include "command.h"
#include "json.h"
#include "names.h"
#include "new_data.h"
#include "phases.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct predict {
  struct cli_session session;
  struct cli_new_data data;
  const char *output, *mode_text;
  uint64_t k;
  int mode;
  polyad_tensor *predicted;
  double *values;
  polyad_prediction_score score;
};

static const struct cli_option option_table[] = {
    CLI_HEADING("prediction"),
    CLI_OPTION(struct predict, RESULT, output, "output", "PATH",
               "write the predicted values, in a tensor file of FILE's cells\nand labels",
               .letter = 'o'),
    CLI_OPTION(struct predict, COUNT, k, "top", "K",
               "length of the lists of hit rate and NDCG (default 10)", .letter = 'k', .least = 1,
               .most = 1000000),
    CLI_OPTION(
        struct predict, TEXT, mode_text, "mode", "N",
        "cells that differ in mode N alone, by number (from 1) or\nname, are ranked among each "
        "other (default: the last)",
        .letter = 'm'),
    CLI_MATCH_OPTIONS(struct predict),
    CLI_READ_OPTIONS(struct predict),
    CLI_COMMON_OPTIONS_ON(struct predict, CLI_DEVICE_ONE)};

const struct cli_usage cli_predict_usage = {
    .command = "predict",
    .synopsis = "MODEL FILE [options]",
    .summary =
        "Computes the values of MODEL (a file of polyad cpd) at the cells of the tensor in FILE,\n"
        "and compares them with the values there: RMSE, mean absolute error, and where FILE has\n"
        "cells of value 0 (polyad split --negatives) how high the model ranks the others: hit\n"
        "rate, NDCG, AUC. Labels are matched by name.",
    .example = "  polyad predict ratings.ptm ratings-test.ptn --output predicted.csv",
    CLI_OPTIONS(option_table),
    .least_arguments = 2,
    .most_arguments = 2};

static int choose_rules(void *user, polyad_match_rule *rule) {
  (void)user; /* every index becomes the model's: the defaults */
  (void)rule;
  return 0;
}

static int read_inputs(struct predict *p) {
  struct cli_session *session = &p->session;
  const struct cli_output outputs[] = {{"--json", session->json}, {"--output", p->output}};
  const char *const inputs[] = {p->data.model_file, p->data.file};
  int status = cli_check_outputs(session, outputs, 2, inputs, 2);
  if (status == 0) status = cli_new_data_read(&p->data, session, choose_rules, p);
  return status != 0 ? status : cli_mode_or_last(p->data.tensor, p->mode_text, &p->mode);
}

static int compute(struct predict *p) {
  uint64_t count = polyad_tensor_nnz(p->data.tensor);
  p->values = calloc((size_t)count + 1, sizeof *p->values);
  if (p->values == NULL) return cli_failure("out of memory");
  cli_phase(CLI_ITERATIONS);
  cli_computing_begin(&p->session);
  polyad_status done = polyad_ktensor_predict(p->session.context, p->data.model, p->data.tensor,
                                              p->values, p->mode, (int)p->k, &p->score);
  cli_computing_end();
  return done == POLYAD_OK ? 0 : cli_library_failure(p->session.context);
}

/* Labels are strings that end in a NUL (tensor files cannot hold others). */
static polyad_status copy_labels(struct predict *p, int mode) {
  uint64_t dim = polyad_tensor_dims(p->data.tensor)[mode];
  const char *name = polyad_tensor_mode_name(p->data.tensor, mode);
  const char **labels = NULL;
  if (polyad_tensor_label(p->data.tensor, mode, 0, NULL) != NULL) {
    labels = calloc((size_t)dim, sizeof *labels);
    if (labels == NULL) return POLYAD_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < dim; ++i)
      labels[i] = polyad_tensor_label(p->data.tensor, mode, i, NULL);
  }
  polyad_status status =
      name == NULL && labels == NULL
          ? POLYAD_OK
          : polyad_tensor_set_labels(p->session.context, p->predicted, mode, name, labels);
  free(labels);
  return status;
}

static polyad_status make_predicted(struct predict *p) {
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = polyad_tensor_order(p->data.tensor);
  input.dims = polyad_tensor_dims(p->data.tensor);
  input.nnz = polyad_tensor_nnz(p->data.tensor);
  input.index_type = POLYAD_U64;
  uint64_t *wide = calloc((size_t)input.nnz * (size_t)input.order + 1, sizeof *wide);
  if (wide == NULL) return POLYAD_OUT_OF_MEMORY;
  for (int n = 0; n < input.order; ++n) {
    uint64_t *to = wide + (uint64_t)n * input.nnz;
    const void *from = polyad_tensor_indices(p->data.tensor, n);
    for (uint64_t q = 0; q < input.nnz; ++q)
      to[q] = polyad_tensor_index_bytes(p->data.tensor, n) == 4 ? ((const uint32_t *)from)[q]
                                                                : ((const uint64_t *)from)[q];
    input.index[n] = to;
    input.index_stride[n] = sizeof *wide;
  }
  input.values = p->values;
  input.value_stride = sizeof *p->values;
  input.zeros = POLYAD_ZEROS_KEEP;
  polyad_status status = polyad_tensor_create(p->session.context, &input, &p->predicted);
  free(wide);
  for (int n = 0; n < input.order && status == POLYAD_OK; ++n)
    status = copy_labels(p, n);
  return status;
}

static int write_predicted(struct predict *p) {
  cli_phase(CLI_WRITE);
  if (p->output == NULL) return 0;
  polyad_status status = make_predicted(p);
  if (status == POLYAD_OK)
    status = polyad_tensor_write(p->session.context, p->predicted, p->output, POLYAD_FILE_AUTO);
  return status == POLYAD_OK ? 0 : cli_library_failure(p->session.context);
}

static int write_json(struct predict *p) {
  const polyad_prediction_score *score = &p->score;
  cJSON *object = cJSON_CreateObject();
  cli_json_new_data(object, &p->data);
  cli_json_count(object, "rank", polyad_ktensor_rank(p->data.model));
  cli_json_text(object, "device", score->device);
  cli_json_count(object, "count", score->count);
  cli_json_real(object, "rmse", score->rmse);
  cli_json_real(object, "mae", score->mae);
  cli_json_count(object, "positives", score->positives);
  cli_json_count(object, "negatives", score->negatives);
  cli_json_count(object, "groups", score->groups);
  cli_json_count(object, "k", (uint64_t)score->k);
  cli_json_real(object, "hit_rate", score->hit_rate);
  cli_json_real(object, "ndcg", score->ndcg);
  cli_json_real(object, "auc", score->auc);
  return cli_json_write(&p->session, object);
}

static void print_score(const struct predict *p) {
  const polyad_prediction_score *score = &p->score;
  printf("%llu cells: RMSE %.6g, MAE %.6g (on %s)\n", (unsigned long long)score->count, score->rmse,
         score->mae, score->device);
  if (isnan(score->auc)) return;
  printf("%llu above 0 and %llu of 0: AUC %.4f", (unsigned long long)score->positives,
         (unsigned long long)score->negatives, score->auc);
  if (score->groups > 0)
    printf("; %llu groups: hit rate@%d %.4f, NDCG@%d %.4f", (unsigned long long)score->groups,
           score->k, score->hit_rate, score->k, score->ndcg);
  puts("");
}

static int run(struct predict *p) {
  int status = cli_session_open_on_one(&p->session);
  if (status == 0) status = read_inputs(p);
  if (status == 0) status = compute(p);
  if (status == 0) status = write_predicted(p);
  if (status == 0) status = write_json(p);
  if (status == 0 && cli_shows_results(&p->session, p->output)) print_score(p);
  return status == 0 ? cli_finish_output() : status;
}

int cli_predict(int argc, char **argv) {
  struct predict p = {.k = 10};
  cli_session_init(&p.session);
  cli_new_data_init(&p.data);
  p.session.zeros = NULL;
  int first, status = cli_parse(&cli_predict_usage, argc, argv, &p, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  if (p.session.zeros == NULL) p.session.zeros = "keep";
  p.data.model_file = argv[first];
  p.data.file = argv[first + 1];
  status = p.output != NULL ? cli_check_tensor_name(p.output) : 0;
  if (status != 0) return status;
  status = run(&p);
  free(p.values);
  cli_new_data_clear(&p.data);
  polyad_tensor_destroy(p.predicted);
  cli_session_close(&p.session);
  return status;
}
