/* polyad info: what a tensor is like. */
#include "command.h"
#include "json.h"
#include "manifest.h"
#include "names.h"
#include "phases.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

struct info {
  struct cli_session session;
  const char *format, *variant, *file;
  uint64_t rank;
  polyad_tensor *tensor;
  polyad_tensor_statistics statistics;
};

static void print_modes(const struct info *info) {
  const polyad_tensor_statistics *s = &info->statistics;
  const uint64_t *dims = polyad_tensor_dims(info->tensor);
  printf("\n%-14s %12s %12s %14s %14s %14s %s\n", "mode", "length", "slices", "mean nonzeros",
         "most", "fibers", s->fibers_exact ? "" : "(estimated)");
  for (int n = 0; n < polyad_tensor_order(info->tensor); ++n) {
    char name[64];
    const char *given = polyad_tensor_mode_name(info->tensor, n);
    snprintf(name, sizeof name, "%d%s%.40s", n + 1, given != NULL ? " " : "",
             given != NULL ? given : "");
    printf("%-14s %12llu %12llu %14.1f %14llu %14llu\n", name, (unsigned long long)dims[n],
           (unsigned long long)s->slices[n], s->slice_mean[n], (unsigned long long)s->slice_max[n],
           (unsigned long long)s->fibers[n]);
  }
}

static void print_text(const struct info *info) {
  const polyad_tensor *t = info->tensor;
  const polyad_tensor_statistics *s = &info->statistics;
  char bytes[32];
  printf("order           %d\ndims            ", polyad_tensor_order(t));
  cli_print_dims(polyad_tensor_dims(t), polyad_tensor_order(t));
  printf("\nnonzeros        %llu (%llu repeats merged, %llu zeros dropped",
         (unsigned long long)polyad_tensor_nnz(t),
         (unsigned long long)polyad_tensor_repeats_merged(t),
         (unsigned long long)polyad_tensor_zeros_dropped(t));
  if (polyad_tensor_zeros_kept(t) > 0)
    printf(", %llu zeros among them", (unsigned long long)polyad_tensor_zeros_kept(t));
  puts(")");
  printf("density         %.4g\n", s->density);
  printf("values          %.6g to %.6g, sum %.10g, norm %.10g\n", s->value_min, s->value_max,
         s->value_sum, s->norm);
  printf("index bits      %d\n", s->key_bits);
  printf("in memory       %s\n", cli_bytes(bytes, polyad_tensor_bytes(t)));
  print_modes(info);
}

