/* A piece of the kernel in kernels_rows.h: adds the products of nonzeros from p on to the sums of
 * their rows, for gradients weighed by the slope of the gain, and puts rows away that end among
 * them. */
PD_EACH_STEP {
#if PD_NEEDS_B
  VEC dots = product[j][0] * model[0];
  PD_UNROLL
  for (int v = 1; v < PD_VECTORS; ++v)
    dots += product[j][v] * model[v];
  REAL dot = OF_TYPE(sum_lanes)(OF_TYPE(sum_entries)(dots), PD_LANES);
#endif
#if PD_KIND == PD_KIND_DOTS
  if (p + j < end && lane == 0) {
    const pd_u32 gains = job.dots & PD_DOTS_LAST && job.dots & PD_DOTS_GAINS;
    if (!(job.dots & PD_DOTS_FIRST)) dot += out[p + j];
    if (gains)
      gained += PD_LOSS_GAIN(job.loss, (double)value[j], (double)dot);
    else if (job.dots & PD_DOTS_LAST)
      dot = PD_LOSS_SLOPE(job.loss, value[j], dot, (REAL)job.least);
    if (!gains) out[p + j] = dot;
  }
#elif PD_IS_PHI
  REAL weight = PD_LOSS_SLOPE(job.loss, value[j], dot, (REAL)job.least);
  PD_EACH_VECTOR sum[v] += product[j][v] * OF_TYPE(splat)(weight);
#else
  PD_EACH_VECTOR sum[v] += product[j][v];
#endif
#if PD_KIND != PD_KIND_DOTS
  open = 1;
#endif
  if (closing >> j & 1u) {
#if PD_KIND != PD_KIND_DOTS
#if PD_WIDE_SUMS
    PD_EACH_VECTOR {
      total[v] += OF_TYPE(widen)(sum[v]);
      sum[v] = OF_TYPE(narrow)(total[v]);
      total[v] = OF_TYPE(widen)(OF_TYPE(splat)(0));
    }
#endif
    if (inside) {
      PD_EACH_VECTOR PD_PUT(out + id * job.out_stride, v, sum[v]);
    } else {
      my_state |= PD_HAS_FIRST;
      PD_SHARE(first, sum)
    }
    PD_EACH_VECTOR sum[v] = OF_TYPE(splat)(0);
    inside = 1;
    open = 0;
#endif
    ++row;
    if (row < job.rows) id = job.has_row_id ? row_id[row] : (pd_u32)row;
#if PD_NEEDS_B
    PD_EACH_VECTOR model[v] = PD_GET(b + id * job.b_stride, v);
#endif
  }
}
