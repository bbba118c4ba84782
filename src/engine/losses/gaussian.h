/* Real numbers: f(x, m) = (x - m)^2. Its gain is 2 x m but for the constant -x^2, which SQUARES
 * adds once, as the tensor's squared norm. */
#ifndef PD_LOSS_GAUSSIAN_H
#define PD_LOSS_GAUSSIAN_H

#define PD_LOSS_GAUSSIAN 2
#define PD_GAUSSIAN_NAME(x, m, least) "gaussian"
#define PD_GAUSSIAN_GAIN(x, m, least) (2 * (x) * (m))
#define PD_GAUSSIAN_SLOPE(x, m, least) (2 * (x))
#define PD_GAUSSIAN_CURVATURE(x, m, least) 0
#define PD_GAUSSIAN_ZERO(x, m, least) ((m) * (m))
#define PD_GAUSSIAN_ZERO_SLOPE(x, m, least) (2 * (m))
#define PD_GAUSSIAN_GRID(x, m, least) PD_GRID_SQUARES
#define PD_GAUSSIAN_SQUARES(x, m, least) 1

#endif
