// OlafQueue, Verilated, as a model that other native code clocks: frames in and frames out, each with its
// shim in front, one call a span of cycles. One cycle is 4 ns (250 MHz).
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "../../wire/native/tuser.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct olaf_queue olaf_queue;

// A new queue after reset, at cycle 0. The library is one set of Verilog parameters.
olaf_queue *olaf_queue_new(void);
void olaf_queue_free(olaf_queue *);

// Append a frame to the source in front of the queue; its first beat is presented at `cycle` or as
// soon after as the frames before it and the queue's tready allow.
void olaf_queue_offer(olaf_queue *, const uint8_t *frame, size_t length, uint64_t cycle);

// Clock up to and excluding `cycle`; spans in which nothing can change may be skipped, not simulated,
// but time (rate limiter, activity window) advances all the same.
void olaf_queue_run(olaf_queue *, uint64_t cycle);

// Clock until nothing moves any more: source empty and no beat leaving or able to leave, or `limit`
// cycles passed. Returns the cycles that passed.
uint64_t olaf_queue_settle(olaf_queue *, uint64_t limit);

// Whether a frame is still to come in, or anything leaves without a further frame or access.
int olaf_queue_waiting(const olaf_queue *);

// Cycles, up to and excluding `cycle`, for which nothing can happen but the passing of time.
uint64_t olaf_queue_quiet(const olaf_queue *, uint64_t cycle);

uint64_t olaf_queue_cycle(const olaf_queue *);

// The next frame that left completely: returns its length, or 0 when there is none. `first` and `last`
// are the cycles of its first and last beat. The pointer stays valid until the next call.
size_t olaf_queue_take(olaf_queue *, const uint8_t **frame, uint64_t *first, uint64_t *last);

// AXI4-Lite accesses through the real register port; each takes a few cycles of model time.
uint32_t olaf_queue_read(olaf_queue *, uint32_t offset);
void olaf_queue_write(olaf_queue *, uint32_t offset, uint32_t value);

#ifdef __cplusplus
}
#endif
