/* Dense algebra of an OpenCL device: done by the host on copies. On a device that shares the host's
 * memory (PoCL) the copies are cheap; on others the transfers of factors cost more than the
 * algebra. */
#include "device/opencl/opencl_state.h"
#include "linalg/linalg.h"
#include <string.h>

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

static polyad_status opencl_linalg_gram(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *a, struct pd_matrix *out,
                                        struct pd_matrix *peak) {
  struct pd_matrix x, g, p;
  PD_TRY(opencl_linalg_take(context, work, 0, a, &x));
  PD_TRY(opencl_linalg_take(context, work, 1, out, &g));
  PD_TRY(opencl_linalg_take(context, work, 2, peak, &p));
  PD_TRY(host_linalg()->gram(context, work->host, &x, &g, &p));
  PD_TRY(give(context, work, &g, out));
  return give(context, work, &p, peak);
}

static polyad_status opencl_linalg_hadamard(polyad_context *context, struct pd_linalg_work *work,
                                            int count, const struct pd_matrix *const *grams,
                                            int skip, double ridge, struct pd_matrix *v) {
  struct pd_matrix host[POLYAD_MAX_ORDER], out;
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  for (int n = 0; n < count; ++n) {
    pointer[n] = &host[n];
    if (n != skip) PD_TRY(opencl_linalg_take(context, work, n, grams[n], &host[n]));
  }
  PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER, v, &out));
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
  work->update = *update;
  work->update.work = work->host;
  PD_TRY(opencl_linalg_take(context, work, 0, update->v, &to[0]));
  work->update.v = &to[0];
  PD_TRY(opencl_linalg_take(context, work, 1, update->x, &to[1]));
  work->update.x = &to[1];
  PD_TRY(opencl_linalg_take(context, work, 2, update->weights, &to[2]));
  work->update.weights = &to[2];
  PD_TRY(opencl_linalg_take(context, work, 3, update->lambda, &to[3]));
  work->update.lambda = &to[3];
  PD_TRY(opencl_linalg_take(context, work, 4, update->gram, &to[4]));
  work->update.gram = &to[4];
  PD_TRY(opencl_linalg_take(context, work, 5, update->peak, &to[5]));
  work->update.peak = &to[5];
  if (update->before != NULL) PD_TRY(opencl_linalg_take(context, work, 6, update->before, &to[6]));
  work->update.before = update->before != NULL ? &to[6] : NULL;
  if (update->m != NULL) PD_TRY(opencl_linalg_take(context, work, 7, update->m, &to[7]));
  work->update.m = update->m != NULL ? &to[7] : NULL;
  if (update->slices != NULL) PD_TRY(opencl_linalg_take(context, work, 8, update->slices, &to[8]));
  work->update.slices = update->slices != NULL ? &to[8] : NULL;
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
  struct pd_matrix hm, hx, hl;
  PD_TRY(opencl_linalg_take(context, work, 0, m, &hm));
  PD_TRY(opencl_linalg_take(context, work, 1, x, &hx));
  PD_TRY(opencl_linalg_take(context, work, 2, lambda, &hl));
  return host_linalg()->weighted_inner(context, work->host, &hm, &hx, &hl);
}

/* Copies of Gram matrices on the host. */
static polyad_status take_grams(polyad_context *context, struct pd_linalg_work *work, int count,
                                const struct pd_matrix *const *grams,
                                struct pd_matrix host[POLYAD_MAX_ORDER],
                                const struct pd_matrix *pointer[POLYAD_MAX_ORDER]) {
  for (int n = 0; n < count; ++n) {
    pointer[n] = &host[n];
    PD_TRY(opencl_linalg_take(context, work, n, grams[n], &host[n]));
  }
  return POLYAD_OK;
}

static polyad_status opencl_linalg_model_norm(polyad_context *context, int runs,
                                              const struct pd_norm *norms) {
  for (const struct pd_norm *norm = norms; norm < norms + runs; ++norm) {
    struct pd_linalg_work *work = norm->work;
    struct pd_matrix host[POLYAD_MAX_ORDER], peak, lambda;
    const struct pd_matrix *grams[POLYAD_MAX_ORDER];
    PD_TRY(take_grams(context, work, norm->count, norm->grams, host, grams));
    PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER, norm->peak, &peak));
    PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER + 1, norm->lambda, &lambda));
    const struct pd_norm there = {work->host, norm->count, grams, &peak, &lambda, norm->spreads};
    PD_TRY(host_linalg()->model_norm(context, 1, &there));
  }
  return POLYAD_OK;
}

