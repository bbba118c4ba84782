/* Dense algebra of an OpenCL device: done by the host on copies. On a device that shares the host's
 * memory (PoCL) the copies are cheap; on others the transfers of factors cost more than the
 * algebra. */
#include "device/opencl/opencl_state.h"
#include "linalg/linalg.h"

enum { SLOTS = POLYAD_MAX_ORDER + 3, UPDATE_MATRICES = 9 };

/* Memory of the host that a matrix is copied to; it grows to the largest that comes. */
struct slot {
  void *data;
  uint64_t bytes;
};

struct pd_linalg_work {
  const struct pd_device *device;
  struct pd_linalg_work *host; /* the host's own */
  struct slot slot[SLOTS];
  struct pd_update update; /* the running one, of the matrices below */
  struct pd_matrix matrix[UPDATE_MATRICES];
};

static const struct pd_linalg *host_linalg(void) { return pd_opencl_services->host_device->linalg; }

static uint64_t opencl_linalg_work_bytes(uint64_t rank, int threads) {
  return host_linalg()->work_bytes(rank, threads);
}

static void opencl_linalg_work_destroy(polyad_context *context, struct pd_linalg_work *work) {
  if (work == NULL) return;
  host_linalg()->work_destroy(context, work->host);
  for (int k = 0; k < SLOTS; ++k)
    pd_opencl_services->free(context, work->slot[k].data);
  pd_opencl_services->free(context, work);
}

static polyad_status opencl_linalg_work_create(polyad_context *context,
                                               const struct pd_device *device, uint64_t rank,
                                               struct pd_linalg_work **out) {
  struct pd_linalg_work *work;
  *out = NULL;
  PD_TRY(pd_opencl_services->alloc(context, 1, sizeof *work, (void **)&work));
  *work = (struct pd_linalg_work){.device = device};
  polyad_status status =
      host_linalg()->work_create(context, pd_opencl_services->host_device, rank, &work->host);
  if (status == POLYAD_OK)
    *out = work;
  else
    opencl_linalg_work_destroy(context, work);
  return status;
}

static uint64_t opencl_linalg_bytes_of(const struct pd_matrix *matrix) {
  return matrix->rows * matrix->stride * pd_type_bytes(matrix->type);
}

/* Copies a matrix to the host, into slot `which`. */
static polyad_status opencl_linalg_take(polyad_context *context, struct pd_linalg_work *work,
                                        int which, const struct pd_matrix *from,
                                        struct pd_matrix *host) {
  struct slot *slot = &work->slot[which];
  uint64_t bytes = opencl_linalg_bytes_of(from);
  if (slot->data == NULL || bytes > slot->bytes) {
    pd_opencl_services->free(context, slot->data);
    *slot = (struct slot){NULL, 0};
    PD_TRY(pd_opencl_services->alloc(context, bytes == 0 ? 1 : bytes, 1, &slot->data));
    slot->bytes = bytes;
  }
  *host = *from;
  host->device = pd_opencl_services->host_device;
  host->data = slot->data;
  host->borrowed = true;
  return work->device->functions->copy_out(context, work->device, slot->data, from->data, bytes);
}

static polyad_status give(polyad_context *context, struct pd_linalg_work *work,
                          const struct pd_matrix *host, struct pd_matrix *to) {
  return work->device->functions->copy_in(context, work->device, to->data, host->data,
                                          opencl_linalg_bytes_of(to));
}

/* Copies several, each into the slot of its number; what is NULL stays out. */
static polyad_status take_matrices(polyad_context *context, struct pd_linalg_work *work, int count,
                                   const struct pd_matrix *const *from, struct pd_matrix *host) {
  for (int k = 0; k < count; ++k)
    if (from[k] != NULL) PD_TRY(opencl_linalg_take(context, work, k, from[k], &host[k]));
  return POLYAD_OK;
}

/* Matrices of all modes as well, behind the first `count`; mode `skip` stays out. */
static polyad_status take_modes(polyad_context *context, struct pd_linalg_work *work, int count,
                                int modes, int skip, const struct pd_matrix *const *from,
                                struct pd_matrix *host, const struct pd_matrix **pointer) {
  for (int n = 0; n < modes; ++n) {
    pointer[n] = &host[n];
    if (n != skip) PD_TRY(opencl_linalg_take(context, work, count + n, from[n], &host[n]));
  }
  return POLYAD_OK;
}

/* In a team the host's dense algebra, which does the work, adds up the members' sums. The rows that
 * members lend each other are taken from a copy of the whole matrix, or added to one. */
