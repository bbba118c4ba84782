/* In which order a file is made: written beside its place, synced, renamed, and its directory
 * synced. The linker puts the calls below in place of fsync and rename. */
#include "harness.h"

#include "io/atomic_file.h"
#include "tensor/ktensor.h"
#include <errno.h>
#include <fcntl.h>
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_fsync(int file);
int __real_rename(const char *from, const char *to);
int __wrap_fsync(int file);
int __wrap_rename(const char *from, const char *to);

/* What was called: f a file was synced, d the directory of the test, r something was renamed. */
static char calls[64];
static struct stat directory;
static int directories_fail;

static void note(char call) {
  size_t length = strlen(calls);
  if (length + 1 < sizeof calls) calls[length] = call;
}

int __wrap_fsync(int file) {
  struct stat about;
  if (fstat(file, &about) != 0) return -1;
  int is_directory = S_ISDIR(about.st_mode) && about.st_ino == directory.st_ino;
  note(is_directory ? 'd' : S_ISREG(about.st_mode) ? 'f' : '?');
  if (is_directory && directories_fail) {
    errno = EIO;
    return -1;
  }
  return __real_fsync(file);
}

int __wrap_rename(const char *from, const char *to) {
  note('r');
  return __real_rename(from, to);
}

static char folder[64], warning[512];
static polyad_context *context;

static void keep_warning(void *user, polyad_log_level level, const char *message) {
  (void)user;
  if (level == POLYAD_LOG_WARNING) snprintf(warning, sizeof warning, "%s", message);
}

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/polyad-atomic-XXXXXX");
  if (mkdtemp(folder) == NULL || stat(folder, &directory) != 0) return 1;
  if (polyad_context_create(&context) != POLYAD_OK) return 1;
  polyad_set_log(context, POLYAD_LOG_WARNING, keep_warning, NULL);
  memset(calls, 0, sizeof calls);
  warning[0] = '\0';
  directories_fail = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  uint64_t left = polyad_memory_in_use(context);
  polyad_context_destroy(context);
  return rmdir(folder) != 0 || left != 0; /* nothing but what the test removed was made */
}

static polyad_status write_file(const char *path, const char *text) {
  struct pd_output *output;
  polyad_status status = pd_output_open(context, path, PD_PLAIN, &output);
  if (status != POLYAD_OK) return status;
  assert_int_equal(pd_output_write(output, text, strlen(text)), POLYAD_OK);
  return pd_output_commit(output);
}

static void assert_file(const char *path, const char *expected) {
  char text[64] = "";
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = '\0';
  assert_string_equal(text, expected);
}

static void a_file_is_durable(void **state) {
  (void)state;
  char path[96];
  snprintf(path, sizeof path, "%s/out", folder);
  assert_int_equal(write_file(path, "one"), POLYAD_OK);
  assert_string_equal(calls, "frd");
  memset(calls, 0, sizeof calls);
  assert_int_equal(write_file(path, "two"), POLYAD_OK); /* over the one before */
  assert_string_equal(calls, "frd");
  assert_file(path, "two");
  assert_string_equal(warning, "");
  assert_int_equal(unlink(path), 0);
}

static void a_name_without_a_folder(void **state) {
  (void)state;
  char before[4096];
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(folder), 0);
  assert_int_equal(write_file("out", "here"), POLYAD_OK);
  assert_string_equal(calls, "frd");
  assert_int_equal(unlink("out"), 0);
  assert_int_equal(chdir(before), 0);
}

/* The directory of the file that a link leads to, not the link's. */
static void through_a_link(void **state) {
  (void)state;
  char path[96], other[] = "/tmp/polyad-atomic-XXXXXX", link[96];
  assert_non_null(mkdtemp(other));
  snprintf(path, sizeof path, "%s/out", folder);
  snprintf(link, sizeof link, "%s/link", other);
  assert_int_equal(symlink(path, link), 0);
  assert_int_equal(write_file(link, "there"), POLYAD_OK);
  assert_string_equal(calls, "frd");
  assert_file(path, "there");
  assert_int_equal(unlink(link), 0);
  assert_int_equal(rmdir(other), 0);
  assert_int_equal(unlink(path), 0);
}

/* The file is whole and in its place by then. */
static void a_directory_that_cannot_be_synced_is_a_warning(void **state) {
  (void)state;
  char path[96];
  snprintf(path, sizeof path, "%s/out", folder);
  directories_fail = 1;
  assert_int_equal(write_file(path, "one"), POLYAD_OK);
  assert_non_null(strstr(warning, "its directory cannot be synced"));
  assert_file(path, "one");
  assert_int_equal(unlink(path), 0);
}

/* A directory of files: each is durable, then the directory itself. */
static void a_model_directory_is_durable(void **state) {
  (void)state;
  static const uint64_t dims[] = {2};
  static const char *const files[] = {"lambda.txt", "mode1.txt"};
  char path[96], inside[128];
  polyad_ktensor *model;
  snprintf(path, sizeof path, "%s/model", folder);
  assert_int_equal(polyad_ktensor_create(context, 1, dims, 1, POLYAD_F64, &model), POLYAD_OK);
  assert_int_equal(polyad_ktensor_write_directory(context, model, NULL, 0, path), POLYAD_OK);
  size_t length = strlen(calls);
  assert_true(length >= 2 && strcmp(calls + length - 2, "rd") == 0);
  polyad_ktensor_destroy(model);
  for (int k = 0; k < 2; ++k) {
    snprintf(inside, sizeof inside, "%s/%s", path, files[k]);
    assert_int_equal(unlink(inside), 0);
  }
  assert_int_equal(rmdir(path), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_file_is_durable),
      TEST(a_name_without_a_folder),
      TEST(through_a_link),
      TEST(a_directory_that_cannot_be_synced_is_a_warning),
      TEST(a_model_directory_is_durable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
