/* A tensor's indices in a model's terms. For each mode a table says which index of the result an
 * index of the tensor becomes; labels are looked up in a hash table of the model's. Then the
 * nonzeros are rewritten, and sorted again. */
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include <inttypes.h>
#include <polyad/match.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { NAMED = 3 }; /* unseen labels in a message */

static const uint64_t none = UINT64_MAX;

/* How the indices of one mode are translated. */
struct translation {
  uint64_t *index;       /* of the result, for each index of the tensor; `none`: unseen. NULL: by
                            number, `shift` added */
  uint64_t shift, known; /* by number: indices from `known` on are unseen */
  uint64_t length;       /* of the result's mode */
  struct pd_labels own;  /* labels of the result; count 0: it takes `from`'s */
  const polyad_tensor *from;
};

struct match {
  polyad_context *context;
  const uint64_t *dims;        /* of the model, or of the labels where there is no model */
  const polyad_ktensor *model; /* may be NULL */
  const polyad_tensor *labels, *tensor;
  const polyad_match_options *options;
  struct translation mode[POLYAD_MAX_ORDER];
  uint64_t kept; /* nonzeros */
};

void polyad_match_options_init(polyad_match_options *options) {
  *options = (polyad_match_options){.by = POLYAD_MATCH_AUTO};
}

/* ---- labels --------------------------------------------------------------------------------- */

static bool has_labels(const polyad_tensor *tensor, int mode) {
  return tensor != NULL && tensor->labels[mode].count > 0;
}

static size_t label_length(const struct pd_labels *labels, uint64_t i) {
  return (size_t)(labels->start[i + 1] - labels->start[i] - 1);
}

/* A hash table of labels with linear probing: cells hold an index plus one, 0 is empty. */
struct table {
  uint64_t mask, *cell;
  const struct pd_labels *labels;
};

/* The cell that holds an equal label, or the empty one where it belongs. */
static uint64_t *find_cell(const struct table *table, const char *text, size_t length) {
  uint64_t at = XXH3_64bits(text, length) & table->mask;
  for (;; at = (at + 1) & table->mask) {
    uint64_t *cell = &table->cell[at];
    if (*cell == 0) return cell;
    if (label_length(table->labels, *cell - 1) == length &&
        memcmp(table->labels->text + table->labels->start[*cell - 1], text, length) == 0)
      return cell;
  }
}

/* Of equal labels the first one counts. */
static polyad_status fill_table(polyad_context *context, const struct pd_labels *labels,
                                struct table *table) {
  table->labels = labels;
  table->mask = (UINT64_C(2) << pd_bit_length(labels->count)) - 1;
  PD_TRY(PD_NEW_ZERO(context, table->mask + 1, &table->cell));
  for (uint64_t i = 0; i < labels->count; ++i) {
    uint64_t *cell = find_cell(table, labels->text + labels->start[i], label_length(labels, i));
    if (*cell == 0) *cell = i + 1;
  }
  return POLYAD_OK;
}

const char *pd_labels_owner(const polyad_tensor *labels) {
  return labels->nnz == 0 ? "model" : "other tensor";
}

polyad_status pd_labels_find(polyad_context *context, const struct pd_labels *among,
                             const struct pd_labels *labels, uint64_t *index) {
  struct table table = {.cell = NULL};
  polyad_status status = fill_table(context, among, &table);
  for (uint64_t i = 0; status == POLYAD_OK && i < labels->count; ++i)
    index[i] = *find_cell(&table, labels->text + labels->start[i], label_length(labels, i)) - 1;
  pd_free(context, table.cell); /* an empty cell's 0 - 1 is `none` */
  return status;
}

/* ---- one mode ------------------------------------------------------------------------------- */

