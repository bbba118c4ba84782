/* Kernels over the nonzeros of one mode's list, sorted by output row: MTTKRP, CP-APR's Phi and Pi.
 *
 * PD_LANES lanes form a group and hold PD_VECTORS vectors of a row each. A group walks a segment of
 * consecutive nonzeros, PD_PORTABLE_STEP at a time, and sums rows of the output in registers. Whole
 * rows are stored once. Of rows that groups share, the atomic edition adds every part to the output
 * atomically; the pull-based edition keeps the parts: those of a work group are joined in local
 * memory, those of several by kernel join_rows, which pulls them in a fixed order.
 *
 * Include once per instance:
 *   PD_F64       type of values, factors and output
 *   PD_INPUTS    other modes; 0: job.inputs of them
 *   PD_LANES, PD_VECTORS, PD_PARTIAL   lanes of a group; vectors per lane; whether some columns of
 *                the tile are missing, or rows are not aligned to vectors
 *   PD_KIND      one of the kinds below
 *   PD_INSTANCE(x)  name of the kernel */
#define PD_KIND_SUM 0
#define PD_KIND_PHI 1    /* out = Phi; the tile holds all columns */
#define PD_KIND_DOTS 2   /* out = models, at last slopes of the gain; or as below */
#define PD_KIND_PI 3     /* out(p, r) = Pi of nonzero p */
#define PD_KIND_STORED 4 /* Phi from stored rows of Pi, the tile holds all columns */
/* With PD_DOTS_GAINS the last pass of PD_KIND_DOTS adds the gains up instead: head has one sum in
 * double for each segment. */

#include "portable/real_types.h"

#if PD_KIND == PD_KIND_STORED
#define PD_SLOTS 1
#elif PD_INPUTS > 0
#define PD_SLOTS PD_INPUTS
#else
#define PD_SLOTS PD_PORTABLE_INPUTS
#endif
#if PD_INPUTS > 0
#define PD_EACH_INPUT PD_UNROLL for (pd_u32 k = 0; k < PD_INPUTS; ++k)
#else
#define PD_EACH_INPUT for (pd_u32 k = 0; k < job.inputs; ++k)
#endif
#define PD_IS_PHI (PD_KIND == PD_KIND_PHI || PD_KIND == PD_KIND_STORED)
#define PD_NEEDS_B (PD_IS_PHI || PD_KIND == PD_KIND_DOTS)
#define PD_WALKS_ROWS (PD_KIND != PD_KIND_PI)

/* Rows that neighbours share are kept in registers, or every row is loaded where it is needed, from
 * places that are decoded for a chunk at once. */
#define PD_KEEPS (PD_REUSE_ROWS && PD_INPUTS > 1 && PD_KIND != PD_KIND_STORED)
#define PD_DECODES (!PD_REUSE_ROWS && PD_KIND != PD_KIND_STORED)
#define PD_AHEAD 16 /* nonzeros from the prefetch of a row to its use */
#define PD_PLACES (PD_PORTABLE_CHUNK + PD_AHEAD + PD_PORTABLE_STEP)

/* Vector v of a lane; in a partial tile it may have fewer entries than a vector, or none. */
#define PD_PLACE(v) (first_column + (pd_u32)((v)*PD_LANES) * WIDTH)
#if PD_PARTIAL
#define PD_ENTRIES(v) (PD_PLACE(v) < job.rank ? job.rank - PD_PLACE(v) : 0u)
#define PD_GET(from, v) OF_TYPE(load_part)((from) + PD_PLACE(v), PD_ENTRIES(v))
#define PD_PUT(to, v, x) OF_TYPE(store_part)((to) + PD_PLACE(v), x, PD_ENTRIES(v))
#define PD_ADD(to, v, x) OF_TYPE(add_part)((to) + PD_PLACE(v), x, PD_ENTRIES(v))
#else
#define PD_GET(from, v) OF_TYPE(load)((from) + PD_PLACE(v))
#define PD_PUT(to, v, x) OF_TYPE(store)((to) + PD_PLACE(v), x)
#define PD_ADD(to, v, x) OF_TYPE(add_part)((to) + PD_PLACE(v), x, WIDTH)
#endif
/* A part of a row that other groups have parts of. */
#define PD_SHARE(parts, x)                                                                         \
  if (job.atomic) {                                                                                \
    PD_EACH_VECTOR PD_ADD(out + id * job.out_stride, v, x[v]);                                     \
  } else {                                                                                         \
    PD_EACH_VECTOR parts[own][lane][v] = x[v];                                                     \
  }
#define PD_EACH_VECTOR PD_UNROLL for (int v = 0; v < PD_VECTORS; ++v)
#define PD_EACH_STEP PD_UNROLL for (pd_u32 j = 0; j < PD_PORTABLE_STEP; ++j)

