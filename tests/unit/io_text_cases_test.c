/* Every hostile text gets the verdict, the line and the bounded message that it must get, by any
 * number of threads and blocks, from files and pipes, plain and compressed. */
#include "harness.h"

#include "inputs.h"
#include "io/formats.h"
#include "io_text_cases.h"
#include <ctype.h>
#include <fcntl.h>
#include <polyad/polyad.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static polyad_context *context;

static const char good[] = "1 1 1 1\n1 2 1 2\n2 1 2 3\n";

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/polyad-cases-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  return polyad_context_create(&context) != POLYAD_OK;
}

static int tear_down(void **state) {
  (void)state;
  polyad_context_destroy(context);
  return rmdir(folder);
}

static void write_file(const char *path, const struct text_buffer *bytes) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  if (bytes->size > 0) /* the buffer of an empty file may be NULL */
    assert_int_equal(fwrite(bytes->bytes, 1, bytes->size, file), bytes->size);
  assert_int_equal(fclose(file), 0);
}

/* What one reading gave. */
struct outcome {
  polyad_status status;
  uint64_t line, column;
  char text[400]; /* of the message, behind the file's name */
  uint64_t hash;
};

static void take_outcome(polyad_status status, polyad_tensor *tensor, struct outcome *outcome) {
  *outcome = (struct outcome){.status = status};
  if (status == POLYAD_OK) {
    assert_int_equal(pd_tensor_check(context, tensor), POLYAD_OK);
    outcome->hash = polyad_tensor_hash(tensor);
  } else {
    assert_null(tensor);
    polyad_error error = polyad_last_error_record(context);
    const char *text = strstr(error.message, " error: ");
    assert_non_null(text);
    outcome->line = error.line;
    outcome->column = error.column;
    snprintf(outcome->text, sizeof outcome->text, "%s", text);
    assert_true(strlen("polyad: ") + strlen(error.message) <= 300);
    for (const char *p = error.message; *p != '\0'; ++p)
      assert_false(iscntrl((unsigned char)*p));
  }
  polyad_tensor_destroy(tensor);
  assert_int_equal(polyad_memory_in_use(context), 0);
}

static void read_path(const char *path, struct outcome *outcome) {
  polyad_tensor *tensor;
  polyad_status status = polyad_tensor_read(context, path, NULL, &tensor);
  take_outcome(status, tensor, outcome);
}

/* FROSTT text in small blocks, so that lines are cut everywhere. */
static void read_blocks(const char *path, struct outcome *outcome) {
  polyad_read_options options;
  polyad_read_options_init(&options);
  const struct pd_tns_blocks blocks = {.block_bytes = 509, .piece_bytes = 16, .turn_bytes = 61};
  struct pd_input *input;
  polyad_tensor *tensor = NULL;
  pd_begin(context);
  polyad_status status = pd_input_open(context, path, &input);
  if (status == POLYAD_OK)
    status = pd_tns_read_blocks(context, input, &options, &blocks, UINT64_MAX, 0, &tensor);
  pd_input_close(input);
  take_outcome(status, tensor, outcome);
}

struct feeder {
  int file;
  const struct text_buffer *bytes;
};

static void *feed(void *user) {
  struct feeder *feeder = user;
  for (size_t p = 0; p < feeder->bytes->size;) {
    size_t left = feeder->bytes->size - p;
    ssize_t put = write(feeder->file, feeder->bytes->bytes + p, left < 4099 ? left : 4099);
    if (put < 0) break; /* the reader has seen enough */
    p += (size_t)put;
  }
  close(feeder->file);
  return NULL;
}

static void read_pipe(const struct text_buffer *bytes, const char *suffix,
                      struct outcome *outcome) {
  int ends[2];
  char path[64], link[128];
  assert_int_equal(pipe(ends), 0);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  snprintf(link, sizeof link, "%s/pipe%s", folder, suffix);
  assert_int_equal(symlink(path, link), 0);
  struct feeder feeder = {ends[1], bytes};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
  read_path(link, outcome);
  close(ends[0]);
  pthread_join(thread, NULL);
  unlink(link);
}

/* The expected tensor, made without the library's readers. */
static uint64_t expected_hash(const char *lines) {
  enum { MOST = 64 };
  uint64_t index[POLYAD_MAX_ORDER][MOST];
  double values[MOST];
  int order = 0;
  uint64_t nnz = 0;
  char *copy = strdup(lines), *rest = copy;
  assert_non_null(copy);
  for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; ++nnz) {
    order = 0;
    for (char *field; (field = strsep(&line, " ")) != NULL;) {
      if (line != NULL)
        index[order++][nnz] = strtoull(field, NULL, 10) - 1;
      else
        values[nnz] = strtod(field, NULL);
    }
  }
  polyad_tensor_input input = input_of_columns(order, NULL, nnz, POLYAD_U64, index, MOST, values);
  polyad_tensor *tensor;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  uint64_t hash = polyad_tensor_hash(tensor);
  polyad_tensor_destroy(tensor);
  free(copy);
  return hash;
}

