/** @file
 *  @brief Plans whose tensor stays on disk: for tensors larger than the memory, or than a GPU's.
 *
 *  A plan that streams holds none of its nonzeros in memory. They are sorted once for each mode
 *  into a temporary file, in chunks; MTTKRP, Phi and the log-likelihood read the chunks one after
 *  the other, each while the one before is computed with. Results are those of a plan in memory
 *  but for rounding, and the same bits for any number of threads.
 *
 *  Where the context's device is a GPU of CUDA the chunks are copied to it in turn and computed
 *  there. They are kept in the host's memory where they take no more than half of what the memory
 *  limit leaves of it, else in the temporary file. The limit holds for the memory of both.
 *
 *  Such a plan serves polyad_mttkrp(), polyad_phi(), polyad_cp_als() (also nonnegative) and
 *  polyad_cp_apr() with multiplicative updates. What needs all nonzeros at once (first factors by
 *  HOSVD, Tucker, row subproblems of CP-APR) fails with POLYAD_UNSUPPORTED. */
#ifndef POLYAD_STREAM_H
#define POLYAD_STREAM_H

#include <polyad/io.h>
#include <polyad/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a tensor streams. Start from polyad_stream_options_init(). */
typedef struct polyad_stream_options {
  const char *spill_directory; /**< where the temporary file is made, which has no name and is gone
                                    with the plan; NULL (default): $TMPDIR, else /var/tmp */
  const polyad_read_options *read; /**< how the file is read: text, and the directory of labels; its
                                        type is the plan's precision. NULL: defaults */
  uint64_t chunk_nonzeros; /**< nonzeros of a chunk, 1 or more; 0 (default): as many as the memory
                                limit lets be, 4096 to 4194304 */
} polyad_stream_options;

/** Sets defaults. */
POLYAD_API void polyad_stream_options_init(polyad_stream_options *options);

/** What a plan that streams is made of, and the hash of any plan's tensor. */
typedef struct polyad_stream_info {
  int streamed;            /**< non-zero: the plan streams; else all but tensor_hash are 0 */
  uint64_t chunks;         /**< of each mode */
  uint64_t chunk_nonzeros; /**< nonzeros of every chunk but the last */
  uint64_t spilled_bytes;  /**< on disk, all modes together; 0 where they are kept in memory */
  uint64_t packed_bytes;   /**< on disk besides: the packed copy of text; 0: of a .ptn file */
  uint64_t pass_bytes[POLYAD_MAX_ORDER]; /**< that a kernel of each mode reads */
  uint64_t tensor_hash;                  /**< polyad_tensor_hash() of the tensor; 0: not known, of a
                                              team of processes or arrays given on a device */
  uint64_t memory_bytes; /**< the most memory of the host that the context has in use, from the
                            plan's making to the end of a decomposition by CP-ALS of the plan's
                            rank, in one start and without nonnegativity */
} polyad_stream_info;

/** Estimates the memory that a decomposition by CP-ALS takes at most when the tensor in a file is
 *  held in memory: reading it, building the smallest format, or computing; of a GPU's, what the
 *  smallest format and the factors take there; and the room that it takes on disk at most when it
 *  streams. Of a .ptn file the header is looked at, of text (.tns) a few samples, which tell about
 *  how many lines there are, or, of compressed text, its first 4 MiB; modes are then taken to be
 *  shorter than 2^32, and factors are not counted.
 *  @param read   how text is read; NULL: defaults
 *  @param[out] memory, disk  0: not known, since the file is short text, or of another format, or
 *  the device is neither the CPU nor a GPU of CUDA; the memory of compressed text, and of any text
 * on a GPU, is not estimated; `disk` may be NULL
 *  @return POLYAD_INVALID_ARGUMENT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_plan_memory_from_file(
    polyad_context *context, const char *path, const polyad_plan_options *options,
    const polyad_read_options *read, uint64_t *memory, uint64_t *disk);

/** Makes a plan from a binary tensor file (.ptn), or from text of indices (.tns, also compressed,
 *  and from a pipe), without holding the nonzeros in memory. Text is read once and sorted into a
 *  packed copy in the spill directory.
 *
 *  The file is read once for each mode and twice more, and checked. The plan goes on reading it
 *  (residuals are summed from it): it must stay as it is until the plan is destroyed. A file that
 *  was written to, or a spill file that cannot be read, ends the call that finds it with POLYAD_IO.
 *  Memory: at least 8 bytes for every row of every mode, and some 100 bytes for each nonzero of a
 *  chunk; disk: for each nonzero and mode its value and its indices in the other modes.
 *  @param options  as for polyad_plan_create(): format "auto", or the format whose kernels the
 *                  device runs on chunks, which the error for another format names; kernel
 *                  POLYAD_KERNEL_MTTKRP or POLYAD_KERNEL_PHI; the native compute type; nothing is
 *                  tuned
 *  @param stream   NULL: defaults
 *  @param[out] plan  destroyed with polyad_plan_destroy()
 *  @return POLYAD_UNSUPPORTED for other files, devices, formats or kernels, or a tensor that keeps
 *  zeros; POLYAD_MEMORY_LIMIT, naming the least that is needed; POLYAD_IO with the room needed and
 *  the room there is when the disk is too full; POLYAD_PARSE for a damaged file;
 *  POLYAD_CANCELLED */
POLYAD_API POLYAD_CHECKED polyad_status polyad_plan_create_from_file(
    polyad_context *context, const char *path, const polyad_plan_options *options,
    const polyad_stream_options *stream, polyad_plan **plan);

/** Tells whether and how a plan streams. */
POLYAD_API void polyad_plan_stream_info(const polyad_plan *plan, polyad_stream_info *info);
/** The dims, mode names and labels of the tensor of a plan that streams: what
 *  polyad_tensor_outline() makes of a tensor in memory.
 *  @param labels  directory with label files; NULL: beside the file; "": none
 *  @param[out] outline  destroyed with polyad_tensor_destroy()
 *  @return POLYAD_INVALID_ARGUMENT where the plan does not stream; as polyad_tensor_read() */
POLYAD_API POLYAD_CHECKED polyad_status polyad_plan_stream_outline(polyad_context *context,
                                                                   const polyad_plan *plan,
                                                                   const char *labels,
                                                                   polyad_tensor **outline);

#ifdef __cplusplus
}
#endif
#endif