static polyad_status opencl_linalg_join(polyad_context *context, struct pd_linalg_work *work,
                                        polyad_team *team) {
  return host_linalg()->join(context, work->host, team);
}

/* Copies on the host for taking or adding rows: the matrix, the list of rows, and the rows. */
struct lent {
  struct pd_matrix matrix;
  uint64_t *index;
  void *rows;
  uint64_t matrix_bytes, index_bytes, row_bytes;
};

static polyad_status lent_open(polyad_context *context, const struct pd_matrix *matrix,
                               uint64_t count, const uint64_t *index, struct lent *lent) {
  const struct pd_device *device = matrix->device;
  *lent = (struct lent){.matrix = *matrix,
                        .matrix_bytes = opencl_linalg_bytes_of(matrix),
                        .index_bytes = count * sizeof *index,
                        .row_bytes = count * matrix->columns * pd_type_bytes(matrix->type)};
  lent->matrix.device = pd_opencl_services->host_device;
  lent->matrix.data = NULL;
  PD_TRY(pd_opencl_services->alloc(context, lent->matrix_bytes, 1, &lent->matrix.data));
  PD_TRY(pd_opencl_services->alloc(context, lent->index_bytes, 1, (void **)&lent->index));
  PD_TRY(pd_opencl_services->alloc(context, lent->row_bytes, 1, &lent->rows));
  PD_TRY(device->functions->copy_out(context, device, lent->matrix.data, matrix->data,
                                     lent->matrix_bytes));
  return device->functions->copy_out(context, device, lent->index, index, lent->index_bytes);
}

static void lent_close(polyad_context *context, struct lent *lent) {
  pd_opencl_services->free(context, lent->matrix.data);
  pd_opencl_services->free(context, lent->index);
  pd_opencl_services->free(context, lent->rows);
}

static polyad_status opencl_linalg_take_rows(polyad_context *context,
                                             const struct pd_matrix *matrix, uint64_t count,
                                             const uint64_t *index, void *to) {
  const struct pd_device *device = matrix->device;
  struct lent lent;
  if (count == 0) return POLYAD_OK;
  polyad_status status = lent_open(context, matrix, count, index, &lent);
  if (status == POLYAD_OK)
    status = host_linalg()->take_rows(context, &lent.matrix, count, lent.index, lent.rows);
  if (status == POLYAD_OK)
    status = device->functions->copy_in(context, device, to, lent.rows, lent.row_bytes);
  lent_close(context, &lent);
  return status;
}

static polyad_status opencl_linalg_add_rows(polyad_context *context, const void *from,
                                            uint64_t count, const uint64_t *index,
                                            struct pd_matrix *matrix) {
  const struct pd_device *device = matrix->device;
  struct lent lent;
  if (count == 0) return POLYAD_OK;
  polyad_status status = lent_open(context, matrix, count, index, &lent);
  if (status == POLYAD_OK)
    status = device->functions->copy_out(context, device, lent.rows, from, lent.row_bytes);
  if (status == POLYAD_OK)
    status = host_linalg()->add_rows(context, lent.rows, count, lent.index, &lent.matrix);
  if (status == POLYAD_OK)
    status = device->functions->copy_in(context, device, matrix->data, lent.matrix.data,
                                        lent.matrix_bytes);
  lent_close(context, &lent);
  return status;
}

#define LIST(...) ((const struct pd_matrix *const[]){__VA_ARGS__})

static polyad_status opencl_linalg_gram(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *a, struct pd_matrix *out,
                                        struct pd_matrix *peak) {
  struct pd_matrix host[3];
  PD_TRY(take_matrices(context, work, 3, LIST(a, out, peak), host));
  PD_TRY(host_linalg()->gram(context, work->host, &host[0], &host[1], &host[2]));
  PD_TRY(give(context, work, &host[1], out));
  return give(context, work, &host[2], peak);
}

static polyad_status opencl_linalg_hadamard(polyad_context *context, struct pd_linalg_work *work,
                                            int count, const struct pd_matrix *const *grams,
                                            int skip, double ridge, struct pd_matrix *v) {
  struct pd_matrix host[POLYAD_MAX_ORDER], out;
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  PD_TRY(take_matrices(context, work, 1, LIST(v), &out));
  PD_TRY(take_modes(context, work, 1, count, skip, grams, host, pointer));
  PD_TRY(host_linalg()->hadamard(context, work->host, count, pointer, skip, ridge, &out));
  return give(context, work, &out, v);
}

