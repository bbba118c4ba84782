/* A piece of the kernel in kernels_rows.h: the products of the rows of Pi of PD_PORTABLE_STEP
 * nonzeros from p on, times their values where sums want them so: product[j][v]. */
#if PD_DECODES
/* Where the rows of a chunk begin, and of the first nonzeros after it. */
if (p % PD_PORTABLE_CHUNK == 0) {
  const pd_u64 left = padded - p;
  const pd_u32 count = left < PD_PLACES ? (pd_u32)left : PD_PLACES;
  PD_EACH_INPUT {
    for (pd_u32 i = 0; i < count; ++i)
      place[k][i] = ((planes[k][p + i] >> job.shift[k]) & job.mask[k]) * job.stride[k];
  }
}
if (job.prefetch != 0) {
  PD_EACH_INPUT {
    if (job.prefetch >> k & 1u) {
      PD_EACH_STEP PD_EACH_VECTOR PD_PREFETCH(
          factors[k] + place[k][p % PD_PORTABLE_CHUNK + PD_AHEAD + j] + PD_PLACE(v));
    }
  }
}
#endif
VEC product[PD_PORTABLE_STEP][PD_VECTORS];
#if PD_KIND == PD_KIND_SUM
PD_EACH_STEP PD_EACH_VECTOR product[j][v] = OF_TYPE(splat)(value[j]);
#elif PD_KIND != PD_KIND_STORED
PD_EACH_STEP PD_EACH_VECTOR product[j][v] = OF_TYPE(splat)(1);
#endif
#if PD_KIND == PD_KIND_STORED
PD_EACH_STEP PD_EACH_VECTOR product[j][v] =
    p + j < job.nnz ? PD_GET(factors[0] + (p + j) * job.stride[0], v) : OF_TYPE(splat)(0);
#elif PD_KEEPS
VEC fresh[PD_SLOTS][PD_PORTABLE_STEP][PD_VECTORS];
bool changed[PD_SLOTS][PD_PORTABLE_STEP];
PD_EACH_INPUT {
  pd_u32 now = before[k], word[PD_PORTABLE_STEP];
  load_words(planes[k] + p, word);
  PD_EACH_STEP {
    pd_u32 index = (word[j] >> job.shift[k]) & job.mask[k];
    changed[k][j] = k == PD_INPUTS - 1u || index != now;
    now = index;
    if (changed[k][j])
      PD_EACH_VECTOR fresh[k][j][v] = PD_GET(factors[k] + index * job.stride[k], v);
  }
  before[k] = now;
}
PD_EACH_STEP {
  PD_EACH_INPUT {
    if (changed[k][j]) PD_EACH_VECTOR kept[k][v] = fresh[k][j][v];
    PD_EACH_VECTOR product[j][v] *= kept[k][v];
  }
}
#elif !PD_DECODES
PD_EACH_INPUT {
  pd_u32 word[PD_PORTABLE_STEP];
  load_words(planes[k] + p, word);
  PD_EACH_STEP {
    const pd_u64 index = (word[j] >> job.shift[k]) & job.mask[k];
    const PD_GLOBAL REAL *from = factors[k] + index * job.stride[k];
    PD_EACH_VECTOR product[j][v] *= PD_GET(from, v);
  }
}
#else
PD_EACH_STEP {
  PD_EACH_INPUT {
    const PD_GLOBAL REAL *from = factors[k] + place[k][p % PD_PORTABLE_CHUNK + j];
    PD_EACH_VECTOR product[j][v] *= PD_GET(from, v);
  }
}
#endif
