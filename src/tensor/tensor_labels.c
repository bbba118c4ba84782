/* Names of modes and labels of indices. */
#include "tensor/tensor.h"
#include <inttypes.h>
#include <string.h>

const char *polyad_tensor_mode_name(const polyad_tensor *tensor, int mode) {
  return mode < 0 || mode >= tensor->order ? NULL : tensor->mode_name[mode];
}

const char *polyad_tensor_label(const polyad_tensor *tensor, int mode, uint64_t index,
                                size_t *length) {
  if (length != NULL) *length = 0;
  if (mode < 0 || mode >= tensor->order || index >= tensor->labels[mode].count) return NULL;
  const struct pd_labels *labels = &tensor->labels[mode];
  if (length != NULL) *length = (size_t)(labels->start[index + 1] - labels->start[index] - 1);
  return labels->text + labels->start[index];
}

static void release_labels(polyad_context *context, struct pd_labels *labels) {
  PD_FREE(context, labels->start, labels->text);
  *labels = (struct pd_labels){0};
}

void pd_tensor_take_labels(polyad_tensor *tensor, int mode, struct pd_labels *labels) {
  release_labels(tensor->context, &tensor->labels[mode]);
  tensor->labels[mode] = *labels;
  *labels = (struct pd_labels){0};
}

static polyad_status tensor_labels_copy_labels(polyad_context *context, uint64_t count,
                                               const char *const *from, struct pd_labels *labels) {
  polyad_status status = POLYAD_OK;
  labels->count = count;
  PD_TRY_CLEANUP(PD_NEW(context, pd_add_saturated(count, 1), &labels->start));
  labels->start[0] = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (from[i] == NULL) {
      status = pd_fail(context, POLYAD_INVALID_ARGUMENT, "label %" PRIu64 " is NULL", i);
      goto cleanup;
    }
    labels->start[i + 1] = labels->start[i] + strlen(from[i]) + 1;
  }
  PD_TRY_CLEANUP(PD_NEW(context, labels->start[count], &labels->text));
  for (uint64_t i = 0; i < count; ++i)
    memcpy(labels->text + labels->start[i], from[i],
           (size_t)(labels->start[i + 1] - labels->start[i]));

cleanup:
  if (status != POLYAD_OK) release_labels(context, labels);
  return status;
}

polyad_status polyad_tensor_set_labels(polyad_context *context, polyad_tensor *tensor, int mode,
                                       const char *name, const char *const *labels) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && mode >= 0 && mode < tensor->order,
            "mode %d of an order-%d tensor; expected %d to "
            "%d",
            pd_shown_mode(context, mode), tensor == NULL ? 0 : tensor->order,
            pd_shown_mode(context, 0),
            pd_shown_mode(context, tensor == NULL ? 0 : tensor->order - 1));
  polyad_status status = POLYAD_OK;
  char *name_copy = NULL;
  struct pd_labels copy = {0};
  if (name != NULL) {
    size_t bytes = strlen(name) + 1;
    PD_TRY_CLEANUP(PD_NEW(context, bytes, &name_copy));
    memcpy(name_copy, name, bytes);
  }
  if (labels != NULL) {
    PD_TRY_CLEANUP(tensor_labels_copy_labels(context, tensor->dims[mode], labels, &copy));
    pd_tensor_take_labels(tensor, mode, &copy);
  }
  if (name_copy != NULL) {
    pd_free(context, tensor->mode_name[mode]);
    tensor->mode_name[mode] = name_copy;
    name_copy = NULL;
  }

cleanup:
  pd_free(context, name_copy);
  return status;
}
