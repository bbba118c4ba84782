#include "io/ptn_blocks.h"
#include "io/ptn_check.h"
#include "io/system_calls.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* What changes when a file is replaced or written to. */
static bool identify(const struct pd_ptn_blocks *blocks, uint64_t identity[5]) {
  struct stat about;
  if (fstat(blocks->source.file, &about) != 0) return false;
  identity[0] = (uint64_t)about.st_dev;
  identity[1] = (uint64_t)about.st_ino;
  identity[2] = (uint64_t)about.st_size;
  identity[3] = (uint64_t)about.st_mtim.tv_sec;
  identity[4] = (uint64_t)about.st_mtim.tv_nsec;
  return true;
}

polyad_status pd_ptn_blocks_same(const struct pd_ptn_blocks *blocks) {
  uint64_t now[5];
  if (identify(blocks, now) && memcmp(now, blocks->identity, sizeof now) == 0) return POLYAD_OK;
  return pd_fail_at(blocks->context, POLYAD_IO, blocks->source.path, 0, 0,
                    "the file was changed while it was being read; expected it to stay as it is");
}

static polyad_status ptn_blocks_read_header(struct pd_ptn_blocks *blocks) {
  polyad_context *context = blocks->context;
  struct pd_ptn_header *header = &blocks->header;
  PD_TRY(pd_binary_host_check(context, &pd_ptn_binary));
  if (!blocks->source.seekable)
    return pd_fail_at(context, POLYAD_UNSUPPORTED, blocks->source.path, 0, 0,
                      "only a regular .ptn file can be streamed; expected the name of one");
  int64_t got = pd_ptn_source_read(&blocks->source, 0, sizeof *header, header);
  if (got < 0) return pd_ptn_source_fail(context, &blocks->source, got, 0, errno, sizeof *header);
  if ((size_t)got < sizeof pd_ptn_binary.magic ||
      memcmp(header->magic, pd_ptn_binary.magic, sizeof header->magic) != 0)
    return pd_fail_at(
        context, POLYAD_UNSUPPORTED, blocks->source.path, 0, 0,
        "only .ptn files and text of indices (.tns) can be streamed; expected one of them, as "
        "\"polyad convert\" makes it");
  return pd_ptn_header_check(context, blocks->source.path, header, (size_t)got,
                             blocks->source.size);
}

static uint64_t block_entries(const struct pd_ptn_header *header) {
  return header->nnz < PD_PTN_BLOCK_ENTRIES ? header->nnz : PD_PTN_BLOCK_ENTRIES;
}

/* Bytes that an open file takes. */
static uint64_t open_blocks_bytes(const struct pd_ptn_header *header) {
  uint64_t bytes = header->section[pd_ptn_checksum_section(header)].bytes;
  for (int s = 0; s <= (int)header->order; ++s)
    bytes += block_entries(header) * pd_ptn_entry_bytes(header, s);
  return bytes;
}

static polyad_status ptn_blocks_make_room(struct pd_ptn_blocks *blocks) {
  const struct pd_ptn_header *header = &blocks->header;
  polyad_context *context = blocks->context;
  const struct pd_ptn_section *last = &header->section[pd_ptn_checksum_section(header)];
  PD_TRY(pd_memory_check(context, open_blocks_bytes(header), "reading a file in blocks"));
  PD_TRY(pd_ptn_source_load(context, &blocks->source, last->offset, last->bytes, header->file_bytes,
                            (void **)&blocks->checksums));
  PD_TRY(pd_ptn_check_checksums(context, blocks->source.path, header, blocks->checksums));
  for (int s = 0; s <= (int)header->order; ++s)
    PD_TRY(
        pd_alloc(context, block_entries(header), pd_ptn_entry_bytes(header, s), &blocks->array[s]));
  return POLYAD_OK;
}