/* The host's update does all its work itself. */
static polyad_status opencl_linalg_prepare(polyad_context *context, int runs,
                                           const struct pd_update *updates) {
  for (const struct pd_update *u = updates; u < updates + runs; ++u)
    PD_TRY(opencl_linalg_hadamard(context, u->work, u->count, u->grams, u->skip, u->ridge, u->v));
  return POLYAD_OK;
}

/* Copies what an update reads, and has room for what it makes. */
static polyad_status take_update(polyad_context *context, const struct pd_update *update) {
  struct pd_linalg_work *work = update->work;
  struct pd_matrix *to = work->matrix;
  PD_TRY(take_matrices(context, work, UPDATE_MATRICES,
                       LIST(update->v, update->x, update->weights, update->lambda, update->gram,
                            update->peak, update->before, update->m, update->slices),
                       to));
  work->update = *update;
  work->update.work = work->host;
  work->update.v = &to[0];
  work->update.x = &to[1];
  work->update.weights = &to[2];
  work->update.lambda = &to[3];
  work->update.gram = &to[4];
  work->update.peak = &to[5];
  if (update->before != NULL) work->update.before = &to[6];
  if (update->m != NULL) work->update.m = &to[7];
  if (update->slices != NULL) work->update.slices = &to[8];
  return POLYAD_OK;
}

static polyad_status opencl_linalg_update_rows(polyad_context *context, int runs,
                                               const struct pd_update *updates) {
  for (const struct pd_update *update = updates; update < updates + runs; ++update) {
    PD_TRY(take_update(context, update));
    PD_TRY(host_linalg()->update_rows(context, 1, &update->work->update));
  }
  return POLYAD_OK;
}

static polyad_status opencl_linalg_update_rows_nonnegative(polyad_context *context, int runs,
                                                           const struct pd_update *updates) {
  for (const struct pd_update *update = updates; update < updates + runs; ++update) {
    PD_TRY(take_update(context, update));
    PD_TRY(host_linalg()->update_rows_nonnegative(context, 1, &update->work->update));
  }
  return POLYAD_OK;
}

/* On the copies that update_rows() has left. */
static polyad_status opencl_linalg_update_finish(polyad_context *context, int runs,
                                                 const struct pd_update *updates) {
  for (const struct pd_update *update = updates; update < updates + runs; ++update) {
    struct pd_linalg_work *work = update->work;
    PD_TRY(host_linalg()->update_finish(context, 1, &work->update));
    PD_TRY(give(context, work, work->update.x, update->x));
    PD_TRY(give(context, work, work->update.lambda, update->lambda));
    PD_TRY(give(context, work, work->update.gram, update->gram));
    PD_TRY(give(context, work, work->update.peak, update->peak));
  }
  return POLYAD_OK;
}

static polyad_status opencl_linalg_weighted_inner(polyad_context *context,
                                                  struct pd_linalg_work *work,
                                                  const struct pd_matrix *m,
                                                  const struct pd_matrix *x,
                                                  const struct pd_matrix *lambda) {
  struct pd_matrix host[3];
  PD_TRY(take_matrices(context, work, 3, LIST(m, x, lambda), host));
  return host_linalg()->weighted_inner(context, work->host, &host[0], &host[1], &host[2]);
}

static polyad_status opencl_linalg_model_norm(polyad_context *context, int runs,
                                              const struct pd_norm *norms) {
  for (const struct pd_norm *norm = norms; norm < norms + runs; ++norm) {
    struct pd_linalg_work *work = norm->work;
    struct pd_matrix host[2], gram[POLYAD_MAX_ORDER];
    const struct pd_matrix *grams[POLYAD_MAX_ORDER];
    PD_TRY(take_matrices(context, work, 2, LIST(norm->peak, norm->lambda), host));
    PD_TRY(take_modes(context, work, 2, norm->count, -1, norm->grams, gram, grams));
    const struct pd_norm here = {work->host, norm->count,   grams, &host[0],
                                 &host[1],   norm->spreads, false};
    PD_TRY(host_linalg()->model_norm(context, 1, &here));
  }
  return POLYAD_OK;
}

static polyad_status opencl_linalg_spread(polyad_context *context, struct pd_linalg_work *work,
                                          const struct pd_matrix *slices, const struct pd_matrix *x,
                                          int count, const struct pd_matrix *const *grams,
                                          const struct pd_matrix *lambda) {
  struct pd_matrix host[3], gram[POLYAD_MAX_ORDER];
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  PD_TRY(take_matrices(context, work, 3, LIST(slices, x, lambda), host));
  PD_TRY(take_modes(context, work, 3, count, -1, grams, gram, pointer));
  return host_linalg()->spread(context, work->host, &host[0], &host[1], count, pointer, &host[2]);
}

