/* Writer of FROSTT text: lines are formatted in parallel, a batch at a time. */
#include "io/formats.h"
#include "io/number.h"

enum { BATCH = 1 << 16 }; /* nonzeros that a thread formats at once */

static size_t format_line(const polyad_tensor *tensor, uint64_t p, char *text) {
  size_t at = 0;
  for (int n = 0; n < tensor->order; ++n) {
    at += pd_format_index(text + at, pd_tensor_index(tensor, n, p) + 1);
    text[at++] = ' ';
  }
  at += pd_format_number(text + at, pd_tensor_value(tensor, p), tensor->type == POLYAD_F32);
  text[at++] = '\n';
  return at;
}

/* Room for the longest line: 20 digits and a blank for each index, a value, a line end. */
static size_t line_room(const polyad_tensor *tensor) {
  return (size_t)tensor->order * 21 + PD_NUMBER_TEXT + 1;
}

polyad_status pd_tns_write_lines(polyad_context *context, const polyad_tensor *tensor,
                                 struct pd_output *output) {
  int threads = pd_threads_for(context, tensor->nnz, BATCH / 4);
  size_t room = line_room(tensor) * BATCH;
  char *text = NULL;
  size_t *length = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(PD_NEW(context, pd_mul_saturated(room, (uint64_t)threads), &text));
  PD_TRY_CLEANUP(PD_NEW(context, (uint64_t)threads, &length));
  for (uint64_t first = 0; first < tensor->nnz; first += (uint64_t)threads * BATCH) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      uint64_t begin = first + (uint64_t)t * BATCH, end = begin + BATCH;
      if (end > tensor->nnz) end = tensor->nnz;
      length[t] = 0;
      for (uint64_t p = begin; p < end; ++p)
        length[t] += format_line(tensor, p, text + (size_t)t * room + length[t]);
    }
    for (int t = 0; t < threads; ++t)
      PD_TRY_CLEANUP(pd_output_write(output, text + (size_t)t * room, length[t]));
  }
cleanup:
  PD_FREE(context, text, length);
  return status;
}

polyad_status pd_tns_write_dims(struct pd_output *output, int order, const uint64_t *dims) {
  PD_TRY(pd_output_printf(output, "%s", PD_TNS_DIMS_COMMENT));
  for (int n = 0; n < order; ++n)
    PD_TRY(pd_output_printf(output, " %llu", (unsigned long long)dims[n]));
  return pd_output_write(output, "\n", 1);
}

/* Whether some mode ends in empty slices, so that the nonzeros alone do not tell its length. */
static bool ends_in_empty_slices(const polyad_context *context, const polyad_tensor *tensor) {
  int threads = pd_threads_for(context, tensor->nnz, BATCH / 4);
  for (int n = 0; n < tensor->order; ++n) {
    bool met = false;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(|| : met)
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      met = met || pd_tensor_index(tensor, n, p) == tensor->dims[n] - 1;
    if (!met) return true;
  }
  return false;
}

polyad_status pd_tns_write(polyad_context *context, const polyad_tensor *tensor, const char *path) {
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = POLYAD_OK;
  if (ends_in_empty_slices(context, tensor))
    status = pd_tns_write_dims(output, tensor->order, tensor->dims);
  if (status == POLYAD_OK) status = pd_tns_write_lines(context, tensor, output);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}