/* Appends the tensor's labels of the indices that are new to `first` labels of the model. */
static polyad_status join_labels(struct match *match, int mode, uint64_t first) {
  struct translation *t = &match->mode[mode];
  const struct pd_labels *model = first > 0 ? &match->labels->labels[mode] : NULL;
  const struct pd_labels *tensor = &match->tensor->labels[mode];
  struct pd_labels joined = {.count = t->length};
  uint64_t bytes = first > 0 ? model->start[first] : 0;
  for (uint64_t i = 0; i < tensor->count; ++i)
    if (t->index[i] != none && t->index[i] >= first) bytes += label_length(tensor, i) + 1;
  polyad_status status = PD_NEW(match->context, t->length + 1, &joined.start);
  if (status == POLYAD_OK) status = PD_NEW(match->context, bytes, &joined.text);
  if (status != POLYAD_OK) {
    pd_free(match->context, joined.start);
    return status;
  }
  if (first > 0) {
    memcpy(joined.start, model->start, (first + 1) * sizeof *joined.start);
    memcpy(joined.text, model->text, model->start[first]);
  } else {
    joined.start[0] = 0;
  }
  uint64_t at = first; /* new indices are numbered in the tensor's order */
  for (uint64_t i = 0; i < tensor->count; ++i) {
    if (t->index[i] != at) continue;
    size_t length = label_length(tensor, i) + 1;
    memcpy(joined.text + joined.start[at], tensor->text + tensor->start[i], length);
    joined.start[at + 1] = joined.start[at] + length;
    ++at;
  }
  t->own = joined;
  return POLYAD_OK;
}

/* Indices that the model lacks become first, first + 1, ...; with `only`, the others `none`. A
 * label that the tensor has twice is two indices, as it is in the tensor. */
static polyad_status number_new(struct match *match, int mode, uint64_t first, bool only) {
  struct translation *t = &match->mode[mode];
  uint64_t next = first;
  for (uint64_t i = 0; i < match->tensor->dims[mode]; ++i)
    if (t->index[i] == none)
      t->index[i] = next++;
    else if (only)
      t->index[i] = none;
  t->length = next;
  if (next == 0)
    return pd_fail(match->context, POLYAD_MISMATCH,
                   "mode %d has no label that the model lacks; expected new ones",
                   pd_shown_mode(match->context, mode));
  return join_labels(match, mode, first);
}

static polyad_status tensor_match_check_labels(const struct match *match, int mode) {
  bool model = has_labels(match->labels, mode), tensor = has_labels(match->tensor, mode);
  if (model == tensor || match->options->by == POLYAD_MATCH_NUMBER) return POLYAD_OK;
  return pd_fail(
      match->context, POLYAD_MISMATCH,
      "mode %d has labels in the %s only%s; expected labels in both or in neither, or indices to "
      "be matched by number (match: number)",
      pd_shown_mode(match->context, mode), model ? "model" : "tensor",
      model ? "" : " (.ptm files keep a model's labels; those of a .ktensor lie in FILE.labels)");
}

static void translate_numbers(struct match *match, int mode, polyad_match_rule rule) {
  struct translation *t = &match->mode[mode];
  uint64_t length = match->tensor->dims[mode], ours = match->dims[mode];
  t->known = rule == POLYAD_MATCH_MODEL ? ours : length;
  t->shift = rule == POLYAD_MATCH_EXTEND ? ours : 0;
  t->length = rule == POLYAD_MATCH_MODEL ? ours : length + t->shift;
  t->from = rule == POLYAD_MATCH_MODEL ? match->labels : NULL;
  if (rule == POLYAD_MATCH_OWN || rule == POLYAD_MATCH_NEW) t->from = match->tensor;
}

static polyad_status translate(struct match *match, int mode) {
  polyad_match_rule rule = match->options->rule[mode];
  struct translation *t = &match->mode[mode];
  if (rule != POLYAD_MATCH_OWN) PD_TRY(tensor_match_check_labels(match, mode));
  if (rule == POLYAD_MATCH_OWN || match->options->by == POLYAD_MATCH_NUMBER ||
      !has_labels(match->labels, mode)) {
    translate_numbers(match, mode, rule);
    return POLYAD_OK;
  }
  PD_TRY(PD_NEW(match->context, match->tensor->dims[mode], &t->index));
  PD_TRY(pd_labels_find(match->context, &match->labels->labels[mode], &match->tensor->labels[mode],
                        t->index));
  t->from = match->labels;
  t->length = match->dims[mode];
  if (rule == POLYAD_MATCH_MODEL) return POLYAD_OK;
  return number_new(match, mode, rule == POLYAD_MATCH_EXTEND ? t->length : 0,
                    rule == POLYAD_MATCH_NEW);
}

/* ---- nonzeros ------------------------------------------------------------------------------- */

