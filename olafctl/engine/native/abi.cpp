// The C interface of the engine for olafctl/targets/twin/engine.py. What can fail returns its message,
// valid until the thread's next call, or null.
#include <unistd.h>

#include "../../ports/native/load.h"
#include "replay.h"

using namespace olaf;

namespace {

thread_local std::string last_failure;

template <typename Action> const char *attempt(Action action) {
    try {
        action();
        return nullptr;
    } catch (const std::exception &failure) {
        last_failure = failure.what();
        return last_failure.c_str();
    }
}

QueueStage *queue_of(Wiring &wiring) {
    if (auto *twin = dynamic_cast<Twin *>(&wiring)) return &twin->queue;
    if (auto *relay = dynamic_cast<Relay *>(&wiring)) return &relay->queue;
    return nullptr;
}

// The queue as it is by now on its clock, which follows the wall's unless a replay runs.
QueueStage *queue_at_present(Engine &engine, Wiring &wiring) {
    QueueStage *queue = queue_of(wiring);
    if (queue != nullptr && !engine.exclusive()) queue->catch_up(engine.now());
    return queue;
}

}  // namespace

extern "C" {

Engine *olaf_engine_new() { return new Engine; }
void olaf_engine_free(Engine *engine) { delete engine; }

const char *olaf_engine_wire_twin(Engine *engine, unsigned cpu, unsigned queue, unsigned last_front,
                                  const char *library) {
    return attempt(
        [&] { engine->wire(std::make_unique<Twin>(*engine, WiredPorts{cpu, queue, last_front}, library)); });
}

const char *olaf_engine_wire_relay(Engine *engine, const char *library) {
    return attempt([&] { engine->wire(std::make_unique<Relay>(*engine, library)); });
}

const char *olaf_engine_wire_switch(Engine *engine, unsigned cpu) {
    return attempt([&] { engine->wire(std::make_unique<LoneSwitch>(*engine, cpu)); });
}

const char *olaf_engine_add_interface(Engine *engine, unsigned number, const char *name) {
    return attempt([&] { engine->add_port(number, open_interface(name)); });
}

const char *olaf_engine_add_tap(Engine *engine, unsigned number, int fd) {
    return attempt([&] { engine->add_port(number, open_tap(fd)); });
}

const char *olaf_engine_add_seqpacket(Engine *engine, unsigned number, int listening) {
    return attempt([&] { engine->add_port(number, open_seqpacket(listening)); });
}

const char *olaf_engine_add_pcap(Engine *engine, unsigned number, const char *in, const char *out) {
    return attempt([&] { engine->add_port(number, open_pcap(in, out)); });
}

void olaf_engine_start(Engine *engine) { engine->start(); }
void olaf_engine_stop(Engine *engine) { engine->stop(); }

// Once this returns, the program set before processes no packet any more.
void olaf_engine_set_switch(Engine *engine, unsigned device, p4_process_fn process, p4_switch *state) {
    engine->act([&](Wiring &wiring) { wiring.set_switch(device, {process, state}); });
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

uint32_t olaf_engine_read(Engine *engine, uint32_t offset) {
    uint32_t value = 0;
    engine->act([&](Wiring &wiring) {
        if (auto *queue = queue_at_present(*engine, wiring)) value = queue->read(offset);
    });
    return value;
}

void olaf_engine_write(Engine *engine, uint32_t offset, uint32_t value) {
    engine->act([&](Wiring &wiring) {
        if (auto *queue = queue_at_present(*engine, wiring)) queue->write(offset, value);
    });
}

// rx frames, bytes, dropped; tx frames, bytes, dropped. False when there is no such port.
int olaf_engine_port_stats(Engine *engine, unsigned number, uint64_t *six) {
    PortStats stats;
    if (!engine->stats(number, stats)) return 0;
    uint64_t values[] = {stats.rx_frames, stats.rx_bytes, stats.rx_dropped,
                         stats.tx_frames, stats.tx_bytes, stats.tx_dropped};
    std::copy(std::begin(values), std::end(values), six);
    return 1;
}

// no pipeline, misrouted, packet-ins, no shim.
void olaf_engine_losses(Engine *engine, uint64_t *four) {
    engine->act([&](Wiring &wiring) {
        uint64_t values[] = {wiring.losses.no_pipeline, wiring.losses.misrouted, wiring.losses.packet_ins,
                             wiring.losses.no_shim};
        std::copy(std::begin(values), std::end(values), four);
    });
}

// Runs a virtual-time session on `socket` to its end; twins only.
// `writes` are `count` pairs of offset and value that configure its queue, a new one; the register at `busy`
// is not 0 while one of them is still at work.
const char *olaf_engine_replay(Engine *engine, int socket, const uint32_t *writes, size_t count,
                               uint32_t busy) {
    return attempt([&] { replay(*engine, socket, {{writes, writes + 2 * count}, busy}); });
}

// Two interfaces for olaf_load_measure.
const char *olaf_load_open(const char *interface, Port **port) {
    return attempt([&] { *port = open_interface(interface).release(); });
}

void olaf_load_close(Port *port) { delete port; }

// `frames` are `kinds` frames of `length` bytes each; `result` is sent, received, ns.
void olaf_load_measure(Port *out, Port *in, const char *frames, size_t kinds, size_t length,
                       uint64_t duration_ns, uint64_t window, int patience_ms, uint64_t *result) {
    std::vector<std::string> separate;
    for (size_t i = 0; i < kinds; i++) separate.emplace_back(frames + i * length, length);
    LoadResult measured = measure(*out, *in, separate.data(), kinds, duration_ns, window, patience_ms);
    result[0] = measured.sent;
    result[1] = measured.received;
    result[2] = measured.nanoseconds;
}

}  // extern "C"
