/* Options of CP-APR on the command line. */
#ifndef CLI_APR_OPTIONS_H
#define CLI_APR_OPTIONS_H

#include "options.h"
#include <polyad/polyad.h>
#include <string.h>

struct cli_apr_options {
  polyad_cp_apr_options options;
  uint64_t inner_iterations, pairs;
  bool exact, store_pi;
};

/** Whether a value of --algorithm, or NULL where there was none, is one of CP-APR's. */
static inline bool cli_is_apr(const char *algorithm) {
  return algorithm != NULL && strncmp(algorithm, "apr-", 4) == 0;
}

/** The kernel that formats must have for an algorithm. */
static inline polyad_kernel cli_kernel_of(const char *algorithm) {
  return algorithm != NULL && strcmp(algorithm, "apr-mu") == 0 ? POLYAD_KERNEL_PHI
                                                               : POLYAD_KERNEL_MTTKRP;
}

static inline void cli_apr_options_init(struct cli_apr_options *apr) {
  *apr = (struct cli_apr_options){.inner_iterations = 10, .pairs = 3};
  polyad_cp_apr_options_init(&apr->options);
}

/** Takes over what was given; `algorithm` is apr-mu, apr-pdnr or apr-pqnr. */
static inline void cli_apr_options_finish(struct cli_apr_options *apr, const char *algorithm) {
  apr->options.method = (polyad_apr_method)cli_choice("apr-mu apr-pdnr apr-pqnr", algorithm);
  apr->options.max_inner_iterations = (int)apr->inner_iterations;
  apr->options.memory = (int)apr->pairs;
  apr->options.inexact = !apr->exact;
  apr->options.store_pi = apr->store_pi;
}

/* clang-format off */
#define CLI_APR_OPTIONS(t)                                                                         \
  CLI_HEADING("apr-mu, apr-pdnr, apr-pqnr"),                                                       \
  CLI_OPTION(t, COUNT, apr.inner_iterations, "inner-iters", "N",                                   \
             "most inner iterations of a mode or row (default 10)", .least = 1, .most = 999999999),\
  CLI_OPTION(t, REAL, apr.options.epsilon, "epsilon", "X", "least divisor (default 1e-10)"),       \
  CLI_OPTION(t, FLAG, apr.store_pi, "store-pi", NULL,                                              \
             "apr-mu: store the rows of Pi (default: on the fly)"),                                \
  CLI_OPTION(t, REAL, apr.options.kappa, "zero-shift", "X",                                        \
             "apr-mu: added to inadmissible zeros, kappa (default 0.01)"),                         \
  CLI_OPTION(t, REAL, apr.options.kappa_tolerance, "zero-tol", "X",                                \
             "apr-mu: entries below it may be such (default 1e-10)"),                              \
  CLI_OPTION(t, REAL, apr.options.active_tolerance, "active-tol", "X",                             \
             "apr-pdnr, -pqnr: entries up to it may be held at 0\n(default 1e-8)"),             \
  CLI_OPTION(t, REAL, apr.options.damping, "damping", "X",                                         \
             "apr-pdnr: first damping of the Hessian (default 1e-5)"),                             \
  CLI_OPTION(t, FLAG, apr.exact, "exact", NULL,                                                    \
             "apr-pdnr: solve rows to the tolerance from the start"),                              \
  CLI_OPTION(t, COUNT, apr.pairs, "lbfgs-pairs", "N",                                              \
             "apr-pqnr: pairs that L-BFGS keeps (default 3)", .least = 1, .most = 1000)
/* clang-format on */

#endif
