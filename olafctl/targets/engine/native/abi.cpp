// The C interface of what sits in an engine here, for olafctl/targets/engine/engine.py. What can fail returns
// its message, valid until the thread's next call, or null.
#include "../../../queue/native/registers.h"
#include "olafswitch/engine/native/attempt.h"
#include "relay.h"
#include "replay.h"

using namespace olaf;

namespace {

// On the wiring with the queue as it is by now on its clock, which follows the wall's unless a replay runs.
template <typename Action> void at_present(Engine &engine, unsigned place, Action action) {
    engine.act([&](Wiring &wiring) {
        auto &wired = dynamic_cast<QueueWiring &>(wiring);
        if (!wired.has(place)) return;
        if (!engine.exclusive()) wired.catch_up(place, engine.now());
        action(wired);
    });
}

}  // namespace

extern "C" {

// One twin for each of `count` libraries of queues; with several lanes, one twin in as many shards.
const char *olaf_engine_wire_twins(Engine *engine, unsigned cpu, unsigned queue, unsigned last_front,
                                   const char *const *libraries, size_t count) {
    return attempt([&] {
        std::vector<std::string> paths(libraries, libraries + count);
        const WiredPorts ports{cpu, queue, last_front};
        std::shared_ptr<Shards> shards;
        if (engine->lanes() > 1) shards = std::make_shared<Shards>(engine->lanes());
        for (unsigned lane = 0; lane < engine->lanes(); lane++)
            engine->wire(std::make_unique<Network>(*engine, ports, paths, lane, shards), lane);
        if (shards) shards->divide();
    });
}

// As long as nothing arrives there: the port is the twin's at `place`.
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
    at_present(*engine, place, [&](QueueWiring &wired) { value = wired.read(place, offset); });
    return value;
}

void olaf_engine_write(Engine *engine, unsigned place, uint32_t offset, uint32_t value) {
    at_present(*engine, place, [&](QueueWiring &wired) { wired.write(place, offset, value); });
}

// Of an engine in shards: throws for a shard or an index that does not exist.
const char *olaf_engine_place(Engine *engine, unsigned first, unsigned last, unsigned shard) {
    return attempt([&] {
        engine->act([&](Wiring &wiring) {
            auto &network = dynamic_cast<Network &>(wiring);
            Shards *shards = network.shards();
            const uint32_t indices = network.queue_of(0).read(OLAF_REGISTER_INDICES);
            if (shards == nullptr || shard >= shards->count() || first > last || last >= indices)
                throw std::runtime_error("no such shard or indices");
            shards->place(first, last, shard);
        });
    });
}

unsigned olaf_engine_shard_of(Engine *engine, unsigned index) {
    unsigned shard = 0;
    engine->act([&](Wiring &wiring) {
        if (Shards *shards = dynamic_cast<Network &>(wiring).shards()) shard = shards->of(index);
    });
    return shard;
}

// 64-bit counters of one shard at one instant, by the offsets of their low words.
void olaf_engine_read_shard(Engine *engine, unsigned shard, const uint32_t *offsets, size_t count,
                            uint64_t *values) {
    engine->act_on_all([&](Wiring &wiring, unsigned lane) {
        QueueStage &queue = dynamic_cast<QueueWiring &>(wiring).queue_of(0);
        for (size_t each = 0; lane == shard && each < count; each++)
            values[each] = queue.read(offsets[each]) | uint64_t(queue.read(offsets[each] + 4)) << 32;
    });
}

// No shim, between shards.
void olaf_engine_more_losses(Engine *engine, uint64_t *two) {
    std::fill(two, two + 2, 0);
    engine->act_on_all([&](Wiring &wiring, unsigned) {
        two[0] += dynamic_cast<QueueWiring &>(wiring).no_shim;
        two[1] += dynamic_cast<QueueWiring &>(wiring).between_shards;
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

}  // extern "C"
