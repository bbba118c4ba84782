/* Tensor Toolbox text: writing sptensor, ktensor, ttensor and matrix. */
#include "core/numbers.h"
#include "io/formats.h"
#include "io/number.h"
#include "io/number_rows.h"
#include "io/toolbox_parts.h"

/* A line of `count` sizes. */
static polyad_status write_size_line(struct pd_output *output, int count, const uint64_t *sizes) {
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
  PD_TRY_CLEANUP(write_size_line(output, tensor->order, tensor->dims));
  PD_TRY_CLEANUP(pd_output_printf(output, "%llu\n", (unsigned long long)tensor->nnz));
  PD_TRY_CLEANUP(pd_tns_write_lines(context, tensor, output));
  return pd_output_commit(output);
cleanup:
  pd_output_abort(output);
  return status;
}

/* A matrix with its header. */
static polyad_status toolbox_write_matrix(polyad_context *context, struct pd_output *output,
                                          uint64_t rows, uint64_t columns, polyad_type type,
                                          const void *values) {
  PD_TRY(pd_output_printf(output, "matrix\n2\n%llu %llu\n", (unsigned long long)rows,
                          (unsigned long long)columns));
  PD_TRY(pd_rows_write(context, output, type, values, rows, columns, &pd_plain_rows));
  return pd_output_write(output, "\n", 1);
}

static polyad_status write_weights(polyad_context *context, struct pd_output *output,
                                   const struct pd_model *model) {
  PD_TRY(pd_output_printf(output, "%llu\n", (unsigned long long)model->entries));
  PD_TRY(
      pd_rows_write(context, output, model->type, model->first, 1, model->entries, &pd_plain_rows));
  return pd_output_write(output, "\n", 1);
}

static polyad_status write_core(struct pd_output *output, const struct pd_model *model) {
  char text[PD_NUMBER_TEXT + 1];
  PD_TRY(pd_output_printf(output, "tensor\n%d\n", model->order));
  PD_TRY(write_size_line(output, model->order, model->ranks));
  for (uint64_t k = 0; k < model->entries; ++k) {
    double value = pd_load(model->type, model->first, pd_toolbox_core_place(model, k));
    size_t length = pd_format_number(text, value, model->type == POLYAD_F32);
    text[length] = '\n';
    PD_TRY(pd_output_write(output, text, length + 1));
  }
  return POLYAD_OK;
}

static polyad_status write_arrays(polyad_context *context, struct pd_output *output,
                                  const struct pd_model *model) {
  PD_TRY(pd_output_printf(output, "%s\n%d\n", model->tucker ? "ttensor" : "ktensor", model->order));
  PD_TRY(write_size_line(output, model->order, model->dims));
  PD_TRY(model->tucker ? write_core(output, model) : write_weights(context, output, model));
  for (int n = 0; n < model->order; ++n)
    PD_TRY(toolbox_write_matrix(context, output, model->dims[n], model->ranks[n], model->type,
                                model->factor[n]));
  return POLYAD_OK;
}

polyad_status pd_toolbox_write_model(polyad_context *context, const struct pd_model *model,
                                     const char *path) {
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = write_arrays(context, output, model);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

polyad_status polyad_matrix_write(polyad_context *context, uint64_t rows, uint64_t columns,
                                  const double *values, const char *path) {
  PD_ENTER(context);
  PD_EXPECT(context, values != NULL && path != NULL && rows >= 1 && columns >= 1,
            "values or path is NULL, or the matrix has no row or column");
  struct pd_output *output = NULL;
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &output));
  polyad_status status = toolbox_write_matrix(context, output, rows, columns, POLYAD_F64, values);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}
