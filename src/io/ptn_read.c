/* Reads .ptn files: header first, then the arrays by several threads, each block checked while it
 * is in the cache. Nothing is allocated before the file has proved its sizes. */
#include "io/formats.h"
#include "io/ptn_blocks.h"
#include "io/ptn_check.h"
#include "io/ptn_labels.h"
#include "io/ptn_source.h"
#include "tensor/tensor_merge.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

struct ptn {
  polyad_context *context;
  struct pd_ptn_source source;
  struct pd_ptn_header header;
  uint64_t *checksums;
  void *array[POLYAD_MAX_ORDER + 1]; /* indices of each mode, then values */
  char *labels;
};

static polyad_status ptn_read_read_header(struct ptn *ptn) {
  struct pd_ptn_header *header = &ptn->header;
  PD_TRY(pd_binary_host_check(ptn->context, &pd_ptn_binary));
  int64_t got = pd_ptn_source_read(&ptn->source, 0, sizeof *header, header);
  if (got < 0) return pd_ptn_source_fail(ptn->context, &ptn->source, got, 0, errno, sizeof *header);
  return pd_ptn_header_check(ptn->context, ptn->source.path, header, (size_t)got, ptn->source.size);
}

/* The given dims are a demand: another tensor than the one asked for is an error. */
polyad_status pd_ptn_check_dims(polyad_context *context, const char *path,
                                const struct pd_ptn_header *header,
                                const polyad_read_options *options) {
  if (options->order == 0) return POLYAD_OK;
  if ((uint32_t)options->order != header->order)
    return pd_fail_at(context, POLYAD_MISMATCH, path, 0, 0,
                      "order %" PRIu32 "; expected %d, as the dims given", header->order,
                      options->order);
  for (int n = 0; n < options->order; ++n)
    if (options->dims[n] != header->dims[n])
      return pd_fail_at(context, POLYAD_MISMATCH, path, 0, 0,
                        "mode %d has length %" PRIu64 "; expected %" PRIu64 ", as given", n + 1,
                        header->dims[n], options->dims[n]);
  return POLYAD_OK;
}

static polyad_status ptn_read_check_memory(struct ptn *ptn, polyad_type type) {
  const struct pd_ptn_header *header = &ptn->header;
  int labels = pd_ptn_label_section(header);
  uint64_t bytes = header->file_bytes;
  if (pd_type_bytes(type) != header->value_bytes)
    bytes = pd_add_saturated(bytes, pd_mul_saturated(header->nnz, pd_type_bytes(type)));
  if (labels >= 0) bytes = pd_add_saturated(bytes, header->section[labels].bytes);
  return pd_memory_check(ptn->context, bytes, "reading the file");
}

/* The bytes that fill up a section to the next multiple of 64 are zero. */
static polyad_status check_padding(struct ptn *ptn, int section) {
  const struct pd_ptn_section *s = &ptn->header.section[section];
  if (section == pd_ptn_checksum_section(&ptn->header)) return POLYAD_OK;
  uint64_t end = s->offset + s->bytes, bytes = ptn->header.section[section + 1].offset - end;
  char padding[PD_PTN_ALIGNMENT], zero[PD_PTN_ALIGNMENT] = {0}, name[32];
  PD_TRY(pd_ptn_source_read_all(ptn->context, &ptn->source, end, bytes, padding,
                                ptn->header.file_bytes));
  if (memcmp(padding, zero, (size_t)bytes) == 0) return POLYAD_OK;
  return pd_fail_at(ptn->context, POLYAD_PARSE, ptn->source.path, 0, 0,
                    "%s: the padding at byte %" PRIu64 " is damaged; expected zeros",
                    pd_ptn_section_name(name, &ptn->header, section), end);
}

static polyad_status load_section(struct ptn *ptn, int section, void **array) {
  const struct pd_ptn_section *s = &ptn->header.section[section];
  PD_TRY(pd_ptn_source_load(ptn->context, &ptn->source, s->offset, s->bytes, ptn->header.file_bytes,
                            array));
  return check_padding(ptn, section);
}

