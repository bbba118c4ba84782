/* polyad generate: synthetic tensors. */
#include "command.h"
#include "json.h"
#include "names.h"
#include "parsed.h"
#include "phases.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

struct generate {
  struct cli_session session;
  const char *dims, *skew, *like, *structure, *truth, *output;
  uint64_t nnz, rank;
  double scale, cluster, noise;
  bool poisson;
  polyad_generate_options options;
};

static int check_sizes(struct generate *g) {
  char quoted[CLI_QUOTE_BYTES];
  polyad_generate_options *o = &g->options;
  o->order = cli_read_counts(g->dims, POLYAD_MAX_ORDER, o->dims);
  if (o->order < 2)
    return cli_usage_error("--dims %s found; expected 2 to %d lengths, such as 10,20,30",
                           cli_quote(quoted, g->dims), POLYAD_MAX_ORDER);
  for (int n = 0; n < o->order; ++n)
    if (o->dims[n] < 1 || o->dims[n] > (uint64_t)INT64_MAX)
      return cli_usage_error("--dims %s found; expected lengths from 1 to 9223372036854775807",
                             cli_quote(quoted, g->dims));
  if (g->nnz == 0) return cli_usage_error("--nnz is missing; expected a number of nonzeros");
  if (g->skew == NULL) return 0;
  int count = cli_read_reals(g->skew, POLYAD_MAX_ORDER, o->skew);
  if (count != 1 && count != o->order)
    return cli_usage_error("--skew %s found; expected one number, or %d",
                           cli_quote(quoted, g->skew), o->order);
  for (int n = 0; n < o->order; ++n) {
    if (count == 1) o->skew[n] = o->skew[0];
    if (o->skew[n] < 0)
      return cli_usage_error("--skew %s found; expected numbers of at least 0",
                             cli_quote(quoted, g->skew));
  }
  return 0;
}

/* An option that would do nothing is refused. */
static int check_uses(const struct generate *g) {
  static const char *const shape[] = {"skew", "cluster", "nnz"};
  for (int k = 0; k < 3; ++k) {
    if (!cli_parsed_has(shape[k])) continue;
    if (g->like != NULL)
      return cli_usage_error("--%s found with --like, which has the shape of a published tensor; "
                             "expected --dims",
                             shape[k]);
    if (g->rank > 0 && k < 2)
      return cli_usage_error("--%s found with --rank, whose model chooses the nonzeros; expected "
                             "one of them",
                             shape[k]);
  }
  return cli_parsed_has("scale") && g->like == NULL ? cli_usage_error("--scale needs --like") : 0;
}

static int check(struct generate *g) {
  if ((g->dims == NULL) == (g->like == NULL))
    return cli_usage_error("give either --dims and --nnz, or --like; see polyad generate --help");
  if (g->cluster >= 1)
    return cli_usage_error("--cluster %g found; expected at least 0 and below 1", g->cluster);
  if (!(g->scale > 0)) return cli_usage_error("--scale %g found; expected more than 0", g->scale);
  if (g->rank == 0 && (g->noise > 0 || g->poisson || g->truth != NULL))
    return cli_usage_error(
        "--noise, --poisson and --truth need --rank; see polyad generate --help");
  if (g->structure != NULL && (g->like == NULL || g->rank != 0))
    return cli_usage_error("--structure needs --like and no --rank; see polyad generate --help");
  int status = check_uses(g);
  if (status != 0) return status;
  polyad_generate_options_init(&g->options);
  g->options.structure = cli_structure(g->structure);
  g->options.like = g->like;
  g->options.scale = g->scale;
  g->options.nnz = g->nnz;
  g->options.cluster = g->cluster;
  g->options.rank = g->rank;
  g->options.noise = g->noise;
  g->options.poisson = g->poisson;
  g->options.type = cli_precision(&g->session);
  if (g->noise > 0 && g->poisson)
    return cli_usage_error("--noise and --poisson exclude each other");
  status = cli_check_tensor_name(g->output);
  if (status == 0) status = cli_check_model_name("--truth", g->truth, POLYAD_CONTENTS_KTENSOR);
  if (status != 0) return status;
  return g->like != NULL ? cli_check_like(g->like) : check_sizes(g);
}

