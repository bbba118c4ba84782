/* Gzip members that say how long they are, inflated by all threads: the same bytes and the same
 * errors as by one thread, which is what comes where their names for that, "BC", are taken away. */
#include "harness.h"

#include "io/atomic_file.h"
#include "io/bgzf.h"
#include "io/decoder.h"
#include <fcntl.h>
#include <polyad/polyad.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TEXT_BYTES = 290000, ROOM = 2 << 20, MOST_MEMBERS = 2000 };

static char folder[64], path[96], fifo[96];
static polyad_context *context;
static unsigned char *text;

struct file {
  unsigned char bytes[ROOM];
  size_t size;
  size_t begin[MOST_MEMBERS + 1]; /* of each member, and the end */
  int members;
};

static struct file good, damaged, hidden;

static int set_up(void **state) {
  (void)state;
  uint32_t seed = 1;
  strcpy(folder, "/tmp/polyad-bgzf-XXXXXX");
  if (mkdtemp(folder) == NULL || polyad_context_create(&context) != POLYAD_OK) return 1;
  snprintf(path, sizeof path, "%s/t.gz", folder);
  snprintf(fifo, sizeof fifo, "%s/fifo", folder);
  text = malloc(TEXT_BYTES);
  if (text == NULL) return 1;
  for (size_t p = 0; p < TEXT_BYTES; ++p) {
    seed = seed * 1664525 + 1013904223;
    text[p] = (unsigned char)(seed >> 30 == 0 ? 'a' + (seed >> 24) % 26 : 'x');
  }
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  free(text);
  polyad_context_destroy(context);
  (void)unlink(path);
  (void)unlink(fifo);
  return rmdir(folder) != 0 || left != 0;
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void begin_member(struct file *file) {
  assert_true(file->members < MOST_MEMBERS);
  file->begin[file->members++] = file->size;
}

static void end_members(struct file *file) { file->begin[file->members] = file->size; }

/* Adds a member made by zlib, with the extra field of a length, which may be a lie. */
static void add_member(struct file *file, const void *bytes, size_t size, int length) {
  z_stream z = {0};
  gz_header head = {0};
  unsigned char extra[6] = {'B', 'C', 2, 0, 0, 0};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  head.extra = extra;
  head.extra_len = sizeof extra;
  head.os = 255;
  assert_int_equal(deflateSetHeader(&z, &head), Z_OK);
  begin_member(file);
  z.next_in = (unsigned char *)(uintptr_t)bytes;
  z.avail_in = (uInt)size;
  z.next_out = file->bytes + file->size;
  z.avail_out = (uInt)(ROOM - file->size);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  if (length < 0) length = (int)z.total_out - 1;
  file->bytes[file->size + 16] = (unsigned char)length;
  file->bytes[file->size + 17] = (unsigned char)(length >> 8);
  file->size += z.total_out;
  deflateEnd(&z);
  end_members(file);
}

/* What polyad writes, and where its members begin. */
static void write_good(size_t size) {
  struct pd_output *output;
  assert_int_equal(pd_output_open(context, path, PD_GZIP, &output), POLYAD_OK);
  assert_int_equal(pd_output_write(output, text, size), POLYAD_OK);
  assert_int_equal(pd_output_commit(output), POLYAD_OK);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  good.members = 0;
  size_t end = fread(good.bytes, 1, ROOM, file);
  fclose(file);
  for (good.size = 0; good.size < end;) {
    begin_member(&good);
    good.size += 1u + good.bytes[good.size + 16] + 256u * good.bytes[good.size + 17];
  }
  assert_int_equal(good.size, end);
  end_members(&good);
}

static void put(const struct file *file) {
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(file->bytes, 1, file->size, out), file->size);
  assert_int_equal(fclose(out), 0);
}

/* ---- outcomes ---------------------------------------------------------------------------------
 */

struct outcome {
  unsigned char *bytes;
  size_t size;
  polyad_status status;
  char message[300];
  bool in_parallel;
};

