/* Chunks of a spill file, read ahead by several threads: every byte in its place, in every order of
 * short and long chunks; an error for a file that ends too early; an end that leaves no thread. */
#include "harness.h"
#include "plan/stream_reader.h"
#include <string.h>

enum { CHUNKS = 9, MIB = 1 << 20 };

/* Some shorter than a byte for every thread, one empty, none a multiple of the number of parts. */
static const uint64_t lengths[CHUNKS] = {5 * MIB + 3, 1,       7 * MIB + 1, 0,   3,
                                         8 * MIB,     MIB - 1, 17,          4099};

struct setting {
  polyad_context *context;
  struct pd_stream stream;
  struct pd_stream_chunk chunk[CHUNKS];
  char *buffer[2];
};

static char byte_at(uint64_t p) { return (char)(p * 2654435761u >> 13); }

static void setting_open(struct setting *s, int threads) {
  memset(s, 0, sizeof *s);
  assert_int_equal(polyad_context_create(&s->context), POLYAD_OK);
  assert_int_equal(polyad_set_threads(s->context, threads), POLYAD_OK);
  s->stream.file.context = s->context;
  s->stream.chunks = CHUNKS;
  s->stream.chunk[0] = s->chunk;
  s->stream.largest = 8 * MIB;
  assert_int_equal(pd_spill_create(s->context, pd_spill_directory(), &s->stream.spill), POLYAD_OK);
  char *bytes = malloc(8 * MIB);
  assert_non_null(bytes);
  uint64_t at = 0;
  for (int k = 0; k < CHUNKS; ++k) {
    s->chunk[k] = (struct pd_stream_chunk){.offset = at, .bytes = lengths[k]};
    for (uint64_t p = 0; p < lengths[k]; ++p)
      bytes[p] = byte_at(at + p);
    assert_int_equal(pd_spill_write(s->context, &s->stream.spill, at, lengths[k], bytes),
                     POLYAD_OK);
    at += lengths[k];
  }
  free(bytes);
  for (int k = 0; k < 2; ++k) {
    s->buffer[k] = malloc(8 * MIB);
    assert_non_null(s->buffer[k]);
  }
}

static void setting_close(struct setting *s) {
  pd_spill_close(&s->stream.spill);
  free(s->buffer[0]);
  free(s->buffer[1]);
  polyad_context_destroy(s->context);
}

/* The chunks that come before an error, or all. */
static int count_right(struct setting *s, int wanted, polyad_status *status) {
  struct pd_stream_reader reader;
  int right = 0;
  *status = POLYAD_OK;
  pd_stream_reader_open(&reader, &s->stream, 0, s->buffer);
  for (int k = 0; k < wanted && *status == POLYAD_OK; ++k) {
    const char *at;
    *status = pd_stream_reader_next(s->context, &reader, (uint64_t)k, &at);
    if (*status != POLYAD_OK) break;
    for (uint64_t p = 0; p < lengths[k]; ++p)
      if (at[p] != byte_at(s->chunk[k].offset + p))
        fail_msg("chunk %d, byte %llu", k, (unsigned long long)p);
    ++right;
  }
  pd_stream_reader_close(&reader);
  return right;
}

static void test_every_byte(void **state) {
  (void)state;
  static const int threads[] = {1, 8, 32, 64}; /* one, two, five and eight that read */
  static const int readers[] = {1, 2, 5, 8};
  for (int t = 0; t < 4; ++t) {
    struct setting s;
    struct pd_stream_reader reader;
    polyad_status status;
    setting_open(&s, threads[t]);
    assert_int_equal(pd_device_of(s.context, &s.stream.device), POLYAD_OK);
    pd_stream_reader_open(&reader, &s.stream, 0, s.buffer);
    assert_int_equal(reader.threads, readers[t]);
    pd_stream_reader_close(&reader); /* before anything was asked for */
    for (int pass = 0; pass < 3; ++pass)
      assert_int_equal(count_right(&s, CHUNKS, &status), CHUNKS);
    assert_int_equal(count_right(&s, 2, &status), 2); /* the rest is not asked for */
    setting_close(&s);
  }
}

static void test_cut_short(void **state) {
  (void)state;
  for (int threads = 1; threads <= 64; threads *= 8) {
    struct setting s;
    polyad_status status;
    setting_open(&s, threads);
    assert_int_equal(pd_device_of(s.context, &s.stream.device), POLYAD_OK);
    assert_int_equal(pd_spill_resize(s.context, &s.stream.spill, s.chunk[5].offset + 8 * MIB - 1),
                     POLYAD_OK);
    int right = count_right(&s, CHUNKS, &status);
    assert_int_equal(status, POLYAD_IO);
    assert_true(right <= 5); /* what follows is read ahead: some chunks before may be missed */
    setting_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_byte),
                                     cmocka_unit_test(test_cut_short)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
