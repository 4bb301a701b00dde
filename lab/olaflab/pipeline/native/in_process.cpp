// Updates through one engine in this process, as fast as it takes them: no port, no socket, no other process.
#include <sys/eventfd.h>
#include <unistd.h>

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

const char *olaf_in_process_port(Engine *engine, unsigned number) {
    engine->add_port(number, std::make_unique<Counting>());
    return nullptr;
}

// The ns of processor time for `count` frames, in turn those of `frames`, `burst` at a time, as a port hands
// them over.
uint64_t olaf_in_process_run(Engine *engine, unsigned port, const uint8_t *frames, size_t kinds,
                             size_t length, uint64_t count, uint64_t burst) {
    uint64_t began = processor_ns();
    for (uint64_t sent = 0; sent < count;) {
        engine->act([&](Wiring &wiring) {
            for (uint64_t left = std::min(burst, count - sent); left; --left, ++sent)
                wiring.arrived(port, frames + sent % kinds * length, length, engine->now());
        });
    }
    return processor_ns() - began;
}

}  // extern "C"
