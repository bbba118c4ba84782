/* What the summing machinery needs of one type VAL beside its kernels. */

/** The widest vectors that a rank has room for. */
static int PD_OF_TYPE(lanes_for_, VAL)(uint64_t rank) {
  if (rank >= FULL_LANES) return FULL_LANES;
  if (FULL_LANES > 8 && rank >= 8) return 8;
  if (FULL_LANES > 4 && rank >= 4) return 4;
  return 1;
}

/* Weights of Phi: values over dot products, in place of these. */
static void PD_OF_TYPE(weights_, VAL)(uint64_t count, const void *values, double epsilon,
                                      void *dots) {
  const VAL *x = values, least = (VAL)epsilon;
  VAL *weight = dots;
  for (uint64_t p = 0; p < count; ++p)
    weight[p] = x[p] / (weight[p] > least ? weight[p] : least);
}

/* The sum of values times logarithms of dot products. */
static double PD_OF_TYPE(logarithms_, VAL)(uint64_t count, const void *values, const void *dots) {
  const VAL *x = values, *m = dots;
  double sum = 0;
  for (uint64_t p = 0; p < count; ++p)
    sum += (double)x[p] * log((double)m[p]);
  return sum;
}
