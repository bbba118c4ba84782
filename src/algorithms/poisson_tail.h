/* Tail probabilities of Poisson variables. */
#ifndef PD_POISSON_TAIL_H
#define PD_POISSON_TAIL_H

/** P(X >= x) and P(X <= x) of a Poisson variable of this rate (at least 0, finite), for a whole
 *  number x of at least 0, to about 1e-12 of the probability. */
double pd_poisson_upper(double x, double rate);
double pd_poisson_lower(double x, double rate);

/** The same given that X >= 1, for x >= 1. */
double pd_poisson_upper_stored(double x, double rate);
double pd_poisson_lower_stored(double x, double rate);

/** Half the deviance, x log(x / rate) - x + rate, without cancellation. */
double pd_poisson_deviance(double x, double rate);

#endif
