#include "driver/driver.h"

static const struct {
  int code;
  const char *runtime, *driver, *text;
} rows[] = {
#define X(name, code, runtime, driver, text) {code, runtime, driver, text},
#include "driver/error.def"
#undef X
};

const char *driver_error_name(int code, bool runtime) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].code == code) return runtime ? rows[i].runtime : rows[i].driver;
  return NULL;
}

const char *driver_error_text(int code) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].code == code) return rows[i].text;
  return NULL;
}
