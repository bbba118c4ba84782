/* Matrices in the memory of a device, and their way to the host, from it, and to another device. */
#include "device/device.h"
#include <stdatomic.h>

void pd_matrix_touch(struct pd_matrix *matrix) {
  static atomic_uint_fast64_t last;
  matrix->version = atomic_fetch_add(&last, 1) + 1;
}

/* Bytes of the host's array. */
static uint64_t matrix_bytes(const struct pd_matrix *matrix) {
  return matrix->rows * matrix->columns * pd_type_bytes(matrix->type);
}

static polyad_status matrix_allocate(polyad_context *context, const struct pd_device *device,
                                     polyad_type type, uint64_t rows, uint64_t columns,
                                     uint64_t stride, struct pd_matrix *matrix) {
  *matrix = (struct pd_matrix){
      .device = device, .type = type, .rows = rows, .columns = columns, .stride = stride};
  uint64_t count, bytes;
  if (!pd_mul(rows, stride, &count) || !pd_mul(count, pd_type_bytes(type), &bytes))
    return pd_fail(context, POLYAD_OVERFLOW, "a matrix of %llu x %llu is too large",
                   (unsigned long long)rows, (unsigned long long)columns);
  PD_TRY(device->functions->allocate(context, device, bytes, &matrix->data));
  return device->functions->fill_zero(context, device, matrix->data, bytes);
}

polyad_status pd_matrix_create(polyad_context *context, const struct pd_device *device,
                               polyad_type type, uint64_t rows, uint64_t columns,
                               struct pd_matrix *matrix) {
  return matrix_allocate(context, device, type, rows, columns, columns, matrix);
}

uint64_t pd_factor_stride(const struct pd_device *device, polyad_type type, uint64_t columns) {
  return device->functions->wide_rows ? pd_wide_stride(type, columns) : columns;
}

polyad_status pd_factor_create(polyad_context *context, const struct pd_device *device,
                               polyad_type type, uint64_t rows, uint64_t columns,
                               struct pd_matrix *matrix) {
  return matrix_allocate(context, device, type, rows, columns,
                         pd_factor_stride(device, type, columns), matrix);
}

polyad_status pd_matrix_over_host(polyad_context *context, const struct pd_device *device,
                                  polyad_type type, uint64_t rows, uint64_t columns, void *host,
                                  struct pd_matrix *matrix) {
  if (!device->functions->host_memory)
    return pd_factor_create(context, device, type, rows, columns, matrix);
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

/* ---- to and from the host ---------------------------------------------------------------------
 */

enum { ROOM_BYTES = 64 << 20 };

/* Rows that the room has place for. */
static uint64_t room_rows(uint64_t rows, uint64_t row_bytes) {
  uint64_t most = ROOM_BYTES / row_bytes + 1;
  return most < rows ? most : rows;
}

uint64_t pd_factor_copy_bytes(const struct pd_device *device, polyad_type type, uint64_t rows,
                              uint64_t columns) {
  if (pd_factor_stride(device, type, columns) == columns) return 0;
  return room_rows(rows, columns * pd_type_bytes(type)) * columns * pd_type_bytes(type);
}

/* The rows of a matrix that lie apart, `in` from the host or `out` to it, by way of a room on the
 * device where they follow each other: as many at a time as fit into it. */
static polyad_status copy_rows(polyad_context *context, const struct pd_matrix *matrix,
                               const char *in, char *out) {
  const struct pd_device *device = matrix->device;
  const struct pd_device_functions *functions = device->functions;
  uint64_t item = pd_type_bytes(matrix->type), row = matrix->columns * item;
  uint64_t step = matrix->stride * item, most = room_rows(matrix->rows, row);
  polyad_status status = POLYAD_OK;
  void *room = NULL;
  if (most == 0) return POLYAD_OK;
  PD_TRY(functions->allocate(context, device, most * row, &room));
  for (uint64_t first = 0; first < matrix->rows && status == POLYAD_OK; first += most) {
    uint64_t count = matrix->rows - first < most ? matrix->rows - first : most;
    char *there = (char *)matrix->data + first * step;
    if (in != NULL) {
      PD_TRY_CLEANUP(functions->copy_in(context, device, room, in + first * row, count * row));
      status = functions->copy_pieces(context, device, there, step, room, row, row, count);
    } else {
      PD_TRY_CLEANUP(functions->copy_pieces(context, device, room, row, there, step, row, count));
      status = functions->copy_out(context, device, out + first * row, room, count * row);
    }
  }
cleanup:
  functions->release(context, device, room);
  return status;
}

polyad_status pd_matrix_from_host(polyad_context *context, struct pd_matrix *matrix,
                                  const void *host) {
  if (host == matrix->data) return POLYAD_OK;
  if (matrix->stride != matrix->columns) return copy_rows(context, matrix, host, NULL);
  return matrix->device->functions->copy_in(context, matrix->device, matrix->data, host,
                                            matrix_bytes(matrix));
}

polyad_status pd_matrix_to_host(polyad_context *context, const struct pd_matrix *matrix,
                                void *host) {
  if (host == matrix->data) return POLYAD_OK;
  if (matrix->stride != matrix->columns) return copy_rows(context, matrix, NULL, host);
  return matrix->device->functions->copy_out(context, matrix->device, host, matrix->data,
                                             matrix_bytes(matrix));
}
