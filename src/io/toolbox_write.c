/* Tensor Toolbox text: writing sptensor, ktensor and matrix. */
#include "io/formats.h"
#include "io/number.h"
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

static double number_at(const void *values, polyad_type type, uint64_t k) {
  return type == POLYAD_F64 ? ((const double *)values)[k] : ((const float *)values)[k];
}

static polyad_status write_row(struct pd_output *output, const void *values, polyad_type type,
                               uint64_t first, uint64_t count) {
  char text[PD_NUMBER_TEXT + 1];
  for (uint64_t k = 0; k < count; ++k) {
    size_t length = pd_format_number(text, number_at(values, type, first + k), type == POLYAD_F32);
    text[length] = k + 1 == count ? '\n' : ' ';
    PD_TRY(pd_output_write(output, text, length + 1));
  }
  return POLYAD_OK;
}

polyad_status pd_toolbox_write_matrix(struct pd_output *output, uint64_t rows, uint64_t columns,
                                      polyad_type type, const void *values) {
  PD_TRY(pd_output_printf(output, "matrix\n2\n%llu %llu\n", (unsigned long long)rows,
                          (unsigned long long)columns));
  for (uint64_t i = 0; i < rows; ++i)
    PD_TRY(write_row(output, values, type, i * columns, columns));
  return POLYAD_OK;
}

static polyad_status write_ktensor(struct pd_output *output, const polyad_ktensor *ktensor) {
  PD_TRY(pd_output_printf(output, "ktensor\n%d\n", ktensor->order));
  PD_TRY(pd_toolbox_write_sizes(output, ktensor->order, ktensor->dims));
  PD_TRY(pd_output_printf(output, "%llu\n", (unsigned long long)ktensor->rank));
  PD_TRY(write_row(output, ktensor->weights, ktensor->type, 0, ktensor->rank));
  for (int n = 0; n < ktensor->order; ++n)
    PD_TRY(pd_toolbox_write_matrix(output, ktensor->dims[n], ktensor->rank, ktensor->type,
                                   ktensor->factor[n]));
  return POLYAD_OK;
}

polyad_status polyad_ktensor_write(polyad_context *context, const polyad_ktensor *ktensor,
                                   const char *path) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (ktensor == NULL || path == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "ktensor or path is NULL");
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = write_ktensor(output, ktensor);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

polyad_status polyad_matrix_write(polyad_context *context, uint64_t rows, uint64_t columns,
                                  const double *values, const char *path) {
  if (context == NULL) return POLYAD_INVALID_ARGUMENT;
  pd_begin(context);
  if (values == NULL || path == NULL || rows < 1 || columns < 1)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "values or path is NULL, or the matrix has no row or column");
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = pd_toolbox_write_matrix(output, rows, columns, POLYAD_F64, values);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}
