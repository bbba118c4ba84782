/* Damaged and hostile .ptn files: each is refused with a message that says what is wrong, and
 * nothing is left behind. */
#include "io_ptn_files.h"

#include "core/isa.h"
#include "failing_allocator.h"
#include "io/ptn_check.h"
#include <pthread.h>
#include <stdatomic.h>

struct fixture {
  polyad_context *context;
  polyad_tensor *tensor;
  struct bytes good;  /* order 3, 1000 entries, labels in mode 0 */
  struct bytes bytes; /* a copy to damage */
  char path[128];
};

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  if (f == NULL || polyad_context_create(&f->context) != POLYAD_OK) return 1;
  const uint64_t dims[] = {4, 90, (UINT64_C(1) << 32) + 9};
  const char *words[] = {"north", "east", "south", "west"};
  f->tensor = random_tensor(f->context, 3, dims, 1000, POLYAD_F64);
  if (polyad_tensor_set_labels(f->context, f->tensor, 0, "side", words) != POLYAD_OK) return 1;
  f->good = tensor_bytes(f->context, f->tensor);
  f->bytes.size = f->good.size;
  f->bytes.data = malloc(f->good.size + (1 << 20));
  if (f->bytes.data == NULL) return 1;
  memcpy(f->bytes.data, f->good.data, f->good.size);
  snprintf(f->path, sizeof f->path, "%s", scratch("damage"));
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  unlink(f->path);
  polyad_tensor_destroy(f->tensor);
  polyad_context_destroy(f->context);
  free(f->good.data);
  free(f->bytes.data);
  free(f);
  return 0;
}

static struct pd_ptn_header *head(struct fixture *f) { return header_of(f->bytes); }

static void restore(struct fixture *f) {
  f->bytes.size = f->good.size;
  memcpy(f->bytes.data, f->good.data, f->good.size);
}

/* The file as it now is gives `status` and a message with `words`, for 1 and 7 threads and every
 * instruction set, and costs no memory; then the good bytes are back. */
static void refused(struct fixture *f, polyad_status status, const char *words) {
  store_file(f->path, f->bytes.data, f->bytes.size);
  uint64_t before = polyad_memory_in_use(f->context);
  char first[1024] = "";
  for (int k = 0; k < 2 * PD_ISA_COUNT; ++k) {
    enum pd_isa isa = (enum pd_isa)(k / 2);
    if (!pd_isa_available(isa)) continue;
    pd_isa_force(isa);
    assert_int_equal(polyad_set_threads(f->context, k % 2 == 0 ? 1 : 7), POLYAD_OK);
    pd_begin(f->context);
    polyad_read_options options = {.type = POLYAD_F64};
    polyad_tensor *tensor = NULL;
    polyad_status got = pd_ptn_read(f->context, f->path, NULL, &options, &tensor);
    const char *message = polyad_last_error(f->context);
    if (got != status || strstr(message, words) == NULL)
      fail_msg("status %d, message '%s'; expected %d, '%s'", (int)got, message, (int)status, words);
    /* A place in a file without lines. */
    assert_int_equal(polyad_last_error_record(f->context).line, 0);
    assert_int_equal(polyad_last_error_record(f->context).column, 0);
    assert_null(tensor);
    assert_true(strlen(message) <= 300);
    assert_int_equal(polyad_memory_in_use(f->context), before);
    if (k == 0)
      snprintf(first, sizeof first, "%s", message);
    else
      assert_string_equal(first, message);
  }
  pd_isa_force(PD_ISA_COUNT);
  restore(f);
}

static void accepted(struct fixture *f) {
  store_file(f->path, f->bytes.data, f->bytes.size);
  polyad_read_options options = {.type = POLYAD_F64};
  polyad_tensor *tensor;
  pd_begin(f->context);
  if (pd_ptn_read(f->context, f->path, NULL, &options, &tensor) != POLYAD_OK)
    fail_msg("%s", polyad_last_error(f->context));
  polyad_tensor_destroy(tensor);
  restore(f);
}

static void e01_short_headers(void **state) {
  struct fixture *f = *state;
  const size_t sizes[] = {0, 1, 4, 7, 8, 1023};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    char words[64];
    snprintf(words, sizeof words, "truncated header: %zu bytes, need 1024", sizes[i]);
    f->bytes.size = sizes[i];
    refused(f, POLYAD_PARSE, words);
  }
  for (size_t size = 1024; size <= 1025; ++size) {
    f->bytes.size = size;
    refused(f, POLYAD_PARSE, "it is truncated");
  }
}

