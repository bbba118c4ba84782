/* From a tensor to keys in their order. */
#include "formats/alto/alto_build.h"
#include "core/radix_sort.h"
#include "formats/alto/alto_code.h"
#include "formats/rowsum/rowsum_build.h"
#include <string.h>

enum { THREAD_GRAIN = 1 << 14, BLOCK = 1024 };

static int segments_for(uint64_t nnz, int asked) {
  uint64_t most = asked > 0 ? (uint64_t)asked : PD_ALTO_SEGMENTS;
  uint64_t useful = asked > 0 ? nnz : nnz / PD_ALTO_SEGMENT_LEAST;
  if (useful < 1) useful = 1;
  return (int)(useful < most ? useful : most);
}

bool pd_alto_shape(int order, const uint64_t *dims, uint64_t nnz, const struct pd_request *request,
                   struct pd_alto *alto) {
  alto->order = order;
  alto->nnz = nnz;
  memcpy(alto->dims, dims, (size_t)order * sizeof *dims);
  alto->bits = pd_alto_interleave(order, dims, alto->mode);
  if (alto->bits > PD_ALTO_BITS_MAX) return false;
  alto->decoded = strncmp(request->variant, "coo", 3) == 0;
  alto->atomic = strstr(request->variant, "atomic") != NULL;
  alto->segments = segments_for(nnz, pd_parameter(request, PD_ALTO_SEGMENTS_ASKED, 0));
  bool wide = request->force_index64;
  if (alto->decoded) {
    for (int n = 0; n < order; ++n)
      alto->index_bytes[n] = pd_rowsum_index_bytes(dims[n], wide);
  } else {
    alto->low_bytes = alto->bits <= 32 && !wide ? 4 : 8;
    alto->high_bytes = alto->bits <= 64 ? 0 : alto->bits <= 96 && !wide ? 4 : 8;
  }
  alto->fields = !alto->decoded && strncmp(request->variant, "keys", 4) != 0;
  if (alto->fields)
    pd_alto_concatenate(order, dims, 8 * alto->high_bytes, alto->field);
  else
    memcpy(alto->field, alto->mode, sizeof alto->field);
  return true;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Keys of the tensor's nonzeros; `high` is NULL when one word is enough. */
static void encode(const polyad_context *context, const polyad_tensor *tensor,
                   const struct pd_alto *alto, uint64_t *low, uint64_t *high) {
  const struct pd_alto_coder *coder = pd_alto_coder_current();
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t block = 0; block < (tensor->nnz + BLOCK - 1) / BLOCK; ++block) {
    uint64_t first = block * BLOCK;
    uint64_t count = tensor->nnz - first < BLOCK ? tensor->nnz - first : BLOCK;
    memset(low + first, 0, count * sizeof *low);
    if (high != NULL) memset(high + first, 0, count * sizeof *high);
    for (int n = 0; n < alto->order; ++n)
      coder->encode(&alto->mode[n],
                    (const char *)tensor->index[n] + first * (uint64_t)tensor->index_bytes[n],
                    tensor->index_bytes[n], count, low + first, high == NULL ? NULL : high + first);
  }
}

static polyad_status take_values(polyad_context *context, polyad_tensor *tensor, bool take,
                                 struct pd_alto *alto) {
  if (take) {
    alto->values = tensor->values;
    tensor->values = NULL;
    return POLYAD_OK;
  }
  size_t item = pd_type_bytes(alto->type);
  PD_TRY(pd_alloc(context, alto->nnz, item, &alto->values));
  memcpy(alto->values, tensor->values, alto->nnz * item);
  return POLYAD_OK;
}

static void drop_indices(polyad_context *context, polyad_tensor *tensor) {
  for (int n = 0; n < tensor->order; ++n) {
    pd_free(context, tensor->index[n]);
    tensor->index[n] = NULL;
  }
}

