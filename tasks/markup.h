/* Text that others wrote (paths, source lines, compilers' messages) inside XML, HTML and
 * JSON: whatever bytes it holds, the document stays well formed.
 *
 *     plumb_markup_append(out, trap->message);
 */
#ifndef PLUMB_TASKS_MARKUP_H
#define PLUMB_TASKS_MARKUP_H

#include "ir/base/arena.h"

/* Appends `text` (NULL: nothing) as content or attribute value of XML 1.0 and of HTML:
 * & < > " ' as entities, tab and line ends as character references. What XML 1.0 (2.2,
 * Char) forbids, other control characters and bytes that are not UTF-8 are shown as
 * \x1b or \u0085. */
void plumb_markup_append(plumb_text *out, const char *text);

/* `text` itself, or a copy in `arena` in which bytes that are not UTF-8 (RFC 3629) are
 * U+FFFD: JSON holds nothing else (RFC 8259, 8.1). NULL stays NULL. */
const char *plumb_utf8_clean(plumb_arena *arena, const char *text);

#endif
