/** @file
 *  @brief The plan: a tensor stored in one format on one device, ready for many kernel calls.
 *
 *  A plan is immutable and may be shared by threads; each running computation has its own
 *  workspace. A plan does not refer to the tensor it was made from. */
#ifndef POLYAD_PLAN_H
#define POLYAD_PLAN_H

#include <polyad/team.h>
#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor in one storage format on one device. */
typedef struct polyad_plan polyad_plan;
/** Memory that one running computation on a plan changes. */
typedef struct polyad_workspace polyad_workspace;

/** Kernels that a format may have. */
typedef enum polyad_kernel {
  POLYAD_KERNEL_MTTKRP = 0, /**< polyad_mttkrp() */
  POLYAD_KERNEL_TTMC = 1,   /**< polyad_ttmc() */
  POLYAD_KERNEL_PHI = 2,    /**< Phi of CP-APR's multiplicative update */
  POLYAD_KERNEL_PI = 3      /**< the rows of Pi that Phi reads, where they are stored */
} polyad_kernel;

/** Types that products of values and factors are computed in; sums are always at least float.
 *  On a GPU CP-ALS keeps its factors rounded to this type, but for the last mode's. */
typedef enum polyad_compute {
  POLYAD_COMPUTE_NATIVE, /**< the plan's precision */
  POLYAD_COMPUTE_F16,    /**< half precision; the tensor is scaled by a power of two to fit */
  POLYAD_COMPUTE_BF16,   /**< bfloat16 */
  POLYAD_COMPUTE_TF32    /**< float with 10 bits behind the point */
} polyad_compute;

struct polyad_run_options;

/** Sweeps that a plan's formats are judged by where none are given: as a start of CP-ALS with the
 *  default tolerance takes until it has converged, in the middle of the tensors that were measured
 *  (6 to 50). */
#define POLYAD_SWEEPS_USUAL 15

/** What a plan is to be good at. Start from polyad_plan_options_init(). */
typedef struct polyad_plan_options {
  const char *format;    /**< "auto" (default), or NAME[:VARIANT][:KEY=VALUE...]: a format's name,
                              a variant of it, and its parameters, as polyad_format_describe() and
                              polyad_format_parameter_describe() list them */
  const char *variant;   /**< "auto" (default), or a variant of the format where `format` names none
                          */
  uint64_t rank;         /**< number of components the kernels will be called with */
  uint64_t columns;      /**< of all runs together that will go side by side, as the starts of
                              polyad_cp_als() and polyad_rank_scan() do on one device; at most the
                              rank (default 0): no such runs */
  polyad_type precision; /**< type of values and factors (default POLYAD_F64) */
  int tune;              /**< non-zero: measure candidates instead of estimating, for
                              POLYAD_KERNEL_MTTKRP and POLYAD_KERNEL_PHI */
  int force_index64;     /**< non-zero: 64-bit indices even where 32 bits do (for tests) */
  polyad_kernel kernel;  /**< the kernel that the format must have (default POLYAD_KERNEL_MTTKRP) */
  polyad_compute compute; /**< types of products, for formats whose description lists them;
                               POLYAD_COMPUTE_NATIVE (default): the precision */
  polyad_zeros zeros;     /**< zeros that the tensor keeps: POLYAD_ZEROS_DROP (default) leaves them
                               out, for kernels' sums have no term for them; POLYAD_ZEROS_KEEP stores
                               them, as observations of polyad_cp_complete() */
  double second_share;    /**< share of the nonzeros that the second of two devices has, below 1; 0
                               (default): measured, so that both take the same time */
  double sweeps; /**< how many times the kernel is expected to run in all modes: "auto" takes
                      the format of the least time of building and so many sweeps. 0
                      (default): POLYAD_SWEEPS_USUAL; INFINITY: building does not count, as
                      with `tune`. polyad_expected_sweeps() guesses it */
  const char *tune_cache; /**< file that keeps what tuning measured, and spares measuring the same
                               again; made when it is missing, ignored (POLYAD_LOG_INFO says so)
                               when it is damaged or cannot be used; NULL (default): none. See
                               polyad_tune_cache_path() */
  polyad_team *team;      /**< the processes that share the plan (polyad/team.h), all of which make
                               it: each brings a share of the nonzeros, in any way, with the indices
                               of the whole tensor. NULL (default): the tensor is here as a whole */
} polyad_plan_options;

