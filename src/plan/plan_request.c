/* What is asked of a plan: the options, checked, and what follows from them for the choice of a
 * format. */
#include "device/device_registry.h"
#include "formats/format_text.h"
#include "linalg/linalg.h"
#include "plan/plan_create.h"
#include <math.h>
#include <string.h>

void polyad_plan_options_init(polyad_plan_options *options) {
  *options = (polyad_plan_options){
      .format = "auto", .variant = "auto", .rank = 16, .precision = POLYAD_F64};
}

static polyad_status check_second_share(polyad_context *context, double share) {
  struct pd_device_list devices;
  PD_EXPECT(context, share >= 0 && share < 1,
            "second_share %g found; expected at least 0 and below 1", share);
  if (share == 0) return POLYAD_OK;
  PD_TRY(pd_device_list_of(context, &devices));
  if (devices.count == 2) return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "a share of %g for the second device is asked for, and %d %s named; expected two",
                 share, devices.count, devices.count == 1 ? "device is" : "devices are");
}

static polyad_status check_options(polyad_context *context, const polyad_plan_options *options) {
  PD_EXPECT(context, options != NULL && options->format != NULL && options->variant != NULL,
            "plan options, format or variant is NULL; start from "
            "polyad_plan_options_init()");
  PD_EXPECT(context, options->rank >= 1, "rank 0 found; expected at least 1");
  if (options->precision != POLYAD_F32 && options->precision != POLYAD_F64)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "precision %d found; expected POLYAD_F32 or POLYAD_F64",
                   (int)options->precision);
  PD_EXPECT(
      context, options->compute >= POLYAD_COMPUTE_NATIVE && options->compute <= POLYAD_COMPUTE_TF32,
      "compute type %d found; expected POLYAD_COMPUTE_NATIVE to _TF32", (int)options->compute);
  if (options->zeros != POLYAD_ZEROS_DROP && options->zeros != POLYAD_ZEROS_KEEP)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "zeros %d found; expected POLYAD_ZEROS_DROP or _KEEP", (int)options->zeros);
  PD_TRY(check_second_share(context, options->second_share));
  PD_EXPECT(context, options->sweeps >= 0, "sweeps %g found; expected at least 0", options->sweeps);
  return POLYAD_OK;
}

/* The variant that the format's text names, else that of the option of its own. */
static polyad_status variant_of(polyad_context *context, const polyad_plan_options *options,
                                const struct pd_format_text *text, const char **variant) {
  *variant = text->variant[0] == '\0' ? options->variant : text->variant;
  if (strcmp(options->variant, "auto") == 0 || strcmp(options->variant, *variant) == 0)
    return POLYAD_OK;
  return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                 "variant %.60s is asked for, and format %.200s; expected one variant",
                 options->variant, options->format);
}

bool pd_plan_tunes(const polyad_plan_options *options) {
  return options->tune != 0 &&
         (options->kernel == POLYAD_KERNEL_MTTKRP || options->kernel == POLYAD_KERNEL_PHI);
}

/* Who has formats measured wants the fastest kernel: building counts no more. */
static double sweeps_of(const polyad_plan_options *options) {
  if (pd_plan_tunes(options) || isinf(options->sweeps)) return 0;
  return options->sweeps == 0 ? POLYAD_SWEEPS_USUAL : options->sweeps;
}

/* Runs side by side read the nonzeros once for all their columns: formats are judged by these. */
static void share_passes(const polyad_plan_options *options, bool several,
                         struct pd_request *request) {
  uint64_t columns = options->columns < PD_SHARED_COLUMNS ? options->columns : PD_SHARED_COLUMNS;
  if (columns <= request->rank || options->kernel != POLYAD_KERNEL_MTTKRP) return;
  if (request->device->linalg->copy_columns == NULL || several || options->team != NULL) return;
  request->sweeps *= (double)request->rank / (double)columns;
  request->rank = columns;
}

polyad_status pd_plan_make_request(polyad_context *context, const polyad_plan_options *options,
                                   struct pd_format_text *text, struct pd_request *request) {
  const char *variant;
  PD_TRY(check_options(context, options));
  PD_TRY(pd_format_text_read(context, options->format, text));
  PD_TRY(variant_of(context, options, text, &variant));
  *request = (struct pd_request){.format = text->format,
                                 .variant = variant,
                                 .rank = options->rank,
                                 .precision = options->precision,
                                 .threads = polyad_threads(context),
                                 .force_index64 = options->force_index64 != 0,
                                 .first_mode = pd_shown_mode(context, 0),
                                 .kernel = options->kernel,
                                 .compute = options->compute,
                                 .sweeps = sweeps_of(options),
                                 .kept = options->tune != 0 ? options->tune_cache : NULL};
  memcpy(request->parameter, text->parameter, sizeof request->parameter);
  PD_TRY(pd_device_of(context, &request->device));
  share_passes(options, pd_devices_are_several(context), request);
  return POLYAD_OK;
}