static polyad_status ptn_read_check_labels(struct ptn *ptn) {
  int section = pd_ptn_label_section(&ptn->header);
  if (section < 0) return POLYAD_OK;
  const struct pd_ptn_section *s = &ptn->header.section[section];
  const uint64_t *expected = ptn->checksums + pd_ptn_first_checksum(&ptn->header, section);
  for (uint64_t at = 0, block = 0; at < s->bytes; at += PD_PTN_BLOCK_BYTES, ++block) {
    uint64_t bytes = s->bytes - at < PD_PTN_BLOCK_BYTES ? s->bytes - at : PD_PTN_BLOCK_BYTES;
    if (XXH3_64bits(ptn->labels + at, (size_t)bytes) == expected[block]) continue;
    struct pd_ptn_fault fault = {
        .what = PD_PTN_DAMAGED, .section = section, .offset = s->offset + at};
    return pd_ptn_fault_fail(ptn->context, ptn->source.path, &ptn->header, ptn->array, &fault);
  }
  return POLYAD_OK;
}

/* ---- the arrays ----------------------------------------------------------------------------- */

static struct pd_ptn_fault read_part(struct ptn *ptn, uint64_t begin, uint64_t end) {
  const struct pd_ptn_header *header = &ptn->header;
  for (int s = 0; s <= (int)header->order; ++s) {
    size_t bytes = pd_ptn_entry_bytes(header, s);
    uint64_t offset = header->section[s].offset + begin * bytes, all = (end - begin) * bytes;
    int64_t got =
        pd_ptn_source_read(&ptn->source, offset, all, (char *)ptn->array[s] + begin * bytes);
    if (got < 0 || (uint64_t)got != all)
      return (struct pd_ptn_fault){
          .what = PD_PTN_READ_ERROR, .section = s, .offset = offset, .got = got, .error = errno};
  }
  return (struct pd_ptn_fault){.what = PD_PTN_SOUND};
}

/* Checks a block; of a file that was not read as a whole before, it reads the block, too. */
static struct pd_ptn_fault take_array_block(struct ptn *ptn, uint64_t block) {
  struct pd_ptn_check check;
  pd_ptn_check_begin(&check, &ptn->header, block);
  for (uint64_t p = check.begin; p < check.end; p += PD_PTN_PART) {
    uint64_t end = check.end - p < PD_PTN_PART ? check.end : p + PD_PTN_PART;
    if (ptn->source.seekable) {
      struct pd_ptn_fault fault = read_part(ptn, p, end);
      if (fault.what != PD_PTN_SOUND) return fault;
    }
    pd_ptn_check_part(&check, ptn->array, p, end);
  }
  return pd_ptn_check_end(&check, ptn->checksums, ptn->array);
}

static polyad_status ptn_read_fail_block(struct ptn *ptn, const struct pd_ptn_fault *fault) {
  if (fault->what == PD_PTN_READ_ERROR)
    return pd_ptn_source_fail(ptn->context, &ptn->source, fault->got, fault->offset, fault->error,
                              ptn->header.file_bytes);
  return pd_ptn_fault_fail(ptn->context, ptn->source.path, &ptn->header, ptn->array, fault);
}

/* Reads (from a regular file) and checks all blocks. The fault of the lowest block is named,
 * whatever the number of threads. */
static polyad_status check_arrays(struct ptn *ptn) {
  const struct pd_ptn_header *header = &ptn->header;
  uint64_t blocks = pd_ptn_array_blocks(header), first = UINT64_MAX;
  struct pd_ptn_fault found = {.what = PD_PTN_SOUND};
  int threads = pd_threads_for(ptn->context, blocks, 1);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t stop;
#pragma omp atomic read
    stop = first;
    if (block > stop) continue;
    struct pd_ptn_fault fault = take_array_block(ptn, block);
    if (fault.what == PD_PTN_SOUND) continue;
#pragma omp critical(pd_ptn_fault)
    if (block < first) {
      found = fault;
#pragma omp atomic write
      first = block;
    }
  }
  if (found.what != PD_PTN_SOUND) return ptn_read_fail_block(ptn, &found);
  for (uint64_t block = 1; block < blocks; ++block) {
    found = pd_ptn_check_pair(header, ptn->array, block * PD_PTN_BLOCK_ENTRIES);
    if (found.what != PD_PTN_SOUND) return ptn_read_fail_block(ptn, &found);
  }
  return POLYAD_OK;
}

