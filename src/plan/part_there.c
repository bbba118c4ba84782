/* Sharing a tensor out on the devices of a team's members. What takes a pass over nonzeros is done
 * there: counting those of every slice, finding their cells, numbering their indices anew. They
 * travel from device to device, an array at a time, and come in the order in which records come to
 * hosts (part_deal.c), so that members get the same tensors either way. What takes a pass over rows
 * alone stays with the host: where ranges begin, who owns which rows. */
#include "device/build.h"
#include "plan/part_making.h"
#include <string.h>

struct pd_part_there {
  const struct pd_request *request;
  struct pd_build *share; /* what this member was given, until it is dealt */
  /* Nonzeros under way: of the share in the order of the cells, and this member's own. */
  uint32_t *out[POLYAD_MAX_ORDER], *index[POLYAD_MAX_ORDER];
  void *out_values, *values;
  uint64_t *count;          /* 2 x size: nonzeros for each member, and of each */
  struct pd_parcel *parcel; /* 2 x size */
};

static const struct pd_device_build *steps_of(const struct pd_part_there *there) {
  return there->request->device->functions->build;
}

/* Ends a step that may fail on one member: either all go on, or none does. What is no lack of
 * memory is an error, which ends them all. */
static polyad_status part_there_agree(polyad_context *context, struct pd_part_making *making,
                                      polyad_status status) {
  bool cannot = status == POLYAD_OUT_OF_MEMORY || status == POLYAD_MEMORY_LIMIT;
  if (status != POLYAD_OK && !cannot) return status;
  if (cannot) {
    pd_log(context, POLYAD_LOG_INFO, "the hosts share the tensor out: %s",
           polyad_last_error(context));
    pd_begin(context);
  }
  PD_TRY(pd_team_any(context, making->team, &cannot));
  making->cannot = cannot;
  return cannot ? POLYAD_MEMORY_LIMIT : POLYAD_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void part_there_release(polyad_context *context, const struct pd_part_there *there,
                               uint32_t **index, void **values) {
  const struct pd_device *device = there->request->device;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    device->functions->release(context, device, index[n]);
    index[n] = NULL;
  }
  device->functions->release(context, device, *values);
  *values = NULL;
}

/* Arrays for so many nonzeros on the device. */
static polyad_status part_there_allocate(polyad_context *context,
                                         const struct pd_part_making *making, uint64_t count,
                                         uint32_t **index, void **values) {
  const struct pd_device *device = making->there->request->device;
  for (int n = 0; n < making->part->order; ++n)
    PD_TRY(
        device->functions->allocate(context, device, count * sizeof *index[n], (void **)&index[n]));
  return device->functions->allocate(context, device, count * pd_type_bytes(making->type), values);
}

static void drop_share(polyad_context *context, struct pd_part_there *there) {
  if (there->share != NULL) steps_of(there)->close(context, there->share);
  there->share = NULL;
}

void pd_part_there_close(polyad_context *context, struct pd_part_making *making) {
  struct pd_part_there *there = making->there;
  if (there == NULL) return;
  drop_share(context, there);
  part_there_release(context, there, there->out, &there->out_values);
  part_there_release(context, there, there->index, &there->values);
  PD_FREE(context, there->count, there->parcel, there);
  making->there = NULL;
}

/* ---- the share ------------------------------------------------------------------------------- */

/* The device takes so many nonzeros, with what sorting them takes. */
static polyad_status check_takes(polyad_context *context, const struct pd_part_making *making,
                                 uint64_t count, uint64_t beside) {
  const struct pd_part_there *there = making->there;
  const struct pd_device *device = there->request->device;
  const struct pd_part *part = making->part;
  if (!steps_of(there)->takes(count, part->order, part->dims))
    return pd_fail(context, POLYAD_MEMORY_LIMIT,
                   "%s does not sort %llu nonzeros of modes of such lengths", device->name,
                   (unsigned long long)count);
  uint64_t bytes = steps_of(there)->bytes(count, part->order, part->dims, making->type);
  bytes = pd_add_saturated(bytes, beside);
  if (bytes <= device->functions->memory_available(context, device)) return POLYAD_OK;
  return pd_fail(context, POLYAD_MEMORY_LIMIT, "%s has not %llu bytes for sharing out",
                 device->name, (unsigned long long)bytes);
}

