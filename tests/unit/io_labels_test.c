/* Label files beside a tensor, read and written; names that must not lead elsewhere. */
#include "harness.h"

#include "io/formats.h"
#include "io/labels_path.h"
#include <polyad/polyad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64]; /* scratch directory of this process, current while the tests run */

static int set_up(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "io_labels.%ld", (long)getpid());
  return mkdir(folder, 0777) == 0 && chdir(folder) == 0 ? 0 : 1;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  if (chdir("..") != 0) return 1;
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

static const char good[] = "1 1 1.0\n2 3 2.0\n";

static polyad_status read_with(polyad_context *context, const char *labels,
                               polyad_tensor **tensor) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  options.labels = labels;
  return polyad_tensor_read(context, "x.tns", &options, tensor);
}

static void file_names(void **state) {
  (void)state;
  char out[PD_LABELS_PATH_BYTES], name[PD_LABELS_NAME_BYTES];
  static const char *const stems[][2] = {
      {"a/x.tns", "a/x.labels"},     {"x.tns.gz", "x.labels"},
      {"x.y.csv.zst", "x.y.labels"}, {"x", "x.labels"},
      {"a.b/x", "a.b/x.labels"},     {".hidden", ".hidden.labels"},
      {"a/.tns.gz", "a/.tns.labels"}};
  for (size_t i = 0; i < sizeof stems / sizeof *stems; ++i) {
    assert_true(pd_labels_directory(out, stems[i][0]));
    assert_string_equal(out, stems[i][1]);
  }
  uint64_t mode;
  assert_true(pd_labels_parse_name("mode-12-date.map.gz", &mode, name));
  assert_int_equal(mode, 12);
  assert_string_equal(name, "date");
  assert_true(pd_labels_parse_name("mode-3.map", &mode, name));
  assert_string_equal(name, "");
  assert_true(pd_labels_parse_name("mode-99999999999999999999-x.map", &mode, name));
  assert_true(mode == UINT64_MAX);
  static const char *const others[] = {"mode-1-date.txt", "mode--date.map", "mode-x.map",
                                       "mode-1x.map",     ".mode-1-a.map",  "mode-1-a.map.tmp",
                                       "mode-.map",       "README"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    assert_false(pd_labels_parse_name(others[i], &mode, name));
  pd_labels_file_name(name, 2, "../../etc/pass wd\n");
  assert_string_equal(name, "mode-2-______etc_pass_wd_.map");
  pd_labels_file_name(name, 1, NULL);
  assert_string_equal(name, "mode-1.map");
}

static void labels_are_found_beside_the_file(void **state) {
  (void)state;
  polyad_context *context;
  polyad_tensor *tensor;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  put("x.tns", good);
  assert_int_equal(read_with(context, NULL, &tensor), POLYAD_OK); /* no labels at all */
  assert_null(polyad_tensor_label(tensor, 0, 0, NULL));
  polyad_tensor_destroy(tensor);
  assert_int_equal(mkdir("x.labels", 0777), 0);
  put("x.labels/mode-1-date.map", "\xef\xbb\xbf"
                                  "2024-01-01\r\n\n");
  put("x.labels/mode-2-city.map", "Z\xc3\xbcrich\n\xff\nlast without end");
  put("x.labels/notes.txt", "not labels");
  assert_int_equal(read_with(context, NULL, &tensor), POLYAD_OK);
  assert_string_equal(polyad_tensor_mode_name(tensor, 0), "date");
  assert_string_equal(polyad_tensor_label(tensor, 0, 0, NULL), "2024-01-01");
  assert_string_equal(polyad_tensor_label(tensor, 0, 1, NULL), "");
  assert_string_equal(polyad_tensor_label(tensor, 1, 0, NULL), "Z\xc3\xbcrich");
  assert_string_equal(polyad_tensor_label(tensor, 1, 2, NULL), "last without end");
  polyad_tensor_destroy(tensor);
  assert_int_equal(read_with(context, "", &tensor), POLYAD_OK); /* none wanted */
  assert_null(polyad_tensor_mode_name(tensor, 0));
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

static void refused(polyad_context *context, const char *labels, polyad_status status,
                    const char *words) {
  polyad_tensor *tensor;
  polyad_status got = read_with(context, labels, &tensor);
  const char *message = polyad_last_error(context);
  if (got != status || strstr(message, words) == NULL)
    fail_msg("status %d, '%s'; expected %d, '%s'", (int)got, message, (int)status, words);
  assert_null(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
}

static void wrong_label_files_are_errors(void **state) {
  (void)state;
  polyad_context *context;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  put("x.tns", good);
  assert_int_equal(mkdir("d", 0777), 0);
  refused(context, "no-such", POLYAD_IO, "No such file");
  refused(context, "x.tns", POLYAD_IO, "Not a directory");
  put("d/mode-2-city.map", "a\nb\n");
  refused(context, "d", POLYAD_MISMATCH,
          "d/mode-2-city.map: error: 2 labels found; expected 3, the length of mode 2");
  char many[2001];
  memset(many, '\n', 2000);
  many[2000] = '\0';
  put("d/mode-2-city.map", many);
  refused(context, "d", POLYAD_MISMATCH, "2000 labels found; expected 3");
  put("d/mode-2-city.map", "");
  refused(context, "d", POLYAD_MISMATCH, "0 labels found");
  put("d/mode-2-city.map", "a\nb\nc\n");
  put("d/mode-2-town.map", "a\nb\nc\n");
  refused(context, "d", POLYAD_MISMATCH,
          "'mode-2-city.map' and 'mode-2-town.map' are both for mode 2");
  assert_int_equal(unlink("d/mode-2-town.map"), 0);
  put("d/mode-3-x.map", "a\n");
  refused(context, "d", POLYAD_MISMATCH, "expected modes 1 to 2");
  assert_int_equal(unlink("d/mode-3-x.map"), 0);
  assert_int_equal(mkdir("d/mode-1-x.map", 0777), 0);
  refused(context, "d", POLYAD_IO, "Is a directory");
  polyad_context_destroy(context);
}

static void labels_are_written_and_come_back(void **state) {
  (void)state;
  polyad_context *context;
  polyad_tensor *tensor, *back;
  assert_int_equal(polyad_context_create(&context), POLYAD_OK);
  put("x.tns", good);
  assert_int_equal(read_with(context, "", &tensor), POLYAD_OK);
  const char *cities[] = {"a b", "", "../c"};
  assert_int_equal(polyad_tensor_set_labels(context, tensor, 1, "../city", cities), POLYAD_OK);
  /* Label files of another tensor that stood here before are not taken for this one's. */
  assert_int_equal(mkdir("out.labels", 0777), 0);
  put("out.labels/mode-1-old.map", "1\n2\n");
  put("out.labels/mode-2-old.map.gz", "1\n");
  put("out.labels/notes.txt", "kept");
  assert_int_equal(polyad_tensor_write(context, tensor, "out.tns.gz", POLYAD_FILE_AUTO), POLYAD_OK);
  assert_int_equal(access("out.labels/mode-2-___city.map", R_OK), 0);
  assert_int_equal(access("out.labels/mode-1-old.map", R_OK), -1);
  assert_int_equal(access("out.labels/notes.txt", R_OK), 0);
  assert_int_equal(polyad_tensor_read(context, "out.tns.gz", NULL, &back), POLYAD_OK);
  assert_null(polyad_tensor_label(back, 0, 0, NULL));
  for (uint64_t i = 0; i < 3; ++i)
    assert_string_equal(polyad_tensor_label(back, 1, i, NULL), cities[i]);
  polyad_tensor_destroy(back);
  cities[1] = "two\nlines";
  assert_int_equal(polyad_tensor_set_labels(context, tensor, 1, "city", cities), POLYAD_OK);
  assert_int_equal(polyad_tensor_write(context, tensor, "other.tns", POLYAD_FILE_AUTO),
                   POLYAD_UNSUPPORTED);
  assert_non_null(strstr(polyad_last_error(context), "'two\\x0alines' of mode 2"));
  assert_int_equal(access("other.tns", F_OK), -1);
  assert_int_equal(access("other.labels", F_OK), -1);
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
  polyad_context_destroy(context);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(file_names),
      TEST(labels_are_found_beside_the_file),
      TEST(wrong_label_files_are_errors),
      TEST(labels_are_written_and_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
