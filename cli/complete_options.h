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
  options->method = strcmp(algorithm, "ccd") == 0   ? POLYAD_COMPLETE_CCD
                    : strcmp(algorithm, "sgd") == 0 ? POLYAD_COMPLETE_SGD
                                                    : POLYAD_COMPLETE_ALS;
  options->biases = given->biases;
  options->ridge_by_count = given->ridge_by_count;
  if (!isnan(given->bias_ridge)) options->bias_ridge = given->bias_ridge;
  if (!isnan(given->learn_rate)) options->learn_rate = given->learn_rate;
  if (given->patience > 0) options->patience = (int)given->patience;
  if (!cli_validation_share(given, &options->validation_share)) options->validation_share = 0;
}

/* clang-format off */
#define CLI_COMPLETE_OPTIONS(t)                                                                    \
  {.kind = CLI_GROUP, .help = "completion"},                                                       \
  {.name = "absent", .kind = CLI_CHOICE, .offset = offsetof(t, complete.absent),                   \
   .argument = "zero|unknown", .choices = "zero unknown",                                          \
   .help = "cells that are not in FILE: zero (default), or unknown:\n"                             \
           "the model is fitted to the cells in FILE alone, zeros\namong them"},                   \
  {.name = "weights", .kind = CLI_TEXT, .offset = offsetof(t, complete.weights),                   \
   .argument = "FILE", .help = "unknown: weights of the cells, in a tensor file"},                 \
  {.name = "biases", .kind = CLI_FLAG, .offset = offsetof(t, complete.biases),                     \
   .help = "unknown: add a mean and a bias for every index of a\nmode: the model's last components"}, \
  {.name = "bias-ridge", .kind = CLI_REAL, .offset = offsetof(t, complete.bias_ridge),             \
   .argument = "X", .help = "unknown: regularisation of biases (default 0.2)"},                    \
  {.name = "ridge-by-count", .kind = CLI_FLAG, .offset = offsetof(t, complete.ridge_by_count),     \
   .help = "unknown: multiply the ridges of an index by the number\nof its cells"},                \
  {.name = "validation", .kind = CLI_TEXT, .offset = offsetof(t, complete.validation),             \
   .argument = "SHARE|FILE",                                                                       \
   .help = "unknown: a share of the cells, such as 0.1, or a tensor\n"                             \
           "file, that the fit does not see; the model of the least\nerror there is kept"},        \
  {.name = "patience", .kind = CLI_COUNT, .offset = offsetof(t, complete.patience),                \
   .argument = "N", .least = 1, .most = 999999999,                                                 \
   .help = "unknown: iterations without a lower error there after\nwhich a run ends (default 5)"},  \
  {.name = "learn-rate", .kind = CLI_REAL, .offset = offsetof(t, complete.learn_rate),             \
   .argument = "X", .help = "sgd: length of the first steps (default 0.3)"}
/* clang-format on */

#endif
