/* Checkpoints of CP-ALS: resumed runs, damaged and foreign files, full disks, two runs at once. */
#include "als_fixture.h"
#include "io/checkpoint.h"
#include "io/checkpoint_format.h"
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct setting {
  char folder[64], path[80], previous[96];
  polyad_context *context;
  polyad_tensor *tensor;
  polyad_plan *plan;
  polyad_cp_als_options options;
  char warning[1024];
};

static const uint64_t dims[3] = {30, 20, 25};

static void keep_warning(void *user, polyad_log_level level, const char *message) {
  struct setting *s = user;
  if (level == POLYAD_LOG_WARNING) snprintf(s->warning, sizeof s->warning, "%s", message);
}

static void start(struct setting *s, polyad_type precision) {
  memset(s, 0, sizeof *s);
  snprintf(s->folder, sizeof s->folder, "/tmp/polyad-checkpoint-XXXXXX");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->path, sizeof s->path, "%s/state", s->folder);
  snprintf(s->previous, sizeof s->previous, "%s.prev", s->path);
  s->context = cpu_context(2);
  polyad_set_log(s->context, POLYAD_LOG_WARNING, keep_warning, s);
  s->tensor = als_random_tensor(s->context, 3, dims, 2000, 4, 1);
  s->plan = als_plan(s->context, s->tensor, 4, precision);
  polyad_cp_als_options_init(&s->options);
  s->options.rank = 4;
  s->options.run.tolerance = 0;
  s->options.run.max_iterations = 10;
  s->options.run.checkpoint = s->path;
  s->options.run.checkpoint_every = 4;
}

/* Files in the folder; `name` gets the last that is neither the state nor the one before. */
static int files(const struct setting *s, char name[256]) {
  int count = 0;
  DIR *folder = opendir(s->folder);
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.' && strlen(entry->d_name) < 3) continue;
    if (strcmp(entry->d_name, "state") != 0 && strcmp(entry->d_name, "state.prev") != 0)
      snprintf(name, 256, "%s", entry->d_name);
    ++count;
  }
  closedir(folder);
  return count;
}

static void finish(struct setting *s) {
  char name[256] = "";
  int count = files(s, name);
  assert_string_equal(name, "");
  (void)unlink(s->path);
  (void)unlink(s->previous);
  assert_true(count <= 2);
  assert_int_equal(rmdir(s->folder), 0);
  polyad_plan_destroy(s->plan);
  polyad_tensor_destroy(s->tensor);
  context_end(s->context);
}

static polyad_ktensor *run(struct setting *s, polyad_run_info *info) {
  polyad_ktensor *model;
  ALS_OK(s->context, polyad_cp_als(s->context, s->plan, &s->options, &model, info));
  return model;
}

static void refuse(struct setting *s, polyad_status expected, const char *words) {
  polyad_ktensor *model = NULL;
  assert_int_equal(polyad_cp_als(s->context, s->plan, &s->options, &model, NULL), expected);
  assert_null(model);
  if (strstr(polyad_last_error(s->context), words) == NULL)
    fail_msg("'%s' lacks '%s'", polyad_last_error(s->context), words);
}