static void e02_e03_e04_identity(void **state) {
  struct fixture *f = *state;
  f->bytes.data[0] ^= 1;
  refused(f, POLYAD_PARSE, "not a .ptn file");
  head(f)->version = PD_PTN_VERSION + 1;
  seal_header(f->bytes);
  refused(f, POLYAD_UNSUPPORTED,
          "written by a newer polyad: format version 3, this build reads up to 2");
  head(f)->version = 0;
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "version 0");
  for (size_t at = 8; at < 32; at += 4) { /* as a big-endian machine would write it */
    unsigned char *w = f->bytes.data + at, swapped[4] = {w[3], w[2], w[1], w[0]};
    memcpy(w, swapped, 4);
  }
  refused(f, POLYAD_PARSE, "big-endian");
  head(f)->endian_mark = 7;
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "byte order mark 00000007");
  head(f)->nnz ^= 4;
  refused(f, POLYAD_PARSE, "header is damaged");
}

static void e06_every_flipped_bit_is_seen(void **state) {
  struct fixture *f = *state;
  for (uint64_t i = 0; i < 200; ++i) {
    uint64_t at = 1024 + pd_random_u64(6, 0, i) % (f->good.size - 1024);
    f->bytes.data[at] ^= (unsigned char)(1U << pd_random_u64(6, 1, i) % 8);
    refused(f, POLYAD_PARSE, "damaged");
  }
  /* The message names the section and the place. */
  f->bytes.data[head(f)->section[1].offset + 77] ^= 1;
  char words[96];
  snprintf(words, sizeof words, "indices of mode 2: the block at byte %llu is damaged",
           (unsigned long long)head(f)->section[1].offset);
  refused(f, POLYAD_PARSE, words);
  /* Every bit of the header counts too. */
  for (uint64_t at = 0; at < 1024; at += 3) {
    f->bytes.data[at] ^= (unsigned char)(1U << at % 8);
    polyad_status status = at >= 12 && at < 16 ? POLYAD_UNSUPPORTED : POLYAD_PARSE;
    refused(f, status, "error");
  }
}

static void e07_e08_wrong_lengths(void **state) {
  struct fixture *f = *state;
  for (uint32_t s = 0; s < head(f)->section_count; ++s)
    for (int end = 0; end < 2; ++end)
      for (int by = -1; by <= 1; ++by) {
        const struct pd_ptn_section *section = &header_of(f->good)->section[s];
        size_t size = (size_t)(section->offset + (end ? section->bytes : 0)) + (size_t)by;
        if (size == f->good.size || size < 1024) continue;
        char words[96];
        snprintf(words, sizeof words, "declares %zu bytes (1000 nonzeros), file has %zu",
                 f->good.size, size);
        f->bytes.size = size;
        f->bytes.data[f->good.size] = 0;
        refused(f, POLYAD_PARSE, words);
      }
  memset(f->bytes.data + f->good.size, 0, 1 << 20);
  f->bytes.size += 1;
  refused(f, POLYAD_PARSE, "surplus bytes");
  f->bytes.size += 1 << 20;
  refused(f, POLYAD_PARSE, "surplus bytes");
}

static void e09_e10_e13_shapes(void **state) {
  struct fixture *f = *state;
  const uint64_t counts[] = {
      0,         UINT64_C(1) << 32, UINT64_C(1) << 61, (UINT64_C(1) << 61) + 1, UINT64_C(1) << 63,
      UINT64_MAX};
  uint64_t peak = polyad_memory_peak(f->context);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    head(f)->nnz = counts[i];
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "file has");
  }
  assert_true(polyad_memory_peak(f->context) <= peak + 4096); /* nothing was allocated */
  const uint32_t orders[] = {0, 17, 255, UINT32_MAX};
  for (size_t i = 0; i < 4; ++i) {
    head(f)->order = orders[i];
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "expected 1 to 16");
  }
  const uint8_t widths[] = {0, 3, 8, 16};
  for (size_t i = 0; i < 4; ++i) {
    head(f)->index_bytes[1] = widths[i];
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "expected 4 for length 90");
  }
  const uint32_t value_bytes[] = {0, 1, 7, 16};
  for (size_t i = 0; i < 4; ++i) {
    head(f)->value_bytes = value_bytes[i];
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "expected kind 1 and 4 or 8 bytes");
  }
  head(f)->value_kind = 2;
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "values of kind 2");
  head(f)->flags = 1; /* E20: no flag says what is only known after a look */
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "flags 1");
  const uint64_t dims[] = {0, UINT64_C(1) << 63, UINT64_MAX};
  for (size_t i = 0; i < 3; ++i) {
    head(f)->dims[2] = dims[i];
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "mode 3 has length");
  }
}

