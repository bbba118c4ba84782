/* The JSON object of polyad cpd. */
#include "cpd_json.h"
#include "apr_options.h"
#include "processes.h"
#include "streaming.h"
#include <string.h>

cJSON *cli_cpd_json(const struct cli_session *session, const struct cli_cpd_result *result) {
  const polyad_run_info *info = result->run.info;
  int order = polyad_plan_order(result->run.plan);
  cJSON *o = cJSON_CreateObject();
  cli_json_subject(o, &result->run);
  cli_json_count(o, "rank", result->rank);
  cli_json_text(o, "algorithm", result->algorithm);
  cli_json_text(o, "absent", result->absent);
  if (!cli_is_apr(result->algorithm))
    cli_json_modes(o, "nonnegative_modes", result->nonnegative_modes, order);
  cli_json_run(o, session, &result->run);
  bool completes = strcmp(result->absent, "unknown") == 0, apr = cli_is_apr(result->algorithm);
  if (!apr) {
    cli_json_reals(o, "seconds_mttkrp", info->seconds_mttkrp, order);
    cli_json_reals(o, "seconds_mttkrp_total", info->seconds_mttkrp_total, order);
    cli_json_real(o, "seconds_outside", info->seconds_outside);
  } else {
    cli_json_reals(o, "seconds_phi", info->seconds_phi, order);
    cli_json_reals(o, "seconds_pi", info->seconds_pi, order);
    cli_json_reals(o, "seconds_kkt", info->seconds_kkt, order);
    cli_json_reals(o, "seconds_mu", info->seconds_mu, order);
  }
  if (completes) {
    cli_json_real(o, "rmse", info->rmse);
    cli_json_real(o, "validation_rmse", info->validation_rmse);
    cli_json_count(o, "best_iteration", (uint64_t)info->best_iteration);
  }
  cli_json_count(o, "regularized_solves", info->regularized_solves);
  cli_json_starts(o, info, apr ? "log_likelihood" : "fit");
  cli_json_trace(o, session, &result->run);
  cli_json_streaming(o, result->run.plan);
  cli_json_team(o, result->run.plan, result->run.members);
  return o;
}
