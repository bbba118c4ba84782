/* Reading and writing models: the first bytes of a file, or the extension of a name, decide which
 * file format does it. */
#include "io/atomic_file.h"
#include "io/formats.h"
#include "io/labels_path.h"
#include "tensor/ktensor.h"
#include "tensor/tensor.h"
#include "tensor/ttensor.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOP = 10 }; /* strongest rows that a directory lists where nobody says how many */

/* ---- reading ----------------------------------------------------------------------------------
 */

polyad_status pd_model_make(polyad_context *context, int order, const uint64_t *dims,
                            const uint64_t *ranks, struct pd_model_read *model,
                            struct pd_model *arrays) {
  if (model->wanted == POLYAD_CONTENTS_KTENSOR) {
    PD_TRY(polyad_ktensor_create(context, order, dims, ranks[0], model->type, &model->ktensor));
    *arrays = pd_model_of_ktensor(model->ktensor);
  } else {
    PD_TRY(polyad_ttensor_create(context, order, dims, ranks, model->type, &model->ttensor));
    *arrays = pd_model_of_ttensor(model->ttensor);
  }
  return POLYAD_OK;
}

polyad_status pd_model_make_outline(polyad_context *context, int order, const uint64_t *dims,
                                    struct pd_model_read *model) {
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  input.order = order;
  input.dims = dims;
  input.type = input.value_type = model->type;
  return polyad_tensor_create(context, &input, &model->outline);
}

polyad_status pd_model_fail_kind(polyad_context *context, const char *path,
                                 const struct pd_model_read *model) {
  static const char *const kind[] = {"CP model (ktensor)", "Tucker model (ttensor)"};
  bool tucker = model->wanted == POLYAD_CONTENTS_TTENSOR;
  return pd_fail_at(context, POLYAD_PARSE, path, 0, 0, "a %s; expected a %s", kind[!tucker],
                    kind[tucker]);
}

static polyad_status read_model(polyad_context *context, const char *path,
                                struct pd_model_read *model) {
  struct pd_input *input = NULL;
  PD_TRY(pd_input_open(context, path, &input));
  const struct pd_file_format *format = pd_file_format_recognise(input);
  const struct pd_file_format *named = pd_file_format_by_name(path, model->wanted);
  if (format == NULL && named != NULL && named->read_model == NULL) {
    pd_input_close(input);
    return pd_fail_at(context, POLYAD_UNSUPPORTED, path, 0, 0,
                      "models of format %s are written for other programs, and not read; expected "
                      ".ptm, .npz or Tensor Toolbox text",
                      named->name);
  }
  /* What no format recognises is text that begins wrongly: its reader says what it expects. */
  if (format == NULL) format = pd_file_format_numbered(POLYAD_FILE_TOOLBOX);
  polyad_status status =
      format->read_model != NULL
          ? format->read_model(context, input, model)
          : pd_fail_at(context, POLYAD_PARSE, path, 0, 0,
                       "this is a file of format %s; expected a model", format->name);
  pd_input_close(input);
  return status;
}

/* Names and labels that lie beside a file which has none inside. */
static polyad_status find_labels(polyad_context *context, const char *path,
                                 struct pd_model_read *model) {
  char directory[PD_LABELS_PATH_BYTES];
  struct stat about;
  if (model->outline != NULL || strcmp(path, "-") == 0 ||
      !pd_labels_model_directory(directory, path) || stat(directory, &about) != 0 ||
      !S_ISDIR(about.st_mode))
    return POLYAD_OK;
  struct pd_model arrays = model->ktensor != NULL ? pd_model_of_ktensor(model->ktensor)
                                                  : pd_model_of_ttensor(model->ttensor);
  PD_TRY(pd_model_make_outline(context, arrays.order, arrays.dims, model));
  PD_TRY(pd_labels_attach_model(context, directory, model->outline));
  bool labelled = false;
  for (int n = 0; n < arrays.order; ++n)
    labelled = labelled || model->outline->labels[n].count > 0;
  if (labelled) return POLYAD_OK;
  polyad_tensor_destroy(model->outline);
  model->outline = NULL;
  return POLYAD_OK;
}

static void model_file_clear(struct pd_model_read *model) {
  polyad_ktensor_destroy(model->ktensor);
  polyad_ttensor_destroy(model->ttensor);
  polyad_tensor_destroy(model->outline);
}

/* Reads into the places that are not NULL. */
static polyad_status read_checked(polyad_context *context, const char *path, polyad_type type,
                                  polyad_ktensor **ktensor, polyad_ttensor **ttensor,
                                  polyad_tensor **outline) {
  PD_ENTER(context);
  if (ktensor != NULL) *ktensor = NULL;
  if (ttensor != NULL) *ttensor = NULL;
  if (outline != NULL) *outline = NULL;
  if (path == NULL || (ktensor == NULL && ttensor == NULL) ||
      (type != POLYAD_F32 && type != POLYAD_F64))
    return pd_fail(context, POLYAD_INVALID_ARGUMENT,
                   "path or model is NULL, or the type is unknown");
  struct pd_model_read model = {
      .wanted = ktensor != NULL ? POLYAD_CONTENTS_KTENSOR : POLYAD_CONTENTS_TTENSOR, .type = type};
  polyad_status status = read_model(context, path, &model);
  if (status == POLYAD_OK && outline != NULL) status = find_labels(context, path, &model);
  if (status == POLYAD_OK && ktensor != NULL) {
    *ktensor = model.ktensor;
    model.ktensor = NULL;
  }
  if (status == POLYAD_OK && ttensor != NULL) {
    *ttensor = model.ttensor;
    model.ttensor = NULL;
  }
  if (status == POLYAD_OK && outline != NULL) {
    *outline = model.outline;
    model.outline = NULL;
  }
  model_file_clear(&model);
  return status;
}