static uint64_t translated(const struct match *match, int mode, uint64_t p) {
  const struct translation *t = &match->mode[mode];
  uint64_t i = pd_tensor_index(match->tensor, mode, p);
  if (t->index != NULL) return t->index[i];
  return i < t->known ? i + t->shift : none;
}

/* An error that names the first unseen indices of a mode that has nonzeros there. */
static polyad_status fail_unseen(const struct match *match, int mode) {
  const polyad_tensor *tensor = match->tensor;
  char names[(PD_QUOTE_BYTES + 2) * NAMED + 8] = "", quoted[PD_QUOTE_BYTES];
  const char *called = polyad_tensor_mode_name(tensor, mode);
  const char *owner = match->model != NULL ? "model" : pd_labels_owner(match->labels);
  uint64_t named[NAMED], count = 0;
  for (uint64_t p = 0; p < tensor->nnz && count < NAMED; ++p) {
    uint64_t i = pd_tensor_index(tensor, mode, p);
    bool known = translated(match, mode, p) != none;
    for (uint64_t k = 0; k < count; ++k)
      known = known || named[k] == i;
    if (known) continue;
    named[count++] = i;
    size_t length, used = strlen(names);
    const char *label = polyad_tensor_label(tensor, mode, i, &length);
    if (label != NULL)
      snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
               pd_quote(quoted, label, length));
    else
      snprintf(names + used, sizeof names - used, "%s%" PRIu64, used > 0 ? ", " : "",
               pd_shown(match->context, i));
  }
  return pd_fail(match->context, POLYAD_MISMATCH,
                 "mode %d%s%s%s has indices that the %s lacks: %s%s; expected the %s's, or to "
                 "skip the nonzeros of unseen ones",
                 pd_shown_mode(match->context, mode), called != NULL ? " (" : "",
                 called != NULL ? called : "", called != NULL ? ")" : "", owner, names,
                 count == NAMED ? " ..." : "", owner);
}

static polyad_status count_kept(struct match *match) {
  const polyad_tensor *tensor = match->tensor;
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    bool kept = true;
    for (int n = 0; n < tensor->order; ++n) {
      if (translated(match, n, p) != none) continue;
      kept = false;
      if (match->options->unseen == POLYAD_UNSEEN_ERROR &&
          match->options->rule[n] == POLYAD_MATCH_MODEL)
        return fail_unseen(match, n);
    }
    match->kept += kept;
  }
  return POLYAD_OK;
}

static void tensor_match_copy_nonzeros(const struct match *match, void *const *index,
                                       void *values) {
  const polyad_tensor *tensor = match->tensor;
  size_t bytes = pd_type_bytes(tensor->type);
  uint64_t at = 0, to[POLYAD_MAX_ORDER];
  for (uint64_t p = 0; p < tensor->nnz; ++p) {
    bool kept = true;
    for (int n = 0; n < tensor->order; ++n) {
      to[n] = translated(match, n, p);
      kept = kept && to[n] != none;
    }
    if (!kept) continue;
    for (int n = 0; n < tensor->order; ++n) {
      if (pd_index_bytes(match->mode[n].length) == 4)
        ((uint32_t *)index[n])[at] = (uint32_t)to[n];
      else
        ((uint64_t *)index[n])[at] = to[n];
    }
    memcpy((char *)values + at * bytes, (const char *)tensor->values + p * bytes, bytes);
    ++at;
  }
}

static polyad_status rewrite(const struct match *match, polyad_tensor **matched) {
  polyad_context *context = match->context;
  const polyad_tensor *tensor = match->tensor;
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  uint64_t dims[POLYAD_MAX_ORDER];
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < tensor->order; ++n) {
    dims[n] = match->mode[n].length;
    PD_TRY_CLEANUP(pd_alloc(context, match->kept, (size_t)pd_index_bytes(dims[n]), &index[n]));
  }
  PD_TRY_CLEANUP(pd_alloc(context, match->kept, pd_type_bytes(tensor->type), &values));
  tensor_match_copy_nonzeros(match, index, values);
  status = pd_tensor_create_take(context, tensor->order, dims, match->kept, tensor->type, index,
                                 &values, POLYAD_DUPLICATES_SUM, tensor->zeros, matched);
