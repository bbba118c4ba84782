#include "io/input.h"
#include "io/atomic_file.h"
#include "io/decoder.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { HEAD_BYTES = 64 << 10, BLOCKS = 4, PARALLEL_FROM = 2 << 20 };
enum { BLOCK_BYTES = 1 << 20, PARALLEL_BLOCK_BYTES = 4 << 20 };

struct block {
  size_t size, taken;
  polyad_status status; /* after its bytes */
};

struct pd_input {
  polyad_context *context;
  struct pd_decoder *decoder;
  unsigned char head[HEAD_BYTES];
  size_t head_used, head_taken;
  bool parallel; /* a plain file, and large */
  uint64_t left; /* bytes that may still be read; UINT64_MAX: all */
  /* Decoding ahead: a ring of blocks, `filled` of which wait from `first` on. */
  bool threaded, ended;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  unsigned char *memory;
  size_t block_bytes;
  struct block block[BLOCKS];
  int first, filled;
  bool stop;
};

/* Waits for a free block; false when the stream is being closed. */
static bool wait_for_room(struct pd_input *s, int *which) {
  pthread_mutex_lock(&s->mutex);
  while (s->filled == BLOCKS && !s->stop)
    pthread_cond_wait(&s->changed, &s->mutex);
  *which = (s->first + s->filled) % BLOCKS;
  bool go_on = !s->stop;
  pthread_mutex_unlock(&s->mutex);
  return go_on;
}

static void *decode_ahead(void *user) {
  struct pd_input *s = user;
  int which;
  while (wait_for_room(s, &which)) {
    struct block block = {0};
    block.status = pd_decoder_read(s->decoder, s->memory + (size_t)which * s->block_bytes,
                                   s->block_bytes, &block.size);
    pthread_mutex_lock(&s->mutex);
    s->block[which] = block;
    ++s->filled;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    if (block.size == 0) break; /* the end, or an error */
  }
  return NULL;
}

/* Several threads inflate a long block, which a tight memory limit has no room for. */
static size_t input_block_bytes(const struct pd_input *s) {
  const uint64_t share = 8; /* of the memory that is left, at most one part of so many */
  uint64_t limit = polyad_memory_limit(s->context), used = polyad_memory_in_use(s->context);
  uint64_t left = limit > used ? limit - used : 0;
  bool fits = (uint64_t)BLOCKS * PARALLEL_BLOCK_BYTES <= left / share;
  return fits && pd_decoder_in_parallel(s->decoder) ? PARALLEL_BLOCK_BYTES : BLOCK_BYTES;
}

/* Where no thread can be had, decoding happens in pd_input_read(). */
static polyad_status start_thread(struct pd_input *s) {
  s->block_bytes = input_block_bytes(s);
  PD_TRY(PD_NEW(s->context, BLOCKS * s->block_bytes, &s->memory));
  if (pthread_mutex_init(&s->mutex, NULL) != 0) return POLYAD_OK;
  if (pthread_cond_init(&s->changed, NULL) != 0) {
    pthread_mutex_destroy(&s->mutex);
    return POLYAD_OK;
  }
  sigset_t all, before; /* signals belong to the program's own threads */
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  s->threaded = pthread_create(&s->thread, NULL, decode_ahead, s) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!s->threaded) {
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
  }
  return POLYAD_OK;
}

/* What was compressed twice is compressed still. A compressed file whose name does not say so, or
 * the other way round, is fine. */
static polyad_status input_check_head(struct pd_input *s) {
  bool packed = pd_decoder_compressed(s->decoder);
  const char *path = pd_decoder_path(s->decoder);
  if (packed && pd_compressor_name(s->head, s->head_used) != NULL)
    return pd_fail_at(s->context, POLYAD_PARSE, path, 1, 1,
                      "data compressed twice; expected text or a tensor in it; decompress it once");
  if (!packed && pd_compression_of(path) != PD_PLAIN)
    pd_log(s->context, POLYAD_LOG_INFO, "%s: not compressed, whatever its name says", path);
  return POLYAD_OK;
}