static void e12_indices_and_values_in_range(void **state) {
  struct fixture *f = *state;
  const uint32_t wrong[] = {90, 91, UINT32_MAX};
  for (size_t i = 0; i < 3; ++i) {
    char words[96];
    ((uint32_t *)(void *)(f->bytes.data + head(f)->section[1].offset))[16] = wrong[i];
    seal_all(f->bytes);
    snprintf(words, sizeof words, "nonzero 17: mode 2 index %llu outside 1..90",
             (unsigned long long)wrong[i] + 1);
    refused(f, POLYAD_PARSE, words);
  }
  const uint64_t wide[] = {(UINT64_C(1) << 32) + 9, UINT64_MAX - 1};
  for (size_t i = 0; i < 2; ++i) {
    ((uint64_t *)(void *)(f->bytes.data + head(f)->section[2].offset))[999] = wide[i];
    seal_all(f->bytes);
    refused(f, POLYAD_PARSE, "nonzero 1000: mode 3 index");
  }
  const double values[] = {0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
  for (size_t i = 0; i < 5; ++i) {
    ((double *)(void *)(f->bytes.data + head(f)->section[3].offset))[3] = values[i];
    seal_all(f->bytes);
    refused(f, POLYAD_PARSE, "nonzero 4: value");
  }
}

static void e14_sections(void **state) {
  struct fixture *f = *state;
  const uint64_t offsets[] = {UINT64_C(1) << 40, UINT64_MAX - 8, 0, 512, 1025, 1024 + 64};
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; ++i)
    for (uint32_t s = 1; s < 6; ++s) {
      head(f)->section[s].offset = offsets[i];
      seal_header(f->bytes);
      refused(f, POLYAD_PARSE, "expected");
    }
  head(f)->section[2].offset = head(f)->section[1].offset; /* overlap */
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "expected indices of mode 3");
  for (uint32_t s = 0; s < 6; ++s) {
    head(f)->section[s].bytes = UINT64_MAX - 1024;
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "error");
  }
  head(f)->section[0].kind = 9;
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "kind 9");
  head(f)->section_count = 2;
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "error");
  head(f)->section_count = UINT32_MAX;
  seal_header(f->bytes);
  refused(f, POLYAD_PARSE, "error");
}

/* A right checksum does not excuse bytes that mean nothing: each of them must be 0. */
static void unused_bytes_are_zero(void **state) {
  struct fixture *f = *state;
  const struct pd_ptn_header *good = header_of(f->good);
  const size_t sections = good->order + 2u + (pd_ptn_label_section(good) >= 0);
  size_t refusals = 0;
  for (size_t at = offsetof(struct pd_ptn_header, index_bytes);
       at < offsetof(struct pd_ptn_header, checksum); ++at) {
    bool width = at >= 80u + good->order && at < 96;
    bool dim = at >= 96u + 8 * good->order && at < 224;
    if (!width && !dim && at < 224 + 32 * sections) continue;
    restore(f);
    f->bytes.data[at] = 1;
    seal_header(f->bytes);
    refused(f, POLYAD_PARSE, "of the header is 1; expected 0");
    ++refusals;
  }
  assert_int_equal(refusals, 13 + 8 * 13 + 32 * (20 - sections) + 152);
}

static void e15_labels(void **state) {
  struct fixture *f = *state;
  uint64_t at = head(f)->section[4].offset;
  uint64_t *entry = (uint64_t *)(void *)(f->bytes.data + at); /* named, name bytes, count, text */
  uint64_t *start = (uint64_t *)(void *)(f->bytes.data + at + 3 * 32 + 8);
  char *text = (char *)(start + 5);
  assert_string_equal(text, "north");
  text[5] = 'x';
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "a label has no NUL after it");
  start[2] = 1 << 20;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "an offset is past the end of the text");
  start[2] = UINT64_C(1) << 44; /* so far that nothing can be read there */
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "an offset is past the end of the text");
  start[2] = start[1];
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "not ascending");
  start[0] = 1;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "do not cover");
  entry[2] = UINT64_C(1) << 32;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "4294967296 labels of mode 1; expected 4");
  /* The same lie where the mode is as long as the lie. */
  entry[2] = 0;
  entry[3] = 0;
  entry[8] = 1;
  entry[10] = (UINT64_C(1) << 32) + 9;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "error");
  entry[1] = UINT64_MAX;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "passes the end");
  entry[3] = 8 * 1000;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "passes the end");
  entry[0] = 2;
  seal_all(f->bytes);
  refused(f, POLYAD_PARSE, "marked wrongly");
  memcpy(text, "n\0\n\xfft", 5); /* NUL, newline and bad UTF-8 are kept as they are */
  seal_all(f->bytes);
  accepted(f);
}

