/* Starts the instance just defined on the CPU: threads take work items in order. */
static void PD_INSTANCE(run)(const struct pd_rows_launch *launch, int threads) {
  const struct pd_rows_job *job = &launch->job;
  const struct pd_rows_pointers *at = &launch->at;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (uint64_t group = 0; group < launch->groups; ++group)
    PD_INSTANCE(rows)
  (group, *job, at->ends, at->values, at->row_start, at->row_id, at->chunk_row, at->b, at->out,
   at->head, at->tail, PD_LIST(PD_PLANE_ARGUMENT), PD_LIST(PD_FACTOR_ARGUMENT));
}
