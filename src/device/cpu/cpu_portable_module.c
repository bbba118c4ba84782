/* The module with the CPU's compilation of the kernels that are written once: no device of its own,
 * but a table of functions for each instruction set. */
#include "core/isa.h"
#include "device/module.h"
#include "portable/portable.h"

static const struct pd_portable_cpu *const tables[] = PD_FOR_EACH_ISA(&pd_portable_cpu);

__attribute__((visibility("default"))) int pd_module_entry(const struct pd_services *services,
                                                           struct pd_module *module);

int pd_module_entry(const struct pd_services *services, struct pd_module *module) {
  if (services->interface != PD_MODULE_INTERFACE) return 1;
  *module = (struct pd_module){.interface = PD_MODULE_INTERFACE, .portable_cpu = tables};
  return 0;
}
