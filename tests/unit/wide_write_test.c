#define _GNU_SOURCE /* O_DIRECT */
/* Large outputs are written by several threads: the bytes are the same with any number of them and
 * by each way that a file system has, and a failure of any of them is reported once and leaves
 * nothing behind. The linker puts the calls below in place of the system's. */
#include "harness.h"

#include "io/atomic_file.h"
#include "io/wide_write.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A few pieces of 8 MiB, begun and ended inside a page. */
enum { SIZE = (20 << 20) + 12345, OFFSET = (7 << 20) + 321, LARGE = PD_WIDE_WRITE_LEAST + 777 };

int __real_open(const char *path, int flags, ...);
int __real_fallocate(int file, int mode, off_t offset, off_t bytes);
ssize_t __real_pwrite(int file, const void *buffer, size_t size, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fallocate(int file, int mode, off_t offset, off_t bytes);
ssize_t __wrap_pwrite(int file, const void *buffer, size_t size, off_t offset);

enum way { DIRECT, NO_DIRECT, NO_ROOM, REFUSED, SHORT, NO_MEMORY, WAYS };

static enum way way;
static atomic_int writes, direct_writes;
static int fails_from, failure; /* the write from which on all fail, with this error; 0: none */

int __wrap_open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (way == NO_DIRECT && (flags & O_DIRECT) != 0) {
    errno = EINVAL;
    return -1;
  }
  return __real_open(path, flags, mode);
}

int __wrap_fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (way != NO_ROOM) return __real_fallocate(file, mode, offset, bytes);
  errno = EOPNOTSUPP;
  return -1;
}

static bool is_direct(int file) { return (fcntl(file, F_GETFL) & O_DIRECT) != 0; }

ssize_t __wrap_pwrite(int file, const void *buffer, size_t size, off_t offset) {
  int before = atomic_fetch_add(&writes, 1);
  errno = 0;
  if (failure != 0 && before >= fails_from) errno = failure;
  if (way == REFUSED && is_direct(file)) errno = EINVAL;
  if (way == SHORT && before % 3 == 1) errno = EINTR;
  if (errno != 0) return -1;
  ssize_t put = __real_pwrite(file, buffer, way == SHORT && size > 9 ? size / 2 + 1 : size, offset);
  if (put >= 0 && is_direct(file)) atomic_fetch_add(&direct_writes, 1);
  return put;
}

static char folder[64], path[96];
static polyad_context *context;
static char *data;

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/polyad-wide-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/out", folder);
  way = DIRECT;
  failure = 0;
  data = malloc(LARGE);
  if (data == NULL) return 1;
  for (size_t k = 0; k < LARGE; ++k)
    data[k] = (char)(k * k / 4093 + k);
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  free(data);
  return rmdir(folder) != 0 || left != 0; /* nothing but what the test removed was made */
}

static void assert_bytes(int file, const char *expected, size_t size, off_t offset) {
  char *found = malloc(size);
  assert_non_null(found);
  assert_int_equal(pread(file, found, size, offset), size);
  assert_true(memcmp(found, expected, size) == 0);
  free(found);
}

/* Among bytes that are there already and must stay. */
static void write_among_others(int threads) {
  static const char before[] = "before", after[] = "after";
  assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
  int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true(file >= 0);
  assert_int_equal(__real_pwrite(file, before, 6, OFFSET - 6), 6);
  assert_int_equal(__real_pwrite(file, after, 5, OFFSET + SIZE), 5);
  atomic_store(&direct_writes, 0);
  assert_int_equal(pd_wide_write(context, file, path, data, SIZE, OFFSET), 0);
  assert_bytes(file, before, 6, OFFSET - 6);
  assert_bytes(file, data, SIZE, OFFSET);
  assert_bytes(file, after, 5, OFFSET + SIZE);
  struct stat about;
  assert_int_equal(fstat(file, &about), 0);
  assert_int_equal(about.st_size, OFFSET + SIZE + 5);
  assert_int_equal(close(file), 0);
  assert_int_equal(unlink(path), 0);
}

static void the_bytes_are_the_same_by_each_way(void **state) {
  (void)state;
  uint64_t limit = polyad_memory_limit(context);
  for (way = DIRECT; way < WAYS; ++way)
    for (int threads = 1; threads <= 3; ++threads) {
      assert_int_equal(polyad_set_memory_limit(context, way == NO_MEMORY ? 1 << 20 : limit),
                       POLYAD_OK);
      write_among_others(threads);
      if (way != DIRECT && way != SHORT) assert_int_equal(atomic_load(&direct_writes), 0);
      assert_string_equal(polyad_last_error(context), "");
    }
}

static polyad_status write_output(void) {
  struct pd_output *output;
  assert_int_equal(pd_output_open(context, path, PD_PLAIN, &output), POLYAD_OK);
  polyad_status status = pd_output_write(output, "head", 4);
  if (status == POLYAD_OK) status = pd_output_write(output, data, LARGE);
  if (status == POLYAD_OK) status = pd_output_write(output, "tail", 4);
  if (status == POLYAD_OK) return pd_output_commit(output);
  pd_output_abort(output);
  return status;
}

/* What is written before and after it keeps its place. */
static void an_output_is_whole(void **state) {
  (void)state;
  assert_int_equal(polyad_set_threads(context, 2), POLYAD_OK);
  assert_int_equal(write_output(), POLYAD_OK);
  int file = open(path, O_RDONLY);
  assert_true(file >= 0);
  assert_bytes(file, "head", 4, 0);
  assert_bytes(file, data, LARGE, 4);
  assert_bytes(file, "tail", 4, 4 + LARGE);
  char more;
  assert_int_equal(pread(file, &more, 1, 8 + LARGE), 0);
  assert_int_equal(close(file), 0);
  assert_int_equal(unlink(path), 0);
}

/* Whichever thread meets it; tear_down finds whether anything is left. */
static void a_failure_is_reported(void **state) {
  (void)state;
  static const int errors[] = {ENOSPC, EIO};
  for (way = DIRECT; way <= NO_DIRECT; ++way)
    for (int k = 0; k < 2; ++k)
      for (fails_from = 0; fails_from <= 6; fails_from += 3) {
        char text[96];
        atomic_store(&writes, 0);
        failure = errors[k];
        assert_int_equal(polyad_set_threads(context, 1 + k), POLYAD_OK);
        assert_int_equal(write_output(), POLYAD_IO);
        failure = 0;
        snprintf(text, sizeof text, "cannot write: %s", strerror(errors[k]));
        assert_non_null(strstr(polyad_last_error(context), text));
        assert_true(access(path, F_OK) < 0);
        if (fails_from > 0) assert_true(atomic_load(&writes) <= fails_from + 2);
      }
}

/* The signal that comes with it ends no program. */
static void a_limit_of_the_file_size_is_an_error(void **state) {
  (void)state;
  struct rlimit before, low;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  low = before;
  low.rlim_cur = 30 << 20;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
  for (way = DIRECT; way <= NO_DIRECT; ++way) {
    assert_int_equal(polyad_set_threads(context, 3), POLYAD_OK);
    assert_int_equal(write_output(), POLYAD_IO);
    assert_non_null(strstr(polyad_last_error(context), strerror(EFBIG)));
  }
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_bytes_are_the_same_by_each_way),
      TEST(an_output_is_whole),
      TEST(a_failure_is_reported),
      TEST(a_limit_of_the_file_size_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