static unsigned char *load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void store(const char *path, const unsigned char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* Makes checksum and length fit the bytes again. */
static void seal(unsigned char *bytes, size_t size) {
  struct pd_checkpoint_head head;
  memcpy(&head, bytes, sizeof head);
  head.bytes = size - sizeof head;
  head.checksum = XXH3_64bits(bytes + sizeof head, size - sizeof head);
  memcpy(bytes, &head, sizeof head);
}

/* ---- going on ----------------------------------------------------------------------------- */

static int stop_at(void *user, const polyad_progress *progress) {
  return progress->iteration == *(const int *)user;
}

static void resumed_run_has_the_same_bits(void **state) {
  (void)state;
  for (int precision = POLYAD_F32; precision <= POLYAD_F64; ++precision)
    for (int nonnegative = 0; nonnegative < 3; ++nonnegative) /* 2: mode 1 alone */
      for (int stop = 1; stop <= 10; stop += 3) {
        struct setting s;
        start(&s, (polyad_type)precision);
        s.options.nonnegative = nonnegative == 1;
        s.options.nonnegative_modes = nonnegative == 2 ? 1 << 1 : 0;
        polyad_run_info whole = {0}, second = {0};
        polyad_ktensor *expected = run(&s, &whole);
        polyad_set_progress(s.context, stop_at, &stop);
        polyad_ktensor_destroy(run(&s, NULL));
        polyad_set_progress(s.context, NULL, NULL);
        s.options.run.resume = s.path;
        polyad_ktensor *model = run(&s, &second);
        assert_true(als_same_model(expected, model));
        assert_int_equal(second.iterations, 10);
        assert_int_equal(second.trace_rows, 10);
        assert_true(second.fit == whole.fit);
        for (int i = 0; i < 10; ++i)
          assert_true(second.trace[i].fit == whole.trace[i].fit &&
                      (i == 0 || second.trace[i].seconds >= second.trace[i - 1].seconds));
        polyad_ktensor_destroy(model);
        polyad_ktensor_destroy(expected);
        polyad_run_info_clear(&whole);
        polyad_run_info_clear(&second);
        assert_string_equal(s.warning, "");
        finish(&s);
      }
}

/* A run that had converged has nothing more to do. */
static void resumed_after_convergence(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  s.options.run.tolerance = 1e-3;
  s.options.run.max_iterations = 100;
  polyad_run_info first = {0}, second = {0};
  polyad_ktensor *expected = run(&s, &first);
  assert_int_equal(first.reason, POLYAD_REASON_TOLERANCE);
  s.options.run.resume = s.path;
  polyad_ktensor *model = run(&s, &second);
  assert_true(als_same_model(expected, model));
  assert_int_equal(second.reason, POLYAD_REASON_TOLERANCE);
  assert_int_equal(second.iterations, first.iterations);
  polyad_ktensor_destroy(model);
  s.options.run.max_iterations = 1; /* fewer than were done: the model as it is */
  s.options.run.tolerance = 0;
  model = run(&s, &second);
  assert_true(als_same_model(expected, model));
  assert_int_equal(second.reason, POLYAD_REASON_MAX_ITERATIONS);
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(expected);
  polyad_run_info_clear(&first);
  polyad_run_info_clear(&second);
  finish(&s);
}

static void other_threads_are_noted(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  s.options.run.resume = s.path;
  s.options.run.max_iterations = 12;
  ALS_OK(s.context, polyad_set_threads(s.context, 3));
  polyad_set_log(s.context, POLYAD_LOG_INFO, keep_warning, &s);
  polyad_ktensor_destroy(run(&s, NULL));
  finish(&s);
}

/* ---- files that cannot be used ------------------------------------------------------------ */

static void missing_checkpoint(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  s.options.run.resume = s.path;
  refuse(&s, POLYAD_IO, "no checkpoint");
  finish(&s);
}

static void cut_off_anywhere(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor *expected = run(&s, NULL);
  size_t size;
  unsigned char *bytes = load(s.path, &size);
  s.options.run.resume = s.path;
  s.options.run.checkpoint = NULL;
  for (size_t k = 0; k < 50; ++k) {
    store(s.path, bytes, size * k / 50);
    s.warning[0] = '\0';
    polyad_ktensor *model = run(&s, NULL); /* from FILE.prev */
    assert_true(als_same_model(expected, model));
    assert_non_null(strstr(s.warning, "state.prev"));
    polyad_ktensor_destroy(model);
  }
  assert_int_equal(unlink(s.previous), 0);
  for (size_t k = 0; k < 50; ++k) {
    store(s.path, bytes, size * k / 50);
    refuse(&s, POLYAD_PARSE, "cannot resume");
  }
  free(bytes);
  polyad_ktensor_destroy(expected);
  finish(&s);
}

static void damaged_anywhere(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  assert_int_equal(unlink(s.previous), 0);
  size_t size;
  unsigned char *bytes = load(s.path, &size);
  s.options.run.resume = s.path;
  s.options.run.checkpoint = NULL;
  for (size_t at = 0; at < size; at += at < 64 ? 1 : 997) {
    bytes[at] ^= 0x40;
    store(s.path, bytes, size);
    polyad_ktensor *model = NULL;
    polyad_status status = polyad_cp_als(s.context, s.plan, &s.options, &model, NULL);
    assert_true(status == POLYAD_PARSE || status == POLYAD_UNSUPPORTED);
    bytes[at] ^= 0x40;
  }
  memset(bytes, 0, size); /* what a power cut may leave */
  store(s.path, bytes, size);
  refuse(&s, POLYAD_PARSE, "no checkpoint of polyad");
  free(bytes);
  finish(&s);
}

/* A damaged file must not push a good FILE.prev away. */
static void damaged_file_is_not_kept(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  size_t size, size_after;
  unsigned char *before = load(s.previous, &size);
  store(s.path, before, size / 2);
  s.options.run.max_iterations = 1;
  polyad_ktensor_destroy(run(&s, NULL));
  unsigned char *after = load(s.previous, &size_after);
  assert_int_equal(size, size_after);
  assert_memory_equal(before, after, size);
  free(before);
  free(after);
  finish(&s);
}

static void newer_version(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  size_t size;
  unsigned char *bytes = load(s.path, &size);
  uint32_t version = PD_CHECKPOINT_VERSION + 1;
  memcpy(bytes + offsetof(struct pd_checkpoint_head, version), &version, sizeof version);
  store(s.path, bytes, size);
  s.options.run.resume = s.path;
  refuse(&s, POLYAD_UNSUPPORTED, "newer");
  free(bytes);
  finish(&s);
}

static void number_that_is_not_finite(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  size_t size;
  unsigned char *bytes = load(s.path, &size);
  double nan = NAN;
  size_t trace = size - (size_t)10 * 8 * 8;         /* ten rows of eight numbers */
  memcpy(bytes + trace - 8 * 11, &nan, sizeof nan); /* in the last factor */
  seal(bytes, size);
  store(s.path, bytes, size);
  s.options.run.resume = s.path;
  refuse(&s, POLYAD_PARSE, "factors hold a number that is not finite");
  memset(bytes + trace - 8 * 11, 0, sizeof nan);
  memcpy(bytes + trace, &nan, sizeof nan); /* the first fit */
  seal(bytes, size);
  store(s.path, bytes, size);
  refuse(&s, POLYAD_PARSE, "trace holds a number that is not finite");
  free(bytes);
  finish(&s);
}

/* ---- states of other runs ----------------------------------------------------------------- */

static void another_tensor(void **state) {
  (void)state;
  static const uint64_t longer[3] = {31, 20, 25};
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  s.options.run.resume = s.path;
  struct {
    const uint64_t *dims;
    uint64_t nnz, seed;
    const char *words;
  } others[] = {
      {longer, 2000, 4, "length of mode 0 30; expected 31"},
      {dims, 1900, 4, "number of nonzeros"},
      {dims, 2000, 4, NULL},
  };
  for (size_t k = 0; k < 3; ++k) {
    polyad_plan_destroy(s.plan);
    polyad_tensor *other = als_random_tensor(s.context, 3, others[k].dims, others[k].nnz, 4, 1);
    if (others[k].words == NULL)
      ((double *)(uintptr_t)polyad_tensor_values(other))[77] += 1; /* one value */
    s.plan = als_plan(s.context, other, 4, POLYAD_F64);
    refuse(&s, POLYAD_MISMATCH, others[k].words == NULL ? "content hash" : others[k].words);
    polyad_tensor_destroy(other);
  }
  finish(&s);
}

static void other_options(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  s.options.run.resume = s.path;
  s.options.rank = 5;
  refuse(&s, POLYAD_MISMATCH, "rank 4; expected 5");
  s.options.rank = 4;
  polyad_set_seed(s.context, 9);
  refuse(&s, POLYAD_MISMATCH, "seed 0; expected 9");
  polyad_set_seed(s.context, 0);
  s.options.nonnegative = 1;
  refuse(&s, POLYAD_MISMATCH, "nonnegative in no mode; expected in all modes");
  s.options.nonnegative = 0;
  s.options.nonnegative_modes = 1 << 2 | 1;
  refuse(&s, POLYAD_MISMATCH, "nonnegative in no mode; expected in modes 0,2");
  s.options.run.resume = NULL;
  polyad_ktensor_destroy(run(&s, NULL));
  s.options.run.resume = s.path;
  s.options.nonnegative_modes = 1 << 1;
  refuse(&s, POLYAD_MISMATCH, "nonnegative in modes 0,2; expected in modes 1");
  s.options.nonnegative_modes = 0;
  refuse(&s, POLYAD_MISMATCH, "nonnegative in modes 0,2; expected in no mode");
  s.options.run.resume = NULL;
  polyad_ktensor_destroy(run(&s, NULL));
  s.options.run.resume = s.path;
  s.options.ridge = 0.5;
  refuse(&s, POLYAD_MISMATCH, "ridge 0; expected 0.5");
  s.options.ridge = 0;
  polyad_plan *single = als_plan(s.context, s.tensor, 4, POLYAD_F32), *wide = s.plan;
  s.plan = single;
  polyad_ktensor *model;
  /* Values of small whole numbers are the same tensor in both precisions but for their bits. */
  assert_int_equal(polyad_cp_als(s.context, s.plan, &s.options, &model, NULL), POLYAD_MISMATCH);
  s.plan = wide;
  polyad_plan_destroy(single);
  s.options.run.starts = 2;
  refuse(&s, POLYAD_INVALID_ARGUMENT, "several starts");
  s.options.run.starts = 1;
  s.options.run.checkpoint_every = 0;
  refuse(&s, POLYAD_INVALID_ARGUMENT, "0 iterations");
  finish(&s);
}

static void another_algorithm(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_ktensor_destroy(run(&s, NULL));
  size_t size;
  unsigned char *bytes = load(s.path, &size);
  memcpy(bytes + sizeof(struct pd_checkpoint_head), "tucker", 6);
  seal(bytes, size);
  store(s.path, bytes, size);
  s.options.run.resume = s.path;
  refuse(&s, POLYAD_MISMATCH, "algorithm 'tucker'; expected als");
  free(bytes);
  finish(&s);
}

/* ---- places that cannot be written -------------------------------------------------------- */

static int fail_at_once(void *user, const polyad_progress *progress) {
  (void)user;
  (void)progress;
  fail_msg("an iteration ran though the checkpoint cannot be written");
  return 1;
}

static void unwritable_places_fail_at_the_start(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_set_progress(s.context, fail_at_once, NULL);
  s.options.run.checkpoint = "/nowhere/at/all/state";
  refuse(&s, POLYAD_IO, "/nowhere/at/all/state");
  s.options.run.checkpoint = s.folder; /* a directory */
  refuse(&s, POLYAD_IO, "directory");
  s.options.run.checkpoint = "-";
  refuse(&s, POLYAD_INVALID_ARGUMENT, "'-'");
  s.options.run.checkpoint = "";
  refuse(&s, POLYAD_INVALID_ARGUMENT, "empty name");
  assert_int_equal(unlink("/tmp/polyad-no-such-file"), -1);
  char lock[96];
  snprintf(lock, sizeof lock, "%s.lock", s.folder);
  assert_int_equal(access(lock, F_OK), -1);
  finish(&s);
}

/* A limit on file sizes stands for a full disk. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void full_disk_at_the_start(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_set_progress(s.context, fail_at_once, NULL);
  limit_files(1000);
  polyad_ktensor *model = NULL;
  polyad_status status = polyad_cp_als(s.context, s.plan, &s.options, &model, NULL);
  limit_files(RLIM_INFINITY);
  assert_int_equal(status, POLYAD_IO);
  assert_null(model);
  finish(&s);
}

static int fill_disk(void *user, const polyad_progress *progress) {
  (void)user;
  if (progress->iteration == 5) limit_files(1000);
  return 0;
}

static void full_disk_later_is_a_warning(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  polyad_run_info info = {0};
  s.options.run.checkpoint = NULL;
  polyad_ktensor *expected = run(&s, NULL);
  s.options.run.checkpoint = s.path;
  polyad_set_progress(s.context, fill_disk, NULL);
  polyad_ktensor *model = run(&s, &info);
  limit_files(RLIM_INFINITY);
  polyad_set_progress(s.context, NULL, NULL);
  assert_true(als_same_model(expected, model));
  assert_non_null(strstr(s.warning, "could not be saved"));
  assert_non_null(strstr(info.diagnosis, "2 checkpoints could not be written"));
  assert_string_equal(polyad_last_error(s.context), "");
  polyad_ktensor_destroy(model);
  s.options.run.resume = s.path; /* the state of iteration 4 is intact */
  s.warning[0] = '\0';
  model = run(&s, &info);
  assert_string_equal(s.warning, "");
  assert_true(als_same_model(expected, model));
  polyad_ktensor_destroy(model);
  polyad_ktensor_destroy(expected);
  polyad_run_info_clear(&info);
  finish(&s);
}

