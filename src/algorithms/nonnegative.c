#include "algorithms/nonnegative.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a checkpoint says of the modes; a set that is neither none nor all is added to SOME_MODES.
 */
enum { NO_MODE, ALL_MODES, NO_MODE_AND_HALF_ROWS, SOME_MODES = 4 };

polyad_status pd_nonnegative_check(polyad_context *context, uint32_t some, int order) {
  for (int n = order; n < 32; ++n)
    PD_EXPECT(context, !pd_nonnegative_in(some, n),
              "nonnegative factors of mode %d found; expected modes %d to %d",
              pd_shown_mode(context, n), pd_shown_mode(context, 0),
              pd_shown_mode(context, order - 1));
  return POLYAD_OK;
}

polyad_status pd_nonnegative_check_algorithm(polyad_context *context, uint32_t some,
                                             polyad_algorithm algorithm) {
  PD_EXPECT(context, some == 0 || algorithm == POLYAD_ALGORITHM_ALS,
            "nonnegative modes found with algorithm %d; expected them with %d (als) alone",
            (int)algorithm, (int)POLYAD_ALGORITHM_ALS);
  return POLYAD_OK;
}

/* "in modes 0,2" and the like; what no checkpoint says is shown as the number. */
static void nonnegative_words(polyad_context *context, double value,
                              char text[PD_OPTION_TEXT_BYTES]) {
  double most = SOME_MODES + (double)pd_nonnegative_modes(1, 0, POLYAD_MAX_ORDER);
  if (value == NO_MODE || value == ALL_MODES || value == NO_MODE_AND_HALF_ROWS) {
    snprintf(text, PD_OPTION_TEXT_BYTES, "%s",
             value == ALL_MODES ? "in all modes"
             : value == NO_MODE ? "in no mode"
                                : "in no mode, and half rows");
    return;
  }
  snprintf(text, PD_OPTION_TEXT_BYTES, "%.17g", value);
  if (!(value > SOME_MODES && value <= most) || value != floor(value)) return;
  uint32_t modes = (uint32_t)value - SOME_MODES;
  size_t length = (size_t)snprintf(text, PD_OPTION_TEXT_BYTES, "in modes ");
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    if (pd_nonnegative_in(modes, n))
      length += (size_t)snprintf(text + length, PD_OPTION_TEXT_BYTES - length, "%d,",
                                 pd_shown_mode(context, n));
  text[length - 1] = '\0';
}

polyad_status pd_nonnegative_archive(struct pd_archive *archive, uint32_t modes, int order,
                                     bool half) {
  double code = (double)modes + SOME_MODES;
  if (modes == 0) code = half ? NO_MODE_AND_HALF_ROWS : NO_MODE;
  if (pd_nonnegative_everywhere(modes, order)) code = ALL_MODES;
  return pd_archive_option_in_words(archive, "nonnegative", code, nonnegative_words);
}
