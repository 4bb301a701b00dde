// The C interface of a compiled P4 program for code that processes packets. The functions that program
// tables are in control.cpp and are called from olafctl/p4/switch/native.py.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct p4_switch p4_switch;

// Called once for each packet that leaves, from inside p4_process; `frame` is valid during the call.
// `port` may be the CPU port: the frame then carries the program's packet_in header.
typedef void (*p4_emit_fn)(void *context, uint32_t port, const uint8_t *frame, size_t length);

// Run one packet to its end: parser, ingress, traffic manager (unicast, multicast, clones, resubmit,
// recirculate), egress, deparser. `now_ns` feeds the program's time stamps. Thread-safe against table
// writes; at most one thread at a time may process packets of one switch.
typedef void (*p4_process_fn)(p4_switch *, uint32_t port, const uint8_t *frame, size_t length,
                              uint64_t now_ns, p4_emit_fn emit, void *context);

// A compiled program's library exports these under exactly these names. A new switch holds the
// program's const entries and default actions; NULL when memory ran out.
p4_switch *p4_switch_new(void);
void p4_switch_free(p4_switch *);
void p4_switch_process(p4_switch *, uint32_t port, const uint8_t *frame, size_t length, uint64_t now_ns,
                       p4_emit_fn emit, void *context);

#ifdef __cplusplus
}
#endif
