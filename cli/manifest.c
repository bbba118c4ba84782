#include "manifest.h"
#include "parsed.h"
#include <stdio.h>
#include <unistd.h>

/* Hashes have more bits than JSON's numbers. */
static void put_hash(cJSON *object, const char *key, uint64_t hash) {
  char text[24];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  cli_json_text(object, key, text);
}

static void put_device(cJSON *object, const struct cli_session *session, const char *device) {
  polyad_device_description about;
  bool known = polyad_device_describe_named(session->context, device, &about) == POLYAD_OK;
  cli_json_text(object, "device_name", known ? about.description : device);
  cli_json_text(object, "capability", known ? about.capability : "");
}

void cli_json_manifest(cJSON *object, const struct cli_session *session,
                       const struct cli_run *run) {
  char directory[4096];
  cJSON *o = cJSON_AddObjectToObject(object, "manifest");
  cli_json_text(o, "version", polyad_version());
  cli_json_text(o, "command", run->command);
  cJSON *arguments = cJSON_AddArrayToObject(o, "arguments");
  for (size_t k = 0; k < cli_parsed_count(); ++k) {
    cJSON *holder = cJSON_CreateObject();
    cli_json_text(holder, "word", cli_parsed_word(k));
    cJSON_AddItemToArray(arguments, cJSON_DetachItemFromObject(holder, "word"));
    cJSON_Delete(holder);
  }
  cli_json_text(o, "directory", getcwd(directory, sizeof directory));
  cli_json_count(o, "threads", (uint64_t)polyad_threads(session->context));
  put_hash(o, "tensor_hash", run->tensor_hash);
  put_hash(o, "model_hash", run->model_hash);
  put_device(o, session, polyad_plan_device(run->plan));
}