/* Keys of one word are sorted with the values beside them. */
static polyad_status sort_one_word(polyad_context *context, polyad_tensor *tensor, bool take,
                                   struct pd_alto *alto) {
  uint64_t *keys;
  PD_TRY(PD_NEW(context, alto->nnz, &keys));
  alto->low = keys;
  encode(context, tensor, alto, keys, NULL);
  if (take) drop_indices(context, tensor);
  PD_TRY(take_values(context, tensor, take, alto));
  return pd_sort_u64(context, alto->nnz, keys, alto->bits, alto->values, pd_type_bytes(alto->type));
}

/* Puts items of 4 or 8 bytes into the sorted order; `array` is replaced. */
static polyad_status reorder(polyad_context *context, uint64_t count, const void *permutation,
                             int permutation_bytes, size_t item, void **array) {
  void *sorted;
  PD_TRY(pd_alloc(context, count, item, &sorted));
  pd_gather(context, count, permutation, permutation_bytes, *array, item, sorted);
  pd_free(context, *array);
  *array = sorted;
  return POLYAD_OK;
}

static polyad_status sort_two_words(polyad_context *context, polyad_tensor *tensor, bool take,
                                    struct pd_alto *alto) {
  polyad_status status = POLYAD_OK;
  void *permutation = NULL;
  int bytes = alto->nnz <= UINT32_MAX ? 4 : 8;
  PD_TRY_CLEANUP(pd_alloc(context, alto->nnz, 8, &alto->low));
  PD_TRY_CLEANUP(pd_alloc(context, alto->nnz, 8, &alto->high));
  encode(context, tensor, alto, alto->low, alto->high);
  if (take) drop_indices(context, tensor);
  PD_TRY_CLEANUP(pd_alloc(context, alto->nnz, (size_t)bytes, &permutation));
  uint64_t limit = alto->bits == 128 ? 0 : UINT64_C(1) << (alto->bits - 64);
  struct pd_key keys[2] = {{alto->high, 8, limit}, {alto->low, 8, 0}};
  PD_TRY_CLEANUP(pd_sort_permutation(context, alto->nnz, 2, keys, bytes, permutation));
  PD_TRY_CLEANUP(reorder(context, alto->nnz, permutation, bytes, 8, &alto->low));
  PD_TRY_CLEANUP(reorder(context, alto->nnz, permutation, bytes, 8, &alto->high));
  PD_TRY_CLEANUP(take_values(context, tensor, take, alto));
  PD_TRY_CLEANUP(
      reorder(context, alto->nnz, permutation, bytes, pd_type_bytes(alto->type), &alto->values));
cleanup:
  pd_free(context, permutation);
  return status;
}

/* ---- what is stored -------------------------------------------------------------------------- */

static void narrow(const polyad_context *context, uint64_t count, const uint64_t *from, int bytes,
                   void *to) {
  int threads = pd_threads_for(context, count, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < count; ++p)
    if (bytes == 2)
      ((uint16_t *)to)[p] = (uint16_t)from[p];
    else if (bytes == 4)
      ((uint32_t *)to)[p] = (uint32_t)from[p];
    else
      ((uint64_t *)to)[p] = from[p];
}

/* Leaves a word of the keys in the bytes that it needs; 0: drops it. */
static polyad_status store_word(polyad_context *context, uint64_t count, int bytes, void **word) {
  void *stored = NULL;
  if (bytes == 8) return POLYAD_OK;
  if (bytes != 0) {
    PD_TRY(pd_alloc(context, count, (size_t)bytes, &stored));
    narrow(context, count, *word, bytes, stored);
  }
  pd_free(context, *word);
  *word = stored;
  return POLYAD_OK;
}

