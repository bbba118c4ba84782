/* polyad devices: what this machine has. Each kind of device but the CPU is opened in a process of
 * its own, so that a driver that ends its process is only reported. */
#include "command.h"
#include "device_trial.h"
#include "json.h"
#include "session.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static const char *const kinds[] = {"cuda", "opencl"};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct devices {
  struct cli_session session;
  const char *kind; /* NULL: all */
};

static const struct cli_option option_table[] = {
    CLI_OPTION(struct devices, CHOICE, kind, "kind", "KIND",
               "devices of this kind only, opened by this process\nitself: cpu, cuda, opencl",
               .choices = "cpu cuda opencl"),
    CLI_TALK_OPTIONS(struct devices)};

static const struct cli_usage usage = {.command = "devices",
                                       .synopsis = "[options]",
                                       .summary =
                                           "Lists the devices that this build and machine can use.",
                                       CLI_OPTIONS(option_table),
                                       .inquires = true};

static cJSON *device_object(const polyad_device_description *about) {
  cJSON *item = cJSON_CreateObject();
  cli_json_text(item, "name", about->name);
  cli_json_text(item, "description", about->description);
  cli_json_count(item, "processors", (uint64_t)about->processors);
  cli_json_count(item, "memory_bytes", about->memory_bytes);
  cli_json_count(item, "cache_bytes", about->cache_bytes);
  cli_json_text(item, "capability", about->capability);
  return item;
}

/* The devices of a kind, opened here. */
static void add_opened(polyad_context *context, const char *kind, cJSON *list, cJSON *absent) {
  polyad_device_description about;
  bool is_cpu = strcmp(kind, "cpu") == 0;
  for (int k = 0; !is_cpu || k < 1; ++k) {
    char name[32];
    snprintf(name, sizeof name, is_cpu ? "%s" : "%s:%d", kind, k);
    if (polyad_device_describe_named(context, name, &about) != POLYAD_OK) break;
    cJSON_AddItemToArray(list, device_object(&about));
  }
  const char *why = polyad_device_why_not(context, kind);
  if (why[0] != '\0') cli_json_text(absent, kind, why);
}

/* Moves what a trial found into the lists. */
static void add_found(cJSON *found, cJSON *list, cJSON *absent) {
  cJSON *there = cJSON_GetObjectItem(found, "devices"), *item;
  while ((item = cJSON_DetachItemFromArray(there, 0)) != NULL)
    cJSON_AddItemToArray(list, item);
  const cJSON *reasons = cJSON_GetObjectItem(found, "absent");
  for (int k = 0; k < cJSON_GetArraySize(reasons); ++k) {
    const cJSON *reason = cJSON_GetArrayItem(reasons, k);
    cli_json_text(absent, reason->string, cJSON_GetStringValue(reason));
  }
  cJSON_Delete(found);
}

static void add_tried(polyad_context *context, cJSON *list, cJSON *absent) {
  struct cli_device_trial trial[KINDS];
  bool started[KINDS];
  char why[CLI_TRIAL_BYTES];
  for (int k = 0; k < KINDS; ++k)
    started[k] = cli_device_trial_start(&trial[k], kinds[k]);
  add_opened(context, "cpu", list, absent);
  for (int k = 0; k < KINDS; ++k) {
    cJSON *found = started[k] ? cli_device_trial_finish(&trial[k], why) : NULL;
    if (found != NULL)
      add_found(found, list, absent);
    else if (started[k])
      cli_json_text(absent, kinds[k], why);
    else
      add_opened(context, kinds[k], list, absent);
  }
}

static const char *text_of(const cJSON *item, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(item, name));
  return text == NULL ? "" : text;
}

/* Written here it is text, read from another process a number. */
static uint64_t number_of(const cJSON *item, const char *name) {
  const cJSON *number = cJSON_GetObjectItem(item, name);
  if (cJSON_IsRaw(number)) return strtoull(number->valuestring, NULL, 10);
  return cJSON_IsNumber(number) && number->valuedouble >= 0 ? (uint64_t)number->valuedouble : 0;
}

static void show_device(const cJSON *item) {
  char memory[32], cache[32];
  printf("%-8s %s: %d %s, %s of memory, %s of cache, %s\n", text_of(item, "name"),
         text_of(item, "description"), (int)number_of(item, "processors"),
         strcmp(text_of(item, "name"), "cpu") == 0 ? "processors" : "multiprocessors",
         cli_bytes(memory, number_of(item, "memory_bytes")),
         cli_bytes(cache, number_of(item, "cache_bytes")), text_of(item, "capability"));
}

static int list_devices(struct devices *devices) {
  polyad_context *context = devices->session.context;
  cJSON *object = cJSON_CreateObject(), *item;
  cJSON *list = cJSON_AddArrayToObject(object, "devices");
  cJSON *absent = cJSON_AddObjectToObject(object, "absent");
  if (devices->kind == NULL)
    add_tried(context, list, absent);
  else
    add_opened(context, devices->kind, list, absent);
  if (cli_shows_results(&devices->session, NULL)) {
    for (int k = 0; k < cJSON_GetArraySize(list); ++k)
      show_device(cJSON_GetArrayItem(list, k));
    cJSON_ArrayForEach(item, absent) {
      printf("no %s: %s\n", item->string, cJSON_GetStringValue(item));
    }
  }
  int status = cli_json_write(&devices->session, object);
  return status == 0 ? cli_finish_output() : status;
}

int cli_devices(int argc, char **argv) {
  struct devices devices = {.kind = NULL};
  cli_session_init(&devices.session);
  int first, status = cli_parse(&usage, argc, argv, &devices, &first);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  if (devices.kind != NULL) (void)prctl(PR_SET_DUMPABLE, 0); /* a driver's abort leaves no core */
  status = cli_session_open(&devices.session);
  const struct cli_output outputs[] = {{"--json", devices.session.json}};
  if (status == 0) status = cli_check_outputs(&devices.session, outputs, 1, NULL, 0);
  if (status == 0) status = list_devices(&devices);
  cli_session_close(&devices.session);
  return status;
}