/* Of a source that is open. */
static polyad_status open_blocks(struct pd_ptn_blocks *blocks) {
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(ptn_blocks_read_header(blocks));
  (void)identify(blocks, blocks->identity);
  PD_TRY_CLEANUP(ptn_blocks_make_room(blocks));
  return POLYAD_OK;
cleanup:
  pd_ptn_blocks_close(blocks);
  return status;
}

polyad_status pd_ptn_blocks_open(polyad_context *context, const char *path,
                                 struct pd_ptn_blocks *blocks) {
  *blocks = (struct pd_ptn_blocks){.context = context, .source = {.file = -1}};
  PD_TRY(pd_ptn_source_open(context, path, &blocks->source));
  return open_blocks(blocks);
}

polyad_status pd_ptn_blocks_take(polyad_context *context, const char *path, struct pd_spill *spill,
                                 struct pd_ptn_blocks *blocks) {
  struct stat about;
  *blocks = (struct pd_ptn_blocks){.context = context,
                                   .copied = true,
                                   .source = {.path = path, .file = spill->file, .seekable = true}};
  spill->file = -1;
  if (fstat(blocks->source.file, &about) == 0) blocks->source.size = (uint64_t)about.st_size;
  return open_blocks(blocks);
}

void pd_ptn_blocks_shrink(struct pd_ptn_blocks *blocks) {
  for (int s = 0; s <= POLYAD_MAX_ORDER; ++s) {
    pd_free(blocks->context, blocks->array[s]);
    blocks->array[s] = NULL;
  }
  pd_free(blocks->context, blocks->checksums);
  blocks->checksums = NULL;
}

void pd_ptn_blocks_close(struct pd_ptn_blocks *blocks) {
  pd_ptn_source_close(&blocks->source);
  pd_ptn_blocks_shrink(blocks);
}

polyad_status pd_ptn_blocks_rewind(struct pd_ptn_blocks *blocks) {
  blocks->next = blocks->count = 0;
  return pd_ptn_blocks_same(blocks);
}

static polyad_status read_entries(struct pd_ptn_blocks *blocks, int section, uint64_t begin,
                                  uint64_t count) {
  size_t bytes = pd_ptn_entry_bytes(&blocks->header, section);
  return pd_ptn_source_read_all(blocks->context, &blocks->source,
                                blocks->header.section[section].offset + begin * bytes,
                                count * bytes, blocks->array[section], blocks->header.file_bytes);
}

/* The header of a tensor that is this block alone, so that its checks serve here. */
static void describe_block(const struct pd_ptn_blocks *blocks, uint64_t block, uint64_t count,
                           struct pd_ptn_header *header, uint64_t *checksums) {
  uint64_t all = pd_ptn_array_blocks(&blocks->header);
  *header = blocks->header;
  header->nnz = count;
  for (int s = 0; s <= (int)header->order; ++s) {
    header->section[s].offset += block * PD_PTN_BLOCK_ENTRIES * pd_ptn_entry_bytes(header, s);
    checksums[s] = blocks->checksums[(uint64_t)s * all + block];
  }
}

static polyad_status ptn_blocks_fail_block(const struct pd_ptn_blocks *blocks,
                                           const struct pd_ptn_header *header,
                                           struct pd_ptn_fault fault, uint64_t first) {
  PD_TRY(pd_ptn_blocks_same(blocks)); /* a change explains more than the damage it did */
  fault.first = first;
  return pd_ptn_fault_fail(blocks->context, blocks->source.path, header, blocks->array, &fault);
}

/* The first nonzero of a block against the last of the block before. */
static struct pd_ptn_fault check_seam(const struct pd_ptn_blocks *blocks) {
  for (int n = 0; n < (int)blocks->header.order; ++n) {
    uint64_t index = pd_ptn_blocks_index(blocks, n, 0);
    if (index > blocks->last[n]) return (struct pd_ptn_fault){.what = PD_PTN_SOUND};
    if (index < blocks->last[n]) return (struct pd_ptn_fault){.what = PD_PTN_UNSORTED};
  }
  return (struct pd_ptn_fault){.what = PD_PTN_REPEATED};
}

