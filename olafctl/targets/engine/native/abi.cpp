// The C interface of what sits in an engine here, for olafctl/targets/engine/engine.py. What can fail returns
// its message, valid until the thread's next call, or null.
#include "olafswitch/engine/native/attempt.h"
#include "relay.h"
#include "replay.h"

using namespace olaf;

namespace {

// The queue as it is by now on its clock, which follows the wall's unless a replay runs.
QueueStage *queue_at_present(Engine &engine, Wiring &wiring, unsigned place) {
    auto &wired = dynamic_cast<QueueWiring &>(wiring);
    if (!wired.has(place)) return nullptr;
    QueueStage &queue = wired.queue_of(place);
    if (!engine.exclusive()) queue.catch_up(engine.now());
    return &queue;
}

}  // namespace

extern "C" {

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
    engine->act([&](Wiring &wiring) {
        dynamic_cast<QueueWiring &>(wiring).cables.link(port, peer, {rate, delay, room});
    });
}

const char *olaf_engine_wire_relay(Engine *engine, const char *const *libraries, size_t count) {
    return attempt([&] {
        std::vector<std::string> paths(libraries, libraries + count);
        engine->wire(std::make_unique<Relay>(*engine, paths));
    });
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

uint64_t olaf_engine_no_shim(Engine *engine) {
    uint64_t count = 0;
    engine->act([&](Wiring &wiring) { count = dynamic_cast<QueueWiring &>(wiring).no_shim; });
    return count;
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

}  // extern "C"
