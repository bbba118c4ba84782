#include "device/device.h"
#include <stdatomic.h>

void pd_matrix_touch(struct pd_matrix *matrix) {
  static atomic_uint_fast64_t last;
  matrix->version = atomic_fetch_add(&last, 1) + 1;
}

static uint64_t matrix_bytes(const struct pd_matrix *matrix) {
  return matrix->rows * matrix->stride * pd_type_bytes(matrix->type);
}

polyad_status pd_matrix_create(polyad_context *context, const struct pd_device *device,
                               polyad_type type, uint64_t rows, uint64_t columns,
                               struct pd_matrix *matrix) {
  *matrix = (struct pd_matrix){
      .device = device, .type = type, .rows = rows, .columns = columns, .stride = columns};
  uint64_t count, bytes;
  if (!pd_mul(rows, columns, &count) || !pd_mul(count, pd_type_bytes(type), &bytes))
    return pd_fail(context, POLYAD_OVERFLOW, "a matrix of %llu x %llu is too large",
                   (unsigned long long)rows, (unsigned long long)columns);
  PD_TRY(device->functions->allocate(context, device, bytes, &matrix->data));
  return device->functions->fill_zero(context, device, matrix->data, bytes);
}

polyad_status pd_matrix_over_host(polyad_context *context, const struct pd_device *device,
                                  polyad_type type, uint64_t rows, uint64_t columns, void *host,
                                  struct pd_matrix *matrix) {
  if (!device->functions->host_memory) {
    PD_TRY(pd_matrix_create(context, device, type, rows, columns, matrix));
    return pd_matrix_from_host(context, matrix, host);
  }
  *matrix = (struct pd_matrix){.device = device,
                               .type = type,
                               .rows = rows,
                               .columns = columns,
                               .stride = columns,
                               .data = host,
                               .borrowed = true};
  return POLYAD_OK;
}

void pd_matrix_destroy(polyad_context *context, struct pd_matrix *matrix) {
  if (matrix->data != NULL && !matrix->borrowed)
    matrix->device->functions->release(context, matrix->device, matrix->data);
  *matrix = (struct pd_matrix){0};
}

polyad_status pd_matrix_from_host(polyad_context *context, struct pd_matrix *matrix,
                                  const void *host) {
  if (host == matrix->data) return POLYAD_OK;
  return matrix->device->functions->copy_in(context, matrix->device, matrix->data, host,
                                            matrix_bytes(matrix));
}

polyad_status pd_matrix_to_host(polyad_context *context, const struct pd_matrix *matrix,
                                void *host) {
  if (host == matrix->data) return POLYAD_OK;
  return matrix->device->functions->copy_out(context, matrix->device, host, matrix->data,
                                             matrix_bytes(matrix));
}

polyad_status pd_matrix_transfer(polyad_context *context, const struct pd_matrix *from, void *host,
                                 struct pd_matrix *to) {
  const struct pd_device_functions *functions = to->device->functions;
  if (functions->copy_peer != NULL && functions == from->device->functions)
    return functions->copy_peer(context, to->device, to->data, from->device, from->data,
                                matrix_bytes(from));
  PD_TRY(pd_matrix_to_host(context, from, host));
  return pd_matrix_from_host(context, to, host);
}