polyad_status pd_ptn_blocks_next(struct pd_ptn_blocks *blocks) {
  uint64_t begin = blocks->next * PD_PTN_BLOCK_ENTRIES;
  blocks->count = 0;
  if (begin >= blocks->header.nnz) return POLYAD_OK;
  if (pd_cancelled(blocks->context))
    return pd_fail(blocks->context, POLYAD_CANCELLED, "reading was cancelled");
  uint64_t rest = blocks->header.nnz - begin, checksums[POLYAD_MAX_ORDER + 1];
  uint64_t count = rest < PD_PTN_BLOCK_ENTRIES ? rest : PD_PTN_BLOCK_ENTRIES;
  struct pd_ptn_header header;
  for (int s = 0; s <= (int)blocks->header.order; ++s)
    PD_TRY(read_entries(blocks, s, begin, count));
  describe_block(blocks, blocks->next, count, &header, checksums);
  struct pd_ptn_fault fault = pd_ptn_check_block(&header, checksums, blocks->array, 0);
  if (fault.what == PD_PTN_SOUND && begin > 0) fault = check_seam(blocks);
  if (fault.what != PD_PTN_SOUND) return ptn_blocks_fail_block(blocks, &header, fault, begin);
  for (int n = 0; n < (int)header.order; ++n)
    blocks->last[n] = pd_ptn_blocks_index(blocks, n, count - 1);
  blocks->count = count;
  ++blocks->next;
  return POLYAD_OK;
}

polyad_status pd_ptn_blocks_section(struct pd_ptn_blocks *blocks, int section, uint64_t block) {
  uint64_t begin = block * PD_PTN_BLOCK_ENTRIES, rest = blocks->header.nnz - begin;
  uint64_t count = rest < PD_PTN_BLOCK_ENTRIES ? rest : PD_PTN_BLOCK_ENTRIES;
  blocks->count = 0;
  PD_TRY(read_entries(blocks, section, begin, count));
  blocks->count = count;
  return POLYAD_OK;
}

static bool decode_indices(const struct pd_ptn_blocks *blocks, int mode, uint64_t first, int count,
                           uint64_t *index) {
  const struct pd_ptn_header *header = &blocks->header;
  uint64_t bytes = header->index_bytes[mode], all = (uint64_t)count * bytes;
  union {
    uint32_t narrow[PD_CHUNK];
    uint64_t wide[PD_CHUNK];
  } room;
  ssize_t got =
      pd_sys_read_at(blocks->source.file, &room, all, header->section[mode].offset + first * bytes);
  if (got < 0 || (uint64_t)got != all) return false;
  for (int k = 0; k < count; ++k) {
    index[k] = bytes == 4 ? room.narrow[k] : room.wide[k];
    if (index[k] >= header->dims[mode]) return false;
  }
  return true;
}

bool pd_ptn_blocks_decode(const struct pd_ptn_blocks *blocks, uint64_t first, int count,
                          struct pd_chunk *chunk) {
  const struct pd_ptn_header *header = &blocks->header;
  uint64_t bytes = header->value_bytes, all = (uint64_t)count * bytes;
  union {
    float narrow[PD_CHUNK];
    double wide[PD_CHUNK];
  } room;
  for (int n = 0; n < (int)header->order; ++n)
    if (!decode_indices(blocks, n, first, count, chunk->index[n])) return false;
  ssize_t got = pd_sys_read_at(blocks->source.file, &room, all,
                               header->section[header->order].offset + first * bytes);
  if (got < 0 || (uint64_t)got != all) return false;
  for (int k = 0; k < count; ++k)
    chunk->value[k] = bytes == 4 ? (double)room.narrow[k] : room.wide[k];
  return true;
}
