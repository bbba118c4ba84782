/* The JSON object of polyad cpd. */
#include "cpd_json.h"
#include "json.h"
#include "run_report.h"
#include <string.h>

int cli_cpd_json(struct cli_session *session, const struct cli_cpd_result *result) {
  const polyad_run_info *info = result->info;
  bool apr = strcmp(result->algorithm, "als") != 0;
  int order = polyad_plan_order(result->plan);
  cJSON *o = cJSON_CreateObject();
  cli_json_text(o, "file", result->file);
  cli_json_count(o, "order", (uint64_t)order);
  cli_json_counts(o, "dims", polyad_plan_dims(result->plan), order);
  cli_json_count(o, "nnz", polyad_plan_nnz(result->plan));
  cli_json_count(o, "rank", result->rank);
  cli_json_text(o, "algorithm", result->algorithm);
  cli_json_text(o, "format", polyad_plan_format(result->plan));
  cli_json_text(o, "variant", polyad_plan_variant(result->plan));
  cli_json_text(o, "device", polyad_plan_device(result->plan));
  cli_json_text(o, "precision", session->precision);
  cli_json_count(o, "threads", (uint64_t)polyad_threads(session->context));
  cli_json_count(o, "seed", session->seed);
  cli_json_count(o, "iterations", (uint64_t)info->iterations);
  cli_json_bool(o, "converged", info->converged);
  cli_json_text(o, "reason", polyad_reason_string(info->reason));
  cli_json_real(o, "fit", info->fit);
  cli_json_real(o, "log_likelihood", info->log_likelihood);
  cli_json_real(o, "kkt_violation", info->kkt_violation);
  cli_json_real(o, "seconds", info->seconds);
  cli_json_real(o, "seconds_read", result->seconds_read);
  cli_json_real(o, "seconds_build", result->seconds_build);
  cli_json_real(o, "seconds_per_iteration", info->seconds_per_iteration);
  if (apr) {
    cli_json_reals(o, "seconds_phi", info->seconds_phi, order);
    cli_json_reals(o, "seconds_pi", info->seconds_pi, order);
    cli_json_reals(o, "seconds_kkt", info->seconds_kkt, order);
    cli_json_reals(o, "seconds_mu", info->seconds_mu, order);
  } else {
    cli_json_reals(o, "seconds_mttkrp", info->seconds_mttkrp, order);
    cli_json_real(o, "seconds_outside", info->seconds_outside);
  }
  cli_json_count(o, "bytes_format", polyad_plan_bytes(result->plan));
  cli_json_count(o, "peak_bytes", cli_peak_bytes());
  cli_json_count(o, "regularized_solves", info->regularized_solves);
  cli_json_text(o, "diagnosis", info->diagnosis);
  cli_json_trace(o, info);
  return cli_json_write(session, o);
}
