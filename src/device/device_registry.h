/* The devices of this machine: the CPU, and those that loaded modules brought. */
#ifndef PD_DEVICE_REGISTRY_H
#define PD_DEVICE_REGISTRY_H

#include "device/device.h"

/** What a module says of one device. */
struct pd_device_entry {
  const struct pd_device *device;
  polyad_device_description description;
};

/** Describes an open device. */
void pd_device_describe(const struct pd_device *device, polyad_device_description *about);

enum { PD_DEVICES_MOST = 16 };

/** The devices that the context chose, in order: at least one. */
struct pd_device_list {
  int count;
  const struct pd_device *device[PD_DEVICES_MOST];
};
/** Whether it chose more than one; opens nothing. */
bool pd_devices_are_several(const polyad_context *context);
polyad_status pd_device_list_of(polyad_context *context, struct pd_device_list *list);
bool pd_device_list_is_of_one_kind(const struct pd_device_list *list);

#endif