static polyad_status read_seekable(struct ptn *ptn) {
  const struct pd_ptn_header *header = &ptn->header;
  int labels = pd_ptn_label_section(header), last = pd_ptn_checksum_section(header);
  PD_TRY(load_section(ptn, last, (void **)&ptn->checksums));
  PD_TRY(pd_ptn_check_checksums(ptn->context, ptn->source.path, &ptn->header, ptn->checksums));
  if (labels >= 0) PD_TRY(load_section(ptn, labels, (void **)&ptn->labels));
  for (int s = 0; s <= (int)header->order; ++s) {
    PD_TRY(check_padding(ptn, s));
    PD_TRY(pd_alloc(ptn->context, header->nnz, pd_ptn_entry_bytes(header, s), &ptn->array[s]));
  }
  return check_arrays(ptn);
}

static polyad_status read_pipe(struct ptn *ptn) {
  const struct pd_ptn_header *header = &ptn->header;
  for (int s = 0; s <= (int)header->order; ++s)
    PD_TRY(load_section(ptn, s, &ptn->array[s]));
  if (pd_ptn_label_section(header) >= 0)
    PD_TRY(load_section(ptn, pd_ptn_label_section(header), (void **)&ptn->labels));
  PD_TRY(load_section(ptn, pd_ptn_checksum_section(header), (void **)&ptn->checksums));
  char surplus;
  int64_t got = pd_ptn_source_read(&ptn->source, header->file_bytes, 1, &surplus);
  if (got < 0)
    return pd_ptn_source_fail(ptn->context, &ptn->source, got, header->file_bytes, errno,
                              header->file_bytes);
  if (got > 0)
    return pd_fail_at(ptn->context, POLYAD_PARSE, ptn->source.path, 0, 0,
                      "declares %" PRIu64 " bytes, but more follow", header->file_bytes);
  PD_TRY(pd_ptn_check_checksums(ptn->context, ptn->source.path, &ptn->header, ptn->checksums));
  return check_arrays(ptn);
}

/* ---- the tensor ----------------------------------------------------------------------------- */

static polyad_status widen_values(struct ptn *ptn) {
  double *wide;
  PD_TRY(PD_NEW(ptn->context, ptn->header.nnz, &wide));
  void **values = &ptn->array[ptn->header.order];
  const float *narrow = *values;
  int threads = pd_threads_for(ptn->context, ptn->header.nnz, PD_PTN_BLOCK_ENTRIES);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < ptn->header.nnz; ++p)
    wide[p] = narrow[p];
  pd_free(ptn->context, *values);
  *values = wide;
  return POLYAD_OK;
}

static polyad_status narrow_values(struct ptn *ptn) {
  float *narrow;
  PD_TRY(PD_NEW(ptn->context, ptn->header.nnz, &narrow));
  void **values = &ptn->array[ptn->header.order];
  const double *wide = *values;
  uint64_t bad = UINT64_MAX, underflows = 0;
  int threads = pd_threads_for(ptn->context, ptn->header.nnz, PD_PTN_BLOCK_ENTRIES);
#pragma omp parallel for num_threads(threads) schedule(static)                                     \
    reduction(min : bad) reduction(+ : underflows)
  for (uint64_t p = 0; p < ptn->header.nnz; ++p) {
    narrow[p] = (float)wide[p];
    if (!isfinite(narrow[p]) && p < bad) bad = p;
    underflows += pd_becomes_zero(wide[p]);
  }
  if (bad != UINT64_MAX) {
    double value = wide[bad];
    pd_free(ptn->context, narrow);
    return pd_fail_at(ptn->context, POLYAD_NUMERICAL, ptn->source.path, 0, 0,
                      "nonzero %" PRIu64
                      ": value %.17g does not fit float32; expected at most 3.4e38 in magnitude",
                      bad + 1, value);
  }
  pd_warn_of_underflow(ptn->context, ptn->source.path, 0, underflows);
  pd_free(ptn->context, *values);
  *values = narrow;
  return POLYAD_OK;
}

