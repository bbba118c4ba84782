/* From a tensor to keys in their order: nonzeros are packed into records with interleaved keys,
 * sorted, and stored as the variant wants them while a bucket lies in the cache. */
#include "formats/alto/alto_build.h"
#include "build/pack_block.h"
#include "build/records.h"
#include "formats/alto/alto_code.h"
#include "formats/rowsum/rowsum_build.h"
#include <string.h>

enum {
  THREAD_GRAIN = 1 << 14,
  BLOCK = PD_PACK_BLOCK /* keys and indices stay in the nearest cache */
};

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
  alto->far = request->device != NULL && !request->device->functions->host_memory;
  alto->adaptive = !alto->far && strstr(request->variant, "adaptive") != NULL;
  alto->lists = alto->far && !alto->atomic;
  if (!alto->far)
    alto->segments = segments_for(nnz, pd_parameter(request, PD_ALTO_SEGMENTS_ASKED, 0));
  bool wide = request->force_index64;
  if (alto->decoded) {
    for (int n = 0; n < order; ++n)
      alto->index_bytes[n] = alto->far ? 4 : pd_rowsum_index_bytes(dims[n], wide);
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

struct building {
  polyad_tensor *tensor;
  bool take;
  struct pd_layout layout;
  struct pd_alto *alto;
  struct pd_alto_mode mode[POLYAD_MAX_ORDER]; /* of keys in the highest bits of one word */
};

/* Keys of one word as a record has them: in its highest bits. */
static void raise_keys(struct building *building) {
  const struct pd_alto *alto = building->alto;
  memcpy(building->mode, alto->mode, sizeof building->mode);
  if (alto->bits == 0 || alto->bits > 64) return;
  for (int n = 0; n < alto->order; ++n) {
    struct pd_alto_mode *mode = &building->mode[n];
    mode->mask[0] <<= 64 - alto->bits;
    for (int r = 0; r < mode->runs; ++r)
      mode->run[r].from += (uint8_t)(64 - alto->bits);
  }
}

/* Records have their keys in the highest bits. */
static void encode_records(const void *user, uint64_t first, uint64_t count,
                           uint64_t *const *word) {
  const struct building *building = user;
  const struct pd_alto *alto = building->alto;
  const polyad_tensor *tensor = building->tensor;
  const struct pd_alto_coder *coder = pd_alto_coder_current();
  const void *index[POLYAD_MAX_ORDER];
  for (int n = 0; n < alto->order; ++n)
    index[n] = (const char *)tensor->index[n] + first * (uint64_t)tensor->index_bytes[n];
  if (alto->bits <= 64) {
    coder->encode(alto->order, building->mode, index, tensor->index_bytes, count, word[0], NULL);
    return;
  }
  uint64_t low[BLOCK], high[BLOCK];
  int up = 128 - alto->bits;
  memset(low, 0, count * sizeof *low);
  memset(high, 0, count * sizeof *high);
  coder->encode(alto->order, alto->mode, index, tensor->index_bytes, count, low, high);
  for (uint64_t p = 0; p < count; ++p) {
    word[0][p] = high[p] << up | (up == 0 ? 0 : low[p] >> (64 - up));
    word[1][p] = low[p] << up;
  }
}

/* The keys of sorted records. */
static void take_keys(const struct pd_layout *layout, uint64_t count, const uint64_t *records,
                      uint64_t *low, uint64_t *high) {
  uint64_t words = (uint64_t)layout->words;
  int bits = layout->key_bits, down = bits <= 64 ? 64 - bits : 128 - bits;
  for (uint64_t p = 0; p < count; ++p, records += words) {
    if (bits > 64) {
      low[p] = records[1] >> down | (down == 0 ? 0 : records[0] << (64 - down));
      high[p] = records[0] >> down;
    } else {
      low[p] = bits == 0 ? 0 : records[0] >> down;
      high[p] = 0;
    }
  }
}

/* ---- what is stored -------------------------------------------------------------------------- */

static void narrow(uint64_t count, const uint64_t *from, int bytes, void *array, uint64_t first) {
  char *to = (char *)array + first * (uint64_t)bytes;
  for (uint64_t p = 0; p < count; ++p) /* what is stored fits */
    if (bytes == 2)
      ((uint16_t *)to)[p] = (uint16_t)from[p];
    else if (bytes == 4)
      ((uint32_t *)to)[p] = (uint32_t)from[p];
    else
      ((uint64_t *)to)[p] = from[p];
}

static void widen(struct pd_alto_span *span, uint64_t least, uint64_t most) {
  uint64_t begin = __atomic_load_n(&span->begin, __ATOMIC_RELAXED);
  uint64_t end = __atomic_load_n(&span->end, __ATOMIC_RELAXED);
  while (least < begin && !__atomic_compare_exchange_n(&span->begin, &begin, least, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  while (most + 1 > end && !__atomic_compare_exchange_n(&span->end, &end, most + 1, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* Widens the spans of the segments that have nonzeros [first, first + count), which threads share
 * at their ends. */
static void widen_spans(const struct pd_alto *alto, int mode, uint64_t first, uint64_t count,
                        const uint64_t *index) {
  const struct pd_pack_functions *functions = pd_pack_block_functions();
  int segment = (int)((double)first / (double)alto->nnz * alto->segments);
  while (segment > 0 && pd_part_begin(alto->nnz, segment, alto->segments) > first)
    --segment;
  for (uint64_t done = 0; done < count; ++segment) {
    uint64_t end = pd_part_begin(alto->nnz, segment + 1, alto->segments);
    end = end < first ? 0 : end - first < count ? end - first : count;
    if (end <= done) continue;
    uint64_t least = UINT64_MAX, most = 0;
    functions->range(index + done, end - done, &least, &most);
    widen(&alto->span[segment * alto->order + mode], least, most);
    done = end;
  }
}

/* Puts indices into the words of fields. */
static void put_field(const struct pd_alto_mode *field, uint64_t count, const uint64_t *index,
                      uint64_t (*words)[BLOCK]) {
  for (int r = 0; r < field->runs; ++r) {
    const struct pd_alto_run *run = &field->run[r];
    const struct pd_piece piece = {.low = run->to, .bits = run->bits, .shift = run->from};
    pd_pack_block_functions()->add_piece(&piece, 8, index, count, words[run->word]);
  }
}

/* Stores words or indices of nonzeros [first, first + count), whose keys are `low` and `high`. */
static void store_keys(struct pd_alto *alto, uint64_t first, uint64_t count, uint64_t *low,
                       uint64_t *high) {
  const struct pd_alto_coder *coder = pd_alto_coder_current();
  struct pd_alto keys = *alto;
  uint64_t index[BLOCK], words[2][BLOCK] = {{0}};
  keys.low = low;
  keys.high = high;
  keys.low_bytes = 8;
  keys.high_bytes = alto->bits <= 64 ? 0 : 8;
  memcpy(keys.field, alto->mode, sizeof keys.field);
  for (int n = 0; n < alto->order && (alto->decoded || alto->fields || !alto->far); ++n) {
    coder->decode(&keys, n, 0, count, index);
    if (!alto->far) widen_spans(alto, n, first, count, index);
    if (alto->decoded)
      narrow(count, index, alto->index_bytes[n], alto->index[n], first);
    else if (alto->fields)
      put_field(&alto->field[n], count, index, words);
  }
  if (alto->low_bytes != 0)
    narrow(count, alto->fields ? words[0] : low, alto->low_bytes, alto->low, first);
  if (alto->high_bytes != 0)
    narrow(count, alto->fields ? words[1] : high, alto->high_bytes, alto->high, first);
}

static void alto_build_store(void *visitor, uint64_t first, uint64_t count,
                             const uint64_t *records) {
  const struct building *building = visitor;
  uint64_t words = (uint64_t)building->layout.words, low[BLOCK], high[BLOCK];
  size_t item = pd_type_bytes(building->alto->type);
  pd_records_values(&building->layout, count, records,
                    (char *)building->alto->values + first * item);
  for (uint64_t some; count > 0; first += some, records += some * words, count -= some) {
    some = count < BLOCK ? count : BLOCK;
    take_keys(&building->layout, some, records, low, high);
    store_keys(building->alto, first, some, low, high);
  }
}

static polyad_status allocate_spans(polyad_context *context, struct pd_alto *alto) {
  uint64_t spans = pd_mul_saturated((uint64_t)alto->segments, (uint64_t)alto->order);
  PD_TRY(PD_NEW(context, spans, &alto->span));
  for (uint64_t k = 0; k < spans; ++k)
    alto->span[k] = (struct pd_alto_span){UINT64_MAX, 0};
  return POLYAD_OK;
}

/* Gives up the tensor's arrays if it may, and takes those of the storage. */
static polyad_status alto_build_allocate(polyad_context *context, void *visitor) {
  const struct building *building = visitor;
  polyad_tensor *tensor = building->tensor;
  struct pd_alto *alto = building->alto;
  if (building->take) pd_tensor_free_arrays(tensor);
  for (int n = 0; n < alto->order && alto->decoded; ++n)
    PD_TRY(pd_alloc(context, alto->nnz, (size_t)alto->index_bytes[n], &alto->index[n]));
  if (alto->low_bytes != 0)
    PD_TRY(pd_alloc(context, alto->nnz, (size_t)alto->low_bytes, &alto->low));
  if (alto->high_bytes != 0)
    PD_TRY(pd_alloc(context, alto->nnz, (size_t)alto->high_bytes, &alto->high));
  if (!alto->far) PD_TRY(allocate_spans(context, alto));
  return pd_alloc(context, alto->nnz, pd_type_bytes(alto->type), &alto->values);
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

uint64_t pd_alto_building_bytes(const struct pd_alto *alto, int threads) {
  int value_bits = 8 * (int)pd_type_bytes(alto->type);
  return pd_sorting_bytes(alto->nnz, pd_record_words(alto->bits, value_bits), threads);
}

polyad_status pd_alto_fill(polyad_context *context, polyad_tensor *tensor, bool take,
                           struct pd_alto *alto) {
  struct building building = {.tensor = tensor, .take = take, .alto = alto};
  const struct pd_record_source source = {
      .tensor = tensor, .encode = encode_records, .user = &building, .packed = alto_build_allocate};
  struct pd_room room;
  polyad_status status = POLYAD_OK;
  raise_keys(&building);
  pd_layout_skip(&building.layout, alto->bits);
  PD_TRY(pd_room_create_values(context, tensor, alto->bits, &room));
  pd_layout_end_values(&building.layout, alto->type, room.value_bits);
  PD_TRY_CLEANUP(pd_records_sort(context, &source, &building.layout, alto->bits, &room,
                                 alto_build_store, &building));
  pd_room_destroy(context, &room);
  for (int n = 0; n < alto->order && alto->lists; ++n)
    PD_TRY(pd_alto_list_rows(context, alto, n));
  for (int k = 0; k < alto->segments * alto->order && !alto->far; ++k)
    if (alto->span[k].end == 0) alto->span[k].begin = 0; /* without nonzeros */
cleanup:
  pd_room_destroy(context, &room);
  return status;
}