static const struct cli_option option_table[] = {
    CLI_HEADING("size and shape"),
    CLI_OPTION(struct generate, TEXT, dims, "dims", "I1,I2,...", "lengths of the modes"),
    CLI_OPTION(struct generate, COUNT, nnz, "nnz", "N", "distinct nonzeros", .least = 1),
    CLI_OPTION(struct generate, TEXT, skew, "skew", "A1,A2,...",
               "exponents of the modes' power laws (default 0: uniform)"),
    CLI_OPTION(struct generate, REAL, cluster, "cluster", "C",
               "share of nonzeros that continue a fiber"),
    CLI_OPTION(struct generate, TEXT, like, "like", "NAME",
               "like a published tensor (names above)"),
    CLI_OPTION(struct generate, REAL, scale, "scale", "S", "with --like: multiplies the nonzeros"),
    CLI_OPTION(struct generate, CHOICE, structure, "structure", "KIND",
               "with --like: fibers (numbers of fibers and slices as\npublished), flat "
               "(independent modes), or auto (default):\nfibers where they are published",
               .choices = CLI_STRUCTURES),
    CLI_HEADING("values from a known model"),
    CLI_OPTION(struct generate, COUNT, rank, "rank", "R", "components of the model", .letter = 'r',
               .least = 1),
    CLI_OPTION(struct generate, REAL, noise, "noise", "X",
               "Gaussian noise, relative to the signal"),
    CLI_OPTION(struct generate, FLAG, poisson, "poisson", NULL,
               "values are Poisson counts of the model"),
    CLI_OPTION(struct generate, RESULT, truth, "truth", "FILE", "write the model (ktensor)"),
    CLI_COMMON_OPTIONS(struct generate)};

const struct cli_usage cli_generate_usage = {
    .command = "generate",
    .synopsis = "[options] OUT",
    .example = "  polyad generate --dims 100,200,300 --nnz 50000 --rank 4 --noise 0.1 \\\n"
               "      --truth truth.ktensor data.tns",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1,
    .result_arguments = 1};

static int parse(struct generate *g, int argc, char **argv) {
  char summary[900];
  int at =
      snprintf(summary, sizeof summary,
               "Makes a synthetic tensor: the same options and seed give the same tensor with\n"
               "any number of threads. Names for --like:");
  for (int k = 0; polyad_generate_like_name(k) != NULL && at < (int)sizeof summary; ++k)
    at += snprintf(summary + at, sizeof summary - (size_t)at, "%s%s", k % 9 == 0 ? "\n  " : " ",
                   polyad_generate_like_name(k));
  struct cli_usage usage = cli_generate_usage;
  usage.summary = summary;
  int first, status = cli_parse(&usage, argc, argv, g, &first);
  if (status != 0) return status;
  g->output = argv[first];
  return check(g);
}

static int write_json(struct generate *g, const polyad_tensor *tensor) {
  cJSON *o = cJSON_CreateObject();
  int order = tensor != NULL ? polyad_tensor_order(tensor) : g->options.order;
  const uint64_t *dims = tensor != NULL ? polyad_tensor_dims(tensor) : g->options.dims;
  cli_json_text(o, "file", g->output);
  cli_json_text(o, "like", g->like);
  cli_json_text(o, "structure", g->structure);
  if (order > 0) { /* a published tensor that went straight to its file has its own */
    cli_json_count(o, "order", (uint64_t)order);
    cli_json_counts(o, "dims", dims, order);
    cli_json_count(o, "nnz", tensor != NULL ? polyad_tensor_nnz(tensor) : g->nnz);
  }
  cli_json_count(o, "seed", g->session.seed);
  cli_json_count(o, "rank", g->rank);
  return cli_json_write(&g->session, o);
}

/* Text and binary files are written as the nonzeros are made, without holding them all: all of that
 * time is writing. */
static bool streams(const struct generate *g) {
  size_t length = strlen(g->output);
  return g->rank == 0 && length > 4 &&
         (strcmp(g->output + length - 4, ".tns") == 0 ||
          strcmp(g->output + length - 4, ".ptn") == 0);
}

static int run(struct generate *g) {
  struct cli_session *session = &g->session;
  polyad_context *context = session->context;
  polyad_tensor *tensor = NULL;
  polyad_ktensor *truth = NULL;
  const struct cli_output outputs[] = {
      {"OUT", g->output}, {"--truth", g->truth}, {"--json", session->json}};
  int status = cli_check_outputs(session, outputs, 3, NULL, 0);
  if (status != 0) return status;
  cli_phase(streams(g) ? CLI_WRITE : CLI_ITERATIONS);
  cli_computing_begin(session); /* a signal must not leave half a file */
  if (streams(g)) {
    if (polyad_generate_to_file(context, &g->options, g->output) != POLYAD_OK)
      return cli_library_failure(context);
    return write_json(g, NULL);
  }
  if (polyad_generate(context, &g->options, &tensor, g->truth != NULL ? &truth : NULL) != POLYAD_OK)
    return cli_library_failure(context);
  cli_phase(CLI_WRITE);
  if (polyad_tensor_write(context, tensor, g->output, POLYAD_FILE_AUTO) != POLYAD_OK ||
      (truth != NULL && polyad_ktensor_write(context, truth, g->truth) != POLYAD_OK))
    status = cli_library_failure(context);
  if (status == 0) status = write_json(g, tensor);
  polyad_tensor_destroy(tensor);
  polyad_ktensor_destroy(truth);
  return status;
}

int cli_generate(int argc, char **argv) {
  struct generate g = {.scale = 1};
  cli_session_init(&g.session);
  int status = parse(&g, argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = cli_session_open(&g.session);
  if (status == 0) status = run(&g);
  cli_session_close(&g.session);
  return status == 0 ? cli_finish_output() : status;
}
