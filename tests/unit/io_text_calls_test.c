/* System calls that transfer little, are interrupted, or fail: the linker puts the calls below in
 * place of read, pread, write and pwrite. */
#include "harness.h"
#include "inputs.h"

#include <errno.h>
#include <polyad/polyad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t __real_read(int file, void *buffer, size_t size);
ssize_t __real_pread(int file, void *buffer, size_t size, off_t offset);
ssize_t __real_write(int file, const void *buffer, size_t size);
ssize_t __real_pwrite(int file, const void *buffer, size_t size, off_t offset);
ssize_t __wrap_read(int file, void *buffer, size_t size);
ssize_t __wrap_pread(int file, void *buffer, size_t size, off_t offset);
ssize_t __wrap_write(int file, const void *buffer, size_t size);
ssize_t __wrap_pwrite(int file, const void *buffer, size_t size, off_t offset);

static struct {
  size_t most;          /* bytes of one call; 0: all */
  bool interrupt;       /* every other call */
  uint64_t error_after; /* bytes read or written; 0: never */
  int error;
  uint64_t done, calls;
} world;

/* What the next call does: false and errno, or at most *size bytes. */
static bool meet_world(size_t *size) {
  if (world.interrupt && ++world.calls % 2 == 0) {
    errno = EINTR;
    return false;
  }
  if (world.error_after > 0 && world.done >= world.error_after) {
    errno = world.error;
    return false;
  }
  if (world.most > 0 && *size > world.most) *size = world.most;
  if (world.error_after > 0 && *size > world.error_after - world.done)
    *size = (size_t)(world.error_after - world.done);
  return true;
}

static ssize_t count(ssize_t got) {
  if (got > 0) world.done += (uint64_t)got;
  return got;
}

ssize_t __wrap_read(int file, void *buffer, size_t size) {
  return meet_world(&size) ? count(__real_read(file, buffer, size)) : -1;
}

ssize_t __wrap_pread(int file, void *buffer, size_t size, off_t offset) {
  return meet_world(&size) ? count(__real_pread(file, buffer, size, offset)) : -1;
}

ssize_t __wrap_write(int file, const void *buffer, size_t size) {
  return meet_world(&size) ? count(__real_write(file, buffer, size)) : -1;
}

ssize_t __wrap_pwrite(int file, const void *buffer, size_t size, off_t offset) {
  return meet_world(&size) ? count(__real_pwrite(file, buffer, size, offset)) : -1;
}

static char folder[64];
static polyad_context *context;
static polyad_tensor *tensor;
static const char *const names[] = {"t.tns", "t.tns.gz", "t.tns.zst", "t.txt"};

static const char *at(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int set_up(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  static uint32_t index[2][COUNT];
  static double values[COUNT];
  strcpy(folder, "/tmp/polyad-calls-XXXXXX");
  if (mkdtemp(folder) == NULL || polyad_context_create(&context) != POLYAD_OK) return 1;
  for (uint32_t k = 0; k < COUNT; ++k) {
    index[0][k] = k;
    index[1][k] = k * 7919 % 101;
    values[k] = k + 0.25;
  }
  polyad_tensor_input input = input_of_columns(2, NULL, COUNT, POLYAD_U32, index, COUNT, values);
  return polyad_tensor_create(context, &input, &tensor) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  polyad_tensor_destroy(tensor);
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return rmdir(folder) != 0 || left != 0;
}

static void assert_round_trips(void) {
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    polyad_tensor *read;
    polyad_status written = polyad_tensor_write(context, tensor, at(names[k]), POLYAD_FILE_AUTO);
    polyad_status status = polyad_tensor_read(context, at(names[k]), NULL, &read);
    memset(&world, 0, sizeof world); /* cmocka writes, too */
    assert_int_equal(written, POLYAD_OK);
    assert_int_equal(status, POLYAD_OK);
    assert_true(polyad_tensor_hash(read) == polyad_tensor_hash(tensor));
    polyad_tensor_destroy(read);
    unlink(at(names[k]));
  }
}

static void short_transfers_change_nothing(void **state) {
  (void)state;
  world.most = 1;
  assert_round_trips();
  world.most = 17;
  assert_round_trips();
}

static void interruptions_change_nothing(void **state) {
  (void)state;
  world.interrupt = true;
  world.most = 5;
  assert_round_trips();
}

static void read_errors_name_the_byte(void **state) {
  (void)state;
  static const uint64_t places[] = {1, 5, 100, 4097};
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    assert_int_equal(polyad_tensor_write(context, tensor, at(names[k]), POLYAD_FILE_AUTO),
                     POLYAD_OK);
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
      polyad_tensor *read;
      char expected[128];
      world.done = 0;
      world.error = EIO;
      world.error_after = places[p];
      polyad_status status = polyad_tensor_read(context, at(names[k]), NULL, &read);
      memset(&world, 0, sizeof world);
      snprintf(expected, sizeof expected, "read error: Input/output error, at byte %llu",
               (unsigned long long)places[p]);
      assert_int_equal(status, POLYAD_IO);
      assert_null(read);
      if (strstr(polyad_last_error(context), expected) == NULL)
        print_error("%s %s\n", polyad_last_error(context), expected);
      assert_non_null(strstr(polyad_last_error(context), expected));
    }
    unlink(at(names[k]));
  }
}

static void write_errors_keep_the_old_file(void **state) {
  (void)state;
  static const uint64_t places[] = {1, 1000, 5000};
  for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
    FILE *old = fopen(at(names[k]), "wb");
    assert_non_null(old);
    fclose(old);
    for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
      world.done = 0;
      world.error = ENOSPC;
      world.error_after = places[p];
      polyad_status status = polyad_tensor_write(context, tensor, at(names[k]), POLYAD_FILE_AUTO);
      memset(&world, 0, sizeof world);
      assert_int_equal(status, POLYAD_IO);
      assert_non_null(strstr(polyad_last_error(context), "cannot write: No space left on device"));
    }
    old = fopen(at(names[k]), "rb");
    assert_non_null(old);
    assert_int_equal(fgetc(old), EOF);
    fclose(old);
    unlink(at(names[k]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(short_transfers_change_nothing),
      cmocka_unit_test(interruptions_change_nothing),
      cmocka_unit_test(read_errors_name_the_byte),
      cmocka_unit_test(write_errors_keep_the_old_file),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
