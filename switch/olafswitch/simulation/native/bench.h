// A test bench around any Verilated module: clocks, AXI4-Stream sources and sinks that pause at random,
// AXI4-Lite masters, and every port by name. Signals are driven just after a rising edge and sampled just
// before the next, as registers around the module would.
#ifndef OLAF_BENCH_H
#define OLAF_BENCH_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench bench;

// One stream: names of its signals, "" where it has none. `lane` chooses one of several streams that share
// vectors: it has bits lane × width and on. `beat` is its bytes of data, 1 … 64. `user` may name several
// signals, separated by commas, lowest first, as name:bits.
typedef struct {
    const char *data, *keep, *user, *last, *valid, *ready;
    int clock;
    int lane;
    int beat;
} bench_stream;

// What a sink took off the stream: one whole frame.
typedef struct {
    uint64_t first_cycle, last_cycle;  // of its clock
    uint32_t bytes, user_bytes;
    int32_t broken;  // a hole in tkeep, or user changed on the way
} bench_frame;

bench *bench_new(uint64_t seed);
// Writes waveforms to a VCD file from now on; 0 when it cannot, or the model was built without.
int bench_trace(bench *, const char *path);
void bench_free(bench *);
void *bench_verilated(bench *);  // as Verilator made it
int bench_clock(bench *, const char *port, unsigned period);
int bench_source(bench *, bench_stream);
int bench_sink(bench *, bench_stream);
int bench_axil(bench *, const char *prefix, int clock);

// The chance of a pause in 1000 at each cycle, for a source (idle) or a sink (not ready); 1000 stops it.
void bench_pause(bench *, int stream, int per_mille);
void bench_beat(bench *, int source, const uint8_t *data, uint64_t keep, const uint8_t *user,
                size_t user_bytes, int last);
size_t bench_pending(bench *, int source);
size_t bench_frames(bench *, int sink);
bench_frame bench_next(bench *, int sink);
void bench_take(bench *, int sink, uint8_t *data, uint8_t *user);
uint64_t bench_beats(bench *, int stream);
// Times that a valid beat was changed or withdrawn before it was taken.
uint64_t bench_unstable(bench *, int sink);
// Forgets what a source was to send: what follows starts with a new frame.
void bench_forget(bench *, int source);

void bench_run(bench *, int clock, uint64_t cycles);
uint64_t bench_cycles(bench *, int clock);
// Returns the response (0 OKAY, 2 SLVERR, 3 DECERR), or -1 after `limit` cycles without one.
int bench_read(bench *, int axil, uint32_t address, uint32_t *data, uint64_t limit);
int bench_write(bench *, int axil, uint32_t address, uint32_t data, uint64_t limit);

// -1 if the port does not exist.
int bench_width(bench *, const char *port);
void bench_poke(bench *, const char *port, const uint8_t *bytes);
void bench_peek(bench *, const char *port, uint8_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
