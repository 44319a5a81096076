/* What the files of the driver API share. */
#ifndef PLUMB_DRIVER_CU_H
#define PLUMB_DRIVER_CU_H

#include "driver/driver.h"

/* A code as CUresult: where only the runtime has a code, the driver's nearest. */
int cu_done(int error);

/* Takes the lock; NOT_INITIALIZED before cuInit; after a fault every call returns its code. */
#define CU_CALL \
  DRIVER_CALL; \
  do { \
    int fault_ = cu_begin(device); \
    if (fault_) return fault_; \
  } while (0)
int cu_begin(driver_device *d);

/* `extra` of a launch: pairs of a marker and a pointer (CU_LAUNCH_PARAM_*). */
bool cu_read_extra(void **extra, const void **out_buffer, size_t *out_bytes);
/* The copy that a CUDA_MEMCPY3D asks for. */
int cu_copy_of(const abi_cu_memcpy3d *p, driver_copy *out);

/* The second name that a program compiled with --default-stream per-thread uses. */
#define PER_THREAD(name, suffix) EXPORT __typeof__(name) name##suffix __attribute__((alias(#name)))

/* The name as it was before CUDA 3.2, whose addresses had 32 bits. */
#define FIRST_NAME(name) EXPORT __typeof__(name##_v2) name __attribute__((alias(#name "_v2")))

#endif