static void assert_same(const struct text_case *one, const char *how, const struct outcome *a,
                        const struct outcome *b) {
  if (a->status == b->status && a->line == b->line && a->column == b->column &&
      a->hash == b->hash && strcmp(a->text, b->text) == 0)
    return;
  print_error("%s %s: first %d:%llu:%llu:%s, %s %d:%llu:%llu:%s\n", one->id, one->file, a->status,
              (unsigned long long)a->line, (unsigned long long)a->column, a->text, how, b->status,
              (unsigned long long)b->line, (unsigned long long)b->column, b->text);
  fail();
}

static void assert_verdict(const struct text_case *one, const struct outcome *outcome) {
  bool accepted = one->says == NULL;
  bool right = accepted == (outcome->status == POLYAD_OK);
  if (right && !accepted)
    right =
        strstr(outcome->text, one->says) != NULL && outcome->line == one->line &&
        strstr(outcome->text, "; expected ") != NULL &&
        (one->line == 0 || outcome->column > 0 || strstr(outcome->text, "file ends here") != NULL);
  if (right && accepted) {
    uint64_t hash = expected_hash(one->equals != NULL ? one->equals : good);
    right = outcome->hash == hash;
  }
  if (right) return;
  print_error("%s %s: status %d, line %llu:%llu,%s\n", one->id, one->file, outcome->status,
              (unsigned long long)outcome->line, (unsigned long long)outcome->column,
              outcome->text);
  fail();
}

static const char *suffix_of(const char *file) { return strchr(file, '.'); }

static void run_case(const struct text_case *one) {
  struct text_buffer bytes;
  struct outcome first, other;
  char path[256];
  text_case_bytes(one, &bytes);
  snprintf(path, sizeof path, "%s/%s", folder, one->file);
  write_file(path, &bytes);
  assert_int_equal(polyad_set_threads(context, 1), POLYAD_OK);
  read_path(path, &first);
  assert_verdict(one, &first);
  bool tns = strncmp(suffix_of(one->file), ".tns", 4) == 0 &&
             (bytes.size < 8 || memcmp(bytes.bytes, "sptensor", 8) != 0) && bytes.size < (4 << 20);
  for (int threads = 1; threads <= 7; threads += 6) {
    assert_int_equal(polyad_set_threads(context, threads), POLYAD_OK);
    read_path(path, &other);
    assert_same(one, "other threads", &first, &other);
    if (tns) {
      read_blocks(path, &other);
      assert_same(one, "small blocks", &first, &other);
    }
  }
  read_pipe(&bytes, suffix_of(one->file), &other);
  assert_same(one, "pipe", &first, &other);
  /* Plain text means the same when it is compressed. */
  if (strstr(one->file, ".gz") == NULL && strncmp(one->id, "D", 1) != 0) {
    struct text_buffer packed = {0};
    char packed_path[300];
    text_gzip(&packed, bytes.bytes, bytes.size);
    snprintf(packed_path, sizeof packed_path, "%s.gz", path);
    write_file(packed_path, &packed);
    read_path(packed_path, &other);
    assert_same(one, "gzip", &first, &other);
    unlink(packed_path);
    text_free(&packed);
  }
  unlink(path);
  text_free(&bytes);
}

static void every_case(void **state) {
  (void)state;
  for (size_t k = 0; k < text_case_count; ++k)
    run_case(&text_cases[k]);
}

/* Accepted tensors survive being written and read in every text format. */
static void accepted_tensors_round_trip(void **state) {
  (void)state;
  static const char *const names[] = {"t.tns", "t.tns.gz", "t.tns.zst", "t.txt", "t.txt.gz"};
  for (size_t k = 0; k < text_case_count; ++k) {
    if (text_cases[k].says != NULL) continue;
    struct text_buffer bytes;
    char path[256], copy[256];
    text_case_bytes(&text_cases[k], &bytes);
    snprintf(path, sizeof path, "%s/%s", folder, text_cases[k].file);
    write_file(path, &bytes);
    polyad_tensor *tensor, *again;
    assert_int_equal(polyad_tensor_read(context, path, NULL, &tensor), POLYAD_OK);
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
      snprintf(copy, sizeof copy, "%s/%s", folder, names[n]);
      assert_int_equal(polyad_tensor_write(context, tensor, copy, POLYAD_FILE_AUTO), POLYAD_OK);
      polyad_read_options options;
      polyad_read_options_init(&options);
      options.order = polyad_tensor_order(tensor); /* FROSTT text does not keep the lengths */
      memcpy(options.dims, polyad_tensor_dims(tensor), sizeof(uint64_t) * (size_t)options.order);
      assert_int_equal(polyad_tensor_read(context, copy, &options, &again), POLYAD_OK);
      assert_true(polyad_tensor_hash(again) == polyad_tensor_hash(tensor));
      polyad_tensor_destroy(again);
      unlink(copy);
    }
    polyad_tensor_destroy(tensor);
    unlink(path);
    text_free(&bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_case),
      cmocka_unit_test(accepted_tensors_round_trip),
  };
  (void)signal(SIGPIPE, SIG_IGN); /* readers that have seen enough close their pipe */
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
