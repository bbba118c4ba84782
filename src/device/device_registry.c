#include "device/device_registry.h"
#include "core/context_internal.h"
#include "core/isa.h"
#include "device/module.h"
#include <stdio.h>
#include <string.h>

/* Fills `entry` for device `which` (0: the CPU); false when there is none. Opens kinds of devices
 * until it is found. */
static bool device_entry_at(int which, struct pd_device_entry *entry) {
  if (which < 0) return false;
  if (which == 0) {
    *entry = (struct pd_device_entry){.device = &pd_cpu_device};
    pd_cpu_describe(&entry->description);
    return true;
  }
  return pd_module_device_at(which - 1, entry);
}

/* Opens the kind of device that `name` says, and no other. */
static const struct pd_device *device_registry_find(const char *name) {
  char kind[32];
  if (strcmp(name, "cpu") == 0) return &pd_cpu_device;
  snprintf(kind, sizeof kind, "%.*s", (int)strcspn(name, ":"), name);
  const struct pd_module *module = pd_module_open(kind);
  for (int k = 0; module != NULL && k < module->device_count; ++k)
    if (strcmp(module->devices[k].device->name, name) == 0) return module->devices[k].device;
  return NULL;
}

/* Lets each of the devices that a context has chosen begin to become ready. */
static void begin_all(const char *names) {
  char copy[sizeof((polyad_context *)NULL)->device], *rest = NULL;
  snprintf(copy, sizeof copy, "%s", names);
  for (char *name = strtok_r(copy, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
    const struct pd_device *device = device_registry_find(name);
    if (device != NULL && device->functions->begin != NULL) device->functions->begin(device);
  }
}

void pd_device_describe(const struct pd_device *device, polyad_device_description *about) {
  *about = (polyad_device_description){.processors = 1};
  if (device == &pd_cpu_device) {
    pd_cpu_describe(about);
    return;
  }
  const struct pd_module *module = pd_module_open(device->kind);
  for (int k = 0; module != NULL && k < module->device_count; ++k)
    if (module->devices[k].device == device) *about = module->devices[k].description;
}

enum { NAME_BYTES = 32 };

/* "auto": the first GPU, else the CPU. Asks CUDA alone, whose driver answers with errors where
 * drivers of OpenCL have been seen to abort. */
static void device_registry_settle(polyad_context *context) {
  if (strcmp(context->device, "auto") != 0) return;
  bool gpu = device_registry_find("cuda:0") != NULL;
  snprintf(context->device, sizeof context->device, "%s", gpu ? "cuda:0" : "cpu");
  if (gpu) begin_all(context->device);
  if (!gpu)
    pd_log(context, POLYAD_LOG_INFO, "using the CPU: %s", polyad_device_why_not(context, "cuda"));
}

const char *polyad_device(polyad_context *context) {
  device_registry_settle(context);
  return context->device;
}

bool pd_devices_are_several(const polyad_context *context) {
  return strchr(context->device, ',') != NULL;
}

polyad_status pd_device_list_of(polyad_context *context, struct pd_device_list *list) {
  char names[sizeof context->device], *rest = NULL;
  *list = (struct pd_device_list){0};
  PD_TRY(pd_isa_check(context));
  device_registry_settle(context);
  snprintf(names, sizeof names, "%s", context->device);
  for (char *name = strtok_r(names, ",", &rest); name != NULL && list->count < PD_DEVICES_MOST;
       name = strtok_r(NULL, ",", &rest)) {
    list->device[list->count] = device_registry_find(name);
    if (list->device[list->count++] == NULL)
      return pd_fail(context, POLYAD_DEVICE, "device %s is not there any more", name);
  }
  return POLYAD_OK;
}

bool pd_device_list_is_of_one_kind(const struct pd_device_list *list) {
  for (int k = 1; k < list->count; ++k)
    if (strcmp(list->device[k]->kind, list->device[0]->kind) != 0) return false;
  return true;
}

polyad_status pd_device_of(polyad_context *context, const struct pd_device **device) {
  struct pd_device_list list;
  *device = NULL;
  PD_TRY(pd_device_list_of(context, &list));
  *device = list.device[0];
  return POLYAD_OK;
}

/* Whether `text` is "KIND" or "KIND:NUMBER"; *number gets the number (0 without one). */
static bool is_kind(const char *text, const char *kind, int *number) {
  size_t length = strlen(kind);
  if (strncmp(text, kind, length) != 0) return false;
  *number = 0;
  if (text[length] == '\0') return true;
  if (text[length] != ':') return false;
  const char *digits = text + length + 1;
  size_t count = strspn(digits, "0123456789");
  if (count < 1 || count > 4 || digits[count] != '\0') return false;
  for (size_t i = 0; i < count; ++i)
    *number = *number * 10 + (digits[i] - '0');
  return true;
}

/* The full name of a device that is there, from what the caller called it. */
static polyad_status device_registry_resolve(polyad_context *context, const char *device,
                                             char name[NAME_BYTES]) {
  static const char *const kinds[] = {"cuda", "opencl"};
  char quoted[PD_QUOTE_BYTES];
  int number = 0;
  snprintf(name, NAME_BYTES, "cpu");
  if (strcmp(device, "cpu") == 0) return POLYAD_OK;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    if (!is_kind(device, kinds[k], &number)) continue;
    snprintf(name, NAME_BYTES, "%s:%d", kinds[k], number);
    if (device_registry_find(name) != NULL) return POLYAD_OK;
    const char *why = polyad_device_why_not(context, kinds[k]);
    if (why[0] != '\0') return pd_fail(context, POLYAD_DEVICE, "%s", why);
    return pd_fail(context, POLYAD_DEVICE, "there is no device %s on this machine", name);
  }
  return pd_fail(
      context, POLYAD_INVALID_ARGUMENT,
      "device %s is unknown; expected auto, cpu, cuda, cuda:N, opencl, or several that share "
      "the work, such as cuda:all, cuda:0-3 or cuda,cpu",
      pd_quote(quoted, device, strlen(device)));
}

