// Updates through one engine in this process, as fast as it takes them: no port, no socket, no other process.
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "emission.h"
#include "engine.h"
#include "queue_stage.h"

using namespace olaf;

namespace {

// Processor time of this thread: what else the machine does does not count.
uint64_t processor_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

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

// Which part of the way is at work, and how long each was.
class Stages {
  public:
    void enter(unsigned stage) {
        uint64_t now = processor_ns();
        spent[at_] += now - since_;
        since_ = now;
        at_ = stage;
    }

    uint64_t spent[4] = {};

  private:
    unsigned at_ = 0;
    uint64_t since_ = processor_ns();
};

constexpr unsigned REST = 0, FIRST = 1, QUEUE = 2, SECOND = 3;
constexpr size_t AT_ONCE = 8;  // frames in each part before the next part: reading the clock takes time

using Frames = std::vector<std::vector<uint8_t>>;

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

// The same through the parts alone, with the time at each boundary: ns in VNP4₁, the queue, VNP4₂, and the
// rest (frames kept from one part to the next); the fifth is measured around all of them, the sixth is what
// left.
void olaf_in_process_profile(p4_process_fn first, p4_switch *first_state, p4_process_fn second,
                             p4_switch *second_state, const char *library, const uint32_t *writes,
                             size_t words, unsigned port, unsigned queue_port, const uint8_t *frames,
                             size_t kinds, size_t length, uint64_t count, uint64_t *six) {
    QueueStage queue(library);
    queue.restart({{writes, writes + words}, 0xa0});
    Switch vnp4_1{first, first_state}, vnp4_2{second, second_state};
    Frames into(AT_ONCE), out(AT_ONCE);
    uint64_t left = 0, began = processor_ns();
    Stages stages;
    for (uint64_t sent = 0; sent < count; sent += AT_ONCE) {
        size_t came = 0;
        stages.enter(FIRST);
        for (size_t each = 0; each < AT_ONCE; ++each)
            process(
                vnp4_1, port, frames + (sent + each) % kinds * length, length, sent,
                [&](unsigned, const uint8_t *bytes, size_t size) { into[each].assign(bytes, bytes + size); });
        stages.enter(QUEUE);
        for (const auto &frame : into) queue.offer_at(frame.data(), frame.size(), queue.cycle());
        queue.finish([&](const uint8_t *bytes, size_t size, uint64_t, uint64_t) {
            if (came < AT_ONCE) out[came++].assign(bytes, bytes + size);
        });
        stages.enter(SECOND);
        for (size_t each = 0; each < came; ++each)
            process(vnp4_2, queue_port, out[each].data(), out[each].size(), sent,
                    [&](unsigned, const uint8_t *, size_t) { left++; });
        stages.enter(REST);
    }
    six[4] = processor_ns() - began;
    six[0] = stages.spent[FIRST];
    six[1] = stages.spent[QUEUE];
    six[2] = stages.spent[SECOND];
    six[3] = stages.spent[REST];
    six[5] = left;
}

}  // extern "C"
