/* Watches a run iteration by iteration, and ends it from a signal handler or when it has become
 * good enough. The model so far is returned: cancelling is no error.
 *
 * usage: progress_and_cancel FILE RANK FIT */
#include <polyad/polyad.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static polyad_context *running;

static void on_interrupt(int number) {
  (void)number;
  polyad_cancel(running); /* may be called from signal handlers and from any thread */
}

static int on_iteration(void *user, const polyad_progress *progress) {
  double good_enough = *(const double *)user;
  printf("iteration %d: fit %.5f after %.2f s\n", progress->iteration, progress->fit,
         progress->seconds);
  return progress->fit >= good_enough; /* anything but zero ends the run */
}

static void on_message(void *user, polyad_log_level level, const char *message) {
  (void)user;
  fprintf(stderr, "%s: %s\n", level == POLYAD_LOG_WARNING ? "warning" : "note", message);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s FILE RANK FIT\n", argv[0]);
    return 2;
  }
  double good_enough = strtod(argv[3], NULL);
  polyad_tensor *tensor = NULL;
  polyad_plan *plan = NULL;
  polyad_ktensor *model = NULL;
  polyad_run_info info = {0};
  polyad_plan_options plan_options;
  polyad_cp_als_options als_options;
  polyad_plan_options_init(&plan_options);
  polyad_cp_als_options_init(&als_options);
  plan_options.rank = als_options.rank = strtoull(argv[2], NULL, 10);
  als_options.run.tolerance = 0; /* only the fit, the limit on iterations or a signal ends it */

  if (polyad_context_create(&running) != POLYAD_OK) return 1;
  polyad_set_log(running, POLYAD_LOG_INFO, on_message, NULL);
  polyad_set_progress(running, on_iteration, &good_enough);
  signal(SIGINT, on_interrupt);

  polyad_status status = polyad_tensor_read(running, argv[1], NULL, &tensor);
  if (status == POLYAD_OK) status = polyad_plan_create_take(running, &tensor, &plan_options, &plan);
  if (status == POLYAD_OK) status = polyad_cp_als(running, plan, &als_options, &model, &info);
  if (status == POLYAD_OK)
    printf("ended after %d iterations: %s\n", info.iterations, polyad_reason_string(info.reason));
  else
    fprintf(stderr, "%s\n", polyad_last_error(running));

  polyad_run_info_clear(&info);
  polyad_ktensor_destroy(model);
  polyad_plan_destroy(plan);
  polyad_tensor_destroy(tensor);
  polyad_context_destroy(running);
  return status == POLYAD_OK ? 0 : 1;
}