/** Sets defaults: format and variant "auto", rank 16, POLYAD_F64, no tuning. */
POLYAD_API void polyad_plan_options_init(polyad_plan_options *options);

/** How many sweeps of its kernel a run with these options is expected to take, for
 *  polyad_plan_options.sweeps: a guess. A start takes `max_iterations` where the tolerance is 0 and
 *  where that is fewest, else POLYAD_SWEEPS_USUAL at a tolerance of 1e-4 or above and twice as many
 *  with every power of ten below; an iteration of CP-APR (POLYAD_KERNEL_PHI) counts as 9 sweeps. */
POLYAD_API double polyad_expected_sweeps(const struct polyad_run_options *run,
                                         polyad_kernel kernel);

/** Where a program keeps what tuning measured for this user: $XDG_CACHE_HOME/polyad/tune, else
 *  $HOME/.cache/polyad/tune. Makes the directories.
 *  @return non-zero; 0, and "" in `path`, when there is no such place, or it cannot be made, or
 *  `size` bytes do not hold its name */
POLYAD_API int polyad_tune_cache_path(char *path, size_t size);

/** Keeps the best value of a format's parameter, as it was measured on the context's device with
 * its threads, in the file options->tune_cache. Plans with the same format, kernel, compute type
 * and precision that are tuned with this file take it, unless they are given another. A file that
 *  cannot be written is no failure.
 *  @param options  names the format, and the file
 *  @param parameter  a name of polyad_format_parameter_describe()
 *  @return POLYAD_INVALID_ARGUMENT for NULL, a format that has no such parameter, or a value that
 * it cannot have */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tune_cache_keep(polyad_context *context,
                                                               const polyad_plan_options *options,
                                                               const char *parameter, int value);
/** The value that was kept for the same library, device, threads and options.
 *  @param[out] value  0 when there is none
 *  @return POLYAD_INVALID_ARGUMENT for NULL, or a format that has no such parameter */
POLYAD_API POLYAD_CHECKED polyad_status polyad_tune_cache_value(polyad_context *context,
                                                                const polyad_plan_options *options,
                                                                const char *parameter, int *value);

/** Stores `tensor` (left as it is) as `options` say.
 *  @param[out] plan  destroyed with polyad_plan_destroy()
 *  @return POLYAD_INVALID_ARGUMENT for an unknown format, POLYAD_UNSUPPORTED with the reason
 *  when the format cannot hold the tensor, POLYAD_MEMORY_LIMIT naming the bytes needed before
 *  anything large is allocated, POLYAD_OUT_OF_MEMORY, POLYAD_CANCELLED when polyad_cancel() is in
 *  force before the storage is built or afterwards */
POLYAD_API POLYAD_CHECKED polyad_status polyad_plan_create(polyad_context *context,
                                                           const polyad_tensor *tensor,
                                                           const polyad_plan_options *options,
                                                           polyad_plan **plan);
/** As polyad_plan_create(), and consumes the tensor: its memory is reused or freed as early
 *  as possible, and `*tensor` is set to NULL (also on failure). */
POLYAD_API POLYAD_CHECKED polyad_status polyad_plan_create_take(polyad_context *context,
                                                                polyad_tensor **tensor,
                                                                const polyad_plan_options *options,
                                                                polyad_plan **plan);
/** Makes a plan of coordinates and values in the memory of the context's device, a CUDA GPU,
 * without moving them to the host: they are checked, sorted and merged there as
 * polyad_tensor_create() does on the host, and the storage is built there.
 *
 *  The call first waits for everything that the process has asked the device for
 *  (cudaDeviceSynchronize()), so that it does not matter which stream writes the arrays; when it
 *  returns they have been read, and are the caller's to change or free. The nonzeros come to the
 *  host later, as those of every plan on a GPU, for what computes there: first factors by HOSVD,
 *  fits that are summed from the nonzeros (CP-ALS where its formula is not enough, CP-APR's last,
 * Tucker), completion, and compute types other than the native one.
 *  @param input  addresses on the device, of its own or managed memory; indices and values at
 *                multiples of their sizes. 1 to 2^31 - 1 entries; modes shorter than 2^31. The type
 *                of the values is options->precision, whatever `type` says
 *  @param options  as for polyad_plan_create(), without a team; formats that the device builds
 *                  (polyad_plan_explanation() names the others). The tensor's hash is not known:
 *                  a checkpoint does not notice another tensor of the same shape, and what tuning
 *                  measures is not kept
 *  @param[out] plan  destroyed with polyad_plan_destroy()
 *  @return as polyad_tensor_create() and polyad_plan_create(); POLYAD_INVALID_ARGUMENT also for
 *  arrays of the host or of another GPU; POLYAD_UNSUPPORTED for devices other than one CUDA GPU */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_plan_create_from_device(polyad_context *context, const polyad_tensor_input *input,
                               const polyad_plan_options *options, polyad_plan **plan);
