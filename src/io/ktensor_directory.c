/* Models as directories: lambda.txt (CP) or core.txt (Tucker), mode1.txt, … and, where labels are
 * known, mode1.top.tsv, … */
#include "io/model_directory.h"
#include "tensor/tensor.h"
#include "tensor/ttensor.h"
#include <polyad/io.h>
#include <stdio.h>

static polyad_status write_factor(polyad_context *context, const struct pd_model *model, int n,
                                  const polyad_ktensor *factor, const char *directory) {
  char path[PD_DIRECTORY_FILE_BYTES];
  snprintf(path, sizeof path, "%s/mode%d.txt", directory, n + 1);
  PD_TRY(pd_directory_matrix(context, path, factor->type, factor->factor[n], factor->dims[n],
                             factor->rank));
  if (model->outline == NULL || model->outline->labels[n].count == 0 || model->top <= 0)
    return POLYAD_OK;
  snprintf(path, sizeof path, "%s/mode%d.top.tsv", directory, n + 1);
  return pd_directory_top(context, factor, model->outline, n, (uint64_t)model->top, path);
}

static polyad_status write_cp(polyad_context *context, const void *user, const char *directory) {
  const struct pd_model *model = user;
  const polyad_ktensor *ktensor = model->ktensor;
  char path[PD_DIRECTORY_FILE_BYTES];
  snprintf(path, sizeof path, "%s/lambda.txt", directory);
  PD_TRY(pd_directory_matrix(context, path, ktensor->type, ktensor->weights, ktensor->rank, 1));
  for (int n = 0; n < ktensor->order; ++n)
    PD_TRY(write_factor(context, model, n, ktensor, directory));
  return POLYAD_OK;
}

/* The factor of one mode, seen as part of a Kruskal tensor. */
static polyad_ktensor view_of(const polyad_ttensor *ttensor, int n) {
  polyad_ktensor view = {.order = ttensor->order, .rank = ttensor->ranks[n], .type = ttensor->type};
  for (int m = 0; m < ttensor->order; ++m) {
    view.dims[m] = ttensor->dims[m];
    view.factor[m] = ttensor->factor[m];
  }
  return view;
}

static polyad_status ktensor_directory_write_tucker(polyad_context *context, const void *user,
                                                    const char *directory) {
  const struct pd_model *model = user;
  const polyad_ttensor *ttensor = model->ttensor;
  char path[PD_DIRECTORY_FILE_BYTES];
  snprintf(path, sizeof path, "%s/core.txt", directory);
  PD_TRY(pd_directory_matrix(context, path, ttensor->type, ttensor->core, ttensor->ranks[0],
                             ttensor->core_size / ttensor->ranks[0]));
  for (int n = 0; n < ttensor->order; ++n) {
    polyad_ktensor view = view_of(ttensor, n);
    PD_TRY(write_factor(context, model, n, &view, directory));
  }
  return POLYAD_OK;
}

polyad_status pd_directory_write_model(polyad_context *context, const struct pd_model *model,
                                       const char *path) {
  bool is_kruskal = model->ktensor != NULL;
  int order = is_kruskal ? model->ktensor->order : model->ttensor->order;
  const uint64_t *dims = is_kruskal ? model->ktensor->dims : model->ttensor->dims;
  return pd_directory_write(context, model->outline, order, dims, path,
                            is_kruskal ? write_cp : ktensor_directory_write_tucker, model);
}

polyad_status polyad_ktensor_write_directory(polyad_context *context, const polyad_ktensor *ktensor,
                                             const polyad_tensor *tensor, int top,
                                             const char *path) {
  PD_ENTER(context);
  if (ktensor == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "model or path is missing; expected both");
  struct pd_model model = {.ktensor = ktensor, .outline = tensor, .top = top};
  return pd_directory_write_model(context, &model, path);
}

polyad_status polyad_ttensor_write_directory(polyad_context *context, const polyad_ttensor *ttensor,
                                             const polyad_tensor *tensor, int top,
                                             const char *path) {
  PD_ENTER(context);
  if (ttensor == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "model or path is missing; expected both");
  struct pd_model model = {.ttensor = ttensor, .outline = tensor, .top = top};
  return pd_directory_write_model(context, &model, path);
}
