// Runs prepared frames through a switch many times, to measure its packet rate without Python.
#include <time.h>

#include "switch.h"

static void count_sent(void *context, u32, const u8 *, size_t) { ++*(u64 *)context; }

// `frames` holds `n` frames, one after another; each is processed `rounds` times. Writes the number of
// packets that were sent to `sent`; returns the time taken in ns.
extern "C" u64 p4_replay(p4_switch *sw, p4_process_fn process, u32 port, const u8 *frames, const u32 *lengths,
                         u32 n, u32 rounds, u64 *sent) {
    *sent = 0;
    timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (u32 round = 0; round < rounds; round++) {
        const u8 *frame = frames;
        for (u32 i = 0; i < n; i++) {
            process(sw, port, frame, lengths[i], (u64)round * n + i, count_sent, sent);
            frame += lengths[i];
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (u64)(b.tv_sec - a.tv_sec) * 1000000000ull + (u64)(b.tv_nsec - a.tv_nsec);
}
