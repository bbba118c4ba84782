/* Reads NumPy archives: zip members one after the other, each proved by its checksum, then the
 * header of the array in it. No size is believed before the bytes are there. */
#include "io/npz_archive.h"
#include "core/numbers.h"
#include "io/formats.h"
#include "io/npz_layout.h"
#include <inttypes.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deflate makes at most 1032 bytes of one. */
enum {
  MOST_DEFLATED = 1032,
  VERSION_BYTES = 8,
  STORED = 0,
  DEFLATED = 8,
  ENCRYPTED = 1,
  LATER = 8
};

/* ---- zip --------------------------------------------------------------------------------------
 */

struct member {
  struct pd_npz *npz;
  struct pd_input *input;
  struct pd_zip_local head;
  char name[PD_NPZ_NAME_BYTES + 4];
  uint64_t bytes, packed_bytes;
  unsigned char *data;
};

static polyad_status fail_zip(const struct member *m, const char *what) {
  return pd_fail_at(m->npz->context, POLYAD_PARSE, m->npz->path, 0, 0,
                    "%s; expected a NumPy archive (.npz)", what);
}

static polyad_status zip_take(struct member *m, void *buffer, size_t size) {
  size_t got = 0;
  if (size > 0 && pd_input_read(m->input, buffer, size, &got) != POLYAD_OK)
    return pd_input_error(m->input, 0);
  return got == size ? POLYAD_OK : fail_zip(m, "the archive is truncated");
}

static uint64_t little(const unsigned char *bytes, int size) {
  uint64_t number = 0;
  for (int k = size - 1; k >= 0; --k)
    number = number << 8 | bytes[k];
  return number;
}

/* The sizes that do not fit 32 bits stand in a field of their own behind the name. */
static polyad_status take_extra(struct member *m) {
  unsigned char extra[1 << 12];
  size_t size = m->head.about.extra_bytes;
  if (size > sizeof extra) return fail_zip(m, "a member has an overlong header");
  PD_TRY(zip_take(m, extra, size));
  for (size_t at = 0; at + 4 <= size;) {
    size_t field = (size_t)little(extra + at + 2, 2);
    if (field > size - at - 4) break;
    if (little(extra + at, 2) == PD_ZIP64_FIELD && field >= 16) {
      if (m->head.about.bytes == UINT32_MAX) m->bytes = little(extra + at + 4, 8);
      if (m->head.about.packed_bytes == UINT32_MAX) m->packed_bytes = little(extra + at + 12, 8);
    }
    at += 4 + field;
  }
  return POLYAD_OK;
}

/* Name and sizes; *ended where the directory of the archive begins. */
static polyad_status take_head(struct member *m, bool *ended) {
  uint32_t signature;
  PD_TRY(zip_take(m, &signature, sizeof signature));
  *ended = signature == PD_ZIP_CENTRAL || signature == PD_ZIP_END;
  if (*ended) return POLYAD_OK;
  if (signature != PD_ZIP_LOCAL) return fail_zip(m, "this is no zip archive, or it is damaged");
  m->head.signature = signature;
  PD_TRY(zip_take(m, (char *)&m->head + sizeof signature, sizeof m->head - sizeof signature));
  m->bytes = m->head.about.bytes;
  m->packed_bytes = m->head.about.packed_bytes;
  if (m->head.about.name_bytes >= sizeof m->name) return fail_zip(m, "a member has a long name");
  PD_TRY(zip_take(m, m->name, m->head.about.name_bytes));
  m->name[m->head.about.name_bytes] = '\0';
  return take_extra(m);
}

static polyad_status check_local(const struct member *m) {
  if ((m->head.about.flags & ENCRYPTED) != 0) return fail_zip(m, "the archive is encrypted");
  if ((m->head.about.flags & LATER) != 0)
    return fail_zip(m, "sizes stand behind the data, as in archives written to a pipe");
  if (m->head.about.method != STORED && m->head.about.method != DEFLATED)
    return fail_zip(m, "a member is compressed by another method than deflate");
  if (m->head.about.method == STORED && m->bytes != m->packed_bytes)
    return fail_zip(m, "a member's sizes contradict each other");
  if (m->head.about.method == DEFLATED && m->bytes / MOST_DEFLATED > m->packed_bytes)
    return fail_zip(m, "a member's size is impossible");
  return POLYAD_OK;
}

