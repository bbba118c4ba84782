#include "io/ptn_writer.h"
#include "io/atomic_file.h"
#include "io/ptn_layout.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

struct pd_ptn_writer {
  polyad_context *context;
  struct pd_output *output;
  const struct pd_spill *spill; /* where it is written instead; NULL: to the output */
  struct pd_ptn_header header;
  uint64_t *checksums;
  uint64_t done;                     /* nonzeros written */
  uint64_t held;                     /* nonzeros in the buffers, fewer than a block */
  char *block[POLYAD_MAX_ORDER + 1]; /* the unfinished block of each array */
};

static polyad_status writer_create(polyad_context *context, int order, const uint64_t *dims,
                                   uint64_t nnz, polyad_type type, struct pd_ptn_writer **out) {
  struct pd_ptn_writer *writer = NULL;
  polyad_status status = POLYAD_OK;
  *out = NULL;
  PD_TRY(pd_binary_host_check(context, &pd_ptn_binary));
  PD_TRY(PD_NEW_ZERO(context, 1, &writer));
  writer->context = context;
  pd_ptn_header_init(&writer->header, order, dims, nnz, type);
  if (!pd_ptn_lay_out(&writer->header, 0)) {
    status = pd_fail(context, POLYAD_OVERFLOW, "%" PRIu64 " nonzeros are too many for a file", nnz);
    goto cleanup;
  }
  PD_TRY_CLEANUP(pd_alloc(context,
                          writer->header.section[pd_ptn_checksum_section(&writer->header)].bytes, 1,
                          (void **)&writer->checksums));
  for (int s = 0; s <= order; ++s)
    PD_TRY_CLEANUP(pd_alloc(context, PD_PTN_BLOCK_ENTRIES, pd_ptn_entry_bytes(&writer->header, s),
                            (void **)&writer->block[s]));
  *out = writer;
  return POLYAD_OK;

cleanup:
  pd_ptn_writer_abort(writer);
  return status;
}

polyad_status pd_ptn_writer_open(polyad_context *context, const char *path, int order,
                                 const uint64_t *dims, uint64_t nnz, polyad_type type,
                                 struct pd_ptn_writer **out) {
  struct pd_ptn_writer *writer;
  *out = NULL;
  PD_TRY(pd_ptn_name_check(context, path));
  PD_TRY(writer_create(context, order, dims, nnz, type, &writer));
  polyad_status status = pd_output_open(context, path, PD_PLAIN, &writer->output);
  if (status == POLYAD_OK && !pd_output_can_patch(writer->output))
    status = pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                        "a .ptn file is not written in order; expected a regular file");
  if (status == POLYAD_OK)
    *out = writer;
  else
    pd_ptn_writer_abort(writer);
  return status;
}

polyad_status pd_ptn_writer_open_spill(polyad_context *context, const struct pd_spill *spill,
                                       int order, const uint64_t *dims, uint64_t nnz,
                                       polyad_type type, struct pd_ptn_writer **out) {
  PD_TRY(writer_create(context, order, dims, nnz, type, out));
  (*out)->spill = spill;
  return pd_spill_reserve(context, spill, (*out)->header.file_bytes);
}

static polyad_status put_at(const struct pd_ptn_writer *writer, uint64_t offset, const void *data,
                            size_t bytes) {
  return writer->spill != NULL ? pd_spill_write(writer->context, writer->spill, offset, bytes, data)
                               : pd_output_patch(writer->output, offset, data, bytes);
}

/* Writes the blocks held and notes their checksums. */
static polyad_status write_blocks(struct pd_ptn_writer *writer) {
  const struct pd_ptn_header *header = &writer->header;
  uint64_t blocks = pd_ptn_array_blocks(header), block = writer->done / PD_PTN_BLOCK_ENTRIES;
  for (int s = 0; s <= (int)header->order; ++s) {
    size_t entry = pd_ptn_entry_bytes(header, s), bytes = (size_t)writer->held * entry;
    writer->checksums[(uint64_t)s * blocks + block] = XXH3_64bits(writer->block[s], bytes);
    PD_TRY(
        put_at(writer, header->section[s].offset + writer->done * entry, writer->block[s], bytes));
  }
  writer->done += writer->held;
  writer->held = 0;
  return POLYAD_OK;
}

