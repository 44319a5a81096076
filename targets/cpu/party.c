/* Who, and when, behind tags that say several (see race.h). A consumer warp that reads and
 * arrives at an mbarrier, and a producer that waits for all such arrivals, are in order,
 * though lanes of the block that never read have told the producer nothing. */
#include <stdlib.h>

#include "targets/cpu/race.h"

static plumb_party *with_room(plumb_party *party) {
  uint32_t capacity = party ? party->capacity * 2 : 2;
  if (party && party->count < party->capacity) return party;
  plumb_party *grown = realloc(party, sizeof *grown + capacity * sizeof grown->parts[0]);
  if (!grown) abort();
  if (!party) grown->count = 0;
  grown->capacity = capacity;
  return grown;
}

/* The last access of `who` is at `time`: forgets an earlier one, and all before `floor`. */
static plumb_party *join(plumb_party *party, uint32_t who, uint32_t time, uint32_t floor) {
  uint32_t group = who / 32, bit = 1u << who % 32, kept = 0;
  struct plumb_party_part *same = NULL;
  for (uint32_t i = 0; party && i < party->count; i++) {
    struct plumb_party_part part = party->parts[i];
    if (part.group == group && part.time != time) part.mask &= ~bit;
    if (!part.mask || part.time < floor) continue;
    party->parts[kept] = part;
    if (part.group == group && part.time == time) same = &party->parts[kept];
    kept++;
  }
  if (party) party->count = kept;
  if (same) {
    same->mask |= bit;
    return party;
  }
  party = with_room(party);
  party->parts[party->count++] = (struct plumb_party_part){group, bit, time};
  return party;
}

void plumb_party_join(plumb_race_page *p, size_t units, bool write, size_t i, uint64_t tag,
                      uint32_t who, uint32_t now, uint32_t floor) {
  plumb_party ***all = write ? &p->writers : &p->readers;
  uint32_t before = who_of(low(tag));
  if (!*all) *all = calloc(units, sizeof **all);
  if (!*all) abort();
  plumb_party *party = (*all)[i];
  if (before < PLUMB_WHO_WARP || before > PLUMB_WHO_MANY) { /* the tag said it, until now */
    if (party) party->count = 0;
    party = join(party, before, time_of(low(tag)), floor);
  }
  (*all)[i] = join(party, who, now, floor);
}

bool plumb_party_join_mates(const plumb_race_page *p, bool write, size_t i, uint32_t who,
                            uint32_t now) {
  plumb_party *party = write ? p->writers[i] : p->readers[i];
  for (uint32_t k = party->count; k-- > 0;) {
    struct plumb_party_part *part = &party->parts[k];
    if (part->group != who / 32 || part->time != now) continue;
    part->mask |= 1u << who % 32;
    return true;
  }
  return false;
}

bool plumb_party_any(const plumb_block_run *br, uint32_t tag, const plumb_party *party,
                     bool (*is_so)(const void *context, uint32_t who, uint32_t time),
                     const void *context) {
  uint32_t time = time_of(tag), from = who_of(tag), to = from + 1;
  for (uint32_t i = 0; party && i < party->count; i++)
    for (uint32_t mask = party->parts[i].mask; mask; mask &= mask - 1) {
      uint32_t who = party->parts[i].group * 32 + (uint32_t)__builtin_ctz(mask);
      if (is_so(context, who, party->parts[i].time)) return true;
    }
  if (party) return false;
  if (from == PLUMB_WHO_MANY) {
    from = 0;
    to = br->lanes;
  } else if (from >= PLUMB_WHO_WARP && from < PLUMB_WHO_MANY) {
    from = (from - PLUMB_WHO_WARP) * PLUMB_WARP_LANES;
    to = from + PLUMB_WARP_LANES < br->lanes ? from + PLUMB_WARP_LANES : br->lanes;
  }
  for (uint32_t who = from; who < to; who++)
    if (is_so(context, who, time)) return true;
  return false;
}

void plumb_party_spread(plumb_party ***parties, size_t words) {
  if (!*parties) return;
  plumb_party **grown = calloc(words * 4, sizeof *grown);
  if (!grown) abort();
  for (size_t i = 0; i < words; i++) {
    const plumb_party *from = (*parties)[i];
    for (size_t k = 0; from && k < 4; k++) {
      size_t bytes = sizeof *from + from->capacity * sizeof from->parts[0];
      plumb_party *copy = malloc(bytes);
      if (!copy) abort();
      grown[i * 4 + k] = memcpy(copy, from, bytes);
    }
  }
  plumb_party_destroy(*parties, words);
  *parties = grown;
}

void plumb_party_destroy(plumb_party **parties, size_t units) {
  for (size_t i = 0; parties && i < units; i++) free(parties[i]);
  free(parties);
}