static polyad_status opencl_linalg_spread(polyad_context *context, struct pd_linalg_work *work,
                                          const struct pd_matrix *slices, const struct pd_matrix *x,
                                          int count, const struct pd_matrix *const *grams,
                                          const struct pd_matrix *lambda) {
  struct pd_matrix host[POLYAD_MAX_ORDER], hs, hx, hl;
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  PD_TRY(take_grams(context, work, count, grams, host, pointer));
  PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER, slices, &hs));
  PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER + 1, x, &hx));
  PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER + 2, lambda, &hl));
  return host_linalg()->spread(context, work->host, &hs, &hx, count, pointer, &hl);
}

static polyad_status opencl_linalg_residual(polyad_context *context, struct pd_linalg_work *work,
                                            const struct pd_nonzeros *nonzeros,
                                            const struct pd_list *list,
                                            const struct pd_matrix *const *factors,
                                            const struct pd_matrix *lambda) {
  struct pd_matrix host[POLYAD_MAX_ORDER], hl;
  const struct pd_matrix *pointer[POLYAD_MAX_ORDER];
  for (int n = 0; n < nonzeros->order; ++n) {
    pointer[n] = &host[n];
    PD_TRY(opencl_linalg_take(context, work, n, factors[n], &host[n]));
  }
  PD_TRY(opencl_linalg_take(context, work, POLYAD_MAX_ORDER, lambda, &hl));
  return host_linalg()->residual(context, work->host, nonzeros, list, pointer, &hl);
}

static polyad_status opencl_linalg_weigh(polyad_context *context, struct pd_linalg_work *work,
                                         const struct pd_matrix *phi, double kappa,
                                         double kappa_tolerance, const struct pd_matrix *lambda,
                                         struct pd_matrix *x) {
  struct pd_matrix hp, hl, hx;
  if (phi != NULL) PD_TRY(opencl_linalg_take(context, work, 0, phi, &hp));
  PD_TRY(opencl_linalg_take(context, work, 1, lambda, &hl));
  PD_TRY(opencl_linalg_take(context, work, 2, x, &hx));
  PD_TRY(host_linalg()->weigh(context, work->host, phi != NULL ? &hp : NULL, kappa, kappa_tolerance,
                              &hl, &hx));
  return give(context, work, &hx, x);
}

static polyad_status opencl_linalg_kkt(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *phi, const struct pd_matrix *b) {
  struct pd_matrix hp, hb;
  PD_TRY(opencl_linalg_take(context, work, 0, phi, &hp));
  PD_TRY(opencl_linalg_take(context, work, 1, b, &hb));
  return host_linalg()->kkt(context, work->host, &hp, &hb);
}

static polyad_status opencl_linalg_multiply(polyad_context *context, struct pd_linalg_work *work,
                                            const struct pd_matrix *phi, double tolerance,
                                            struct pd_matrix *b) {
  struct pd_matrix hp, hb;
  PD_TRY(opencl_linalg_take(context, work, 0, phi, &hp));
  PD_TRY(opencl_linalg_take(context, work, 1, b, &hb));
  PD_TRY(host_linalg()->multiply(context, work->host, &hp, tolerance, &hb));
  return give(context, work, &hb, b);
}

static polyad_status opencl_linalg_add(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *y, struct pd_matrix *x) {
  struct pd_matrix hy, hx;
  PD_TRY(opencl_linalg_take(context, work, 0, y, &hy));
  PD_TRY(opencl_linalg_take(context, work, 1, x, &hx));
  PD_TRY(host_linalg()->add(context, work->host, &hy, &hx));
  return give(context, work, &hx, x);
}

static polyad_status opencl_linalg_normalize(polyad_context *context, struct pd_linalg_work *work,
                                             enum pd_scaling scaling, struct pd_matrix *x,
                                             struct pd_matrix *lambda) {
  struct pd_matrix hx, hl;
  PD_TRY(opencl_linalg_take(context, work, 0, x, &hx));
  PD_TRY(opencl_linalg_take(context, work, 1, lambda, &hl));
  PD_TRY(host_linalg()->normalize(context, work->host, scaling, &hx, &hl));
  PD_TRY(give(context, work, &hx, x));
  return give(context, work, &hl, lambda);
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
