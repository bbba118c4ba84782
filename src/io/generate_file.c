/* Generated tensors straight into files, a few leaves in memory at a time. */
#include "io/formats.h"
#include "io/ptn_writer.h"
#include "tensor/generate.h"

enum { CHUNK_NNZ = 1 << 21 }; /* nonzeros in memory at once, unless a leaf has more */

/* Where chunks go: lines of text, or the binary writer. */
struct target {
  struct pd_output *text;
  struct pd_ptn_writer *binary;
};

static polyad_status open_target(polyad_context *context, const struct pd_generator *generator,
                                 polyad_type type, const char *path, bool binary,
                                 struct target *target) {
  if (binary)
    return pd_ptn_writer_open(context, path, pd_generator_order(generator),
                              pd_generator_dims(generator), pd_generator_nnz(generator), type,
                              &target->binary);
  PD_TRY(pd_output_open(context, path, pd_compression_of(path), &target->text));
  /* Which slices are empty is known when all nonzeros have been written: too late for a header. */
  return pd_tns_write_dims(target->text, pd_generator_order(generator),
                           pd_generator_dims(generator));
}

static polyad_status put_chunk(polyad_context *context, const struct target *target,
                               const polyad_tensor *chunk) {
  if (target->binary != NULL)
    return pd_ptn_writer_put(target->binary, chunk->nnz, (const void *const *)chunk->index,
                             chunk->values);
  return pd_tns_write_lines(context, chunk, target->text);
}

/* One past the last leaf of the chunk that begins with leaf `first`. */
static uint64_t generate_file_chunk_end(const struct pd_generator *generator, uint64_t first) {
  uint64_t leaves = pd_generator_leaves(generator), last = first + 1;
  uint64_t begin = pd_generator_begin(generator, first);
  while (last < leaves && pd_generator_begin(generator, last + 1) - begin <= CHUNK_NNZ)
    ++last;
  return last;
}

static uint64_t largest_chunk(const struct pd_generator *generator) {
  uint64_t most = 0, next;
  for (uint64_t first = 0; first < pd_generator_leaves(generator); first = next) {
    next = generate_file_chunk_end(generator, first);
    uint64_t nnz = pd_generator_begin(generator, next) - pd_generator_begin(generator, first);
    most = nnz > most ? nnz : most;
  }
  return most;
}

static polyad_status write_chunks(polyad_context *context, const struct pd_generator *generator,
                                  polyad_type type, const struct target *target) {
  /* A window on the nonzeros: all a writer looks at is its shape and its arrays. */
  polyad_tensor chunk = {.context = context, .order = pd_generator_order(generator), .type = type};
  uint64_t room = largest_chunk(generator), next;
  polyad_status status = POLYAD_OK;
  for (int n = 0; n < chunk.order; ++n) {
    chunk.dims[n] = pd_generator_dims(generator)[n];
    chunk.index_bytes[n] = pd_index_bytes(chunk.dims[n]);
    PD_TRY_CLEANUP(pd_alloc(context, room, (size_t)chunk.index_bytes[n], &chunk.index[n]));
  }
  PD_TRY_CLEANUP(pd_alloc(context, room, pd_type_bytes(type), &chunk.values));
  for (uint64_t first = 0; first < pd_generator_leaves(generator); first = next) {
    next = generate_file_chunk_end(generator, first);
    chunk.nnz = pd_generator_begin(generator, next) - pd_generator_begin(generator, first);
    PD_TRY_CLEANUP(pd_generator_fill(context, generator, first, next, chunk.index, chunk.values));
    PD_TRY_CLEANUP(put_chunk(context, target, &chunk));
  }
cleanup:
  for (int n = 0; n < chunk.order; ++n)
    pd_free(context, chunk.index[n]);
  pd_free(context, chunk.values);
  return status;
}

static polyad_status generate_file_stream(polyad_context *context,
                                          const polyad_generate_options *options, const char *path,
                                          bool binary) {
  struct pd_generator *generator = NULL;
  struct target target = {NULL, NULL};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_generator_create(context, options, &generator));
  PD_TRY_CLEANUP(open_target(context, generator, options->type, path, binary, &target));
  PD_TRY_CLEANUP(write_chunks(context, generator, options->type, &target));
  status = binary ? pd_ptn_writer_close(target.binary) : pd_output_commit(target.text);
  target = (struct target){NULL, NULL};
cleanup:
  pd_ptn_writer_abort(target.binary);
  pd_output_abort(target.text);
  pd_generator_destroy(context, generator);
  return status;
}

/* Tensors of known models, and formats that are not written in pieces. */
static polyad_status write_whole(polyad_context *context, const polyad_generate_options *options,
                                 const char *path) {
  polyad_tensor *tensor;
  PD_TRY(polyad_generate(context, options, &tensor, NULL));
  polyad_status status = polyad_tensor_write(context, tensor, path, POLYAD_FILE_AUTO);
  polyad_tensor_destroy(tensor);
  return status;
}

polyad_status polyad_generate_to_file(polyad_context *context,
                                      const polyad_generate_options *options, const char *path) {
  PD_ENTER(context);
  PD_EXPECT(context, options != NULL && path != NULL,
            "a NULL where options and a path were expected");
  const struct pd_file_format *format = pd_file_format_to_write(path, POLYAD_CONTENTS_TENSOR);
  if (format == NULL) return pd_file_format_fail(context, path, POLYAD_CONTENTS_TENSOR);
  bool streamed = format->number == POLYAD_FILE_TNS || format->number == POLYAD_FILE_PTN;
  if (options->rank != 0 || !streamed) return write_whole(context, options, path);
  return generate_file_stream(context, options, path, format->number == POLYAD_FILE_PTN);
}
