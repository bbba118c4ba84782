/* The devices of this machine: the CPU, and those that loaded modules brought. */
#ifndef PD_DEVICE_REGISTRY_H
#define PD_DEVICE_REGISTRY_H

#include "device/device.h"

/** What a module says of one device. */
struct pd_device_entry {
  const struct pd_device *device;
  polyad_device_description description;
};

/** Fills `entry` for device `which` (0: the CPU); false when there is none. Opens kinds of devices
 *  until it is found. */
bool pd_device_entry_at(int which, struct pd_device_entry *entry);

/** Describes an open device. */
void pd_device_describe(const struct pd_device *device, polyad_device_description *about);

#endif
