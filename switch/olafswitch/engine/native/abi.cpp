// The C interface of the engine for olafswitch/engine/engine.py. What can fail returns its message, valid
// until the thread's next call, or null.
#include <unistd.h>

#include <cstdio>

#include "attempt.h"
#include "lone_switch.h"

using namespace olaf;

extern "C" {

Engine *olaf_engine_new(unsigned lanes) { return new Engine(lanes); }
void olaf_engine_free(Engine *engine) { delete engine; }

const char *olaf_engine_wire_switch(Engine *engine, unsigned cpu) {
    return attempt([&] { engine->wire(std::make_unique<LoneSwitch>(*engine, cpu)); });
}

const char *olaf_engine_add_interface(Engine *engine, unsigned number, const char *name) {
    return attempt([&] { engine->add_port(number, open_interface(name, engine->lanes())); });
}

// `instead` is empty, or why it is opened as any other interface: room for `size` characters.
const char *olaf_engine_add_own_interface(Engine *engine, unsigned number, const char *name, int nic,
                                          char *instead, size_t size) {
    return attempt([&] {
        std::string reason;
        engine->add_port(number, open_own_interface(name, reason, nic != 0, engine->lanes()));
        std::snprintf(instead, size, "%s", reason.c_str());
    });
}

const char *olaf_engine_add_tap(Engine *engine, unsigned number, int fd) {
    return attempt([&] { engine->add_port(number, alone(open_tap(fd))); });
}

const char *olaf_engine_add_seqpacket(Engine *engine, unsigned number, int listening) {
    return attempt([&] { engine->add_port(number, alone(open_seqpacket(listening))); });
}

const char *olaf_engine_add_pcap(Engine *engine, unsigned number, const char *in, const char *out) {
    return attempt([&] { engine->add_port(number, alone(open_pcap(in, out))); });
}

void olaf_engine_remove_port(Engine *engine, unsigned number) { engine->remove_port(number); }

void olaf_engine_start(Engine *engine) { engine->start(); }
void olaf_engine_stop(Engine *engine) { engine->stop(); }

// Once this returns, the program set before processes no packet any more; `states` has one for each lane.
void olaf_engine_set_switch(Engine *engine, unsigned device, p4_process_fn process,
                            p4_switch *const *states) {
    engine->act_on_all(
        [&](Wiring &wiring, unsigned lane) { wiring.set_switch(device, {process, states[lane]}); });
}

// Returns once every packet that was in a program when it was called has left that program.
void olaf_engine_quiesce(Engine *engine) {
    engine->act([](Wiring &) {});
}

void olaf_engine_packet_out(Engine *engine, unsigned device, const uint8_t *frame, size_t length) {
    engine->act([&](Wiring &wiring) { wiring.packet_out(device, frame, length, engine->now()); });
}

// The length of a frame put into `frame`, which has room for MAX_PACKET_IN bytes; 0 when none came in time.
size_t olaf_engine_take_packet_in(Engine *engine, int milliseconds, unsigned *device, uint8_t *frame) {
    auto taken = engine->packet_ins.take(std::chrono::milliseconds(milliseconds));
    if (!taken) return 0;
    *device = taken->device;
    std::copy(taken->frame.begin(), taken->frame.end(), frame);
    return taken->frame.size();
}

// rx frames, bytes, dropped; tx frames, bytes, dropped. False when there is no such port.
int olaf_engine_port_stats(Engine *engine, unsigned number, uint64_t *six) {
    PortStats stats;
    bool found = engine->stats(number, stats);
    if (!found) engine->act([&](Wiring &wiring) { found = wiring.stats(number, stats); });
    if (!found) return 0;
    uint64_t values[] = {stats.rx_frames, stats.rx_bytes, stats.rx_dropped,
                         stats.tx_frames, stats.tx_bytes, stats.tx_dropped};
    std::copy(std::begin(values), std::end(values), six);
    return 1;
}

// ns of processor time of a lane's thread.
uint64_t olaf_engine_processor_ns(Engine *engine, unsigned lane) { return engine->processor_ns(lane); }

// no pipeline, misrouted, packet-ins.
void olaf_engine_losses(Engine *engine, uint64_t *three) {
    std::fill(three, three + 3, 0);
    engine->act_on_all([&](Wiring &wiring, unsigned) {
        three[0] += wiring.losses.no_pipeline;
        three[1] += wiring.losses.misrouted;
        three[2] += wiring.losses.packet_ins;
    });
}

}  // extern "C"
