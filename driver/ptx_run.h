/* One kernel of a PTX text on the caller's own memory: the interface by which programs that
 * have no CUDA device call a PTX executor.
 *
 *     void *args[] = {x, y, (void *)(uintptr_t)n};
 *     ptx_run(text, 3, args, 256, 1, 1, blocks, 1, 1, 0);
 */
#ifndef PLUMB_DRIVER_PTX_RUN_H
#define PLUMB_DRIVER_PTX_RUN_H

#include <stddef.h>

/* Runs the first kernel of `src` with blocks of bx x by x bz threads on a grid of
 * gx x gy x gz, with `smem` bytes of dynamic shared memory. A text is decoded once.
 *
 * args[i] is the value of parameter i itself, of which a parameter of fewer bytes takes the
 * low ones. A parameter of 8 bytes whose value lies in memory that the kernel may reach is a
 * pointer. That is, first, what plumb_ptx_register names, to its exact end. Where a pointer
 * is in none of it, the interface does not say how long its memory is, and this reading is
 * taken: it reaches from the pointer to the end of the writable mapping that holds it and of
 * those that follow without a gap (/proc/self/maps), at most 4 GiB. An access past the caller's
 * buffer may then go unnoticed; one before it does not. Addresses inside of memory are not
 * followed.
 *
 * Returns 0, or the CUresult that the fault or failure would give (218 for bad PTX, 700 out
 * of bounds, ...), with the report on stderr. A fault does not outlast the call. */
int ptx_run(const char *src, int nargs, void **args, int bx, int by, int bz, int gx, int gy, int gz,
            int smem);

/* Makes [address, address + size_bytes) reachable until it is unregistered. 0, or 712 if
 * `address` is registered already, 713 if it is not. */
int plumb_ptx_register(void *address, size_t size_bytes);
int plumb_ptx_unregister(void *address);

#endif
