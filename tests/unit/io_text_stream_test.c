/* Outputs that appear whole or not at all; inputs plain, gzip, zstd, from files and pipes. */
#include "harness.h"

#include "io/atomic_file.h"
#include "io/input.h"
#include <dirent.h>
#include <fcntl.h>
#include <polyad/polyad.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static polyad_context *context;

static const char *at(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static int files_in_folder(void) {
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

static void remove_all(void) {
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    if (entry->d_name[0] != '.') (void)remove(at(entry->d_name));
  closedir(directory);
}

static void write_bytes(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *path, const char *text) {
  char read[256] = {0};
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t got = fread(read, 1, sizeof read - 1, file);
  fclose(file);
  assert_int_equal(got, strlen(text));
  assert_string_equal(read, text);
}

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/polyad-stream-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  remove_all();
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return rmdir(folder) != 0 || left != 0;
}

static void commit_replaces_and_abort_does_not(void **state) {
  (void)state;
  struct pd_output *output;
  write_bytes(at("a"), "old", 3);
  assert_int_equal(chmod(at("a"), 0640), 0);
  assert_int_equal(pd_output_open(context, at("a"), PD_PLAIN, &output), POLYAD_OK);
  assert_int_equal(pd_output_printf(output, "n%s", "ew"), POLYAD_OK);
  assert_holds(at("a"), "old");
  pd_output_abort(output);
  assert_holds(at("a"), "old");
  assert_int_equal(files_in_folder(), 1);
  assert_int_equal(pd_output_open(context, at("a"), PD_PLAIN, &output), POLYAD_OK);
  assert_int_equal(pd_output_write(output, "_ew", 3), POLYAD_OK);
  assert_true(pd_output_can_patch(output));
  assert_int_equal(pd_output_patch(output, 0, "n", 1), POLYAD_OK);
  assert_int_equal(pd_output_commit(output), POLYAD_OK);
  assert_holds(at("a"), "new");
  struct stat about;
  assert_int_equal(stat(at("a"), &about), 0);
  assert_int_equal(about.st_mode & 07777, 0640);
  assert_int_equal(files_in_folder(), 1);
  remove_all();
}

static void links_stay_links(void **state) {
  (void)state;
  struct pd_output *output;
  assert_int_equal(symlink("real", at("link")), 0); /* dangling at first */
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(pd_output_open(context, at("link"), PD_PLAIN, &output), POLYAD_OK);
    assert_int_equal(pd_output_printf(output, "%d", round), POLYAD_OK);
    assert_int_equal(pd_output_commit(output), POLYAD_OK);
    assert_holds(at("real"), round == 0 ? "0" : "1");
  }
  struct stat about;
  assert_int_equal(lstat(at("link"), &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  assert_int_equal(symlink("loop", at("loop")), 0);
  assert_int_equal(pd_output_open(context, at("loop"), PD_PLAIN, &output), POLYAD_IO);
  pd_begin(context);
  remove_all();
}

static void assert_refused(const char *path, const char *reason) {
  struct pd_output *output;
  pd_begin(context);
  assert_int_equal(pd_output_probe(context, path), POLYAD_IO);
  pd_begin(context);
  assert_int_equal(pd_output_open(context, path, PD_PLAIN, &output), POLYAD_IO);
  assert_null(output);
  assert_non_null(strstr(polyad_last_error(context), path));
  assert_non_null(strstr(polyad_last_error(context), reason));
  assert_int_equal(polyad_memory_in_use(context), 0);
}

static void bad_places_are_refused_at_once(void **state) {
  (void)state;
  assert_refused(at("missing/a"), "No such file or directory");
  assert_refused(folder, "Is a directory");
  write_bytes(at("file"), "", 0);
  assert_refused(at("file/a"), "Not a directory");
  assert_int_equal(files_in_folder(), 1);
  if (geteuid() != 0) { /* root may write anywhere */
    assert_int_equal(chmod(folder, 0555), 0);
    assert_refused(at("new"), "Permission denied");
    assert_int_equal(chmod(folder, 0755), 0);
  }
  remove_all();
}

static void devices_are_written_directly(void **state) {
  (void)state;
  struct pd_output *output;
  struct stat about;
  assert_int_equal(pd_output_open(context, "/dev/null", PD_PLAIN, &output), POLYAD_OK);
  assert_int_equal(pd_output_write(output, "x", 1), POLYAD_OK);
  assert_false(pd_output_can_patch(output));
  assert_int_equal(pd_output_commit(output), POLYAD_OK);
  assert_int_equal(stat("/dev/null", &about), 0);
  assert_true(S_ISCHR(about.st_mode));
}

static void full_disk_is_an_error(void **state) {
  (void)state;
  struct pd_output *output;
  pd_begin(context);
  assert_int_equal(pd_output_open(context, "/dev/full", PD_PLAIN, &output), POLYAD_OK);
  assert_int_equal(pd_output_write(output, "x", 1), POLYAD_OK);
  assert_int_equal(pd_output_commit(output), POLYAD_IO);
  assert_string_equal(polyad_last_error(context),
                      "/dev/full: error: cannot write: No space left on device");
}

/* Standard output is a pipe without a reader: an error, and no signal ends the process. */
static void gone_reader_is_an_error(void **state) {
  (void)state;
  int ends[2], before = dup(1);
  assert_true(before >= 0);
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  fflush(stdout);
  assert_int_equal(dup2(ends[1], 1), 1);
  close(ends[1]);
  pd_begin(context);
  struct pd_output *output = NULL;
  polyad_status opened = pd_output_open(context, "-", PD_PLAIN, &output);
  polyad_status written = pd_output_write(output, "x", 1), done = pd_output_commit(output);
  assert_int_equal(dup2(before, 1), 1);
  close(before);
  assert_int_equal(opened, POLYAD_OK);
  assert_int_equal(written, POLYAD_OK);
  assert_int_equal(done, POLYAD_IO);
  assert_string_equal(polyad_last_error(context), "<stdout>: error: cannot write: Broken pipe");
}

/* Text that compresses well but not to nothing, longer than every buffer. */
enum { LONG_BYTES = 9 * 1000 * 1000 };

static char *long_text(void) {
  char *text = malloc(LONG_BYTES);
  assert_non_null(text);
  uint32_t seed = 1;
  for (size_t p = 0; p < LONG_BYTES; ++p) {
    seed = seed * 1664525 + 1013904223;
    text[p] = (char)(seed >> 30 == 0 ? 'a' + (seed >> 24) % 26 : 'x');
  }
  return text;
}

static void assert_reads(const char *path, const char *text, size_t size, size_t step) {
  struct pd_input *stream;
  char *buffer = malloc(step);
  assert_non_null(buffer);
  pd_begin(context);
  assert_int_equal(pd_input_open(context, path, &stream), POLYAD_OK);
  size_t head, done = 0, got;
  const unsigned char *first;
  assert_int_equal(pd_input_peek(stream, &first, &head), POLYAD_OK);
  assert_int_equal(head, size < 64 << 10 ? size : 64 << 10);
  assert_memory_equal(first, text, head);
  do {
    assert_int_equal(pd_input_read(stream, buffer, step, &got), POLYAD_OK);
    assert_true(done + got <= size);
    assert_memory_equal(buffer, text + done, got);
    done += got;
  } while (got == step);
  assert_int_equal(done, size);
  assert_int_equal(pd_input_read(stream, buffer, step, &got), POLYAD_OK);
  assert_int_equal(got, 0);
  pd_input_close(stream);
  free(buffer);
  assert_int_equal(polyad_memory_in_use(context), 0);
}

static void round_trips_plain_gzip_zstd(void **state) {
  (void)state;
  static const char *const names[] = {"t", "t.gz", "t.zst"};
  char *text = long_text();
  for (int k = 0; k < 3; ++k) {
    struct pd_output *output;
    assert_int_equal(pd_output_open(context, at(names[k]), pd_compression_of(names[k]), &output),
                     POLYAD_OK);
    for (size_t p = 0; p < LONG_BYTES; p += LONG_BYTES / 8)
      assert_int_equal(pd_output_write(output, text + p, LONG_BYTES / 8), POLYAD_OK);
    assert_int_equal(pd_output_commit(output), POLYAD_OK);
    for (int threads = 1; threads <= 7; threads += 6) {
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      assert_reads(at(names[k]), text, LONG_BYTES, 100003);
      assert_reads(at(names[k]), text, LONG_BYTES, 4 << 20);
    }
  }
  free(text);
  remove_all();
}

struct feeder {
  int file;
  const char *text;
  size_t step;
};

static void *feed(void *user) {
  struct feeder *feeder = user;
  for (size_t p = 0; p < LONG_BYTES; p += feeder->step) {
    size_t size = LONG_BYTES - p < feeder->step ? LONG_BYTES - p : feeder->step;
    if (write(feeder->file, feeder->text + p, size) != (ssize_t)size) break;
  }
  close(feeder->file);
  return NULL;
}

static size_t file_bytes(const char *path, unsigned char *bytes, size_t room) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t got = fread(bytes, 1, room, file);
  assert_int_equal(fclose(file), 0);
  assert_true(got < room);
  return got;
}

static void gzip_does_not_depend_on_threads(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 19};
  char *text = long_text();
  unsigned char *one = malloc(LONG_BYTES), *more = malloc(LONG_BYTES);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    size_t length = 0;
    for (int threads = 1; threads <= 5; threads += 2) {
      struct pd_output *output;
      assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
      assert_int_equal(pd_output_open(context, at("t.gz"), PD_GZIP, &output), POLYAD_OK);
      for (size_t p = 0; p < sizes[k]; p += 99991) /* in parts that fit no block */
        assert_int_equal(
            pd_output_write(output, text + p, sizes[k] - p < 99991 ? sizes[k] - p : 99991),
            POLYAD_OK);
      assert_int_equal(pd_output_commit(output), POLYAD_OK);
      size_t got = file_bytes(at("t.gz"), threads == 1 ? one : more, LONG_BYTES);
      assert_true(got >= 18 && (threads == 1 || got == length));
      if (threads > 1) assert_memory_equal(one, more, got);
      length = got;
      assert_reads(at("t.gz"), text, sizes[k], 100003);
    }
  }
  free(more);
  free(one);
  free(text);
  remove_all();
}