cleanup:
  for (int n = 0; n < tensor->order; ++n)
    pd_free(context, index[n]);
  return status; /* the values were taken, or never there */
}

/* ---- labels of the result ------------------------------------------------------------------- */

static polyad_status tensor_match_copy_labels(polyad_context *context, const struct pd_labels *from,
                                              struct pd_labels *copy) {
  *copy = (struct pd_labels){.count = from->count};
  uint64_t bytes = from->start[from->count];
  polyad_status status = PD_NEW(context, from->count + 1, &copy->start);
  if (status == POLYAD_OK) status = PD_NEW(context, bytes, &copy->text);
  if (status != POLYAD_OK) {
    pd_free(context, copy->start);
    *copy = (struct pd_labels){0};
    return status;
  }
  memcpy(copy->start, from->start, (from->count + 1) * sizeof *copy->start);
  memcpy(copy->text, from->text, bytes);
  return POLYAD_OK;
}

static polyad_status name_mode(struct match *match, int mode, polyad_tensor *matched) {
  struct translation *t = &match->mode[mode];
  const char *name = match->labels == NULL ? NULL : match->labels->mode_name[mode];
  if (name == NULL) name = match->tensor->mode_name[mode];
  if (name != NULL) {
    size_t bytes = strlen(name) + 1;
    PD_TRY(PD_NEW(match->context, bytes, &matched->mode_name[mode]));
    memcpy(matched->mode_name[mode], name, bytes);
  }
  if (t->own.count == 0 && has_labels(t->from, mode))
    PD_TRY(tensor_match_copy_labels(match->context, &t->from->labels[mode], &t->own));
  if (t->own.count > 0) pd_tensor_take_labels(matched, mode, &t->own);
  return POLYAD_OK;
}

/* ---- the public function -------------------------------------------------------------------- */

static polyad_status tensor_match_check(polyad_context *context, const char *other, int order,
                                        const polyad_tensor *tensor) {
  if (tensor->order == order) return POLYAD_OK;
  return pd_fail(context, POLYAD_MISMATCH, "the %s has %d modes and the tensor %d", other, order,
                 tensor->order);
}

static polyad_status match_check_model_labels(polyad_context *context, const polyad_ktensor *model,
                                              const polyad_tensor *labels) {
  for (int n = 0; n < model->order; ++n)
    if (labels->order != model->order || labels->dims[n] != model->dims[n])
      return pd_fail(context, POLYAD_MISMATCH, "labels of other dims than the model's");
  return POLYAD_OK;
}

polyad_status polyad_tensor_match(polyad_context *context, const polyad_ktensor *model,
                                  const polyad_tensor *labels, const polyad_tensor *tensor,
                                  const polyad_match_options *options, uint64_t *skipped,
                                  polyad_tensor **matched) {
  PD_ENTER(context);
  PD_EXPECT(context,
            (model != NULL || labels != NULL) && tensor != NULL && options != NULL &&
                matched != NULL,
            "model, tensor, options or matched is NULL");
  *matched = NULL;
  PD_TRY(model != NULL ? tensor_match_check(context, "model", model->order, tensor)
                       : tensor_match_check(context, "other tensor", labels->order, tensor));
  if (model != NULL && labels != NULL) PD_TRY(match_check_model_labels(context, model, labels));
  struct match match = {.context = context,
                        .dims = model != NULL ? model->dims : labels->dims,
                        .model = model,
                        .labels = labels,
                        .tensor = tensor,
                        .options = options};
  polyad_status status = POLYAD_OK;
  for (int n = 0; status == POLYAD_OK && n < tensor->order; ++n)
    status = translate(&match, n);
  if (status == POLYAD_OK) status = count_kept(&match);
  if (status == POLYAD_OK) status = rewrite(&match, matched);
  for (int n = 0; status == POLYAD_OK && n < tensor->order; ++n)
    status = name_mode(&match, n, *matched);
  for (int n = 0; n < tensor->order; ++n) {
    PD_FREE(context, match.mode[n].index, match.mode[n].own.start, match.mode[n].own.text);
  }
  if (status != POLYAD_OK) {
    polyad_tensor_destroy(*matched);
    *matched = NULL;
  } else if (skipped != NULL) {
    *skipped = tensor->nnz - match.kept;
  }
  return status;
}