polyad_status polyad_ktensor_read(polyad_context *context, const char *path, polyad_type type,
                                  polyad_ktensor **ktensor) {
  return read_checked(context, path, type, ktensor, NULL, NULL);
}

polyad_status polyad_ktensor_read_labelled(polyad_context *context, const char *path,
                                           polyad_type type, polyad_ktensor **ktensor,
                                           polyad_tensor **outline) {
  return read_checked(context, path, type, ktensor, NULL, outline);
}

polyad_status polyad_ttensor_read(polyad_context *context, const char *path, polyad_type type,
                                  polyad_ttensor **ttensor) {
  return read_checked(context, path, type, NULL, ttensor, NULL);
}

polyad_status polyad_ttensor_read_labelled(polyad_context *context, const char *path,
                                           polyad_type type, polyad_ttensor **ttensor,
                                           polyad_tensor **outline) {
  return read_checked(context, path, type, NULL, ttensor, outline);
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* A regular file, there or to be made; no device and no pipe. */
static bool may_have_labels_beside(const char *path) {
  struct stat about;
  return strcmp(path, "-") != 0 && (stat(path, &about) != 0 || S_ISREG(about.st_mode));
}

/* Where no file stands yet the labels come first: who ends the process in between leaves no model
 * without them. */
static polyad_status write_behind_labels(polyad_context *context, const struct pd_model *model,
                                         const struct pd_file_format *format, const char *path) {
  PD_TRY(pd_output_probe(context, path));
  polyad_status status = pd_labels_write_model(context, model->order, model->outline, path);
  if (status == POLYAD_OK) status = format->write_model(context, model, path);
  if (status != POLYAD_OK) (void)pd_labels_write_model(context, model->order, NULL, path);
  return status;
}

/* A file that stands there keeps its labels until it is replaced. */
static polyad_status write_before_labels(polyad_context *context, const struct pd_model *model,
                                         const struct pd_file_format *format, const char *path,
                                         bool beside) {
  PD_TRY(format->write_model(context, model, path));
  return beside ? pd_labels_write_model(context, model->order, model->outline, path) : POLYAD_OK;
}

/* Into a file of the format that the name asks for, where none is given. A model of order 0 is
 * missing. */
static polyad_status write_model(polyad_context *context, struct pd_model model,
                                 const polyad_tensor *outline, int top,
                                 const struct pd_file_format *format, const char *path) {
  polyad_file_contents contents = model.tucker ? POLYAD_CONTENTS_TTENSOR : POLYAD_CONTENTS_KTENSOR;
  PD_ENTER(context);
  PD_EXPECT(context, model.order != 0 && path != NULL,
            "model or path is missing (NULL); expected both");
  if (outline != NULL &&
      (outline->order != model.order ||
       memcmp(outline->dims, model.dims, (size_t)model.order * sizeof *model.dims) != 0))
    return pd_fail(context, POLYAD_MISMATCH, "model and tensor differ in their dims");
  if (format == NULL) format = pd_file_format_to_write(path, contents);
  if (format == NULL) return pd_file_format_fail(context, path, contents);
  model.outline = outline;
  model.top = top;
  bool beside = format->number == POLYAD_FILE_TOOLBOX && may_have_labels_beside(path);
  return beside && outline != NULL && access(path, F_OK) != 0
             ? write_behind_labels(context, &model, format, path)
             : write_before_labels(context, &model, format, path, beside);
}

polyad_status polyad_ktensor_write_labelled(polyad_context *context, const polyad_ktensor *ktensor,
                                            const polyad_tensor *tensor, const char *path) {
  return write_model(context, pd_model_of_ktensor(ktensor), tensor, TOP, NULL, path);
}

polyad_status polyad_ktensor_write(polyad_context *context, const polyad_ktensor *ktensor,
                                   const char *path) {
  return polyad_ktensor_write_labelled(context, ktensor, NULL, path);
}

polyad_status polyad_ktensor_write_directory(polyad_context *context, const polyad_ktensor *ktensor,
                                             const polyad_tensor *tensor, int top,
                                             const char *path) {
  return write_model(context, pd_model_of_ktensor(ktensor), tensor, top,
                     pd_file_format_numbered(POLYAD_FILE_DIRECTORY), path);
}

polyad_status polyad_ttensor_write_labelled(polyad_context *context, const polyad_ttensor *ttensor,
                                            const polyad_tensor *tensor, const char *path) {
  return write_model(context, pd_model_of_ttensor(ttensor), tensor, TOP, NULL, path);
}

polyad_status polyad_ttensor_write(polyad_context *context, const polyad_ttensor *ttensor,
                                   const char *path) {
  return polyad_ttensor_write_labelled(context, ttensor, NULL, path);
}

polyad_status polyad_ttensor_write_directory(polyad_context *context, const polyad_ttensor *ttensor,
                                             const polyad_tensor *tensor, int top,
                                             const char *path) {
  return write_model(context, pd_model_of_ttensor(ttensor), tensor, top,
                     pd_file_format_numbered(POLYAD_FILE_DIRECTORY), path);
}