static void reads_a_pipe(void **state) {
  (void)state;
  char *text = long_text();
  assert_int_equal(mkfifo(at("fifo"), 0600), 0);
  const char *path = at("fifo");
  int keep = open(path, O_RDWR); /* so that neither side waits for the other to open */
  assert_true(keep >= 0);
  struct feeder feeder = {.file = open(path, O_WRONLY), .text = text, .step = 1009};
  struct pd_input *stream;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
  assert_int_equal(pd_input_open(context, path, &stream), POLYAD_OK);
  close(keep);
  char *buffer = malloc(LONG_BYTES + 1);
  assert_non_null(buffer);
  size_t got;
  assert_int_equal(pd_input_read(stream, buffer, LONG_BYTES + 1, &got), POLYAD_OK);
  assert_int_equal(got, LONG_BYTES);
  assert_memory_equal(buffer, text, LONG_BYTES);
  pthread_join(thread, NULL);
  pd_input_close(stream);
  free(buffer);
  free(text);
  remove_all();
}

/* Closing a stream whose reader thread waits for a pipe that stays silent. */
static void silent_pipe_can_be_closed(void **state) {
  (void)state;
  struct pd_output *output;
  char *text = long_text();
  assert_int_equal(pd_output_open(context, at("t.gz"), PD_GZIP, &output), POLYAD_OK);
  assert_int_equal(pd_output_write(output, text, 1000000), POLYAD_OK);
  assert_int_equal(pd_output_commit(output), POLYAD_OK);
  free(text);
  char packed[60000];
  FILE *file = fopen(at("t.gz"), "rb");
  assert_non_null(file);
  assert_int_equal(fread(packed, 1, sizeof packed, file), sizeof packed);
  fclose(file);
  const char *path = at("fifo");
  assert_int_equal(mkfifo(path, 0600), 0);
  int keep = open(path, O_RDWR);
  assert_int_equal(write(keep, packed, sizeof packed), sizeof packed);
  struct pd_input *stream;
  assert_int_equal(pd_input_open(context, path, &stream), POLYAD_OK);
  pd_input_close(stream);
  close(keep);
  remove_all();
}

