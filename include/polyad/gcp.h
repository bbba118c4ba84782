/** @file
 *  @brief Generalized CP: losses other than least squares, over all cells of a tensor. */
#ifndef POLYAD_GCP_H
#define POLYAD_GCP_H

#include <polyad/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a model is measured by: f(x, m) of a value x and its model m (Hong, Kolda and Duersch 2020,
 *  table 1). */
typedef enum polyad_loss {
  POLYAD_LOSS_POISSON = 0,         /**< counts: m - x log m, for models that are not negative */
  POLYAD_LOSS_BERNOULLI_LOGIT = 1, /**< x is 0 or 1, m the log-odds of 1: log(1 + e^m) - x m */
  POLYAD_LOSS_GAUSSIAN = 2         /**< real numbers: (x - m)^2 */
} polyad_loss;

/** The name of loss `which` of polyad_loss, such as "bernoulli-logit"; NULL where there is none.
 * The numbers of losses run from 0 on. */
POLYAD_API const char *polyad_loss_name(int which);

/** The loss of a CP model over all cells of the plan's tensor, where cells without a nonzero count
 * as 0, and its gradient in the factors: what an optimizer of generalized CP needs (Hong, Kolda and
 *  Duersch 2020, equations 7 and 12). The nonzeros are walked by the plan's kernels, on its device.
 *  The rest is a closed form for the Poisson and Gaussian losses, whose time grows with the number
 * of nonzeros; the Bernoulli loss visits every cell on the host, in time that grows with the
 * product of the modes' lengths, without a dense tensor.
 *  @param plan  of a format that has kernel POLYAD_KERNEL_PHI on the plan's device
 *  @param workspace  from polyad_workspace_create(), for as many columns as the factors have
 *  @param factors  one matrix per mode in host memory, I_n x rank, row major, of the plan's type;
 *                  weights of components are multiplied into one of them
 *  @param[out] objective  the sum of f(x, m): infinite for the Poisson loss where a model of 0
 * meets a count
 *  @param[out] gradients  NULL, or one matrix per mode like the factors: the derivatives of the
 *                         objective, for the Poisson loss with no model below 1e-10 in a
 * denominator
 *  @return POLYAD_NUMERICAL where the loss is not for the plan's values: a negative one for the
 *  Poisson loss, one that is neither 0 nor 1 for the Bernoulli loss. POLYAD_UNSUPPORTED when the
 * format has no such kernels on the plan's device, POLYAD_OVERFLOW when a loss has to visit more
 * than 2^64 cells, POLYAD_MEMORY_LIMIT, POLYAD_CANCELLED after polyad_cancel() while a loss visits
 * every cell */
POLYAD_API POLYAD_CHECKED polyad_status polyad_gcp_objective(
    polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace, polyad_loss loss,
    const void *const *factors, double *objective, void *const *gradients);

#ifdef __cplusplus
}
#endif
#endif
