/* Whether the labels of two tensors say which indices belong together, and then a tensor in the
 * other's terms. */
#include "tensor/tensor.h"
#include <polyad/match.h>
#include <string.h>

/* What the labels of one mode say. */
struct meeting {
  bool one, both, same; /* one tensor has some; both have; those of both are the same, in order */
};

static struct meeting meet(const polyad_tensor *a, const polyad_tensor *b, int mode) {
  const struct pd_labels *x = &a->labels[mode], *y = &b->labels[mode];
  struct meeting found = {.both = x->count > 0 && y->count > 0};
  found.one = (x->count > 0 || y->count > 0) && !found.both;
  if (!found.both || x->count != y->count) return found;
  size_t bytes = (size_t)(x->count + 1) * sizeof *x->start;
  found.same = memcmp(x->start, y->start, bytes) == 0 &&
               memcmp(x->text, y->text, (size_t)x->start[x->count]) == 0;
  return found;
}

/* Modes that only one of them has labels of are left to polyad_tensor_match(), to be refused. */
static bool stays(const polyad_tensor *labels, const polyad_tensor *tensor) {
  bool any = false, all = true;
  if (labels == NULL || labels->order != tensor->order) return true;
  for (int n = 0; n < tensor->order; ++n) {
    struct meeting found = meet(labels, tensor, n);
    any = any || found.both;
    all = all && !found.one && (!found.both || found.same) && labels->dims[n] == tensor->dims[n];
  }
  return !any || all;
}

polyad_status polyad_tensor_match_labels(polyad_context *context, const polyad_tensor *labels,
                                         const polyad_tensor *tensor, polyad_unseen unseen,
                                         uint64_t *skipped, polyad_tensor **matched) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && matched != NULL, "tensor or matched is NULL");
  *matched = NULL;
  if (skipped != NULL) *skipped = 0;
  if (stays(labels, tensor)) return POLYAD_OK;
  polyad_match_options options;
  polyad_match_options_init(&options);
  options.unseen = unseen;
  return polyad_tensor_match(context, NULL, labels, tensor, &options, skipped, matched);
}