polyad_status pd_ptn_writer_put(struct pd_ptn_writer *writer, uint64_t count,
                                const void *const *index, const void *values) {
  const struct pd_ptn_header *header = &writer->header;
  if (count > header->nnz - writer->done - writer->held)
    return pd_fail(writer->context, POLYAD_INTERNAL, "more nonzeros than the %" PRIu64 " announced",
                   header->nnz);
  for (uint64_t from = 0; from < count;) {
    uint64_t room = PD_PTN_BLOCK_ENTRIES - writer->held;
    uint64_t part = count - from < room ? count - from : room;
    for (int s = 0; s <= (int)header->order; ++s) {
      size_t entry = pd_ptn_entry_bytes(header, s);
      const char *array = s < (int)header->order ? index[s] : values;
      memcpy(writer->block[s] + writer->held * entry, array + from * entry, (size_t)part * entry);
    }
    writer->held += part;
    from += part;
    if (writer->held == PD_PTN_BLOCK_ENTRIES) PD_TRY(write_blocks(writer));
  }
  return POLYAD_OK;
}

/* Moves bytes of a spill file towards its start, by way of an empty block. */
static polyad_status move_bytes(const struct pd_ptn_writer *writer, uint64_t from, uint64_t to,
                                uint64_t bytes) {
  const uint64_t most = PD_PTN_BLOCK_ENTRIES * sizeof(uint32_t);
  for (uint64_t at = 0; from != to && at < bytes; at += most) {
    uint64_t part = bytes - at < most ? bytes - at : most;
    PD_TRY(pd_spill_read(writer->context, writer->spill, from + at, part, writer->block[0]));
    PD_TRY(put_at(writer, to + at, writer->block[0], (size_t)part));
  }
  return POLYAD_OK;
}

/* Repeats that were merged and zeros that were dropped left fewer nonzeros than there is room for:
 * the arrays move together. */
static polyad_status close_up(struct pd_ptn_writer *writer) {
  struct pd_ptn_header *header = &writer->header, before = *header;
  header->nnz = writer->done;
  (void)pd_ptn_lay_out(header, 0); /* smaller than what had a layout */
  uint64_t blocks = pd_ptn_array_blocks(header), blocks_before = pd_ptn_array_blocks(&before);
  for (int s = 0; s <= (int)header->order; ++s) {
    memmove(writer->checksums + (uint64_t)s * blocks,
            writer->checksums + (uint64_t)s * blocks_before, blocks * sizeof(uint64_t));
    PD_TRY(move_bytes(writer, before.section[s].offset, header->section[s].offset,
                      header->section[s].bytes));
  }
  return POLYAD_OK;
}

/* The gaps between sections were never written, so they read as zeros. */
static polyad_status ptn_writer_finish(struct pd_ptn_writer *writer) {
  struct pd_ptn_header *header = &writer->header;
  if (writer->held > 0) PD_TRY(write_blocks(writer));
  if (writer->spill != NULL) {
    PD_TRY(close_up(writer));
    PD_TRY(pd_spill_resize(writer->context, writer->spill, header->file_bytes));
  }
  if (writer->done != header->nnz)
    return pd_fail(writer->context, POLYAD_INTERNAL,
                   "%" PRIu64 " nonzeros were written; expected the %" PRIu64 " announced",
                   writer->done, header->nnz);
  pd_ptn_seal(header, writer->checksums);
  const struct pd_ptn_section *last = &header->section[pd_ptn_checksum_section(header)];
  if (last->bytes > 0) PD_TRY(put_at(writer, last->offset, writer->checksums, (size_t)last->bytes));
  return put_at(writer, 0, header, sizeof *header);
}

polyad_status pd_ptn_writer_close(struct pd_ptn_writer *writer) {
  polyad_status status = ptn_writer_finish(writer);
  if (status == POLYAD_OK && writer->output != NULL) {
    status = pd_output_commit(writer->output);
    writer->output = NULL;
  }
  pd_ptn_writer_abort(writer);
  return status;
}

void pd_ptn_writer_abort(struct pd_ptn_writer *writer) {
  if (writer == NULL) return;
  pd_output_abort(writer->output);
  pd_free(writer->context, writer->checksums);
  for (int s = 0; s <= POLYAD_MAX_ORDER; ++s)
    pd_free(writer->context, writer->block[s]);
  pd_free(writer->context, writer);
}
