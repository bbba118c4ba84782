/* Counts: x ~ Poisson(m), m >= 0 the mean. f(x, m) = m - x log m (Chi and Kolda 2012; Hong, Kolda
 * and Duersch 2020, table 1), so that the gain is x log m: minus infinity where a model of zero
 * meets a count. The gradient of the gain, x / max(m, least), makes Phi; minus its derivative,
 * whose least denominator Hansen, Plantenga and Kolda (2015) set alike, makes the Hessian of PDNR.
 */
#ifndef PD_LOSS_POISSON_H
#define PD_LOSS_POISSON_H

#define PD_LOSS_POISSON 0
#define PD_POISSON_NAME(x, m, least) "poisson"
#define PD_POISSON_GAIN(x, m, least) ((x) != 0 ? (x)*log(m) : 0)
#define PD_POISSON_SLOPE(x, m, least) ((x) / PD_AT_LEAST(m, least))
#define PD_POISSON_CURVATURE(x, m, least) ((x) / PD_AT_LEAST((m) * (m), least))
#define PD_POISSON_ZERO(x, m, least) (m)
#define PD_POISSON_ZERO_SLOPE(x, m, least) (1.0)
#define PD_POISSON_GRID(x, m, least) PD_GRID_MODELS
#define PD_POISSON_SQUARES(x, m, least) 0

#endif
