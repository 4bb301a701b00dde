// Updates through one engine in this process, as fast as it takes them: no port, no socket, no other process.
#include <sys/eventfd.h>
#include <unistd.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define OLAF_CALLGRIND true
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define OLAF_CALLGRIND false
#endif

#include <barrier>
#include <thread>

#include "olafswitch/engine/native/engine.h"
#include "processor_time.h"

using namespace olaf;

namespace {

// Counts what it is given.
class Counting final : public Port {
  public:
    ~Counting() override { close(event_); }
    int fd() const override { return event_; }
    void receive(Sink &) override {}
    void send(const uint8_t *, size_t length) override {
        stats.tx_frames++;
        stats.tx_bytes += length;
    }

  private:
    int event_ = eventfd(0, EFD_CLOEXEC);
};

}  // namespace

extern "C" {

void olaf_in_process_port(Engine *engine, unsigned number) {
    Queues queues;
    while (queues.size() < engine->lanes()) queues.push_back(std::make_unique<Counting>());
    engine->add_port(number, std::move(queues));
}

// The ns of processor time for `count` frames, in turn those of `frames`, `burst` at a time, as a port hands
// them over.
uint64_t olaf_in_process_run(Engine *engine, unsigned port, const uint8_t *frames, size_t kinds,
                             size_t length, uint64_t count, uint64_t burst) {
    uint64_t began = processor_ns();
    for (uint64_t sent = 0; sent < count;) {
        engine->act([&](Wiring &wiring) {
            const uint64_t now = engine->now();
            for (uint64_t left = std::min(burst, count - sent); left; --left, ++sent)
                wiring.arrived(port, frames + sent % kinds * length, length, now);
        });
    }
    return processor_ns() - began;
}

// The same, counted by callgrind if this runs under it; false where its header was not there to compile with.
bool olaf_in_process_count(Engine *engine, unsigned port, const uint8_t *frames, size_t kinds, size_t length,
                           uint64_t count, uint64_t burst) {
    CALLGRIND_START_INSTRUMENTATION;
    olaf_in_process_run(engine, port, frames, kinds, length, count, burst);
    CALLGRIND_STOP_INSTRUMENTATION;
    return OLAF_CALLGRIND;
}

// The same in every shard at once, each from a thread of its own: `frames` has `kinds` for each one after the
// other, and a shard is given those of the `shift`-th after it, which take a hop if its clusters are not
// there. Wall ns, and in `spent` the ns of processor time of each thread.
uint64_t olaf_in_process_shards(Engine *engine, unsigned port, const uint8_t *frames, size_t kinds,
                                size_t length, uint64_t count, uint64_t burst, unsigned shift,
                                uint64_t *spent) {
    std::barrier together(ptrdiff_t(engine->lanes()) + 1);
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < engine->lanes(); lane++) {
        const uint8_t *own = frames + (lane + shift) % engine->lanes() * kinds * length;
        threads.emplace_back([=, &together] {
            together.arrive_and_wait();
            uint64_t began = processor_ns();
            for (uint64_t sent = 0; sent < count;) {
                engine->act_in(lane, [&](Wiring &wiring) {
                    const uint64_t now = engine->now();
                    for (uint64_t left = std::min(burst, count - sent); left; --left, ++sent)
                        wiring.arrived(port, own + sent % kinds * length, length, now);
                });
            }
            spent[lane] = processor_ns() - began;
            together.arrive_and_wait();
        });
    }
    together.arrive_and_wait();
    uint64_t began = engine->now();
    together.arrive_and_wait();
    uint64_t took = engine->now() - began;
    for (auto &thread : threads) thread.join();
    for (bool more = true; more;) {
        more = false;
        engine->act_on_all([&](Wiring &wiring, unsigned) { more |= wiring.more(); });
    }
    return took;
}

}  // extern "C"