polyad_status pd_input_open(polyad_context *context, const char *path, struct pd_input **out) {
  struct pd_input *s = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &s));
  s->context = context;
  s->left = UINT64_MAX;
  polyad_status status = pd_decoder_open(context, path, &s->decoder);
  if (status == POLYAD_OK) {
    status = pd_decoder_read(s->decoder, s->head, HEAD_BYTES, &s->head_used);
    if (status != POLYAD_OK) (void)pd_decoder_fail(s->decoder, 0);
  }
  if (status == POLYAD_OK) status = input_check_head(s);
  if (status == POLYAD_OK)
    s->parallel = !pd_decoder_compressed(s->decoder) && pd_decoder_size(s->decoder) > PARALLEL_FROM;
  /* What fits the head needs no thread. */
  if (status == POLYAD_OK && s->head_used == HEAD_BYTES && pd_decoder_compressed(s->decoder))
    status = start_thread(s);
  if (status != POLYAD_OK) {
    pd_input_close(s);
    return status;
  }
  *out = s;
  return POLYAD_OK;
}

polyad_status pd_input_peek(struct pd_input *s, const unsigned char **data, size_t *size) {
  *data = s->head + s->head_taken;
  *size = s->head_used - s->head_taken;
  return POLYAD_OK;
}

void pd_input_skip(struct pd_input *s, size_t size) { s->head_taken += size; }

/* Takes bytes that were decoded ahead. */
static polyad_status input_take_blocks(struct pd_input *s, unsigned char *out, size_t size,
                                       size_t *got) {
  while (*got < size && !s->ended) {
    pthread_mutex_lock(&s->mutex);
    while (s->filled == 0)
      pthread_cond_wait(&s->changed, &s->mutex);
    struct block *block = &s->block[s->first];
    pthread_mutex_unlock(&s->mutex);
    size_t left = block->size - block->taken, part = left < size - *got ? left : size - *got;
    memcpy(out + *got, s->memory + (size_t)s->first * s->block_bytes + block->taken, part);
    *got += part;
    block->taken += part;
    if (block->size == 0) { /* stays, so that later calls find it */
      s->ended = true;
    } else if (block->taken == block->size) {
      pthread_mutex_lock(&s->mutex);
      s->first = (s->first + 1) % BLOCKS;
      --s->filled;
      pthread_cond_broadcast(&s->changed);
      pthread_mutex_unlock(&s->mutex);
    }
  }
  return *got > 0 || !s->ended ? POLYAD_OK : s->block[s->first].status;
}

static polyad_status take(struct pd_input *s, size_t bytes) {
  if (s->left != UINT64_MAX) s->left -= bytes;
  return POLYAD_OK;
}

polyad_status pd_input_read(struct pd_input *s, void *buffer, size_t size, size_t *got) {
  unsigned char *out = buffer;
  size_t head = s->head_used - s->head_taken, more = 0;
  if (size > s->left) size = (size_t)s->left;
  *got = head < size ? head : size;
  memcpy(out, s->head + s->head_taken, *got);
  s->head_taken += *got;
  if (*got == size) return take(s, *got);
  polyad_status status;
  int threads = polyad_threads(s->context);
  if (s->threaded)
    status = input_take_blocks(s, out + *got, size - *got, &more);
  else if (s->parallel && size >= PARALLEL_FROM && threads > 1)
    status = pd_decoder_read_parallel(s->decoder, threads, out + *got, size - *got, &more);
  else
    status = pd_decoder_read(s->decoder, out + *got, size - *got, &more);
  *got += more;
  return *got > 0 ? take(s, *got) : status;
}

/* Where the first line begins at `from` or behind it: after the line end at the byte before. */
static polyad_status input_find_line(struct pd_input *s, uint64_t from, uint64_t *begin) {
  char bytes[HEAD_BYTES];
  *begin = from;
  if (from == 0) return POLYAD_OK;
  for (uint64_t at = from - 1;;) {
    size_t got;
    PD_TRY(pd_decoder_read_at(s->decoder, at, bytes, sizeof bytes, &got));
    const char *stop = got > 0 ? memchr(bytes, '\n', got) : NULL;
    *begin = stop != NULL ? at + (uint64_t)(stop - bytes) + 1 : at + got;
    if (stop != NULL || got == 0) return POLYAD_OK;
    at += got;
  }
}

polyad_status pd_input_cut(struct pd_input *s, int part, int parts, uint64_t *begin) {
  uint64_t size = (uint64_t)pd_decoder_size(s->decoder), end;
  polyad_status status = input_find_line(s, pd_part_begin(size, part, parts), begin);
  if (status == POLYAD_OK) status = input_find_line(s, pd_part_begin(size, part + 1, parts), &end);
  if (status == POLYAD_OK) status = pd_decoder_seek(s->decoder, *begin);
  if (status != POLYAD_OK) return pd_decoder_fail(s->decoder, 0);
  s->head_used = s->head_taken = 0;
  s->left = end > *begin ? end - *begin : 0;
  return POLYAD_OK;
}

