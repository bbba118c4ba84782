/* A piece of the kernel in kernels_rows.h: the groups of a work group join the parts of the rows
 * that they share; what goes beyond the work group is carried to kernel join_rows. */
if (job.atomic) return;
if (lane == 0) {
  state[own] = my_state;
  last_row[own] = id;
}
PD_BARRIER();
PD_GLOBAL REAL *const to_head = head + group / PD_GROUPS * job.rank;
PD_GLOBAL REAL *const to_tail = tail + group / PD_GROUPS * job.rank;
if (own == 0 && (my_state & PD_HAS_FIRST)) {
  PD_EACH_VECTOR {
    VEC joined = first[0][lane][v];
    for (pd_u32 g = 1; g < PD_GROUPS && (state[g - 1] & PD_THROUGH) != 0; ++g)
      if (state[g] & PD_HAS_FIRST) joined += first[g][lane][v];
    PD_PUT(to_head, v, joined);
  }
}
if (my_state & PD_HAS_LAST) {
  PD_EACH_VECTOR {
    VEC joined = last[own][lane][v];
    pd_u32 closed = 0;
    for (pd_u32 g = own + 1; g < PD_GROUPS && !closed && (state[g] & PD_HAS_FIRST) != 0; ++g) {
      joined += first[g][lane][v];
      closed = !(state[g] & PD_THROUGH);
    }
    if (closed)
      PD_PUT(out + last_row[own] * job.out_stride, v, joined);
    else
      PD_PUT(to_tail, v, joined);
  }
}