PD_KERNEL PD_INSTANCE(rows)(
    PD_ITEM PD_JOB(pd_rows_job) job, const PD_GLOBAL pd_u32 *PD_RESTRICT ends,
    const PD_GLOBAL REAL *PD_RESTRICT values, const PD_GLOBAL pd_u64 *PD_RESTRICT row_start,
    const PD_GLOBAL pd_u32 *PD_RESTRICT row_id, const PD_GLOBAL pd_u32 *PD_RESTRICT chunk_row,
    const PD_GLOBAL REAL *PD_RESTRICT b, PD_GLOBAL REAL *out, PD_GLOBAL REAL *head,
    PD_GLOBAL REAL *tail, PD_PLANE_PARAMETERS, PD_FACTOR_PARAMETERS) {
  const PD_GLOBAL pd_u32 *const planes[PD_PORTABLE_INPUTS] = {PD_PLANE_NAMES};
  const PD_GLOBAL REAL *const factors[PD_PORTABLE_INPUTS] = {PD_FACTOR_NAMES};
  (void)ends, (void)values, (void)row_start, (void)row_id, (void)chunk_row, (void)b, (void)out;
  (void)head, (void)tail, (void)planes, (void)factors; /* no kind of kernel uses all of them */
  const pd_u64 item = PD_INDEX;
  const pd_u64 group = item / PD_LANES;
  const pd_u32 lane = (pd_u32)(item % PD_LANES);
  const pd_u32 first_column = job.column + lane * WIDTH;
  const pd_u64 begin = group * job.segment;
  const pd_u64 end = begin + job.segment < job.nnz ? begin + job.segment : job.nnz;
#if PD_WALKS_ROWS && PD_KIND != PD_KIND_DOTS
  PD_LOCAL_ARRAY VEC first[PD_GROUPS][PD_LANES][PD_VECTORS];
  PD_LOCAL_ARRAY VEC last[PD_GROUPS][PD_LANES][PD_VECTORS];
  PD_LOCAL_ARRAY pd_u32 state[PD_GROUPS];
  PD_LOCAL_ARRAY pd_u32 last_row[PD_GROUPS];
  const pd_u32 own = (pd_u32)(group % PD_GROUPS);
  pd_u32 my_state = 0;
  pd_u32 inside = 0;
#endif
#if PD_WALKS_ROWS
  pd_u32 id = 0;
#endif
  if (begin < job.nnz) {
#if PD_WALKS_ROWS
    pd_u64 row = chunk_row[begin / PD_PORTABLE_CHUNK];
    id = job.has_row_id ? row_id[row] : (pd_u32)row;
#if PD_KIND != PD_KIND_DOTS
    pd_u32 open = 1;
    inside = row_start[row] == begin;
    VEC sum[PD_VECTORS];
    PD_EACH_VECTOR sum[v] = OF_TYPE(splat)(0);
#if PD_WIDE_SUMS
    WIDE total[PD_VECTORS];
    PD_EACH_VECTOR total[v] = OF_TYPE(widen)(sum[v]);
#endif
#endif
#if PD_KIND == PD_KIND_DOTS
    double gained = 0;
#endif
#if PD_NEEDS_B
    VEC model[PD_VECTORS];
    PD_EACH_VECTOR model[v] = PD_GET(b + id * job.b_stride, v);
#endif
#endif
#if PD_KEEPS
    pd_u32 before[PD_SLOTS];
    VEC kept[PD_SLOTS][PD_VECTORS];
    PD_EACH_INPUT {
      before[k] = 0xffffffffu;
      PD_EACH_VECTOR kept[k][v] = OF_TYPE(splat)(0);
    }
#endif
#if PD_DECODES
    pd_u64 place[PD_SLOTS][PD_PLACES];
    const pd_u64 padded = (job.nnz + PD_PORTABLE_STEP - 1) / PD_PORTABLE_STEP * PD_PORTABLE_STEP;
    PD_EACH_INPUT {
      for (pd_u32 i = 0; i < PD_PLACES; ++i)
        place[k][i] = 0;
    }
#endif
    for (pd_u64 p = begin; p < end; p += PD_PORTABLE_STEP) {
#if PD_KIND != PD_KIND_PI
      REAL value[PD_PORTABLE_STEP];
      OF_TYPE(load_step)(values + p, value);
      pd_u32 closing = ends[p / 32] >> p % 32; /* bit j: nonzero p + j is the last of its row */
#endif
#include "portable/rows_products.h"
#if PD_KIND == PD_KIND_PI
      PD_EACH_STEP {
        if (p + j < end) {
          PD_GLOBAL REAL *to = out + (p + j) * job.out_stride;
          PD_EACH_VECTOR PD_PUT(to, v, product[j][v]);
        }
      }
#else
#include "portable/rows_sums.h"
#if PD_WIDE_SUMS && PD_KIND != PD_KIND_DOTS
      if ((p + PD_PORTABLE_STEP) % PD_PORTABLE_CHUNK == 0) PD_EACH_VECTOR {
          total[v] += OF_TYPE(widen)(sum[v]);
          sum[v] = OF_TYPE(splat)(0);
        }
#endif
#endif
    }
#if PD_KIND == PD_KIND_DOTS
    if (job.dots & PD_DOTS_GAINS && lane == 0) ((PD_GLOBAL double *)head)[group] = gained;
#endif
#if PD_WALKS_ROWS && PD_KIND != PD_KIND_DOTS
#if PD_WIDE_SUMS
    PD_EACH_VECTOR sum[v] = OF_TYPE(narrow)(total[v] + OF_TYPE(widen)(sum[v]));
#endif
    /* The last nonzero of all ends its row: sums of padding are dropped here. */
    if (end == job.nnz) open = 0;
    if (open && inside) {
      my_state |= PD_HAS_LAST;
      PD_SHARE(last, sum)
    } else if (open) {
      my_state |= PD_HAS_FIRST | PD_THROUGH;
      PD_SHARE(first, sum)
    }
#endif
  }
#if PD_WALKS_ROWS && PD_KIND != PD_KIND_DOTS
#include "portable/rows_join.h"
#endif
}

#undef PD_SLOTS
#undef PD_EACH_INPUT
#undef PD_IS_PHI
#undef PD_KEEPS
#undef PD_DECODES
#undef PD_AHEAD
#undef PD_PLACES
#undef PD_NEEDS_B
#undef PD_WALKS_ROWS
#undef PD_PLACE
#undef PD_ENTRIES
#undef PD_GET
#undef PD_PUT
#undef PD_ADD
#undef PD_SHARE
#undef PD_EACH_VECTOR
#undef PD_EACH_STEP
#include "portable/real_types_end.h"