/** The most bytes of a device's own memory that making the plan and a start of polyad_cp_als() of
 *  its rank take, without constraints and as it was predicted before anything was allocated;
 *  polyad_device_memory() tells what they took. 0 where the memory is the host's, or nothing of
 *  the plan lies on `device`. */
POLYAD_API uint64_t polyad_plan_device_bytes(const polyad_plan *plan, const char *device);
/** Destroys a plan; NULL is fine. Its workspaces must be destroyed before. */
POLYAD_API void polyad_plan_destroy(polyad_plan *plan);

/** What a team's plan is like. */
typedef struct polyad_team_info {
  int rank;                   /**< this member's number */
  int size;                   /**< members; 1: no team shares the plan, and all is here */
  int grid[POLYAD_MAX_ORDER]; /**< ranges that each mode is cut into: their product is `size` */
  uint64_t nnz;               /**< nonzeros of this member */
  uint64_t most_nnz;          /**< of the member that has most */
  uint64_t rows_read;         /**< rows of all factors that this member has: its nonzeros need
                                   them, or it owns them and nobody's do */
  uint64_t rows_owned;        /**< rows that it updates */
  uint64_t bytes_format;      /**< polyad_plan_bytes() */
  uint64_t peak_bytes;        /**< polyad_memory_peak() of its context */
  uint64_t bytes_sent;        /**< to other members so far, in everything that was done */
  double seconds;             /**< in calls to other members so far, waiting for them included */
  char device[32];            /**< where it computes, such as "cuda:1" */
  uint64_t device_peak_bytes; /**< the most memory that was in use there; 0: it is the host's */
} polyad_team_info;

/** Tells what this member of a team has and has done. No other member is asked. */
POLYAD_API void polyad_plan_team_info(const polyad_plan *plan, polyad_team_info *info);
/** Tells every member of a team what all members have and have done. All of them make this call.
 *  @param[out] members  as many as the team has, by rank; without a team one
 *  @return POLYAD_INVALID_ARGUMENT, or the failure of a member */
POLYAD_API POLYAD_CHECKED polyad_status polyad_plan_team_gather(polyad_context *context,
                                                                const polyad_plan *plan,
                                                                polyad_team_info *members);

/** Number of modes. */
POLYAD_API int polyad_plan_order(const polyad_plan *plan);
/** Length of each mode; of a team's plan, of the whole tensor. */
POLYAD_API const uint64_t *polyad_plan_dims(const polyad_plan *plan);
/** Number of nonzeros; of a team's plan, of the whole tensor. */
POLYAD_API uint64_t polyad_plan_nnz(const polyad_plan *plan);
/** Type of values and factors. */
POLYAD_API polyad_type polyad_plan_type(const polyad_plan *plan);
/** Frobenius norm of the tensor, of its values as they are stored. */
POLYAD_API double polyad_plan_norm(const polyad_plan *plan);
/** Name of the format that was chosen. */
POLYAD_API const char *polyad_plan_format(const polyad_plan *plan);
/** Variant that was chosen, such as "csf: 2 trees". */
POLYAD_API const char *polyad_plan_variant(const polyad_plan *plan);
/** Name of the device that holds the plan. */
POLYAD_API const char *polyad_plan_device(const polyad_plan *plan);
/** Bytes that the stored tensor takes here (factors and workspaces not counted). */
POLYAD_API uint64_t polyad_plan_bytes(const polyad_plan *plan);
/** Several lines: the choice, the other candidates, and why. */
POLYAD_API const char *polyad_plan_explanation(const polyad_plan *plan);