static polyad_status opencl_linalg_residual(polyad_context *context, struct pd_linalg_work *work,
                                            const struct pd_nonzeros *nonzeros,
                                            const struct pd_list *list,
                                            const struct pd_matrix *const *factors,
                                            const struct pd_matrix *lambda) {
  struct pd_matrix weights, factor[POLYAD_MAX_ORDER];
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  PD_TRY(take_matrices(context, work, 1, LIST(lambda), &weights));
  PD_TRY(take_modes(context, work, 1, nonzeros->order, -1, factors, factor, pointer));
  return host_linalg()->residual(context, work->host, nonzeros, list, pointer, &weights);
}

static polyad_status opencl_linalg_weigh(polyad_context *context, struct pd_linalg_work *work,
                                         const struct pd_matrix *phi, double kappa,
                                         double kappa_tolerance, const struct pd_matrix *lambda,
                                         struct pd_matrix *x) {
  struct pd_matrix host[3];
  PD_TRY(take_matrices(context, work, 3, LIST(phi, lambda, x), host));
  PD_TRY(host_linalg()->weigh(context, work->host, phi != NULL ? &host[0] : NULL, kappa,
                              kappa_tolerance, &host[1], &host[2]));
  return give(context, work, &host[2], x);
}

static polyad_status opencl_linalg_kkt(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *phi, const struct pd_matrix *b) {
  struct pd_matrix host[2];
  PD_TRY(take_matrices(context, work, 2, LIST(phi, b), host));
  return host_linalg()->kkt(context, work->host, &host[0], &host[1]);
}

static polyad_status opencl_linalg_multiply(polyad_context *context, struct pd_linalg_work *work,
                                            const struct pd_matrix *phi, double tolerance,
                                            const struct pd_loop *loop, struct pd_matrix *b) {
  struct pd_matrix host[2];
  PD_TRY(take_matrices(context, work, 2, LIST(phi, b), host));
  PD_TRY(host_linalg()->multiply(context, work->host, &host[0], tolerance, loop, &host[1]));
  return give(context, work, &host[1], b);
}

static polyad_status opencl_linalg_add(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *y, struct pd_matrix *x) {
  struct pd_matrix host[2];
  PD_TRY(take_matrices(context, work, 2, LIST(y, x), host));
  PD_TRY(host_linalg()->add(context, work->host, &host[0], &host[1]));
  return give(context, work, &host[1], x);
}

static polyad_status opencl_linalg_normalize(polyad_context *context, struct pd_linalg_work *work,
                                             enum pd_scaling scaling, struct pd_matrix *x,
                                             struct pd_matrix *lambda) {
  struct pd_matrix host[2];
  PD_TRY(take_matrices(context, work, 2, LIST(x, lambda), host));
  PD_TRY(host_linalg()->normalize(context, work->host, scaling, &host[0], &host[1]));
  PD_TRY(give(context, work, &host[0], x));
  return give(context, work, &host[1], lambda);
}

static polyad_status opencl_linalg_fetch(polyad_context *context, int runs,
                                         struct pd_linalg_work *const *works,
                                         double (*scalars)[PD_SCALARS]) {
  for (int k = 0; k < runs; ++k)
    PD_TRY(host_linalg()->fetch(context, 1, &works[k]->host, &scalars[k]));
  return POLYAD_OK;
}

const struct pd_linalg pd_opencl_linalg = {
    .work_create = opencl_linalg_work_create,
    .work_destroy = opencl_linalg_work_destroy,
    .work_bytes = opencl_linalg_work_bytes,
    .join = opencl_linalg_join,
    .take_rows = opencl_linalg_take_rows,
    .add_rows = opencl_linalg_add_rows,
    .gram = opencl_linalg_gram,
    .add = opencl_linalg_add,
    .hadamard = opencl_linalg_hadamard,
    .prepare = opencl_linalg_prepare,
    .update_rows = opencl_linalg_update_rows,
    .update_rows_nonnegative = opencl_linalg_update_rows_nonnegative,
    .update_finish = opencl_linalg_update_finish,
    .weighted_inner = opencl_linalg_weighted_inner,
    .model_norm = opencl_linalg_model_norm,
    .spread = opencl_linalg_spread,
    .residual = opencl_linalg_residual,
    .weigh = opencl_linalg_weigh,
    .kkt = opencl_linalg_kkt,
    .multiply = opencl_linalg_multiply,
    .normalize = opencl_linalg_normalize,
    .fetch = opencl_linalg_fetch,
};