polyad_status pd_part_there_open(polyad_context *context, struct pd_part_making *making,
                                 const struct pd_request *request, const polyad_tensor *mine) {
  const uint64_t size = (uint64_t)making->size;
  PD_TRY(PD_NEW_ZERO(context, 1, &making->there));
  struct pd_part_there *there = making->there;
  there->request = request;
  PD_TRY(PD_NEW(context, 2 * size, &there->count));
  PD_TRY(PD_NEW_ZERO(context, 2 * size, &there->parcel));
  polyad_status status =
      check_takes(context, making, mine->nnz, pd_mul_saturated(mine->nnz, making->record_bytes));
  if (status == POLYAD_OK)
    status = steps_of(there)->open(context, request->device, mine, &there->share);
  return part_there_agree(context, making, status);
}

static void add_to_buckets(const polyad_context *context, const uint32_t *degree, uint64_t length,
                           uint64_t width, double *nonzeros) {
  uint64_t buckets = (length + width - 1) / width;
  int threads = pd_threads_for(context, length, PD_PART_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t b = 0; b < buckets; ++b) {
    uint64_t end = length - b * width < width ? length : (b + 1) * width;
    for (uint64_t i = b * width; i < end; ++i)
      nonzeros[b] += degree[i];
  }
}

polyad_status pd_part_there_count(polyad_context *context, const struct pd_part_making *making,
                                  int mode, uint64_t width, double *nonzeros) {
  const struct pd_part_there *there = making->there;
  const uint64_t length = making->part->dims[mode];
  uint32_t *degree = NULL;
  PD_TRY(PD_NEW_ZERO(context, length, &degree)); /* a share may be of shorter modes */
  polyad_status status = steps_of(there)->degrees(context, there->share, mode, degree);
  if (status == POLYAD_OK) add_to_buckets(context, degree, length, width, nonzeros);
  pd_free(context, degree);
  return status;
}

/* ---- on their way ---------------------------------------------------------------------------- */

/* Writes the share in the order of the cells, and makes room for what comes. */
static polyad_status part_there_lay_out(polyad_context *context, struct pd_part_making *making) {
  struct pd_part_there *there = making->there;
  struct pd_build_planes planes = {.output = -1, .planes = making->part->order};
  const uint64_t *dims = making->part->dims, *count = there->count;
  for (int k = 0; k < making->size; ++k)
    planes.padded += count[k];
  PD_TRY(part_there_allocate(context, making, planes.padded, there->out, &there->out_values));
  for (int n = 0; n < planes.planes; ++n) {
    planes.plane[n] = there->out[n];
    pd_build_field_add(&planes, n, 0, pd_index_bits(dims[n]), n, 0);
  }
  planes.values = there->out_values;
  PD_TRY(steps_of(there)->gather(context, there->share, &planes));
  drop_share(context, there); /* waits */
  PD_TRY(check_takes(context, making, making->count,
                     pd_mul_saturated(making->count, making->record_bytes)));
  return part_there_allocate(context, making, making->count, there->index, &there->values);
}

/* Members tell each other how many nonzeros they will get. */
static polyad_status exchange_counts(polyad_context *context, struct pd_part_making *making) {
  struct pd_part_there *there = making->there;
  const int size = making->size;
  for (int k = 0; k < 2 * size; ++k)
    there->parcel[k] = (struct pd_parcel){&there->count[k], sizeof *there->count};
  PD_TRY(pd_team_exchange(context, making->team, there->parcel, there->parcel + size));
  making->count = 0;
  for (int k = 0; k < size; ++k)
    making->count += there->count[size + k];
  return POLYAD_OK;
}

/* One array of the nonzeros, of items of so many bytes. */
static polyad_status send_array(polyad_context *context, const struct pd_part_making *making,
                                void *out, void *in, uint64_t item) {
  const struct pd_part_there *there = making->there;
  char *next[2] = {out, in};
  for (int k = 0; k < 2 * making->size; ++k) {
    char **at = &next[k >= making->size];
    there->parcel[k] = (struct pd_parcel){*at, there->count[k] * item};
    *at += there->parcel[k].bytes;
  }
  return pd_team_exchange_there(context, making->team, there->parcel, there->parcel + making->size);
}

polyad_status pd_part_there_deal(polyad_context *context, struct pd_part_making *making) {
  struct pd_part_there *there = making->there;
  const struct pd_part *part = making->part;
  struct pd_build_grid grid = {.cells = making->size};
  for (int n = 0; n < part->order; ++n) {
    grid.ranges[n] = part->grid[n];
    grid.cut[n] = making->cut[n];
  }
  PD_TRY(steps_of(there)->deal(context, there->share, &grid, there->count));
  PD_TRY(exchange_counts(context, making));
  PD_TRY(part_there_agree(context, making, part_there_lay_out(context, making)));
  for (int n = 0; n < part->order; ++n)
    PD_TRY(send_array(context, making, there->out[n], there->index[n], sizeof *there->out[n]));
  PD_TRY(
      send_array(context, making, there->out_values, there->values, pd_type_bytes(making->type)));
  part_there_release(context, there, there->out, &there->out_values);
  return POLYAD_OK;
}

