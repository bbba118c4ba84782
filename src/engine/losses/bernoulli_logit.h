/* Yes or no: x is 1 or 0, m the logarithm of the odds of 1, of any sign.
 * f(x, m) = log(1 + e^m) - x m (Hong, Kolda and Duersch 2020, table 1), so that the gain is x m.
 * The logarithm is taken of 1 + e^-|m|, which does not overflow. */
#ifndef PD_LOSS_BERNOULLI_LOGIT_H
#define PD_LOSS_BERNOULLI_LOGIT_H

#define PD_LOSS_BERNOULLI_LOGIT 1
#define PD_BERNOULLI_LOGIT_NAME(x, m, least) "bernoulli-logit"
#define PD_BERNOULLI_LOGIT_GAIN(x, m, least) ((x) * (m))
#define PD_BERNOULLI_LOGIT_SLOPE(x, m, least) (x)
#define PD_BERNOULLI_LOGIT_CURVATURE(x, m, least) 0
#define PD_BERNOULLI_LOGIT_ZERO(x, m, least) (((m) > 0 ? (m) : 0) + log1p(exp(-fabs(m))))
#define PD_BERNOULLI_LOGIT_ZERO_SLOPE(x, m, least) (1.0 / (1.0 + exp(-(m))))
#define PD_BERNOULLI_LOGIT_GRID(x, m, least) PD_GRID_CELLS
#define PD_BERNOULLI_LOGIT_SQUARES(x, m, least) 0

#endif
