/* What a tensor would take, in memory or streaming, as far as a glance at its file tells. */
#include "formats/format_text.h"
#include "io/packed_file.h"
#include "plan/plan_create.h"
#include "plan/stream.h"
#include <string.h>
#include <sys/stat.h>

static uint64_t in_memory(const struct pd_ptn_header *header, const struct pd_request *request,
                          bool text) {
  const uint64_t sorting = 24; /* of each nonzero: keys, order and their copies */
  uint64_t item = pd_type_bytes(request->precision), read = header->file_bytes, record = item;
  uint64_t factors = 0, row = pd_mul_saturated(2 * request->rank, item);
  for (uint32_t n = 0; n < header->order; ++n) {
    record += header->index_bytes[n];
    if (!text) factors = pd_add_saturated(factors, pd_mul_saturated(header->dims[n], row));
  }
  if (item != header->value_bytes)
    read = pd_add_saturated(read, pd_mul_saturated(header->nnz, item));
  uint64_t build = pd_mul_saturated(header->nnz, record + sorting);
  uint64_t compute = pd_add_saturated(pd_mul_saturated(header->nnz, record), factors);
  if (build > read) read = build;
  return compute > read ? compute : read;
}

/* The smallest format that a device has, and factors with their copies. */
static uint64_t there(const struct pd_ptn_header *header, const struct pd_request *request,
                      bool text) {
  uint64_t item = pd_type_bytes(request->precision), rows = 0;
  uint64_t stride = pd_factor_stride(request->device, request->precision, request->rank);
  int bits = 0;
  for (uint32_t n = 0; n < header->order; ++n) {
    bits += pd_index_bits(header->dims[n]);
    if (!text) rows = pd_add_saturated(rows, header->dims[n]);
  }
  uint64_t entry = (uint64_t)(bits + 63) / 64 * 8 + item;
  return pd_add_saturated(pd_mul_saturated(header->nnz, entry),
                          pd_mul_saturated(rows, pd_mul_saturated(2 * stride, item)));
}

/* The lists and, before them, the records that wait to be sorted; of text a packed copy besides,
 * and before both the runs that it is merged from. */
static uint64_t on_disk(const struct pd_ptn_header *header, const struct pd_request *request,
                        bool text) {
  bool here = request->device->functions->host_memory;
  struct pd_stream stream = {.lists = here ? &pd_stream_rowsum_lists : &pd_stream_modecopy_lists,
                             .order = (int)header->order,
                             .nnz = header->nnz,
                             .type = request->precision,
                             .chunks = header->nnz / PD_STREAM_MOST + 1};
  struct pd_stream_facts facts = {0};
  memcpy(stream.dims, header->dims, sizeof stream.dims);
  for (int n = 0; n < stream.order && !text; ++n)
    facts.nonempty[n] = stream.dims[n] < stream.nnz ? stream.dims[n] : stream.nnz;
  uint64_t records = pd_mul_saturated(stream.nnz, pd_stream_record_bytes(&stream));
  uint64_t total = pd_add_saturated(pd_stream_disk_bytes(&stream, &facts), records);
  return text ? pd_add_saturated(total, records) : total;
}

/* The header that a packed copy of text would have where all modes are long, which says nothing of
 * the factors. */
static void header_of_text(const struct pd_packed_estimate *estimate,
                           const struct pd_request *request, struct pd_ptn_header *header) {
  uint64_t dims[POLYAD_MAX_ORDER];
  for (int n = 0; n < estimate->order; ++n)
    dims[n] = UINT32_MAX;
  pd_ptn_header_init(header, estimate->order, dims, estimate->nnz, request->precision);
  if (!pd_ptn_lay_out(header, 0)) header->file_bytes = UINT64_MAX;
}

static polyad_status find_header(polyad_context *context, const char *path,
                                 struct pd_ptn_header *header, bool *known) {
  struct pd_ptn_source source;
  *known = false;
  polyad_status status = pd_ptn_source_open(context, path, &source);
  if (status == POLYAD_OK && source.seekable) {
    int64_t got = pd_ptn_source_read(&source, 0, sizeof *header, header);
    status =
        got < 0 ? POLYAD_IO : pd_ptn_header_check(context, path, header, (size_t)got, source.size);
    *known = status == POLYAD_OK;
  }
  pd_ptn_source_close(&source);
  if (status == POLYAD_OUT_OF_MEMORY) return status;
  pd_begin(context); /* whoever reads the file says what is wrong with it */
  return POLYAD_OK;
}

polyad_status polyad_plan_memory_from_file(polyad_context *context, const char *path,
                                           const polyad_plan_options *options,
                                           const polyad_read_options *read, uint64_t *memory,
                                           uint64_t *disk) {
  PD_ENTER(context);
  PD_EXPECT(context, path != NULL && memory != NULL, "path or memory is NULL");
  *memory = 0;
  if (disk != NULL) *disk = 0;
  struct pd_format_text text;
  struct pd_request request;
  struct pd_ptn_header header;
  struct pd_packed_estimate estimate;
  polyad_read_options usual;
  struct stat about;
  bool known;
  PD_TRY(pd_plan_make_request(context, options, &text, &request));
  /* What is read of a pipe would be missing when the tensor is read. */
  bool is_file = stat(path, &about) == 0 && S_ISREG(about.st_mode);
  bool here = request.device->functions->host_memory;
  if (!is_file || (!here && pd_stream_inner(request.device) == NULL)) return POLYAD_OK;
  polyad_read_options_init(&usual);
  PD_TRY(pd_packed_file_estimate(context, path, read != NULL ? read : &usual, &estimate));
  if (estimate.text)
    known = estimate.order > 0 && estimate.nnz > 0;
  else
    PD_TRY(find_header(context, path, &header, &known));
  if (estimate.text && known) header_of_text(&estimate, &request, &header);
  if (!known) return POLYAD_OK;
  /* Whether it fits is not left to a guess from the beginning of a compressed file. */
  if (!estimate.compressed && (here || !estimate.text)) /* of text no bits of indices are known */
    *memory = here ? in_memory(&header, &request, estimate.text)
                   : there(&header, &request, estimate.text);
  if (disk != NULL) *disk = on_disk(&header, &request, estimate.text);
  return POLYAD_OK;
}