static void e18_foreign_files(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *bytes;
    size_t size;
    const char *words;
  } files[] = {
      {"\x89HDF\r\n\x1a\n\0\0\0\0", 12, "this is an HDF5 file"},
      {"\x93NUMPY\x01\0v\0{'descr'", 18, "this is a NumPy array (.npy)"},
      {"\0\0\0\0\x08\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x03\0\0\0", 24, "SPLATT binary"},
      {"\x1f\x8b\x08\0\0\0\0\0", 8, "gzip-compressed"},
      {"1 1 1 1.0\n1 2 1 2.0\n", 20, "this is text"},
      {"\x03\0\0\0\0\0\0\0\x10\0\0\0", 12, "not a .ptn file: it begins with '\\x03\\x00"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    memcpy(f->bytes.data, files[i].bytes, files[i].size);
    f->bytes.size = files[i].size;
    refused(f, POLYAD_PARSE, files[i].words);
  }
}

static void e19_a_sparse_terabyte_meets_the_limit(void **state) {
  struct fixture *f = *state;
  const uint64_t dims[] = {UINT64_C(1) << 32};
  struct pd_ptn_header header;
  pd_ptn_header_init(&header, 1, dims, (UINT64_C(1) << 40) / 12, POLYAD_F64);
  assert_true(pd_ptn_lay_out(&header, 0));
  header.checksum = XXH3_64bits(&header, offsetof(struct pd_ptn_header, checksum));
  store_file(f->path, &header, sizeof header);
  if (truncate(f->path, (off_t)header.file_bytes) != 0) skip(); /* the file system is too small */
  double start = pd_seconds();
  polyad_read_options options = {.type = POLYAD_F64};
  polyad_tensor *tensor;
  pd_begin(f->context);
  assert_int_equal(pd_ptn_read(f->context, f->path, NULL, &options, &tensor), POLYAD_MEMORY_LIMIT);
  assert_non_null(strstr(polyad_last_error(f->context), "TiB"));
  assert_true(pd_seconds() - start < 1);
}

static void e20_order_is_verified(void **state) {
  struct fixture *f = *state;
  /* First nonzeros of a block, of a chunk, and any. */
  const uint64_t places[] = {1, 500, 999};
  for (size_t i = 0; i < 3; ++i) {
    char words[64];
    for (int n = 0; n < 3; ++n) {
      unsigned char *array = f->bytes.data + head(f)->section[n].offset;
      size_t size = head(f)->index_bytes[n];
      memcpy(array + places[i] * size, array + (places[i] - 1) * size, size);
    }
    seal_all(f->bytes);
    snprintf(words, sizeof words, "nonzeros %llu and %llu have the same indices",
             (unsigned long long)places[i], (unsigned long long)places[i] + 1);
    refused(f, POLYAD_PARSE, words);
    for (int n = 0; n < 3; ++n) {
      unsigned char *array = f->bytes.data + head(f)->section[n].offset, swap[8];
      size_t size = head(f)->index_bytes[n];
      memcpy(swap, array + places[i] * size, size);
      memcpy(array + places[i] * size, array + (places[i] - 1) * size, size);
      memcpy(array + (places[i] - 1) * size, swap, size);
    }
    seal_all(f->bytes);
    refused(f, POLYAD_PARSE, "comes before the one in front of it");
  }
}

/* The good file becomes one of more nonzeros, which are checked in several parts. */
static void grow(struct fixture *f, uint64_t nnz) {
  const uint64_t dims[] = {4, 90, (UINT64_C(1) << 32) + 9};
  polyad_tensor *tensor = random_tensor(f->context, 3, dims, nnz, POLYAD_F64);
  free(f->good.data);
  free(f->bytes.data);
  f->good = tensor_bytes(f->context, tensor);
  f->bytes.data = malloc(f->good.size);
  assert_non_null(f->bytes.data);
  polyad_tensor_destroy(tensor);
  restore(f);
}

