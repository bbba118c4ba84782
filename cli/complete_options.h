/* Options of completion on the command line: polyad cpd --absent unknown. */
#ifndef CLI_COMPLETE_OPTIONS_H
#define CLI_COMPLETE_OPTIONS_H

#include "options.h"
#include <math.h>
#include <polyad/polyad.h>
#include <string.h>

struct cli_complete_options {
  const char *absent, *weights, *validation;
  bool biases, ridge_by_count;
  double bias_ridge, learn_rate; /* NaN: not given */
  uint64_t patience;             /* 0: not given */
};

static inline struct cli_complete_options cli_complete_options_default(void) {
  return (struct cli_complete_options){.absent = "zero", .bias_ridge = NAN, .learn_rate = NAN};
}

/** Whether cells that are not in the file are unknown. */
static inline bool cli_completes(const struct cli_complete_options *given) {
  return strcmp(given->absent, "unknown") == 0;
}

/** The name of an option that was given and is of completion alone, or NULL. */
static inline const char *cli_complete_option_given(const struct cli_complete_options *given) {
  return given->weights != NULL      ? "weights"
         : given->validation != NULL ? "validation"
         : given->biases             ? "biases"
         : given->ridge_by_count     ? "ridge-by-count"
         : !isnan(given->bias_ridge) ? "bias-ridge"
         : !isnan(given->learn_rate) ? "learn-rate"
         : given->patience > 0       ? "patience"
                                     : NULL;
}

/** Whether --validation is a share; else it names a file. */
static inline bool cli_validation_share(const struct cli_complete_options *given, double *share) {
  return given->validation != NULL && cli_read_real(given->validation, share) && *share > 0 &&
         *share < 1;
}

/** Takes over what was given; `algorithm` is als, ccd or sgd. */
static inline void cli_complete_options_set(const struct cli_complete_options *given,
                                            const char *algorithm,
                                            polyad_cp_complete_options *options) {
  options->method = (polyad_complete_method)cli_choice("als ccd sgd", algorithm);
  options->biases = given->biases;
  options->ridge_by_count = given->ridge_by_count;
  if (!isnan(given->bias_ridge)) options->bias_ridge = given->bias_ridge;
  if (!isnan(given->learn_rate)) options->learn_rate = given->learn_rate;
  if (given->patience > 0) options->patience = (int)given->patience;
  if (!cli_validation_share(given, &options->validation_share)) options->validation_share = 0;
}

/* clang-format off */
#define CLI_COMPLETE_OPTIONS(t)                                                                    \
  CLI_HEADING("completion"),                                                                       \
  CLI_OPTION(t, CHOICE, complete.absent, "absent", "zero|unknown",                                 \
             "cells that are not in FILE: zero (default), or unknown:\n"                           \
             "the model is fitted to the cells in FILE alone, zeros\n"                             \
             "among them", .choices = "zero unknown"),                                             \
  CLI_OPTION(t, TEXT, complete.weights, "weights", "FILE",                                         \
             "unknown: weights of the cells, in a tensor file"),                                   \
  CLI_OPTION(t, FLAG, complete.biases, "biases", NULL,                                             \
             "unknown: add a mean and a bias for every index of a\n"                               \
             "mode: the model's last components"),                                                 \
  CLI_OPTION(t, REAL, complete.bias_ridge, "bias-ridge", "X",                                      \
             "unknown: regularisation of biases (default 0.2)"),                                   \
  CLI_OPTION(t, FLAG, complete.ridge_by_count, "ridge-by-count", NULL,                             \
             "unknown: multiply the ridges of an index by the number\nof its cells"),           \
  CLI_OPTION(t, TEXT, complete.validation, "validation", "SHARE|FILE",                             \
             "unknown: a share of the cells, such as 0.1, or a tensor\n"                           \
             "file, that the fit does not see; the model of the least\nerror there is kept"),   \
  CLI_OPTION(t, COUNT, complete.patience, "patience", "N",                                         \
             "unknown: iterations without a lower error there after\n"                             \
             "which a run ends (default 5)", .least = 1, .most = 999999999),                       \
  CLI_OPTION(t, REAL, complete.learn_rate, "learn-rate", "X",                                      \
             "sgd: length of the first steps (default 0.3)")
/* clang-format on */

#endif