/* A sum that 64 bits do not hold is the most that they do. */
static uint64_t saturated_sum(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Bytes of the factors of a rank, as a saturated product. */
static uint64_t factor_bytes(const struct info *info) {
  uint64_t rows = 0, bytes;
  for (int n = 0; n < polyad_tensor_order(info->tensor); ++n)
    rows = saturated_sum(rows, polyad_tensor_dims(info->tensor)[n]);
  uint64_t width = cli_precision(&info->session) == POLYAD_F32 ? 4 : 8;
  if (__builtin_mul_overflow(rows, info->rank, &bytes) ||
      __builtin_mul_overflow(bytes, width, &bytes))
    return UINT64_MAX;
  return bytes;
}

static int add_format(struct info *info, const char *name, cJSON *list) {
  polyad_context *context = info->session.context;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.format = name;
  options.variant = info->variant;
  cli_set_types(&info->session, &options);
  options.rank = info->rank > 0 ? info->rank : 16;
  uint64_t bytes = 0, factors = info->rank > 0 ? factor_bytes(info) : 0;
  polyad_status status = polyad_format_estimate_bytes(context, info->tensor, &options, &bytes);
  if (status != POLYAD_OK && status != POLYAD_UNSUPPORTED)
    return cli_library_status(context, status);
  char text[32], more[32];
  cJSON *item = cJSON_CreateObject();
  cli_json_text(item, "format", name);
  if (status == POLYAD_UNSUPPORTED) {
    cli_json_text(item, "reason", polyad_last_error(context));
    if (cli_shows_results(&info->session, NULL))
      printf("%-14s not possible: %s\n", name, polyad_last_error(context));
  } else {
    cli_json_count(item, "bytes_format", bytes);
    if (info->rank > 0) {
      cli_json_count(item, "bytes_factors", factors);
      cli_json_count(item, "bytes", saturated_sum(bytes, factors));
    }
    if (cli_shows_results(&info->session, NULL)) {
      printf("%-14s %s", name, cli_bytes(text, bytes));
      if (info->rank > 0)
        printf(" and factors of rank %llu: %s", (unsigned long long)info->rank,
               cli_bytes(more, saturated_sum(bytes, factors)));
      puts("");
    }
  }
  cJSON_AddItemToArray(list, item);
  return 0;
}

static int add_formats(struct info *info, cJSON *object) {
  cJSON *list = cJSON_AddArrayToObject(object, "formats");
  if (cli_shows_results(&info->session, NULL)) puts("\nstored as");
  if (strcmp(info->format, "all") != 0) return add_format(info, info->format, list);
  for (int k = 0; k < polyad_format_count(); ++k) {
    polyad_format_description about;
    if (polyad_format_describe(k, &about) != POLYAD_OK) continue;
    int status = add_format(info, about.name, list);
    if (status != 0) return status;
  }
  return 0;
}

static cJSON *make_object(const struct info *info) {
  const polyad_tensor *t = info->tensor;
  const polyad_tensor_statistics *s = &info->statistics;
  int order = polyad_tensor_order(t);
  cJSON *o = cJSON_CreateObject();
  cli_json_text(o, "file", info->file);
  cli_json_count(o, "order", (uint64_t)order);
  cli_json_counts(o, "dims", polyad_tensor_dims(t), order);
  cli_json_count(o, "nnz", polyad_tensor_nnz(t));
  cli_json_count(o, "repeats_merged", polyad_tensor_repeats_merged(t));
  cli_json_count(o, "zeros_dropped", polyad_tensor_zeros_dropped(t));
  cli_json_count(o, "zeros_kept", polyad_tensor_zeros_kept(t));
  cli_json_real(o, "density", s->density);
  cli_json_real(o, "value_min", s->value_min);
  cli_json_real(o, "value_max", s->value_max);
  cli_json_real(o, "value_sum", s->value_sum);
  cli_json_real(o, "norm", s->norm);
  cli_json_count(o, "key_bits", (uint64_t)s->key_bits);
  cli_json_count(o, "bytes_tensor", polyad_tensor_bytes(t));
  char hash[24];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)cli_manifest_tensor_hash());
  cli_json_text(o, "hash", hash);
  cli_json_counts(o, "slices", s->slices, order);
  cli_json_counts(o, "slice_max", s->slice_max, order);
  cli_json_reals(o, "slice_mean", s->slice_mean, order);
  cli_json_reals(o, "slice_deviation", s->slice_deviation, order);
  cli_json_counts(o, "fibers", s->fibers, order);
  cli_json_bool(o, "fibers_exact", s->fibers_exact != 0);
  return o;
}

static int run(struct info *info) {
  struct cli_session *session = &info->session;
  int status = cli_session_open(session);
  const struct cli_output outputs[] = {{"--json", session->json}};
  if (status == 0) status = cli_check_format(session->context, info->format, true);
  if (status == 0) status = cli_check_outputs(session, outputs, 1, &info->file, 1);
  if (status == 0) status = cli_read_tensor(session, info->file, &info->tensor);
  if (status != 0) return status;
  cli_phase(CLI_ITERATIONS);
  if (polyad_tensor_statistics_compute(session->context, info->tensor, &info->statistics) !=
      POLYAD_OK)
    return cli_library_failure(session->context);
  if (cli_shows_results(&info->session, NULL)) print_text(info);
  cJSON *object = make_object(info);
  status = add_formats(info, object);
  if (status != 0) {
    cJSON_Delete(object);
    return status;
  }
  status = cli_json_write(session, object);
  return status == 0 ? cli_finish_output() : status;
}

static const struct cli_option option_table[] = {
    CLI_STORAGE_OPTIONS(struct info, "bytes in this format only, NAME[:VARIANT][:KEY=N]...\nas "
                                     "polyad formats lists them (default: all)"),
    CLI_OPTION(struct info, COUNT, rank, "rank", "R", "add the bytes of factors of this rank",
               .letter = 'r', .least = 1),
    CLI_READ_OPTIONS(struct info), CLI_TRANSFORM_OPTIONS(struct info),
    CLI_COMMON_OPTIONS(struct info)};

const struct cli_usage cli_info_usage = {
    .command = "info",
    .synopsis = "FILE [options]",
    .summary =
        "Says what the tensor in FILE is like: dims, nonzeros, range of values, how they\n"
        "spread over slices and fibers, and the bytes it would take in every storage format.",
    .example = "  polyad info uber.tns.gz --format csf -r 32",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1};

int cli_info(int argc, char **argv) {
  struct info info = {.format = "all", .variant = "auto"};
  cli_session_init(&info.session);
  int first, status = cli_parse(&cli_info_usage, argc, argv, &info, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  info.file = argv[first];
  status = run(&info);
  polyad_tensor_destroy(info.tensor);
  cli_session_close(&info.session);
  return status;
}
