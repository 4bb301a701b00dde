// The C interface of a compiled P4 program for code that processes packets. The functions that program
// tables are in control.cpp and are called from olafswitch/p4/switch/native.py.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct p4_switch p4_switch;

// What a p4_switch begins with: memory in which frames that leave are made as long as they fit, or null.
// Between packets, and from inside p4_emit_fn, its owner may put other memory in its place.
typedef struct p4_lent {
    uint8_t *bytes;
    size_t room;
} p4_lent;

// Called once for each packet that leaves, from inside p4_process; `frame` is valid during the call, and
// longer in memory that is taken out of p4_lent meanwhile.
// `port` may be the CPU port: the frame then carries the program's packet_in header.
typedef void (*p4_emit_fn)(void *context, uint32_t port, const uint8_t *frame, size_t length);

// Run one packet to its end: parser, ingress, traffic manager (unicast, multicast, clones, resubmit,
// recirculate), egress, deparser. `now_ns` feeds the program's time stamps. Thread-safe against table
// writes; at most one thread at a time may process packets of one switch, or of one lane of it.
typedef void (*p4_process_fn)(p4_switch *, uint32_t port, const uint8_t *frame, size_t length,
                              uint64_t now_ns, p4_emit_fn emit, void *context);

// As p4_process_fn, of a program for XSA, which has user metadata in place of ports: `metadata` is read and
// written, also for a packet that is dropped. It is packed as on VitisNetP4's bus: a number with the first
// field on top, in big-endian bytes, unused bits first. `timestamp` counts clock cycles. `emit` is called at
// most once, with port 0.
typedef void (*p4_process_metadata_fn)(p4_switch *, const uint8_t *frame, size_t length, uint64_t timestamp,
                                       uint8_t *metadata, p4_emit_fn emit, void *context);

// A UserExtern's apply(), called from inside p4_process_metadata_fn: `number` counts the program's instances
// in order of declaration; `in` and `out` are packed as user metadata is, and `out` is zero at first.
typedef void (*p4_user_extern_fn)(void *context, uint32_t number, const uint8_t *in, uint8_t *out);

// A compiled program's library exports these under exactly these names; of the two that process packets, the
// one of its architecture. A new switch holds the program's const entries and default actions; NULL when
// memory ran out. Without p4_on_user_extern, user externs give 0.
p4_switch *p4_switch_new(void);
void p4_switch_free(p4_switch *);
void p4_switch_process(p4_switch *, uint32_t port, const uint8_t *frame, size_t length, uint64_t now_ns,
                       p4_emit_fn emit, void *context);
void p4_switch_process_with_metadata(p4_switch *, const uint8_t *frame, size_t length, uint64_t timestamp,
                                     uint8_t *metadata, p4_emit_fn emit, void *context);
void p4_on_user_extern(p4_switch *, p4_user_extern_fn fn, void *context);

#ifdef __cplusplus
}
#endif
