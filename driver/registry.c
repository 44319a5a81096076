#include "driver/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  driver_binary *binary;
  const void *host;
  const char *name;
  driver_function *function;
} entry;

typedef struct variable {
  driver_binary *binary;
  const void *host;
  const char *name;
  size_t size_bytes;
  void **pointer;
} variable;

struct driver_binary {
  const void *image;
  driver_module *module;
  int error;
  entry **entries;
  size_t entry_count, entry_capacity;
  variable **variables;
  size_t variable_count, variable_capacity;
  driver_binary *next;
};

static driver_binary *binaries;

static void *grown(void *array, size_t *capacity, size_t needed, size_t element_bytes) {
  if (needed <= *capacity) return array;
  *capacity = *capacity ? *capacity * 2 : 16;
  array = realloc(array, *capacity * element_bytes);
  if (!array) abort(); /* as an arena: exhausted memory ends the process */
  return array;
}

driver_binary *driver_binary_create(const void *image) {
  driver_binary *b = calloc(1, sizeof *b);
  if (!b) abort();
  b->image = image;
  b->next = binaries;
  binaries = b;
  return b;
}

void driver_binary_destroy(driver_device *d, driver_binary *b) {
  for (driver_binary **at = &binaries; *at; at = &(*at)->next)
    if (*at == b) {
      *at = b->next;
      break;
    }
  for (size_t i = 0; i < b->entry_count; i++) {
    driver_handle_drop(b->entries[i]->host);
    driver_handle_drop(b->entries[i]);
    free(b->entries[i]);
  }
  for (size_t i = 0; i < b->variable_count; i++) {
    driver_handle_drop(b->variables[i]->host);
    free(b->variables[i]);
  }
  if (b->module) driver_module_unload(d, b->module);
  free(b->entries);
  free(b->variables);
  free(b);
}

void driver_binary_add_function(driver_binary *b, const void *host, const char *name) {
  entry *e = calloc(1, sizeof *e);
  if (!e) abort();
  *e = (entry){.binary = b, .host = host, .name = name};
  b->entries = grown(b->entries, &b->entry_capacity, b->entry_count + 1, sizeof *b->entries);
  b->entries[b->entry_count++] = e;
  driver_handle_put(host, DRIVER_KIND_ENTRY, e);
  driver_handle_put(e, DRIVER_KIND_ENTRY, e);
}

void driver_binary_add_variable(driver_binary *b, const void *host, const char *name,
                                size_t size_bytes, void **pointer) {
  variable *v = calloc(1, sizeof *v);
  if (!v) abort();
  *v = (variable){
      .binary = b, .host = host, .name = name, .size_bytes = size_bytes, .pointer = pointer};
  b->variables =
      grown(b->variables, &b->variable_capacity, b->variable_count + 1, sizeof *b->variables);
  b->variables[b->variable_count++] = v;
  driver_handle_put(host, DRIVER_KIND_VARIABLE, v);
}

int driver_binary_load(driver_device *d, driver_binary *b) {
  if (b->module || b->error) return b->error;
  const char **twins = calloc(b->variable_count + 1, sizeof *twins);
  if (!twins) abort();
  size_t twin_count = 0;
  for (size_t i = 0; i < b->variable_count; i++)
    if (b->variables[i]->pointer) twins[twin_count++] = b->variables[i]->name;
  plumb_diag diag = {0};
  b->error = driver_module_load(d, b->image, twins, twin_count, &b->module, &diag);
  free(twins);
  if (b->error) {
    char sentence[1400];
    plumb_diag_format(&diag, sentence, sizeof sentence);
    fprintf(stderr, "plumb: a module of the program does not load: %s\n", sentence);
    return b->error;
  }
  for (size_t i = 0; i < b->variable_count; i++) {
    uint64_t size, address;
    const variable *v = b->variables[i];
    if (!v->pointer) continue;
    address = driver_module_variable(d, b->module, v->name, &size);
    if (address) *v->pointer = (void *)(uintptr_t)address;
  }
  return DRIVER_OK;
}

void *driver_entry_handle(const void *host) {
  return driver_handle_get(host, DRIVER_KIND_ENTRY);
}

int driver_function_of(driver_device *d, const void *handle, driver_function **out) {
  *out = driver_handle_get(handle, DRIVER_KIND_FUNCTION);
  if (*out) return DRIVER_OK;
  entry *e = driver_handle_get(handle, DRIVER_KIND_ENTRY);
  if (!e) return DRIVER_INVALID_FUNCTION;
  if (!e->function) {
    DRIVER_TRY(driver_binary_load(d, e->binary));
    e->function = driver_module_function(e->binary->module, e->name);
  }
  *out = e->function;
  return e->function ? DRIVER_OK : DRIVER_INVALID_FUNCTION;
}

int driver_symbol_of(driver_device *d, const void *symbol, uint64_t *out_address,
                     uint64_t *out_size_bytes) {
  const variable *v = driver_handle_get(symbol, DRIVER_KIND_VARIABLE);
  if (!v) return DRIVER_INVALID_SYMBOL;
  DRIVER_TRY(driver_binary_load(d, v->binary));
  *out_address = driver_module_variable(d, v->binary->module, v->name, out_size_bytes);
  return *out_address ? DRIVER_OK : DRIVER_INVALID_SYMBOL;
}

void driver_registry_reset(driver_device *d) {
  for (driver_binary *b = binaries; b; b = b->next) {
    for (size_t i = 0; i < b->entry_count; i++) b->entries[i]->function = NULL;
    if (b->module) driver_module_unload(d, b->module);
    b->module = NULL;
    b->error = DRIVER_OK;
  }
}
