/* A device with memory of its own for tests: its memory is counted apart from the context's, kept
 * within the context's limit, and can be made to fail; its kernels and its dense algebra are the
 * CPU's, but residuals are summed from lists, as GPUs do. What is fed to it has to stay as it is
 * until it has been waited for. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "linalg/linalg.h"

const struct pd_device *fake_device(void);

/* Bytes in use, and the most since the last call. */
uint64_t fake_device_used(void);
uint64_t fake_device_peak(void);
/* The allocation of this number (from 1) fails from now on; 0: none does. Returns how many there
 * were since the last call. */
long fake_device_fail(long which);

/** How it solves rows by PDNR and PQNR; NULL: it does not. At first host_newton.h. */
void fake_device_newton(const struct pd_newton *rows);

/** Whether it builds storages; it does at first. */
void fake_device_builds(bool builds);

#endif