static void faults_at_the_seams_of_parts(void **state) {
  struct fixture *f = *state;
  grow(f, 2 * PD_PTN_PART + 3000);
  uint64_t nnz = head(f)->nnz;
  const uint64_t places[] = {PD_PTN_TIES - 1, PD_PTN_TIES,     PD_PTN_TIES + 1, PD_PTN_PART - 1,
                             PD_PTN_PART,     PD_PTN_PART + 1, nnz - 1};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    uint64_t p = places[i];
    char words[64];
    for (int n = 0; n < 3; ++n) {
      unsigned char *array = f->bytes.data + head(f)->section[n].offset;
      size_t size = head(f)->index_bytes[n];
      memcpy(array + p * size, array + (p - 1) * size, size);
    }
    seal_all(f->bytes);
    snprintf(words, sizeof words, "nonzeros %llu and %llu have the same indices",
             (unsigned long long)p, (unsigned long long)p + 1);
    refused(f, POLYAD_PARSE, words);
    ((uint32_t *)(void *)(f->bytes.data + head(f)->section[1].offset))[p] = 90;
    seal_all(f->bytes);
    snprintf(words, sizeof words, "nonzero %llu: mode 2 index 91", (unsigned long long)p + 1);
    refused(f, POLYAD_PARSE, words);
    ((double *)(void *)(f->bytes.data + head(f)->section[3].offset))[p] = 0;
    seal_all(f->bytes);
    snprintf(words, sizeof words, "nonzero %llu: value 0", (unsigned long long)p + 1);
    refused(f, POLYAD_PARSE, words);
    /* Damage is told before what it makes of a number. */
    f->bytes.data[head(f)->section[1].offset + 4 * p + 3] ^= 0x80;
    refused(f, POLYAD_PARSE, "indices of mode 2: the block at byte");
  }
  accepted(f);
}

static void order_is_verified_between_blocks(void **state) {
  struct fixture *f = *state;
  const uint64_t dims[] = {1 << 20};
  uint64_t nnz = 3 * PD_PTN_BLOCK_ENTRIES;
  polyad_tensor *tensor = random_tensor(f->context, 1, dims, 1 << 20, POLYAD_F32);
  assert_true(tensor->nnz > nnz);
  uint64_t whole = tensor->nnz;
  tensor->nnz = nnz;
  uint32_t *index = tensor->index[0];
  index[2 * PD_PTN_BLOCK_ENTRIES] = index[2 * PD_PTN_BLOCK_ENTRIES - 1];
  assert_int_equal(pd_ptn_write(f->context, tensor, f->path), POLYAD_OK);
  tensor->nnz = whole;
  polyad_read_options options = {.type = POLYAD_F32};
  polyad_tensor *back;
  assert_int_equal(pd_ptn_read(f->context, f->path, NULL, &options, &back), POLYAD_PARSE);
  assert_non_null(
      strstr(polyad_last_error(f->context), "nonzeros 262144 and 262145 have the same indices"));
  polyad_tensor_destroy(tensor);
}

/* ---- E16, E22: the file changes while it is read ------------------------------------------- */

struct saboteur {
  struct fixture *f;
  struct bytes one, two;
  atomic_bool stop;
  bool replace; /* rename over the file; else cut it in half and restore it */
};

static void *sabotage(void *user) {
  struct saboteur *s = user;
  char path[160];
  snprintf(path, sizeof path, "%s.new", s->f->path);
  for (int i = 0; !atomic_load(&s->stop); ++i) {
    if (s->replace) {
      struct bytes bytes = i % 2 ? s->one : s->two;
      store_file(path, bytes.data, bytes.size);
      if (rename(path, s->f->path) != 0) return s;
    } else if (truncate(s->f->path, (off_t)(s->one.size / 2)) != 0 ||
               truncate(s->f->path, (off_t)s->one.size) != 0) {
      return s;
    }
  }
  return NULL;
}