static polyad_status inflate_member(struct member *m) {
  void *packed = m->data;
  m->data = NULL;
  polyad_status status = pd_alloc(m->npz->context, m->bytes, 1, (void **)&m->data);
  struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
  if (status == POLYAD_OK && d == NULL) status = pd_fail_memory(m->npz->context, 1 << 15);
  if (status == POLYAD_OK &&
      libdeflate_deflate_decompress(d, packed, (size_t)m->packed_bytes, m->data, (size_t)m->bytes,
                                    NULL) != LIBDEFLATE_SUCCESS)
    status = fail_zip(m, "a member cannot be decompressed");
  libdeflate_free_decompressor(d);
  pd_free(m->npz->context, packed);
  return status;
}

static polyad_status take_member(struct member *m, bool *ended) {
  uint64_t got;
  PD_TRY(take_head(m, ended));
  if (*ended) return POLYAD_OK;
  PD_TRY(check_local(m));
  PD_TRY(pd_input_load(m->input, m->packed_bytes, (void **)&m->data, &got));
  if (got < m->packed_bytes) return fail_zip(m, "the archive is truncated");
  if (m->head.about.method == DEFLATED) PD_TRY(inflate_member(m));
  if (libdeflate_crc32(0, m->data, (size_t)m->bytes) == m->head.about.checksum) return POLYAD_OK;
  return fail_zip(m, "a member is damaged: its checksum does not match");
}

/* ---- arrays -----------------------------------------------------------------------------------
 */

/* Names the member, where the file is an archive. */
static polyad_status fail_header(const struct member *m, const char *what) {
  char quoted[PD_QUOTE_BYTES];
  if (m->name[0] == '\0')
    return pd_fail_at(m->npz->context, POLYAD_PARSE, m->npz->path, 0, 0, "%s", what);
  return pd_fail_at(m->npz->context, POLYAD_PARSE, m->npz->path, 0, 0, "%s: %s",
                    pd_quote(quoted, m->name, strlen(m->name)), what);
}

