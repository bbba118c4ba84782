/* What the summing machinery needs of one type VAL beside its kernels. */

/** The widest vectors that a rank has room for. */
static int PD_OF_TYPE(lanes_for_, VAL)(uint64_t rank) {
  if (rank >= FULL_LANES) return FULL_LANES;
  if (FULL_LANES > 8 && rank >= 8) return 8;
  if (FULL_LANES > 4 && rank >= 4) return 4;
  return 1;
}

/* Slopes of the loss's gain, in place of the models. */
static void PD_OF_TYPE(slopes_, VAL)(uint64_t count, const void *values, const struct pd_loss *loss,
                                     void *models) {
  const VAL *x = values, least = (VAL)loss->least;
  const int kind = loss->kind;
  VAL *m = models;
  if (kind == PD_LOSS_POISSON) /* apart, as a loop of vectors */
    for (uint64_t p = 0; p < count; ++p)
      m[p] = PD_POISSON_SLOPE(x[p], m[p], least);
  else
    for (uint64_t p = 0; p < count; ++p)
      m[p] = PD_LOSS_SLOPE(kind, x[p], m[p], least);
}

static double PD_OF_TYPE(gains_, VAL)(uint64_t count, const void *values,
                                      const struct pd_loss *loss, const void *models) {
  const VAL *x = values, *m = models;
  double sum = 0;
  for (uint64_t p = 0; p < count; ++p)
    sum += PD_LOSS_GAIN(loss->kind, (double)x[p], (double)m[p]);
  return sum;
}