polyad_status pd_input_count_lines(struct pd_input *s, uint64_t bytes, uint64_t *lines) {
  char text[HEAD_BYTES];
  *lines = 0;
  for (uint64_t at = 0; at < bytes;) {
    size_t got, most = bytes - at < sizeof text ? (size_t)(bytes - at) : sizeof text;
    if (pd_decoder_read_at(s->decoder, at, text, most, &got) != POLYAD_OK)
      return pd_decoder_fail(s->decoder, 0);
    if (got == 0) break;
    for (size_t k = 0; k < got; ++k)
      *lines += text[k] == '\n';
    at += got;
  }
  return POLYAD_OK;
}

polyad_status pd_input_error(struct pd_input *s, uint64_t line) {
  return pd_decoder_fail(s->decoder, line);
}

bool pd_input_compressed(const struct pd_input *s) { return pd_decoder_compressed(s->decoder); }

uint64_t pd_input_plain_size(const struct pd_input *s) {
  int64_t size = pd_decoder_size(s->decoder);
  if (size < 0 || pd_decoder_compressed(s->decoder)) return 0;
  return s->left < (uint64_t)size ? s->left : (uint64_t)size;
}

bool pd_input_rest(const struct pd_input *s, uint64_t *begin, uint64_t *end) {
  if (pd_input_plain_size(s) == 0) return false;
  *begin = pd_decoder_consumed(s->decoder) - (s->head_used - s->head_taken);
  *end = s->left == UINT64_MAX ? (uint64_t)pd_decoder_size(s->decoder) : *begin + s->left;
  return true;
}

bool pd_input_read_at(const struct pd_input *s, uint64_t offset, void *buffer, size_t size) {
  return pd_decoder_read_all_at(s->decoder, offset, buffer, size);
}

polyad_status pd_input_go_to(struct pd_input *s, uint64_t offset) {
  uint64_t begin, end;
  if (pd_input_rest(s, &begin, &end)) (void)take(s, (size_t)(offset - begin));
  s->head_used = s->head_taken = 0;
  if (pd_decoder_seek(s->decoder, offset) != POLYAD_OK) return pd_decoder_fail(s->decoder, 0);
  return POLYAD_OK;
}

polyad_status pd_input_load(struct pd_input *s, uint64_t bytes, void **array, uint64_t *got) {
  enum { FIRST = 16 << 20 };
  bool proved = bytes <= pd_input_plain_size(s);
  uint64_t room = proved || bytes < FIRST ? bytes : FIRST;
  *got = 0;
  PD_TRY(pd_alloc(s->context, room, 1, array));
  for (;;) {
    size_t more = 0;
    if (room > *got &&
        pd_input_read(s, (char *)*array + *got, (size_t)(room - *got), &more) != POLYAD_OK)
      return pd_input_error(s, 0);
    *got += more;
    if (*got < room || room == bytes) return POLYAD_OK;
    room = bytes / 2 < room ? bytes : 2 * room;
    PD_TRY(pd_realloc(s->context, room, 1, array));
  }
}

uint64_t pd_input_expected_lines(struct pd_input *s) {
  enum { SAMPLES = 32, SAMPLE_BYTES = 2048 };
  char text[SAMPLE_BYTES];
  uint64_t lines = 0, bytes = 0, left = pd_input_plain_size(s);
  uint64_t size = left == 0 ? 0 : (uint64_t)pd_decoder_size(s->decoder);
  for (int k = 0; k < SAMPLES && size > SAMPLES * SAMPLE_BYTES; ++k) {
    size_t got;
    uint64_t at = pd_part_begin(size, k, SAMPLES);
    if (pd_decoder_read_at(s->decoder, at, text, sizeof text, &got) != POLYAD_OK) return 0;
    bytes += got;
    for (size_t i = 0; i < got; ++i)
      lines += text[i] == '\n';
  }
  return bytes == 0 ? 0 : (uint64_t)((double)lines / (double)bytes * (double)left);
}

const char *pd_input_path(const struct pd_input *s) { return pd_decoder_path(s->decoder); }

void pd_input_close(struct pd_input *s) {
  if (s == NULL) return;
  if (s->threaded) {
    pd_decoder_stop(s->decoder);
    pthread_mutex_lock(&s->mutex);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
  }
  pd_free(s->context, s->memory);
  pd_decoder_close(s->decoder);
  pd_free(s->context, s);
}