/** Allocates all memory that kernels on `plan` need for factors of `rank` columns.
 *  @param[out] workspace  destroyed with polyad_workspace_destroy() */
POLYAD_API POLYAD_CHECKED polyad_status polyad_workspace_create(polyad_context *context,
                                                                const polyad_plan *plan,
                                                                uint64_t rank,
                                                                polyad_workspace **workspace);
/** Says which factors the calls that follow are given, so that kernels may use again what they made
 *  from factors that have not changed (stored rows of Pi, tables, partial sums). Without versions
 *  every call counts its factors as new.
 *  @param workspace  NULL is fine: nothing happens
 *  @param versions  one number per mode, which must never stand for two different contents of the
 *                   mode's factor in calls on this workspace: a counter that is raised whenever the
 *                   factor changes. 0: not known, counts as new. NULL: 0 for all modes. */
POLYAD_API void polyad_workspace_set_versions(polyad_workspace *workspace,
                                              const uint64_t *versions);
/** Destroys a workspace; NULL is fine. */
POLYAD_API void polyad_workspace_destroy(polyad_workspace *workspace);

/** Matricised tensor times Khatri-Rao product of mode `mode`:
 *  out(i,r) = sum over nonzeros x with index i in `mode` of x times the product over the
 *  other modes m of factors[m](i_m, r) (Kolda and Bader 2009, section 2.6).
 *  @param factors  one matrix per mode in host memory, I_m x rank, row major, of the plan's
 *                  type; factors[mode] is not read and may be NULL
 *  @param[out] out  I_mode x rank, row major, overwritten (rows of empty slices are zero)
 *  @return POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device */
POLYAD_API POLYAD_CHECKED polyad_status polyad_mttkrp(polyad_context *context,
                                                      const polyad_plan *plan,
                                                      polyad_workspace *workspace, int mode,
                                                      const void *const *factors, void *out);

/** Columns of the tensor-times-matrix chain of `mode`: the product of the other modes' ranks.
 *  @param ranks  columns of each mode's factor, at least 1; ranks[mode] does not count
 *  @return POLYAD_OVERFLOW when the product does not fit into 64 bits */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttmc_columns(polyad_context *context,
                                                            const polyad_plan *plan,
                                                            const uint64_t *ranks, int mode,
                                                            uint64_t *columns);
/** Allocates all memory that polyad_ttmc() needs in any mode for factors of ranks[n] columns in
 *  mode n.
 *  @param[out] workspace  destroyed with polyad_workspace_destroy()
 *  @return POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device,
 *  POLYAD_MEMORY_LIMIT, POLYAD_OVERFLOW */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttmc_workspace_create(polyad_context *context,
                                                                     const polyad_plan *plan,
                                                                     const uint64_t *ranks,
                                                                     polyad_workspace **workspace);
/** Tensor-times-matrix chain of mode `mode`: the tensor multiplied in every other mode m by the
 *  transpose of factors[m], unfolded along `mode` (Kolda and Bader 2009, section 2.5): row i is
 *  the sum over nonzeros x with index i in `mode` of x times the Kronecker product of the rows
 *  i_m of the other modes' factors.
 *  @param workspace  from polyad_ttmc_workspace_create()
 *  @param factors  one matrix per mode in host memory, I_m x ranks[m], row major, of the plan's
 *                  type; factors[mode] is not read and may be NULL
 *  @param[out] out  I_mode x polyad_ttmc_columns(), row major, overwritten; along a row the index
 *                   of the last other mode varies fastest */
POLYAD_API POLYAD_CHECKED polyad_status polyad_ttmc(polyad_context *context,
                                                    const polyad_plan *plan,
                                                    polyad_workspace *workspace, int mode,
                                                    const void *const *factors, void *out);