static polyad_status make_tensor(struct ptn *ptn, const polyad_read_options *options,
                                 polyad_tensor **tensor) {
  polyad_type type = options->type;
  const struct pd_ptn_header *header = &ptn->header;
  bool convert = pd_type_bytes(type) != header->value_bytes;
  if (convert) PD_TRY(type == POLYAD_F64 ? widen_values(ptn) : narrow_values(ptn));
  polyad_tensor *made;
  PD_TRY(PD_NEW(ptn->context, 1, &made));
  *made = (polyad_tensor){.context = ptn->context,
                          .order = (int)header->order,
                          .nnz = header->nnz,
                          .type = type,
                          .values = ptn->array[header->order],
                          .repeats_merged = header->repeats_merged,
                          .zeros_dropped = header->zeros_dropped,
                          .zeros = options->zeros};
  ptn->array[header->order] = NULL;
  for (int n = 0; n < made->order; ++n) {
    made->dims[n] = header->dims[n];
    made->index_bytes[n] = header->index_bytes[n];
    made->index[n] = ptn->array[n];
    ptn->array[n] = NULL;
  }
  polyad_status status = POLYAD_OK;
  /* Zeros that the file keeps, and values too small for float32, which have become zero. */
  if ((convert && type == POLYAD_F32) || header->flags == PD_PTN_ZEROS)
    PD_TRY_CLEANUP(pd_tensor_merge(ptn->context, made, POLYAD_DUPLICATES_SUM, true));
  int labels = pd_ptn_label_section(header);
  if (labels >= 0) {
    PD_TRY_CLEANUP(ptn_read_check_labels(ptn));
    PD_TRY_CLEANUP(pd_ptn_labels_decode(ptn->context, ptn->source.path,
                                        header->section[labels].offset, ptn->labels,
                                        header->section[labels].bytes, made));
  }
  *tensor = made;
  return POLYAD_OK;

cleanup:
  polyad_tensor_destroy(made);
  return status;
}

static polyad_status read_source(polyad_context *context, struct pd_ptn_source source,
                                 const polyad_read_options *options, polyad_tensor **tensor) {
  struct ptn ptn = {.context = context, .source = source};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(ptn_read_read_header(&ptn));
  PD_TRY_CLEANUP(pd_ptn_check_dims(context, ptn.source.path, &ptn.header, options));
  PD_TRY_CLEANUP(ptn_read_check_memory(&ptn, options->type));
  PD_TRY_CLEANUP(ptn.source.seekable ? read_seekable(&ptn) : read_pipe(&ptn));
  PD_TRY_CLEANUP(make_tensor(&ptn, options, tensor));

cleanup:
  pd_ptn_source_close(&ptn.source);
  for (int s = 0; s <= POLYAD_MAX_ORDER; ++s)
    pd_free(context, ptn.array[s]);
  PD_FREE(context, ptn.checksums, ptn.labels);
  return status;
}

polyad_status pd_ptn_read(polyad_context *context, const char *path, struct pd_input *input,
                          const polyad_read_options *options, polyad_tensor **tensor) {
  struct pd_ptn_source source;
  *tensor = NULL;
  if (input != NULL) return read_source(context, pd_ptn_source_of_input(input), options, tensor);
  PD_TRY(pd_ptn_source_open(context, path, &source));
  return read_source(context, source, options, tensor);
}

bool pd_ptn_recognise(const unsigned char *head, size_t size) {
  struct pd_ptn_header header;
  pd_ptn_header_init(&header, 1, &(uint64_t){1}, 0, POLYAD_F64);
  return size >= sizeof header.magic && memcmp(head, header.magic, sizeof header.magic) == 0;
}
