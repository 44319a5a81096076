/* What a program compiled by nvcc registers before main: images, kernels, variables. An
 * image is loaded when one of its kernels or variables is first used. */
#ifndef PLUMB_DRIVER_REGISTRY_H
#define PLUMB_DRIVER_REGISTRY_H

#include "driver/driver.h"

typedef struct driver_binary driver_binary;

driver_binary *driver_binary_create(const void *image);
void driver_binary_destroy(driver_device *d, driver_binary *b);
void driver_binary_add_function(driver_binary *b, const void *host, const char *name);
/* `pointer`: where a managed variable's address goes when the image is loaded; else NULL. */
void driver_binary_add_variable(driver_binary *b, const void *host, const char *name,
                                size_t size_bytes, void **pointer);
/* Loads the image if need be; an error is remembered. */
int driver_binary_load(driver_device *d, driver_binary *b);
/* The handle that __cudaGetKernel gives for a host function; NULL if none is registered. */
void *driver_entry_handle(const void *host);
/* Drops what loaded images hold, so that they load afresh (cudaDeviceReset). */
void driver_registry_reset(driver_device *d);

#endif
