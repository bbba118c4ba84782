/* Writes NumPy archives: each array twice, first for its checksum, then into the file, so that a
 * pipe will do; at the end the directory. All sizes are written in 64 bits. */
#include "io/npz_archive.h"
#include "io/npz_layout.h"
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_BYTES = 512, SPECIMEN_BYTES = 64, MADE_BY_UNIX = 3 << 8, READABLE = 0100644 };

/** Where the bytes of an array go: into a checksum, or into the file. */
struct pd_npz_sink {
  struct pd_output *output; /* NULL: into the checksum */
  uint32_t checksum;
  uint64_t bytes;
};

struct written {
  char name[PD_NPZ_NAME_BYTES + 4];
  uint32_t checksum;
  uint64_t bytes, offset;
};

struct pd_npz_writer {
  polyad_context *context;
  struct pd_output *output;
  uint64_t at;
  int count;
  struct written array[PD_NPZ_MOST_ARRAYS];
};

polyad_status pd_npz_bytes(struct pd_npz_sink *sink, const void *data, uint64_t size) {
  sink->bytes += size;
  if (sink->output != NULL) return pd_output_write(sink->output, data, (size_t)size);
  sink->checksum = libdeflate_crc32(sink->checksum, data, (size_t)size);
  return POLYAD_OK;
}

polyad_status pd_npz_open(polyad_context *context, const char *path,
                          struct pd_npz_writer **writer) {
  PD_TRY(PD_NEW_ZERO(context, 1, writer));
  (*writer)->context = context;
  polyad_status status = pd_output_open(context, path, PD_PLAIN, &(*writer)->output);
  if (status != POLYAD_OK) pd_free(context, *writer);
  return status;
}

static polyad_status npz_write(struct pd_npz_writer *w, const void *data, size_t size) {
  w->at += size;
  return pd_output_write(w->output, data, size);
}

/* The header of an array, filled up so that the data begin at a multiple of 64 bytes. */
static size_t put_header(const struct pd_npy *array, char header[HEADER_BYTES]) {
  enum { BEFORE = 10 };
  size_t at = BEFORE;
  int number = array->kind == 'U' ? array->item_bytes / 4 : array->item_bytes;
  at += (size_t)snprintf(header + at, HEADER_BYTES - at,
                         "{'descr': '<%c%d', 'fortran_order': False, 'shape': (", array->kind,
                         number);
  for (int n = 0; n < array->order; ++n)
    at += (size_t)snprintf(header + at, HEADER_BYTES - at, "%" PRIu64 "%s", array->shape[n],
                           n + 1 < array->order ? ", "
                           : array->order == 1  ? ","
                                                : "");
  at += (size_t)snprintf(header + at, HEADER_BYTES - at, "), }");
  size_t end = (at + 1 + SPECIMEN_BYTES - 1) / SPECIMEN_BYTES * SPECIMEN_BYTES;
  memset(header + at, ' ', end - at);
  header[end - 1] = '\n';
  memcpy(header, "\x93NUMPY\x01", 8); /* version 1.0 */
  header[8] = (char)((end - BEFORE) & 255);
  header[9] = (char)((end - BEFORE) >> 8);
  return end;
}

/* The sizes stand in the extra field, behind the name, which has `more` bytes behind them. */
static struct pd_zip_about about(const struct written *member, size_t more) {
  return (struct pd_zip_about){.version = PD_ZIP64_VERSION,
                               .day = PD_ZIP_DAY,
                               .checksum = member->checksum,
                               .packed_bytes = UINT32_MAX,
                               .bytes = UINT32_MAX,
                               .name_bytes = (uint16_t)strlen(member->name),
                               .extra_bytes = (uint16_t)(sizeof(struct pd_zip64_sizes) + more)};
}

static polyad_status put_name_and_sizes(struct pd_npz_writer *w, const struct written *member,
                                        size_t more) {
  struct pd_zip64_sizes sizes = {PD_ZIP64_FIELD, (uint16_t)(sizeof sizes - 4 + more), member->bytes,
                                 member->bytes};
  PD_TRY(npz_write(w, member->name, strlen(member->name)));
  return npz_write(w, &sizes, sizeof sizes);
}

static polyad_status put_local(struct pd_npz_writer *w, const struct written *member) {
  struct pd_zip_local local = {PD_ZIP_LOCAL, about(member, 0)};
  PD_TRY(npz_write(w, &local, sizeof local));
  return put_name_and_sizes(w, member, 0);
}

polyad_status pd_npz_put(struct pd_npz_writer *w, const struct pd_npy *array,
                         polyad_status (*fill)(struct pd_npz_sink *sink, const void *user),
                         const void *user) {
  char header[HEADER_BYTES];
  size_t size = put_header(array, header);
  struct pd_npz_sink sum = {0}, file = {.output = w->output};
  struct written *member = &w->array[w->count];
  if (w->count == PD_NPZ_MOST_ARRAYS)
    return pd_fail(w->context, POLYAD_INTERNAL, "more arrays than an archive takes");
  PD_TRY(pd_npz_bytes(&sum, header, size));
  PD_TRY(fill(&sum, user));
  *member = (struct written){.checksum = sum.checksum, .bytes = sum.bytes, .offset = w->at};
  snprintf(member->name, sizeof member->name, "%s.npy", array->name);
  ++w->count;
  PD_TRY(put_local(w, member));
  PD_TRY(pd_npz_bytes(&file, header, size));
  PD_TRY(fill(&file, user));
  w->at += file.bytes;
  return POLYAD_OK;
}

static polyad_status put_central(struct pd_npz_writer *w, const struct written *member) {
  struct pd_zip_central central = {.signature = PD_ZIP_CENTRAL,
                                   .made_by = MADE_BY_UNIX | PD_ZIP64_VERSION,
                                   .about = about(member, sizeof member->offset),
                                   .external = (uint32_t)READABLE << 16,
                                   .offset = UINT32_MAX};
  PD_TRY(npz_write(w, &central, sizeof central));
  PD_TRY(put_name_and_sizes(w, member, sizeof member->offset));
  return npz_write(w, &member->offset, sizeof member->offset);
}

static polyad_status put_directory(struct pd_npz_writer *w) {
  uint64_t directory = w->at, count = (uint64_t)w->count;
  for (int k = 0; k < w->count; ++k)
    PD_TRY(put_central(w, &w->array[k]));
  struct pd_zip_end end = {.signature64 = PD_ZIP64_END,
                           .end_bytes = 44, /* behind this field */
                           .made_by = MADE_BY_UNIX | PD_ZIP64_VERSION,
                           .version = PD_ZIP64_VERSION,
                           .here = count,
                           .members = count,
                           .directory_bytes = w->at - directory,
                           .directory = directory,
                           .locator = PD_ZIP64_LOCATOR,
                           .end = w->at,
                           .disks = 1,
                           .signature = PD_ZIP_END,
                           .here_16 = (uint16_t)count,
                           .members_16 = (uint16_t)count,
                           .directory_bytes_32 = UINT32_MAX,
                           .directory_32 = UINT32_MAX};
  return npz_write(w, &end, sizeof end);
}

polyad_status pd_npz_close(struct pd_npz_writer *w, polyad_status status) {
  if (status == POLYAD_OK) status = put_directory(w);
  if (status == POLYAD_OK)
    status = pd_output_commit(w->output);
  else
    pd_output_abort(w->output);
  pd_free(w->context, w);
  return status;
}