static void missing_files_and_directories(void **state) {
  (void)state;
  struct pd_input *stream;
  pd_begin(context);
  assert_int_equal(pd_input_open(context, at("none"), &stream), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(context), "none: error: cannot open: No such file"));
  pd_begin(context);
  assert_int_equal(pd_input_open(context, folder, &stream), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(context), "Is a directory"));
  pd_begin(context);
  assert_int_equal(pd_input_open(context, "/proc/self/mem", &stream), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(context), "read error: Input/output error, at byte 0"));
  write_bytes(at("t.xz"),
              "\xfd"
              "7zXZ\0\0\0",
              8);
  pd_begin(context);
  assert_int_equal(pd_input_open(context, at("t.xz"), &stream), POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "compressed by xz"));
  remove_all();
}

/* Parts of a text, which has bytes, hold each line once, in their order, whether or not its last
 * line is ended, and however long lines are. */
static void parts_hold_every_line_once(const char *text, int parts) {
  char whole[256] = "";
  size_t used = 0;
  write_bytes(at("t"), text, strlen(text));
  for (int part = 0; part < parts; ++part) {
    struct pd_input *input;
    uint64_t begin, lines;
    size_t got;
    assert_int_equal(pd_input_open(context, at("t"), &input), POLYAD_OK);
    assert_int_equal(pd_input_cut(input, part, parts, &begin), POLYAD_OK);
    assert_int_equal(pd_input_count_lines(input, begin, &lines), POLYAD_OK);
    uint64_t before = 0;
    for (size_t k = 0; k < used; ++k)
      before += whole[k] == '\n';
    assert_int_equal(lines, before);
    assert_true(begin == used || begin == strlen(text));
    assert_int_equal(pd_input_read(input, whole + used, sizeof whole - used, &got), POLYAD_OK);
    assert_true(got == 0 || used == 0 || whole[used - 1] == '\n');
    used += got;
    pd_input_close(input);
  }
  assert_int_equal(used, strlen(text));
  assert_memory_equal(whole, text, used);
}

static void files_are_cut_at_line_ends(void **state) {
  (void)state;
  static const char *const texts[] = {"1 2 3", "1 2 3\n", "1\n2\n3 4 5 6 7 8 9", "\n\n\n",
                                      "a line that is longer than all others are\n1\n2\n3\n"};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k)
    for (int parts = 1; parts <= 5; ++parts)
      parts_hold_every_line_once(texts[k], parts);
  remove_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commit_replaces_and_abort_does_not),
      cmocka_unit_test(links_stay_links),
      cmocka_unit_test(bad_places_are_refused_at_once),
      cmocka_unit_test(devices_are_written_directly),
      cmocka_unit_test(full_disk_is_an_error),
      cmocka_unit_test(gone_reader_is_an_error),
      cmocka_unit_test(round_trips_plain_gzip_zstd),
      cmocka_unit_test(gzip_does_not_depend_on_threads),
      cmocka_unit_test(reads_a_pipe),
      cmocka_unit_test(silent_pipe_can_be_closed),
      cmocka_unit_test(missing_files_and_directories),
      cmocka_unit_test(files_are_cut_at_line_ends),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
