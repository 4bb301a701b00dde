// Beyond queue_model.h, for tests and measurements: a irregular source and sink, and the instants at
// which the queue decided, locked and released.
#pragma once
#include "queue_model.h"

#ifdef __cplusplus
extern "C" {
#endif

// One cycle in which something happened; `what` is a set of olaf_queue_event bits.
typedef struct {
    uint64_t cycle;
    uint32_t what;
} olaf_instant;

enum olaf_queue_event {
    OLAF_BEGUN = 1,        // the update next in line began to leave: it is locked
    OLAF_LEFT = 2,         // the leaving update's last beat was read: its slot is free
    OLAF_DECIDED = 4,      // what becomes of the next offered update was decided
    OLAF_SETTLED = 8,      // and is settled: the update has arrived to its end
    OLAF_STATUS = 16,      // the status of the next frame out was taken
    OLAF_ADMITTED = 32,    // the next offered frame that is no update was let into the bypass
    OLAF_REFUSED = 64,     // or was not
    OLAF_COMMANDED = 128,  // a command was applied to the next index of its range
};

// Chances, of 65536 in each cycle, that the source falls idle or the sink stops, and that it resumes. From
// then on the register port's master waits at random too.
void olaf_queue_disturb(olaf_queue *, uint64_t seed, uint32_t idle, uint32_t stop, uint32_t resume);

// Like olaf_queue_offer, but behind the shim are whole beats with the tkeep of each, holes and all.
void olaf_queue_offer_beats(olaf_queue *, const uint8_t *frame, const uint64_t *keeps, size_t beats,
                            uint64_t cycle);

// One access of the register port: the AXI response, or -1 when there is none within 1000 cycles. `value` is
// what is written, with the byte enables `strobe`, or what was read.
int olaf_queue_access(olaf_queue *, int write, uint32_t offset, uint32_t *value, uint32_t strobe);

// Hold the reset for some cycles: all that was offered and not taken is forgotten, and it is cycle 0 again,
// with the tables clear (1) or about to be cleared (0).
void olaf_queue_reset(olaf_queue *, int clear);

// Let the sink take nothing at all (1) or go on (0).
void olaf_queue_block(olaf_queue *, int blocked);

// Clock until every offered frame is accepted, or `limit` cycles passed. Returns the cycles that passed.
uint64_t olaf_queue_drain(olaf_queue *, uint64_t limit);

// Record instants from now on. They stay valid until the next call, which forgets them.
void olaf_queue_watch(olaf_queue *, int on);
size_t olaf_queue_instants(olaf_queue *, const olaf_instant **);

// How often an assertion in the Verilog failed, in any queue of this process.
uint64_t olaf_queue_failures(void);

#ifdef __cplusplus
}
#endif
