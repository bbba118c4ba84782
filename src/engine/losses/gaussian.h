/* Real numbers: f(x, m) = (x - m)^2, whose gain is 2 x m but for the constant -x^2, which is added
 * once as the tensor's squared norm. */
#ifndef PD_LOSS_GAUSSIAN_H
#define PD_LOSS_GAUSSIAN_H

#define PD_GAUSSIAN_GAIN(x, m) (2 * (x) * (m))
#define PD_GAUSSIAN_SLOPE(x, m, least) (2 * (x))
#define PD_GAUSSIAN_ZERO(m) ((m) * (m))
#define PD_GAUSSIAN_ZERO_SLOPE(m) (2 * (m))

#endif
