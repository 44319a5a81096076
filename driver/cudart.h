/* What the files of the runtime API share: the calling thread's last error. */
#ifndef PLUMB_DRIVER_CUDART_H
#define PLUMB_DRIVER_CUDART_H

#include "driver/driver.h"

/* Keeps an error for cudaGetLastError (NOT_READY is no error) and returns it. */
int cudart_done(int error);

/* The calling thread's last error. */
int *cudart_last(void);

/* Takes the lock; after a fault every call returns its code. */
#define RUNTIME_CALL \
  DRIVER_CALL; \
  do { \
    int fault_ = driver_fault(device); \
    if (fault_) return cudart_done(fault_); \
  } while (0)

/* The second name that a program compiled with --default-stream per-thread uses. */
#define PER_THREAD(name, suffix) EXPORT __typeof__(name) name##suffix __attribute__((alias(#name)))

#endif
