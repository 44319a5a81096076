/* PLUMB_CLONES before a hot loop's function: one clone a vector extension, chosen when the
 * program is loaded. That is before a sanitizer's runtime is ready, so sanitized builds have
 * one clone. */
#ifndef PLUMB_IR_BASE_CLONES_H
#define PLUMB_IR_BASE_CLONES_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define PLUMB_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PLUMB_SANITIZED
#endif
#if defined(__x86_64__) && !defined(PLUMB_SANITIZED)
#define PLUMB_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLUMB_CLONES __attribute__((noinline))
#endif

#endif
