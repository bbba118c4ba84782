/* Tensor Toolbox text: writing sptensor, ktensor and matrix. */
#include "io/formats.h"
#include "io/number_rows.h"
#include "io/toolbox_parts.h"
#include "tensor/ktensor.h"

polyad_status pd_toolbox_write_sizes(struct pd_output *output, int count, const uint64_t *sizes) {
  for (int n = 0; n < count; ++n)
    PD_TRY(pd_output_printf(output, "%llu%c", (unsigned long long)sizes[n],
                            n + 1 == count ? '\n' : ' '));
  return POLYAD_OK;
}

polyad_status pd_toolbox_write(polyad_context *context, const polyad_tensor *tensor,
                               const char *path) {
  struct pd_output *output = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  PD_TRY_CLEANUP(pd_output_printf(output, "sptensor\n%d\n", tensor->order));
  PD_TRY_CLEANUP(pd_toolbox_write_sizes(output, tensor->order, tensor->dims));
  PD_TRY_CLEANUP(pd_output_printf(output, "%llu\n", (unsigned long long)tensor->nnz));
  PD_TRY_CLEANUP(pd_tns_write_lines(context, tensor, output));
  return pd_output_commit(output);
cleanup:
  pd_output_abort(output);
  return status;
}

polyad_status pd_toolbox_write_matrix(polyad_context *context, struct pd_output *output,
                                      uint64_t rows, uint64_t columns, polyad_type type,
                                      const void *values) {
  PD_TRY(pd_output_printf(output, "matrix\n2\n%llu %llu\n", (unsigned long long)rows,
                          (unsigned long long)columns));
  PD_TRY(pd_rows_write(context, output, type, values, rows, columns, &pd_plain_rows));
  return pd_output_write(output, "\n", 1);
}

static polyad_status write_ktensor(polyad_context *context, struct pd_output *output,
                                   const polyad_ktensor *ktensor) {
  PD_TRY(pd_output_printf(output, "ktensor\n%d\n", ktensor->order));
  PD_TRY(pd_toolbox_write_sizes(output, ktensor->order, ktensor->dims));
  PD_TRY(pd_output_printf(output, "%llu\n", (unsigned long long)ktensor->rank));
  PD_TRY(pd_rows_write(context, output, ktensor->type, ktensor->weights, 1, ktensor->rank,
                       &pd_plain_rows));
  PD_TRY(pd_output_write(output, "\n", 1));
  for (int n = 0; n < ktensor->order; ++n)
    PD_TRY(pd_toolbox_write_matrix(context, output, ktensor->dims[n], ktensor->rank, ktensor->type,
                                   ktensor->factor[n]));
  return POLYAD_OK;
}

polyad_status pd_toolbox_write_model(polyad_context *context, const struct pd_model *model,
                                     const char *path) {
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = model->ktensor != NULL
                             ? write_ktensor(context, output, model->ktensor)
                             : pd_toolbox_write_ttensor(context, output, model->ttensor);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

polyad_status polyad_matrix_write(polyad_context *context, uint64_t rows, uint64_t columns,
                                  const double *values, const char *path) {
  PD_ENTER(context);
  if (values == NULL || path == NULL || rows < 1 || columns < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "values or path is NULL, or the matrix has no row or column");
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status =
      pd_toolbox_write_matrix(context, output, rows, columns, POLYAD_F64, values);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}
