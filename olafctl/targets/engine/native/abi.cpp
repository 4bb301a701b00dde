// The C interface of the engine for olafctl/targets/engine/engine.py. What can fail returns its message,
// valid until the thread's next call, or null.
#include <unistd.h>

#include <cstdio>

#include "../../../ports/native/load.h"
#include "replay.h"
#include "wirings.h"

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

QueueStage *queue_of(Wiring &wiring, unsigned place) {
    if (auto *network = dynamic_cast<Network *>(&wiring))
        return network->has(place) ? &network->queue_of(place) : nullptr;
    if (auto *relay = dynamic_cast<Relay *>(&wiring))
        return relay->has(place) ? &relay->queue_of(place) : nullptr;
    return nullptr;
}

// The queue as it is by now on its clock, which follows the wall's unless a replay runs.
QueueStage *queue_at_present(Engine &engine, Wiring &wiring, unsigned place) {
    QueueStage *queue = queue_of(wiring, place);
    if (queue != nullptr && !engine.exclusive()) queue->catch_up(engine.now());
    return queue;
}

}  // namespace

extern "C" {

Engine *olaf_engine_new() { return new Engine; }
void olaf_engine_free(Engine *engine) { delete engine; }

// One twin for each of `count` libraries of queues.
const char *olaf_engine_wire_twins(Engine *engine, unsigned cpu, unsigned queue, unsigned last_front,
                                   const char *const *libraries, size_t count) {
    return attempt([&] {
        std::vector<std::string> paths(libraries, libraries + count);
        engine->wire(std::make_unique<Network>(*engine, WiredPorts{cpu, queue, last_front}, paths));
    });
}

// Before the engine starts, as long as nothing arrives: the port is the twin's at `place`.
const char *olaf_engine_own(Engine *engine, unsigned port, unsigned place) {
    return attempt(
        [&] { engine->act([&](Wiring &wiring) { dynamic_cast<Network &>(wiring).own(port, place); }); });
}

// The cable between two ports, each way: bit/s (0 for no limit), ns, frames.
void olaf_engine_link(Engine *engine, unsigned port, unsigned peer, uint64_t rate, uint64_t delay,
                      uint64_t room) {
    engine->act([&](Wiring &wiring) { wiring.cables.link(port, peer, {rate, delay, room}); });
}

const char *olaf_engine_wire_relay(Engine *engine, const char *const *libraries, size_t count) {
    return attempt([&] {
        std::vector<std::string> paths(libraries, libraries + count);
        engine->wire(std::make_unique<Relay>(*engine, paths));
    });
}

const char *olaf_engine_wire_switch(Engine *engine, unsigned cpu) {
    return attempt([&] { engine->wire(std::make_unique<LoneSwitch>(*engine, cpu)); });
}

const char *olaf_engine_add_interface(Engine *engine, unsigned number, const char *name) {
    return attempt([&] { engine->add_port(number, open_interface(name)); });
}

// `instead` is empty, or why it is opened as any other interface: room for `size` characters.
const char *olaf_engine_add_own_interface(Engine *engine, unsigned number, const char *name, int nic,
                                          char *instead, size_t size) {
    return attempt([&] {
        std::string reason;
        engine->add_port(number, open_own_interface(name, reason, nic != 0));
        std::snprintf(instead, size, "%s", reason.c_str());
    });
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

uint32_t olaf_engine_read(Engine *engine, unsigned place, uint32_t offset) {
    uint32_t value = 0;
    engine->act([&](Wiring &wiring) {
        if (auto *queue = queue_at_present(*engine, wiring, place)) value = queue->read(offset);
    });
    return value;
}

void olaf_engine_write(Engine *engine, unsigned place, uint32_t offset, uint32_t value) {
    engine->act([&](Wiring &wiring) {
        if (auto *queue = queue_at_present(*engine, wiring, place)) queue->write(offset, value);
    });
}

// rx frames, bytes, dropped; tx frames, bytes, dropped. False when there is no such port.
int olaf_engine_port_stats(Engine *engine, unsigned number, uint64_t *six) {
    PortStats stats;
    bool found = engine->stats(number, stats);
    if (!found) {
        engine->act([&](Wiring &wiring) { found = wiring.cables.stats(number, stats); });
    }
    if (!found) return 0;
    uint64_t values[] = {stats.rx_frames, stats.rx_bytes, stats.rx_dropped,
                         stats.tx_frames, stats.tx_bytes, stats.tx_dropped};
    std::copy(std::begin(values), std::end(values), six);
    return 1;
}

// ns of processor time of the engine's thread.
uint64_t olaf_engine_processor_ns(Engine *engine) { return engine->processor_ns(); }

// no pipeline, misrouted, packet-ins, no shim.
void olaf_engine_losses(Engine *engine, uint64_t *four) {
    engine->act([&](Wiring &wiring) {
        uint64_t values[] = {wiring.losses.no_pipeline, wiring.losses.misrouted, wiring.losses.packet_ins,
                             wiring.losses.no_shim};
        std::copy(std::begin(values), std::end(values), four);
    });
}

// Runs a virtual-time session on `socket` to its end; twins only.
// `writes` are pairs of offset and value that configure new queues, `counts` pairs for each of `twins`; the
// register at `busy` is not 0 while one of them is still at work.
const char *olaf_engine_replay(Engine *engine, int socket, const uint32_t *writes, const size_t *counts,
                               size_t twins, uint32_t busy) {
    return attempt([&] {
        std::vector<QueueSettings> settings;
        for (size_t twin = 0; twin < twins; twin++) {
            settings.push_back({{writes, writes + 2 * counts[twin]}, busy});
            writes += 2 * counts[twin];
        }
        replay(*engine, socket, settings);
    });
}

// Two interfaces for olaf_load_measure, each the other end of an engine's own.
const char *olaf_load_open(const char *interface, Port **port) {
    return attempt([&] {
        std::string reason;
        *port = open_own_interface(interface, reason).release();
    });
}

void olaf_load_close(Port *port) { delete port; }

// `frames` are `kinds` frames of `length` bytes each; `result` is sent, received, ns, and then
// Latencies' counts.
void olaf_load_measure(Port *out, Port *in, const char *frames, size_t kinds, size_t length,
                       uint64_t duration_ns, uint64_t window, uint64_t gap_ns, int patience_ms,
                       uint64_t *result) {
    std::vector<std::string> separate;
    for (size_t i = 0; i < kinds; i++) separate.emplace_back(frames + i * length, length);
    LoadResult measured =
        measure(*out, *in, separate.data(), kinds, duration_ns, window, gap_ns, patience_ms);
    result[0] = measured.sent;
    result[1] = measured.received;
    result[2] = measured.nanoseconds;
    std::copy(measured.latencies.counts.begin(), measured.latencies.counts.end(), result + 3);
}

}  // extern "C"