static void two_runs_do_not_share_a_file(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  struct pd_checkpoint *other;
  ALS_OK(s.context, pd_checkpoint_open(s.context, s.path, &other));
  refuse(&s, POLYAD_IO, "another run");
  pd_checkpoint_close(other);
  polyad_ktensor_destroy(run(&s, NULL));
  finish(&s);
}

static void left_overs_of_a_killed_run_go(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  char stale[160], foreign[160], lock[160];
  snprintf(stale, sizeof stale, "%s/.state.polyad-0.tmp", s.folder);
  snprintf(foreign, sizeof foreign, "%s/.state2.polyad-0.tmp", s.folder);
  snprintf(lock, sizeof lock, "%s.lock", s.path);
  store(stale, (const unsigned char *)"x", 1);
  store(foreign, (const unsigned char *)"x", 1);
  store(lock, (const unsigned char *)"", 0);
  polyad_ktensor_destroy(run(&s, NULL));
  assert_int_equal(access(stale, F_OK), -1);
  assert_int_equal(access(lock, F_OK), -1);
  assert_int_equal(unlink(foreign), 0);
  finish(&s);
}

static void links_stay_links(void **state) {
  (void)state;
  struct setting s;
  start(&s, POLYAD_F64);
  char real[96];
  struct stat about;
  snprintf(real, sizeof real, "%s/real", s.folder);
  store(real, (const unsigned char *)"", 0);
  assert_int_equal(symlink("real", s.path), 0);
  polyad_ktensor_destroy(run(&s, NULL));
  assert_int_equal(lstat(s.path, &about), 0);
  assert_true(S_ISLNK(about.st_mode));
  s.options.run.resume = s.path;
  s.options.run.checkpoint = NULL;
  polyad_ktensor_destroy(run(&s, NULL));
  assert_int_equal(unlink(real), 0);
  snprintf(real, sizeof real, "%s/real.prev", s.folder);
  assert_int_equal(unlink(real), 0);
  finish(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(resumed_run_has_the_same_bits),
      cmocka_unit_test(resumed_after_convergence),
      cmocka_unit_test(other_threads_are_noted),
      cmocka_unit_test(missing_checkpoint),
      cmocka_unit_test(cut_off_anywhere),
      cmocka_unit_test(damaged_anywhere),
      cmocka_unit_test(damaged_file_is_not_kept),
      cmocka_unit_test(newer_version),
      cmocka_unit_test(number_that_is_not_finite),
      cmocka_unit_test(another_tensor),
      cmocka_unit_test(other_options),
      cmocka_unit_test(another_algorithm),
      cmocka_unit_test(unwritable_places_fail_at_the_start),
      cmocka_unit_test(full_disk_at_the_start),
      cmocka_unit_test(full_disk_later_is_a_warning),
      cmocka_unit_test(two_runs_do_not_share_a_file),
      cmocka_unit_test(left_overs_of_a_killed_run_go),
      cmocka_unit_test(links_stay_links),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