/* Adds a name to a list with commas between. */
static polyad_status add_name(polyad_context *context, const char *name, char *names, int *count) {
  size_t used = strlen(names);
  PD_EXPECT(context, *count != PD_DEVICES_MOST,
            "more than %d devices are named; expected at most as many", PD_DEVICES_MOST);
  snprintf(names + used, sizeof context->device - used, "%s%s", *count > 0 ? "," : "", name);
  ++*count;
  return POLYAD_OK;
}

/* "cuda:FIRST-LAST", a range of devices. */
static bool is_range(const char *text, int *first, int *last) {
  int used = 0;
  return sscanf(text, "cuda:%4d-%4d%n", first, last, &used) == 2 && text[used] == '\0' &&
         *first >= 0 && *last >= *first;
}

/* One item of a list: a device, a range of CUDA's, or all of CUDA's. */
static polyad_status add_item(polyad_context *context, const char *item, char *names, int *count) {
  char name[NAME_BYTES];
  int first = 0, last = 0;
  bool all = strcmp(item, "cuda:all") == 0;
  if (!all && !is_range(item, &first, &last)) {
    PD_TRY(device_registry_resolve(context, item, name));
    return add_name(context, name, names, count);
  }
  for (int k = first; all || k <= last; ++k) {
    char number[NAME_BYTES];
    snprintf(number, sizeof number, "cuda:%d", k);
    if (all && k > 0 && device_registry_find(number) == NULL) break;
    PD_TRY(device_registry_resolve(context, number, name));
    PD_TRY(add_name(context, name, names, count));
  }
  return POLYAD_OK;
}

static polyad_status add_items(polyad_context *context, const char *devices, char *names) {
  int count = 0;
  for (const char *item = devices;;) {
    char one[PD_QUOTE_BYTES];
    size_t length = strcspn(item, ",");
    snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one), item);
    PD_TRY(add_item(context, one, names, &count));
    if (item[length] == '\0') return POLYAD_OK;
    item += length + 1;
  }
}

polyad_status polyad_set_device(polyad_context *context, const char *device) {
  PD_ENTER(context);
  char names[sizeof context->device] = "";
  PD_TRY(pd_isa_check(context));
  PD_EXPECT(context, device != NULL, "the device is NULL");
  if (strcmp(device, "auto") == 0) /* settled when it is needed */
    snprintf(names, sizeof names, "auto");
  else
    PD_TRY(add_items(context, device, names));
  memcpy(context->device, names, sizeof names);
  if (strcmp(names, "auto") != 0) begin_all(names);
  return POLYAD_OK;
}

int polyad_device_count(polyad_context *context) {
  (void)context;
  struct pd_device_entry entry;
  int count = 0;
  while (device_entry_at(count, &entry))
    ++count;
  return count;
}

polyad_status polyad_device_describe(polyad_context *context, int which,
                                     polyad_device_description *about) {
  PD_ENTER(context);
  struct pd_device_entry entry;
  PD_TRY(pd_isa_check(context));
  PD_EXPECT(context, about != NULL && device_entry_at(which, &entry),
            "there is no device number %d", which);
  *about = entry.description;
  return POLYAD_OK;
}

polyad_status polyad_device_describe_named(polyad_context *context, const char *name,
                                           polyad_device_description *about) {
  pd_begin(context);
  char full[NAME_BYTES];
  PD_TRY(pd_isa_check(context));
  PD_EXPECT(context, name != NULL && about != NULL, "the name or the description is NULL");
  PD_TRY(device_registry_resolve(context, name, full));
  pd_device_describe(device_registry_find(full), about);
  return POLYAD_OK;
}

polyad_status polyad_device_memory(polyad_context *context, const char *name, uint64_t *in_use,
                                   uint64_t *peak) {
  PD_ENTER(context);
  char full[NAME_BYTES];
  uint64_t now = 0, most = 0;
  PD_EXPECT(context, name != NULL, "the name is NULL");
  PD_TRY(device_registry_resolve(context, name, full));
  const struct pd_device *device = device_registry_find(full);
  if (device->functions->memory_used != NULL) device->functions->memory_used(device, &now, &most);
  if (in_use != NULL) *in_use = now;
  if (peak != NULL) *peak = most;
  return POLYAD_OK;
}

void polyad_devices_close(void) { pd_modules_close(); }

const char *polyad_device_why_not(polyad_context *context, const char *kind) {
  (void)context;
  return kind == NULL || strcmp(kind, "cpu") == 0 ? "" : pd_module_why_not(kind);
}