/* What follows a key of the header, blanks left out; NULL where it is not there. */
static const char *header_value(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (at == NULL) return NULL;
  at += strlen(key);
  at += strspn(at, " ");
  return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

static bool parse_type(const char *text, struct pd_npy *array) {
  if (text == NULL || *text++ != '\'') return false;
  if (*text != '<' && *text != '|') return false;
  char *end;
  array->kind = text[1];
  if (array->kind == '\0' || strchr("fiubUS", array->kind) == NULL) return false;
  unsigned long size = strtoul(text + 2, &end, 10);
  if (end == text + 2 || *end != '\'' || size > (1 << 24)) return false;
  array->item_bytes = (int)(array->kind == 'U' ? 4 * size : size);
  bool number = size == 1 || size == 2 || size == 4 || size == 8;
  return array->kind == 'U' || array->kind == 'S' ||
         (number && (array->kind != 'f' || size >= 4) && (array->kind != 'b' || size == 1));
}

static bool parse_shape(const char *text, struct pd_npy *array) {
  if (text == NULL || *text++ != '(') return false;
  array->count = 1;
  for (array->order = 0; *(text += strspn(text, ", ")) != ')'; ++array->order) {
    char *end;
    if (array->order == POLYAD_MAX_ORDER || *text < '0' || *text > '9') return false;
    array->shape[array->order] = strtoull(text, &end, 10);
    if (!pd_mul(array->count, array->shape[array->order], &array->count)) return false;
    text = end;
  }
  return true;
}

bool pd_npy_recognise(const unsigned char *head, size_t size) {
  static const char magic[] = "\x93NUMPY";
  return size >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0;
}

/* Takes the data of a member over into an array: what follows the header moves to the front. */
static polyad_status parse_array(struct member *m, struct pd_npy *array) {
  enum { MOST = 1 << 12 };
  char header[MOST];
  int width = m->bytes > VERSION_BYTES && m->data[6] == 1 ? 2 : 4;
  if (m->bytes < (uint64_t)VERSION_BYTES + 4 || !pd_npy_recognise(m->data, VERSION_BYTES))
    return fail_header(m, "damaged; expected an array of NumPy (.npy)");
  uint64_t size = little(m->data + VERSION_BYTES, width), begin = VERSION_BYTES + (uint64_t)width;
  if (size >= MOST || size > m->bytes - begin)
    return fail_header(m, "the header is too long; expected that of an array of numbers or text");
  memcpy(header, m->data + begin, (size_t)size);
  header[size] = '\0';
  begin += size;
  if (!parse_type(header_value(header, "'descr'"), array))
    return fail_header(m, "the numbers are of a type that is not read; expected little-endian "
                          "float32, float64, integers or text, without Python objects");
  const char *order = header_value(header, "'fortran_order'");
  array->fortran = order != NULL && strncmp(order, "True", 4) == 0;
  uint64_t bytes;
  if (!parse_shape(header_value(header, "'shape'"), array) ||
      !pd_mul(array->count, (uint64_t)array->item_bytes, &bytes) || bytes != m->bytes - begin)
    return fail_header(m, "the shape does not fit the bytes that follow");
  memmove(m->data, m->data + begin, (size_t)bytes);
  array->data = m->data;
  m->data = NULL;
  return POLYAD_OK;
}

static polyad_status keep_member(struct member *m) {
  struct pd_npz *npz = m->npz;
  size_t length = strlen(m->name);
  if (length <= 4 || strcmp(m->name + length - 4, ".npy") != 0)
    return fail_header(
        m, "no array of NumPy (.npy); expected an archive of these (.npz), or decompress "
           "the file first");
  if (npz->count == PD_NPZ_MOST_ARRAYS) return fail_zip(m, "there are more than 64 arrays");
  struct pd_npy *array = &npz->array[npz->count];
  PD_TRY(parse_array(m, array));
  memcpy(array->name, m->name, length - 4);
  array->name[length - 4] = '\0';
  ++npz->count;
  return POLYAD_OK;
}

polyad_status pd_npz_read(polyad_context *context, struct pd_input *input, struct pd_npz *npz) {
  *npz = (struct pd_npz){.context = context, .path = pd_input_path(input)};
  polyad_status status = POLYAD_OK;
  for (bool ended = false; status == POLYAD_OK && !ended;) {
    struct member member = {.npz = npz, .input = input};
    status = take_member(&member, &ended);
    if (status == POLYAD_OK && !ended) status = keep_member(&member);
    pd_free(context, member.data);
  }
  return status;
}

polyad_status pd_npy_read(polyad_context *context, struct pd_input *input, struct pd_npz *npz) {
  *npz = (struct pd_npz){.context = context, .path = pd_input_path(input)};
  struct member member = {.npz = npz, .input = input};
  uint64_t plain = pd_input_plain_size(input);
  polyad_status status =
      pd_input_load(input, plain > 0 ? plain : INT64_MAX, (void **)&member.data, &member.bytes);
  if (status == POLYAD_OK) status = parse_array(&member, &npz->array[0]);
  if (status == POLYAD_OK) snprintf(npz->array[npz->count++].name, PD_NPZ_NAME_BYTES, "array");
  pd_free(context, member.data);
  return status;
}

void pd_npz_free(struct pd_npz *npz) {
  for (int k = 0; k < npz->count; ++k)
    pd_free(npz->context, npz->array[k].data);
}

const struct pd_npy *pd_npz_find(const struct pd_npz *npz, const char *name) {
  for (int k = 0; k < npz->count; ++k)
    if (strcmp(npz->array[k].name, name) == 0) return &npz->array[k];
  return NULL;
}

polyad_status pd_npz_need(const struct pd_npz *npz, const char *name, const struct pd_npy **array) {
  *array = pd_npz_find(npz, name);
  if (*array != NULL) return POLYAD_OK;
  char quoted[PD_QUOTE_BYTES];
  const char *first = npz->count == 0 ? "" : npz->array[0].name;
  return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0,
                    "there is no array '%s' among the %d of this archive, the first of which is "
                    "%s; expected what polyad or, of a tensor, sparse.save_npz writes",
                    name, npz->count, pd_quote(quoted, first, strlen(first)));
}

