/* Fat binaries: what nvcc embeds in a host program, several images of the same device
 * code for different architectures. Only images that hold PTX are of use here; machine
 * code is stepped over. Reading is bounded: no byte outside [data, data + size) is read.
 *
 *     if (plumb_fatbin_is(data, size))
 *       PLUMB_TRY(plumb_fatbin_ptx(arena, path, data, size, 0, &text, &length, diag));
 *
 * The format is not published. What is relied on, measured with nvcc 11 to 13:
 *   header   0xBA55ED50 (4), version (2), header size (2), bytes of entries (8)
 *   entry    kind (2), version (2), header size (4), padded payload size (8), compressed
 *            size (4), - (8), architecture (4), - (8), flags (8), - (8), uncompressed
 *            size (8); then the payload. All little-endian.
 */
#ifndef PLUMB_IR_PTX_FATBIN_H
#define PLUMB_IR_PTX_FATBIN_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/arena.h"

#define PLUMB_FATBIN_MAGIC 0xBA55ED50u
#define PLUMB_FATBIN_WRAPPER_MAGIC 0x466243B1u
#define PLUMB_FATBIN_HEADER_BYTES 16u

/* True if the bytes begin like a fat binary, or like an ELF file, which may hold one in
 * its section .nv_fatbin (an object or a program made by nvcc). */
bool plumb_fatbin_is(const void *data, size_t size);

/* Size of the fat binary whose first PLUMB_FATBIN_HEADER_BYTES bytes are at `header`;
 * 0 if it is none. For images in memory whose end is not known otherwise. */
size_t plumb_fatbin_size(const void *header);

/* The PTX text of the highest architecture, decompressed (LZ4, zstd), of at most
 * `max_arch` (80 is sm_80; 0: any). *out_text lives in `arena`, is terminated, and
 * *out_length excludes the terminator and padding. Several fat binaries in one ELF file
 * are several modules: they are refused, since a stage is one module.
 * PLUMB_BAD_INPUT    truncated, sizes that do not agree, damaged compressed data
 * PLUMB_UNSUPPORTED  no PTX for such an architecture, an unknown compression, or several
 *                    modules */
plumb_status plumb_fatbin_ptx(plumb_arena *arena, const char *path, const void *data, size_t size,
                              uint32_t max_arch, char **out_text, size_t *out_length,
                              plumb_diag *diag);

/* As plumb_fatbin_ptx, and the n-th best: 0 the highest architecture, then those below.
 * An image of a target with a suffix (sm_90a) is counted with its architecture; its text
 * says so. PLUMB_UNSUPPORTED past the last one. */
plumb_status plumb_fatbin_ptx_at(plumb_arena *arena, const char *path, const void *data,
                                 size_t size, uint32_t max_arch, size_t n, char **out_text,
                                 size_t *out_length, plumb_diag *diag);

#endif
