/* Whether the labels of two tensors say which indices belong together, and then a tensor in the
 * other's terms, or the rows of a model in the order of a tensor's labels. */
#include "tensor/model_arrays.h"
#include "tensor/tensor.h"
#include <inttypes.h>
#include <polyad/match.h>
#include <string.h>

/* What the labels of one mode say. */
struct meeting {
  bool one, both, same; /* one tensor has some; both have; those of both are the same, in order */
};

static struct meeting compare_labels(const polyad_tensor *a, const polyad_tensor *b, int mode) {
  const struct pd_labels *x = &a->labels[mode], *y = &b->labels[mode];
  struct meeting found = {.both = x->count > 0 && y->count > 0};
  found.one = (x->count > 0 || y->count > 0) && !found.both;
  if (!found.both || x->count != y->count) return found;
  size_t bytes = (size_t)(x->count + 1) * sizeof *x->start;
  found.same = memcmp(x->start, y->start, bytes) == 0 &&
               memcmp(x->text, y->text, (size_t)x->start[x->count]) == 0;
  return found;
}

/* Names the side that has labels of a mode, by its first label, and the side that has none. */
static polyad_status fail_one_sided(polyad_context *context, const polyad_tensor *labels,
                                    const polyad_tensor *tensor, int mode) {
  char quoted[PD_QUOTE_BYTES];
  const char *other = pd_labels_owner(labels);
  bool ours = tensor->labels[mode].count > 0;
  size_t length;
  const char *first = polyad_tensor_label(ours ? tensor : labels, mode, 0, &length);
  return pd_fail(
      context, POLYAD_MISMATCH,
      "mode %d has labels in the %s only (the first is %s) and none in the %s, while "
      "other modes have labels in both, in different orders; expected labels of the same "
      "modes",
      pd_shown_mode(context, mode), ours ? "tensor" : other, pd_quote(quoted, first, length),
      ours ? other : "tensor");
}

/* Whether some mode has to be matched by name. Then a mode that only one of them has labels of
 * leaves open what its indices are. */
static polyad_status needs_names(polyad_context *context, const polyad_tensor *labels,
                                 const polyad_tensor *tensor, bool *differ) {
  int one_sided = -1;
  *differ = false;
  if (labels == NULL || labels->order != tensor->order) return POLYAD_OK;
  for (int n = 0; n < tensor->order; ++n) {
    struct meeting found = compare_labels(labels, tensor, n);
    if (found.one) one_sided = n;
    *differ = *differ || (found.both && !found.same);
  }
  if (!*differ || one_sided < 0) return POLYAD_OK;
  return fail_one_sided(context, labels, tensor, one_sided);
}

polyad_status polyad_tensor_match_labels(polyad_context *context, const polyad_tensor *labels,
                                         const polyad_tensor *tensor, polyad_unseen unseen,
                                         uint64_t *skipped, polyad_tensor **matched) {
  PD_ENTER(context);
  PD_EXPECT(context, tensor != NULL && matched != NULL, "tensor or matched is NULL");
  bool differ;
  *matched = NULL;
  if (skipped != NULL) *skipped = 0;
  PD_TRY(needs_names(context, labels, tensor, &differ));
  if (!differ) return POLYAD_OK;
  polyad_match_options options;
  polyad_match_options_init(&options);
  options.unseen = unseen;
  return polyad_tensor_match(context, NULL, labels, tensor, &options, skipped, matched);
}

/* ---- rows of a model ------------------------------------------------------------------------ */

/* from[i]: the model's row that has label i. Every row is one of them: as many labels, all found,
 * none twice. */
static polyad_status find_rows(polyad_context *context, const polyad_tensor *own,
                               const polyad_tensor *labels, int mode, uint64_t *from) {
  const struct pd_labels *wanted = &labels->labels[mode];
  unsigned char *taken = NULL;
  PD_TRY(pd_labels_find(context, &own->labels[mode], wanted, from));
  PD_TRY(PD_NEW_ZERO(context, wanted->count, &taken));
  uint64_t i = 0;
  while (i < wanted->count && from[i] < wanted->count && !taken[from[i]])
    taken[from[i++]] = 1;
  pd_free(context, taken);
  if (i == wanted->count) return POLYAD_OK;
  char quoted[PD_QUOTE_BYTES];
  const char *text = wanted->text + wanted->start[i];
  return pd_fail(context, POLYAD_MISMATCH,
                 "mode %d has label %s %s; expected the model's labels, in any order",
                 pd_shown_mode(context, mode), pd_quote(quoted, text, strlen(text)),
                 from[i] < wanted->count ? "twice" : "that the model lacks");
}

static void move_rows(const struct pd_model *model, int mode, const uint64_t *from, char *rows) {
  size_t bytes = (size_t)model->ranks[mode] * pd_type_bytes(model->type);
  memcpy(rows, model->factor[mode], (size_t)model->dims[mode] * bytes);
  for (uint64_t i = 0; i < model->dims[mode]; ++i)
    memcpy((char *)model->factor[mode] + i * bytes, rows + from[i] * bytes, bytes);
}

/* All that can fail is done before the first row is moved. */
static polyad_status order_rows(polyad_context *context, const polyad_tensor *labels,
                                const polyad_tensor *own, const struct pd_model *model) {
  uint64_t *from[POLYAD_MAX_ORDER] = {NULL}, most = 0;
  char *rows = NULL;
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < model->order; ++n) {
    struct meeting found = compare_labels(labels, own, n);
    uint64_t bytes = model->dims[n] * model->ranks[n] * pd_type_bytes(model->type);
    if (!found.both || found.same) continue;
    if (bytes > most) most = bytes;
    PD_TRY_CLEANUP(PD_NEW(context, model->dims[n], &from[n]));
    PD_TRY_CLEANUP(find_rows(context, own, labels, n, from[n]));
  }
  PD_TRY_CLEANUP(PD_NEW(context, most, &rows));
  for (int n = 0; n < model->order; ++n)
    if (from[n] != NULL) move_rows(model, n, from[n], rows);
cleanup:
  for (int n = 0; n < model->order; ++n)
    pd_free(context, from[n]);
  pd_free(context, rows);
  return status;
}

static polyad_status match_model(polyad_context *context, const polyad_tensor *labels,
                                 const polyad_tensor *own, const struct pd_model *model) {
  if (labels == NULL || own == NULL || labels->order != model->order) return POLYAD_OK;
  for (int n = 0; n < model->order; ++n) {
    PD_EXPECT(context, own->order == model->order && own->dims[n] == model->dims[n],
              "labels of other dims than the model's");
    if (labels->dims[n] != model->dims[n]) return POLYAD_OK;
  }
  return order_rows(context, labels, own, model);
}

polyad_status polyad_ktensor_match_labels(polyad_context *context, const polyad_tensor *labels,
                                          const polyad_tensor *own, polyad_ktensor *model) {
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL, "model is NULL");
  struct pd_model arrays = pd_model_of_ktensor(model);
  return match_model(context, labels, own, &arrays);
}

polyad_status polyad_ttensor_match_labels(polyad_context *context, const polyad_tensor *labels,
                                          const polyad_tensor *own, polyad_ttensor *model) {
  PD_ENTER(context);
  PD_EXPECT(context, model != NULL, "model is NULL");
  struct pd_model arrays = pd_model_of_ttensor(model);
  return match_model(context, labels, own, &arrays);
}