/** Stores what polyad_phi() of `mode` needs of the other factors, the rows of Pi at the nonzeros
 *  (nnz x rank numbers), in the workspace. Calls of polyad_phi() of this mode use them until
 *  polyad_pi() is called for another mode, where polyad_workspace_set_versions() gave the other
 *  factors versions: rows of factors of other versions are made anew. Without versions, and in
 *  other modes, Pi is computed on the fly.
 *  @param factors  as for polyad_phi(); factors[mode] is not read and may be NULL
 *  @return POLYAD_UNSUPPORTED when the format does not store Pi on the plan's device,
 *  POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_pi(polyad_context *context, const polyad_plan *plan,
                                                  polyad_workspace *workspace, int mode,
                                                  const void *const *factors);
/** Phi of CP-APR in mode `mode`: with pi the product over the other modes m of the rows
 *  factors[m](i_m, :) of a nonzero x with index i in `mode`, and b the row factors[mode](i, :),
 *  out(i,r) = sum over nonzeros of row i of x / max(<b, pi>, epsilon) times pi_r
 *  (E. C. Chi and T. G. Kolda, SIAM J. Matrix Anal. Appl. 33, 2012, equation 4.4).
 *  @param factors  one matrix per mode in host memory, I_m x rank, row major, of the plan's type;
 *                  factors[mode] is B = A diag(lambda); no entry is negative
 *  @param epsilon  the least divisor, above 0; CP-APR's default is 1e-10
 *  @param[out] out  I_mode x rank, row major, overwritten (rows of empty slices are zero)
 *  @return POLYAD_UNSUPPORTED when the format has no such kernel on the plan's device */
POLYAD_API POLYAD_CHECKED polyad_status polyad_phi(polyad_context *context, const polyad_plan *plan,
                                                   polyad_workspace *workspace, int mode,
                                                   const void *const *factors, double epsilon,
                                                   void *out);

/** One storage format of this library. */
typedef struct polyad_format_description {
  const char *name;    /**< short name for options, such as "csf" */
  const char *summary; /**< one sentence */
  const char *paper;   /**< where it comes from */
  char devices[64];    /**< kinds of devices it has kernels for in this build, such as "cpu cuda" */
  char tuned[64];      /**< the devices among them that have kernels written for its storage; on the
                            others its nonzeros are decoded for loops that many formats or
                            all devices share */
  char kernels[64];    /**< kernels it has on any of them, such as "mttkrp ttmc phi" */
  const char *variants;   /**< variants it knows, such as "auto one two all" */
  const char *compute;    /**< types of products, as the command names them: "native", or
                               "native f16 bf16 tf32" */
  int parameters;         /**< number of its parameters */
  int min_order;          /**< fewest modes */
  int max_order;          /**< most modes */
  char deterministic[64]; /**< kinds of devices on which all kernels of its default variant give the
                               same bits every time, with the same number of threads */
} polyad_format_description;

/** Number of formats. */
POLYAD_API int polyad_format_count(void);
/** Describes format number `which` (from 0).
 *  @return POLYAD_INVALID_ARGUMENT when there is none */
POLYAD_API POLYAD_CHECKED polyad_status polyad_format_describe(int which,
                                                               polyad_format_description *about);

/** A parameter of one format: an integer. */
typedef struct polyad_format_parameter {
  const char *name; /**< its key in polyad_plan_options::format */
  const char *help; /**< what it is; where `usual` is 0 also what it is by default */
  int least;        /**< least value, at least 1 */
  int most;         /**< largest value */
  int usual;        /**< value by default; 0: it depends on the tensor or the device */
} polyad_format_parameter;

/** Describes parameter number `which` (from 0) of format number `format` (from 0).
 *  @return POLYAD_INVALID_ARGUMENT when there is none */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_format_parameter_describe(int format, int which, polyad_format_parameter *about);
/** Checks a text for polyad_plan_options::format without a tensor: the format is known and has the
 *  parameters, which have possible values. Whether it has the variant is checked with the tensor.
 *  @return POLYAD_INVALID_ARGUMENT with what is wrong and what is allowed */
POLYAD_API POLYAD_CHECKED polyad_status polyad_format_check(polyad_context *context,
                                                            const char *format);
/** Bytes that `tensor` would take in a format, factors not counted; the estimate that the
 *  plan uses.
 *  @return POLYAD_UNSUPPORTED with the reason when the format cannot hold it */
POLYAD_API POLYAD_CHECKED polyad_status
polyad_format_estimate_bytes(polyad_context *context, const polyad_tensor *tensor,
                             const polyad_plan_options *options, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
