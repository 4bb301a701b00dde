// What a queue in C++ does beyond the Verilated one: it keeps frames where they were made, and is one of
// several, each with indices of its own.
#pragma once
#include "queue_model.h"

#ifdef __cplusplus
extern "C" {
#endif

// Memory, of `*length` bytes, for the next frame that is offered: that is not copied. The same until then.
uint8_t *olaf_queue_room(olaf_queue *, size_t *length);

// It fills so many slots by itself, at most as many as its geometry has.
void olaf_queue_limit(olaf_queue *, uint32_t slots);

// Takes over the indices `first` … `last` from another queue of the library: what waits there, in order and
// beyond its own slots if need be, sums, what is known of versions and rounds; none is counted twice. Both
// have the same settings. What has begun to leave there, leaves there.
void olaf_queue_take_over(olaf_queue *, olaf_queue *from, uint32_t first, uint32_t last);

#ifdef __cplusplus
}
#endif