static void read_all(const char *name, int threads, size_t step, struct outcome *outcome) {
  static const size_t room = 4 << 20;
  struct pd_decoder *decoder;
  size_t got = 1;
  *outcome = (struct outcome){.bytes = malloc(room + step)};
  assert_non_null(outcome->bytes);
  pd_begin(context);
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  outcome->status = pd_decoder_open(context, name, &decoder);
  while (outcome->status == POLYAD_OK && got > 0 && outcome->size < room) {
    outcome->status = pd_decoder_read(decoder, outcome->bytes + outcome->size, step, &got);
    assert_true(got <= step && (outcome->status == POLYAD_OK || got == 0));
    outcome->size += got;
  }
  if (decoder != NULL) {
    outcome->in_parallel = pd_decoder_in_parallel(decoder);
    (void)pd_decoder_fail(decoder, 0);
  }
  snprintf(outcome->message, sizeof outcome->message, "%s", polyad_last_error(context));
  pd_decoder_close(decoder);
  assert_int_equal(polyad_memory_in_use(context), 0);
}

static void hide_lengths(const struct file *from) {
  hidden = *from;
  for (int k = 0; k < hidden.members; ++k)
    if (hidden.begin[k] + 13 < hidden.size) memcpy(hidden.bytes + hidden.begin[k] + 12, "bc", 2);
}

/* Reads a file with its lengths and without, in the same steps: how many bytes come before an error
 * depends on them with ISA-L, and the bytes of a damaged member on those of members before it. True
 * where several threads inflated all of it. */
static bool reads_alike(const struct file *file) {
  bool in_parallel = true;
  hide_lengths(file);
  for (int k = 0; k < 2; ++k) {
    const size_t step = k == 0 ? 70001 : 1 << 20;
    struct outcome alone, with;
    put(&hidden);
    read_all(path, 1, step, &alone);
    assert_false(alone.in_parallel);
    put(file);
    for (int threads = 1; threads <= 5; threads += 4) {
      read_all(path, threads, step, &with);
      assert_int_equal(with.status, alone.status);
      assert_string_equal(with.message, alone.message);
      assert_int_equal(with.size, alone.size);
      assert_memory_equal(with.bytes, alone.bytes,
                          with.status == POLYAD_OK ? with.size
                                                   : with.size / PD_BGZF_TEXT * PD_BGZF_TEXT);
      in_parallel &= with.in_parallel;
      free(with.bytes);
    }
    free(alone.bytes);
  }
  return in_parallel;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void what_polyad_writes_is_bgzf(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, PD_BGZF_TEXT, PD_BGZF_TEXT + 1, TEXT_BYTES};
  static const unsigned char last[28] = {0x1f, 0x8b, 8,   4,   0, 0, 0,    0, 0, 0xff,
                                         6,    0,    'B', 'C', 2, 0, 0x1b, 0, 3};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    struct outcome outcome;
    write_good(sizes[k]);
    assert_int_equal(good.members, 1 + (sizes[k] + PD_BGZF_TEXT - 1) / PD_BGZF_TEXT);
    assert_memory_equal(good.bytes + good.size - sizeof last, last, sizeof last);
    assert_true(reads_alike(&good));
    read_all(path, 3, 1 << 20, &outcome);
    assert_int_equal(outcome.status, POLYAD_OK);
    assert_int_equal(outcome.size, sizes[k]);
    assert_memory_equal(outcome.bytes, text, sizes[k]);
    free(outcome.bytes);
  }
}

static void random_bytes_fit_a_member(void **state) {
  (void)state;
  unsigned char *kept = malloc(TEXT_BYTES);
  assert_non_null(kept);
  memcpy(kept, text, TEXT_BYTES);
  for (size_t p = 0, seed = 7; p < TEXT_BYTES; ++p, seed = seed * 6364136223846793005u + 1)
    text[p] = (unsigned char)(seed >> 33);
  write_good(TEXT_BYTES);
  assert_true(good.size > TEXT_BYTES);
  assert_true(reads_alike(&good));
  memcpy(text, kept, TEXT_BYTES);
  free(kept);
}

static void cut_files(void **state) {
  (void)state;
  write_good(TEXT_BYTES);
  for (int k = 0; k <= good.members; ++k)
    for (int step = -30; step <= 30; step += 3) {
      if ((step < 0 && k == 0) || good.begin[k] + (size_t)step > good.size) continue;
      damaged = good;
      damaged.size = good.begin[k] + (size_t)step;
      if (damaged.size >= 2) (void)reads_alike(&damaged);
    }
}