static void files_may_change_under_the_reader(void **state) {
  struct fixture *f = *state;
  const uint64_t dims[] = {1000, 1000, 1000};
  polyad_tensor *first = random_tensor(f->context, 3, dims, 400000, POLYAD_F64);
  polyad_tensor *second = random_tensor(f->context, 3, dims, 300000, POLYAD_F64);
  uint64_t hashes[2] = {polyad_tensor_hash(first), polyad_tensor_hash(second)};
  for (int replace = 0; replace < 2; ++replace) {
    struct saboteur s = {.f = f,
                         .one = tensor_bytes(f->context, first),
                         .two = tensor_bytes(f->context, second),
                         .replace = replace};
    store_file(f->path, s.one.data, s.one.size);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sabotage, &s), 0);
    for (int i = 0; i < 40; ++i) {
      polyad_read_options options = {.type = POLYAD_F64};
      polyad_tensor *tensor;
      pd_begin(f->context);
      polyad_status status = pd_ptn_read(f->context, f->path, NULL, &options, &tensor);
      if (status == POLYAD_OK) {
        uint64_t hash = polyad_tensor_hash(tensor);
        assert_true(hash == hashes[0] || hash == hashes[1]);
        polyad_tensor_destroy(tensor);
      }
      /* A replaced file is read whole: the old or the new. */
      assert_true(status == POLYAD_OK || (!replace && status == POLYAD_PARSE));
    }
    atomic_store(&s.stop, true);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    free(s.one.data);
    free(s.two.data);
  }
  polyad_tensor_destroy(first);
  polyad_tensor_destroy(second);
}

static void dims_given_are_a_demand(void **state) {
  struct fixture *f = *state;
  store_file(f->path, f->good.data, f->good.size);
  polyad_read_options options = {.order = 3, .dims = {4, 90, (UINT64_C(1) << 32) + 9}};
  options.type = POLYAD_F64;
  polyad_tensor *tensor;
  assert_int_equal(pd_ptn_read(f->context, f->path, NULL, &options, &tensor), POLYAD_OK);
  polyad_tensor_destroy(tensor);
  options.dims[1] = 91;
  assert_int_equal(pd_ptn_read(f->context, f->path, NULL, &options, &tensor), POLYAD_MISMATCH);
  assert_non_null(strstr(polyad_last_error(f->context), "mode 2 has length 90; expected 91"));
  pd_begin(f->context);
  options.order = 2;
  assert_int_equal(pd_ptn_read(f->context, f->path, NULL, &options, &tensor), POLYAD_MISMATCH);
}

static void places_that_are_no_files(void **state) {
  struct fixture *f = *state;
  polyad_read_options options = {.type = POLYAD_F64};
  polyad_tensor *tensor;
  assert_int_equal(pd_ptn_read(f->context, ".", NULL, &options, &tensor), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(f->context), "Is a directory"));
  pd_begin(f->context);
  assert_int_equal(pd_ptn_read(f->context, "no-such.ptn", NULL, &options, &tensor), POLYAD_IO);
  assert_non_null(strstr(polyad_last_error(f->context), "No such file"));
  pd_begin(f->context);
  assert_int_equal(pd_ptn_read(f->context, "/dev/null", NULL, &options, &tensor), POLYAD_PARSE);
  pd_begin(f->context);
  assert_int_equal(pd_ptn_read(f->context, "/dev/zero", NULL, &options, &tensor), POLYAD_PARSE);
}

/* ---- every allocation fails once ------------------------------------------------------------ */

static polyad_status read_and_write(polyad_context *context, void *path) {
  const polyad_read_options options = {.type = POLYAD_F32};
  polyad_tensor *tensor = NULL;
  pd_begin(context);
  polyad_status status = pd_ptn_read(context, path, NULL, &options, &tensor);
  if (status == POLYAD_OK) status = pd_ptn_write(context, tensor, scratch("written"));
  polyad_tensor_destroy(tensor);
  if (status != POLYAD_OK) assert_int_equal(access(scratch("written"), F_OK), -1);
  return status;
}

static void no_memory_is_an_error(void **state) {
  struct fixture *f = *state;
  store_file(f->path, f->good.data, f->good.size);
  assert_true(sweep_single_failures(read_and_write, f->path, 1) > 10);
  unlink(scratch("written"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(e01_short_headers),
      TEST(e02_e03_e04_identity),
      TEST(e06_every_flipped_bit_is_seen),
      TEST(e07_e08_wrong_lengths),
      TEST(e09_e10_e13_shapes),
      TEST(e12_indices_and_values_in_range),
      TEST(e14_sections),
      TEST(unused_bytes_are_zero),
      TEST(e15_labels),
      TEST(e18_foreign_files),
      TEST(e19_a_sparse_terabyte_meets_the_limit),
      TEST(e20_order_is_verified),
      TEST(faults_at_the_seams_of_parts),
      TEST(order_is_verified_between_blocks),
      TEST(files_may_change_under_the_reader),
      TEST(dims_given_are_a_demand),
      TEST(places_that_are_no_files),
      TEST(no_memory_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
