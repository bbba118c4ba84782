#include "oracle/inner_oracle.h"
#include "oracle/real.h"

/* Neumaier's compensated addition: the error of the whole sum is a few roundings. */
struct running {
  oracle_real sum, error, magnitude;
};

static void add(struct running *to, oracle_real x) {
  oracle_real total = to->sum + x;
  to->error += oracle_abs(to->sum) >= oracle_abs(x) ? (to->sum - total) + x : (x - total) + to->sum;
  to->sum = total;
  to->magnitude += oracle_abs(x);
}

static struct oracle_sum result_of(const struct running *from) {
  return (struct oracle_sum){(long double)(from->sum + from->error), (long double)from->magnitude};
}

static void model_at(const struct oracle_tensor *tensor, size_t p, size_t rank,
                     const double *weight, const double *const *factors, struct running *m) {
  const uint64_t *index = tensor->index + p * (size_t)tensor->order;
  *m = (struct running){0};
  for (size_t r = 0; r < rank; ++r) {
    oracle_real product = weight[r];
    for (int n = 0; n < tensor->order; ++n)
      product *= factors[n][(size_t)index[n] * rank + r];
    add(m, product);
  }
}

/* ||M||^2 from the Gram matrices; one that sums magnitudes beside each. */
static struct oracle_sum model_norm(const struct oracle_tensor *tensor, size_t rank,
                                    const double *weight, const double *const *factors) {
  struct running total = {0};
  oracle_real magnitude = 0;
  for (size_t r = 0; r < rank; ++r)
    for (size_t s = 0; s <= r; ++s) {
      oracle_real product = (oracle_real)weight[r] * weight[s] * (r == s ? 1 : 2);
      oracle_real size = oracle_abs(product);
      for (int n = 0; n < tensor->order; ++n) {
        struct running gram = {0};
        for (uint64_t i = 0; i < tensor->dims[n]; ++i)
          add(&gram, (oracle_real)factors[n][i * rank + r] * factors[n][i * rank + s]);
        product *= gram.sum + gram.error;
        size *= gram.magnitude;
      }
      add(&total, product);
      magnitude += size;
    }
  total.magnitude = magnitude;
  return result_of(&total);
}

void oracle_fit_sums(const struct oracle_tensor *tensor, size_t rank, const double *weight,
                     const double *const *factors, long double unit, struct oracle_fit *fit) {
  struct running inner = {0}, data = {0}, missed = {0}, covered = {0};
  *fit = (struct oracle_fit){0};
  for (size_t p = 0; p < tensor->nnz; ++p) {
    struct running m;
    model_at(tensor, p, rank, weight, factors, &m);
    oracle_real x = tensor->value[p], value = m.sum + m.error, left = x - value;
    long double error = unit * (long double)m.magnitude;
    add(&inner, x * value);
    inner.magnitude += oracle_abs(x) * (m.magnitude - oracle_abs(value)); /* that of all terms */
    add(&data, x * x);
    add(&missed, left * left);
    add(&covered, value * value);
    fit->missed_slope += error * (2 * (long double)oracle_abs(left) + error);
    fit->covered_slope += error * (2 * (long double)oracle_abs(value) + error);
  }
  fit->inner = result_of(&inner);
  fit->data = result_of(&data);
  fit->missed = result_of(&missed);
  fit->covered = result_of(&covered);
  fit->model = model_norm(tensor, rank, weight, factors);
}
