// The C interface of iterations of distributed training, which library.py reads.

#pragma once

#include <stdint.h>

extern "C" {

enum {
    OLAF_TRAINING_SERVER,
    OLAF_TRAINING_SERVER_ASYNC,
    OLAF_TRAINING_RING,
    OLAF_TRAINING_ENGINE,
    OLAF_TRAINING_ENGINE_ASYNC,
};
enum { OLAF_TRAINING_STALENESS = 64 };  // entries of the histogram; the last one holds all above

// Times are picoseconds.
struct OlafTraining {
    uint32_t approach;
    uint32_t workers, each_rack;  // 0: all in one rack
    uint32_t messages;            // of a gradient
    uint32_t payload, header;     // bytes of a frame at most, and besides
    uint32_t iterations;
    uint32_t bound;    // on staleness, of what is asynchronous
    uint32_t mode;     // of the engine's indices, one a segment
    uint32_t window;   // segments of a worker whose result is not here, of synchronous sums
    uint32_t whole;    // whether a host handles a message at once, before its first frame and after its last
    uint32_t duplex;   // whether it has a processor for each direction
    uint32_t in_turn;  // whether the asynchronous server serves one worker at a time
    uint32_t unused;
    uint64_t slots, quota;
    uint64_t seed;
    int64_t cycle, merge_cycles;  // of the engine's clock, and of a beat through its adders
    int64_t delay;                // of each link
    double link_ps_per_byte, trunk_ps_per_byte;
    double message_ps, frame_ps, byte_ps;  // of a host's software, at either end
    int64_t compute, jitter;               // a gradient takes compute + U(-jitter/2, jitter/2)
};

// The array is read while olaf_training_new runs and not kept.
void *olaf_training_new(const OlafTraining *training, const uint32_t *messages);
void olaf_training_free(void *training);
// 1 when all iterations are through; 0 when they cannot be.
uint32_t olaf_training_run(void *training);
// When each was: the last worker's, or the update of the weights. Into an array of `iterations`.
void olaf_training_updates(void *training, int64_t *updates);
void olaf_training_staleness(void *training, uint64_t *histogram);
uint64_t olaf_training_discarded(void *training);
uint64_t olaf_training_dropped(void *training);
uint64_t olaf_training_events(void *training);

}  // extern "C"