/* Variants coo: decodes `from`, which still has whole words as keys. */
static polyad_status store_indices(polyad_context *context, const struct pd_alto *from,
                                   struct pd_alto *alto) {
  const struct pd_alto_coder *coder = pd_alto_coder_current();
  int threads = pd_threads_for(context, alto->nnz, THREAD_GRAIN);
  for (int n = 0; n < alto->order; ++n) {
    size_t item = (size_t)alto->index_bytes[n];
    PD_TRY(pd_alloc(context, alto->nnz, item, &alto->index[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t block = 0; block < (alto->nnz + BLOCK - 1) / BLOCK; ++block) {
      uint64_t index[BLOCK], first = block * BLOCK;
      uint64_t count = alto->nnz - first < BLOCK ? alto->nnz - first : BLOCK;
      coder->decode(from, n, first, count, index);
      char *to = (char *)alto->index[n] + first * item;
      for (uint64_t p = 0; p < count; ++p) /* an index below its dim fits */
        if (item == 2)
          ((uint16_t *)to)[p] = (uint16_t)index[p];
        else if (item == 4)
          ((uint32_t *)to)[p] = (uint32_t)index[p];
        else
          ((uint64_t *)to)[p] = index[p];
    }
  }
  return POLYAD_OK;
}

struct pd_alto_span pd_alto_measure(const struct pd_alto *alto, int segment, int mode) {
  pd_alto_decode_function *decode = pd_alto_decoder(alto);
  uint64_t index[BLOCK], end = pd_part_begin(alto->nnz, segment + 1, alto->segments);
  struct pd_alto_span span = {UINT64_MAX, 0};
  for (uint64_t first = pd_part_begin(alto->nnz, segment, alto->segments); first < end;) {
    uint64_t count = end - first < BLOCK ? end - first : BLOCK;
    decode(alto, mode, first, count, index);
    for (uint64_t p = 0; p < count; ++p) {
      if (index[p] < span.begin) span.begin = index[p];
      if (index[p] >= span.end) span.end = index[p] + 1;
    }
    first += count;
  }
  return span.end == 0 ? (struct pd_alto_span){0, 0} : span;
}

static void set_spans(const polyad_context *context, struct pd_alto *alto) {
  int threads = pd_threads_for(context, alto->nnz, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int s = 0; s < alto->segments; ++s)
    for (int n = 0; n < alto->order; ++n)
      alto->span[s * alto->order + n] = pd_alto_measure(alto, s, n);
}

/* Turns keys of whole words into fields, in place. */
static void lay_fields(const polyad_context *context, const struct pd_alto *from,
                       const struct pd_alto *alto) {
  const struct pd_alto_coder *coder = pd_alto_coder_current();
  uint64_t *low = alto->low, *high = alto->high;
  int threads = pd_threads_for(context, alto->nnz, THREAD_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t block = 0; block < (alto->nnz + BLOCK - 1) / BLOCK; ++block) {
    uint64_t index[BLOCK], words[2][BLOCK] = {{0}}, first = block * BLOCK;
    uint64_t count = alto->nnz - first < BLOCK ? alto->nnz - first : BLOCK;
    for (int n = 0; n < alto->order; ++n) {
      coder->decode(from, n, first, count, index);
      coder->encode(&alto->field[n], index, 8, count, words[0], high == NULL ? NULL : words[1]);
    }
    memcpy(low + first, words[0], count * sizeof *low);
    if (high != NULL) memcpy(high + first, words[1], count * sizeof *high);
  }
}

polyad_status pd_alto_fill(polyad_context *context, polyad_tensor *tensor, bool take,
                           struct pd_alto *alto) {
  PD_TRY(alto->bits <= 64 ? sort_one_word(context, tensor, take, alto)
                          : sort_two_words(context, tensor, take, alto));
  struct pd_alto keys = *alto;
  keys.low_bytes = 8;
  keys.high_bytes = alto->bits <= 64 ? 0 : 8;
  memcpy(keys.field, alto->mode, sizeof keys.field);
  if (alto->decoded) PD_TRY(store_indices(context, &keys, alto));
  if (alto->fields) lay_fields(context, &keys, alto);
  PD_TRY(store_word(context, alto->nnz, alto->low_bytes, &alto->low));
  PD_TRY(store_word(context, alto->nnz, alto->high_bytes, &alto->high));
  PD_TRY(PD_NEW(context, (uint64_t)alto->segments * (uint64_t)alto->order, &alto->span));
  set_spans(context, alto);
  return POLYAD_OK;
}