static void lengths_that_lie(void **state) {
  (void)state;
  write_good(TEXT_BYTES);
  for (int k = 0; k < good.members; ++k) {
    int real = (int)(good.begin[k + 1] - good.begin[k]);
    const int says[] = {0, 16, 25, 26, 27, real - 2, real, 2 * real, 0xfffe, 0xffff};
    for (size_t m = 0; m < sizeof says / sizeof *says; ++m) {
      damaged = good;
      damaged.bytes[good.begin[k] + 16] = (unsigned char)says[m];
      damaged.bytes[good.begin[k] + 17] = (unsigned char)(says[m] >> 8);
      (void)reads_alike(&damaged);
    }
  }
  damaged = good; /* as long as it says, but not inflated */
  damaged.bytes[good.begin[1] - 4] ^= 1;
  assert_false(reads_alike(&damaged));
}

static void damaged_bytes(void **state) {
  (void)state;
  write_good(TEXT_BYTES);
  for (size_t p = 0; p < good.size; p += p % 13 == 0 ? 1 : 997) {
    damaged = good;
    damaged.bytes[p] ^= (unsigned char)(1u << p % 8);
    if (p >= 2) (void)reads_alike(&damaged); /* else it is text */
  }
  for (int k = 1; k <= good.members; ++k)
    for (size_t p = good.begin[k] - PD_BGZF_TRAILER; p < good.begin[k]; ++p) {
      damaged = good;
      damaged.bytes[p] ^= 0x11;
      (void)reads_alike(&damaged);
    }
}

static void members_of_other_forms(void **state) {
  (void)state;
  unsigned char *zeros = calloc(1, 1 << 20);
  assert_non_null(zeros);
  memset(&damaged, 0, sizeof damaged);
  for (int k = 0; k < 1500; ++k) /* more than are looked at in one go, and all empty */
    add_member(&damaged, "", 0, -1);
  add_member(&damaged, text, 65536, -1);
  assert_true(reads_alike(&damaged));
  add_member(&damaged, zeros, 1 << 20, -1); /* too long inflated, rightly said */
  add_member(&damaged, text, 65537, -1);
  add_member(&damaged, text, 100, 3);
  add_member(&damaged, text, 100, -1);
  memset(damaged.bytes + damaged.begin[damaged.members - 1] + 12, 'q', 2); /* another extra field */
  add_member(&damaged, text + 5, 60000, -1);
  (void)reads_alike(&damaged);
  memset(damaged.bytes + damaged.size, 0, 300);
  damaged.size += 300;
  (void)reads_alike(&damaged);
  damaged.bytes[damaged.size - 1] = 'x';
  (void)reads_alike(&damaged);
  free(zeros);
}

static void *feed(void *user) {
  const int *file = user;
  for (size_t p = 0, size; p < good.size; p += size) {
    size = good.size - p < 1009 ? good.size - p : 1009;
    if (write(*file, good.bytes + p, size) != (ssize_t)size) break;
  }
  close(*file);
  return NULL;
}

static void a_pipe_gives_little_at_a_time(void **state) {
  (void)state;
  struct outcome outcome;
  pthread_t thread;
  write_good(TEXT_BYTES);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  int keep = open(fifo, O_RDWR), end = open(fifo, O_WRONLY), begin = open(fifo, O_RDONLY);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", begin);
  close(keep);
  assert_int_equal(pthread_create(&thread, NULL, feed, &end), 0);
  read_all(name, 4, 50021, &outcome);
  pthread_join(thread, NULL);
  close(begin);
  assert_int_equal(outcome.status, POLYAD_OK);
  assert_true(outcome.in_parallel);
  assert_int_equal(outcome.size, TEXT_BYTES);
  assert_memory_equal(outcome.bytes, text, TEXT_BYTES);
  free(outcome.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_polyad_writes_is_bgzf),
                                     cmocka_unit_test(random_bytes_fit_a_member),
                                     cmocka_unit_test(cut_files),
                                     cmocka_unit_test(lengths_that_lie),
                                     cmocka_unit_test(damaged_bytes),
                                     cmocka_unit_test(members_of_other_forms),
                                     cmocka_unit_test(a_pipe_gives_little_at_a_time)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
