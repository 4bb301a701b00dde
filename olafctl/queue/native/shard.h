// What a queue in C++ does beyond the Verilated one: it keeps frames where they were made, and is one of
// several, each with indices of its own.
#pragma once
#include "queue_model.h"

#ifdef __cplusplus
extern "C" {
#endif

// Memory for the next frame that is offered, which is kept there. The queue replaces it in time.
typedef struct {
    uint8_t *bytes;
    size_t length;
} olaf_room;
const olaf_room *olaf_queue_room(const olaf_queue *);

// It fills so many slots by itself, at most as many as its geometry has.
void olaf_queue_limit(olaf_queue *, uint32_t slots);

// Takes over the indices `first` … `last` from another queue of the library: what waits there, in order and
// beyond its own slots if need be, sums, what is known of versions and rounds; none is counted twice. Both
// have the same settings. What has begun to leave there, leaves there.
void olaf_queue_take_over(olaf_queue *, olaf_queue *from, uint32_t first, uint32_t last);

#ifdef __cplusplus
}
#endif