/* ---- the member's tensor --------------------------------------------------------------------- */

static void bytes_of_bits(const polyad_context *context, const uint32_t *bits, uint64_t length,
                          unsigned char *has) {
  int threads = pd_threads_for(context, length, PD_PART_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < length; ++i)
    has[i] = bits[i / 32] >> i % 32 & 1;
}

polyad_status pd_part_there_mark(polyad_context *context, const struct pd_part_making *making,
                                 int mode, uint64_t first, uint64_t length, unsigned char *has) {
  const struct pd_part_there *there = making->there;
  uint32_t *bits = NULL;
  if (length == 0) return POLYAD_OK;
  PD_TRY(PD_NEW(context, (length + 31) / 32, &bits));
  polyad_status status = steps_of(there)->mark(context, there->request->device, there->index[mode],
                                               making->count, first, length, bits);
  if (status == POLYAD_OK) bytes_of_bits(context, bits, length, has);
  pd_free(context, bits);
  return status;
}

polyad_status pd_part_there_number(polyad_context *context, const struct pd_part_making *making,
                                   int mode, const uint64_t *local) {
  const struct pd_part_there *there = making->there;
  const uint64_t *cut = making->cut[mode] + making->place[mode];
  uint64_t length = cut[1] - cut[0];
  uint32_t *number = NULL;
  if (length == 0) return POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, length, &number));
  /* Indices that are rows here; nobody else's have a number. */
  const struct pd_part_mode *of = &making->part->mode[mode];
  const uint64_t rows = of->held[making->size];
  int threads = pd_threads_for(context, rows, PD_PART_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < rows; ++i)
    number[of->index[i] - cut[0]] = (uint32_t)local[of->index[i] - cut[0]];
  polyad_status status = steps_of(there)->renumber(
      context, there->request->device, there->index[mode], making->count, cut[0], length, number);
  pd_free(context, number);
  return status;
}

/* Sorts and merges this member's nonzeros. */
static polyad_status open_arrays(polyad_context *context, const struct pd_part_making *making,
                                 polyad_zeros zeros, struct pd_build **sent) {
  const struct pd_part_there *there = making->there;
  uint64_t dims[POLYAD_MAX_ORDER];
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = making->part->order;
  input.dims = dims;
  input.nnz = making->count;
  input.index_type = POLYAD_U32;
  input.value_type = input.type = making->type;
  input.values = there->values;
  input.value_stride = (int64_t)pd_type_bytes(making->type);
  input.zeros = zeros;
  for (int n = 0; n < input.order; ++n) {
    dims[n] = making->part->mode[n].rows;
    input.index[n] = there->index[n];
    input.index_stride[n] = sizeof *there->index[n];
  }
  return steps_of(there)->open_arrays(context, there->request->device, &input, sent);
}

polyad_status pd_part_there_tensor(polyad_context *context, struct pd_part_making *making,
                                   polyad_zeros zeros, polyad_tensor **local,
                                   struct pd_build **sent) {
  struct pd_part_there *there = making->there;
  struct pd_build_facts facts;
  polyad_status status = open_arrays(context, making, zeros, sent);
  part_there_release(context, there, there->index, &there->values);
  if (status == POLYAD_OK) status = steps_of(there)->facts(context, *sent, &facts);
  if (status == POLYAD_OK && facts.nnz == 0)
    status = pd_fail(context, POLYAD_MEMORY_LIMIT, "all values of this member are zero");
  PD_TRY(part_there_agree(context, making, status));
  PD_TRY(PD_NEW_ZERO(context, 1, local));
  polyad_tensor *shape = *local;
  *shape = (polyad_tensor){.context = context,
                           .order = making->part->order,
                           .nnz = facts.nnz,
                           .type = making->type,
                           .zeros = zeros,
                           .zeros_kept = zeros == POLYAD_ZEROS_KEEP ? facts.zeros : 0};
  for (int n = 0; n < shape->order; ++n) {
    shape->dims[n] = making->part->mode[n].rows;
    shape->index_bytes[n] = pd_index_bytes(shape->dims[n]);
  }
  return POLYAD_OK;
}
