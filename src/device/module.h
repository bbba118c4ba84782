/* Modules: shared libraries beside libpolyad that bring devices, their dense algebra and their
 * kernels; or, as "portable", kernels for the CPU that few need. One build of polyad runs with or
 * without them.
 *
 * A module exports one function, `pd_module_entry`. It receives the core's services, so that no
 * internal symbol of libpolyad needs exporting, and fills in what it brings. It is called once,
 * and the module stays loaded.
 *
 * Loading a module and opening its devices are two steps. Loading touches no driver: it tells which
 * kernels this build has. Opening starts the driver, which may take long or end the process; it is
 * done when a device of that kind is asked for, never to find out about another kind. */
#ifndef PD_MODULE_H
#define PD_MODULE_H

#include "device/device.h"
#include "device/device_registry.h"
#include "device/team.h"

struct polyad_kernels;
struct pd_portable_cpu;
struct pd_mpi_module;

#define PD_MODULE_INTERFACE 22 /* changes whenever a struct in these contracts does */

/** What the core offers to modules. Same meaning as the functions of core.h. */
struct pd_services {
  int interface;
  polyad_status (*fail)(polyad_context *context, polyad_status status, const char *format, ...)
      PD_PRINTF(3, 4);
  void (*log)(polyad_context *context, polyad_log_level level, const char *format, ...)
      PD_PRINTF(3, 4);
  polyad_status (*alloc)(polyad_context *context, uint64_t count, size_t size, void **out);
  void (*free)(polyad_context *context, void *pointer);
  polyad_status (*memory_check)(polyad_context *context, uint64_t bytes, const char *what);
  const char *(*bytes_text)(char out[32], uint64_t bytes);
  uint64_t (*memory_limit)(const polyad_context *context); /* pd_memory_limit_of_devices() */
  int (*threads)(const polyad_context *context);
  int (*shown_mode)(const polyad_context *context, int mode);
  /** pd_team_gather_there(); pd_team_size(). */
  polyad_status (*team_gather)(polyad_context *context, polyad_team *team, const void *mine,
                               uint64_t bytes, void *all);
  int (*team_size)(const polyad_team *team);
  /** The CPU: a device without dense algebra of its own borrows the host's. */
  const struct pd_device *host_device;
};

#define PD_MODULE_DEVICES 16

/** What a module brings. */
struct pd_module {
  int interface; /* PD_MODULE_INTERFACE of its build; 0: it could not be loaded */
  int kernel_count;
  const struct polyad_kernels *const *kernels;
  /** The CPU's compilation of the portable kernels, a table for each instruction set (core/isa.h);
   *  NULL for modules that bring devices. */
  const struct pd_portable_cpu *const *portable_cpu;
  const struct pd_mpi_module *mpi; /* of a module for an MPI; else NULL */
  /** Starts the driver and fills in `devices`, or why_not. Called once. */
  void (*open)(struct pd_module *module);
  /** Ends what open() and the use of the devices have started in the driver; from then on they are
   * lost, and what was allocated there may be released. NULL: nothing takes long to end. */
  void (*close)(void);
  int device_count;
  struct pd_device_entry devices[PD_MODULE_DEVICES];
  char why_not[256]; /* why device_count is 0, or nothing could be loaded, in one line */
};

/** The one exported function of a module. Returns 0 when `module` is filled in. */
typedef int (*pd_module_entry_function)(const struct pd_services *services,
                                        struct pd_module *module);
#define PD_MODULE_ENTRY "pd_module_entry"

/** Device number `which` of all modules. Opens modules until it is found. */
bool pd_module_device_at(int which, struct pd_device_entry *entry);
/** The module for a kind of device, or "portable", loaded but not opened; NULL when polyad knows no
 *  such kind. */
const struct pd_module *pd_module_load(const char *kind);
/** The module for a kind of device, opened; NULL when polyad knows no such kind of device. */
const struct pd_module *pd_module_open(const char *kind);
/** Calls close() of those that were opened. */
void pd_modules_close(void);
/** The module for an MPI, "openmpi" or "mpich"; NULL, and why, when it is not there. */
const struct pd_mpi_module *pd_module_mpi(const char *name, const char **why_not);
/** Why there is no device of `kind`; "" when there is one. */
const char *pd_module_why_not(const char *kind);

/** src/device/cpu: describes the CPU. */
void pd_cpu_describe(polyad_device_description *about);

#endif