polyad_status pd_npz_fail(const struct pd_npz *npz, const char *name, const char *expected) {
  const struct pd_npy *array = pd_npz_find(npz, name);
  char shape[POLYAD_MAX_ORDER * 21 + 3] = "";
  size_t at = 0;
  for (int n = 0; array != NULL && n < array->order; ++n)
    at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%" PRIu64, n == 0 ? "" : ", ",
                           array->shape[n]);
  return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "%s has shape (%s); expected %s",
                    name, shape, expected);
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

/* Place of the k-th number, counted with the last index varying fastest. */
static uint64_t npy_place(const struct pd_npy *array, uint64_t k) {
  uint64_t place = 0, stride = array->count;
  if (!array->fortran || array->order < 2) return k;
  for (int n = array->order - 1; n >= 0; --n) {
    stride /= array->shape[n];
    place += k % array->shape[n] * stride;
    k /= array->shape[n];
  }
  return place;
}

/* An integer of 1 to 8 bytes; false where it is too large for int64_t. */
static bool integer_at(const struct pd_npy *array, uint64_t place, int64_t *number) {
  int bytes = array->item_bytes;
  uint64_t bits = little((const unsigned char *)array->data + place * (uint64_t)bytes, bytes);
  if (array->kind == 'i' && bytes < 8 && bits >> (8 * bytes - 1) != 0) bits -= 1ull << 8 * bytes;
  memcpy(number, &bits, sizeof bits);
  return array->kind == 'i' || *number >= 0;
}

static double real_at(const struct pd_npy *array, uint64_t place) {
  int64_t number;
  if (array->kind == 'f')
    return pd_load(array->item_bytes == 4 ? POLYAD_F32 : POLYAD_F64, array->data, place);
  return integer_at(array, place, &number) ? (double)number : (double)(uint64_t)number;
}

static polyad_status fail_kind(const struct pd_npz *npz, const struct pd_npy *array,
                               const char *expected) {
  return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0, "%s has type %c%d; expected %s",
                    array->name, array->kind, array->item_bytes, expected);
}

polyad_status pd_npz_reals(const struct pd_npz *npz, const struct pd_npy *array, polyad_type type,
                           void *out) {
  if (array->kind == 'U' || array->kind == 'S') return fail_kind(npz, array, "numbers");
  for (uint64_t k = 0; k < array->count; ++k) {
    double number = real_at(array, npy_place(array, k));
    pd_store(type, out, k, number);
    if (!isfinite(pd_load(type, out, k)))
      return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0,
                        "%s: entry %" PRIu64 " is %g; expected a finite number%s", array->name,
                        k + 1, number,
                        isfinite(number) ? " of at most 3.4e38, a float's largest" : "");
  }
  return POLYAD_OK;
}

polyad_status pd_npz_integers(const struct pd_npz *npz, const struct pd_npy *array, int64_t *out) {
  if (array->kind != 'i' && array->kind != 'u') return fail_kind(npz, array, "integers");
  for (uint64_t k = 0; k < array->count; ++k)
    if (!integer_at(array, npy_place(array, k), &out[k]))
      return pd_fail_at(npz->context, POLYAD_PARSE, npz->path, 0, 0,
                        "%s: entry %" PRIu64 " is %" PRIu64 "; expected at most %" PRId64,
                        array->name, k + 1, (uint64_t)out[k], INT64_MAX);
  return POLYAD_OK;
}
