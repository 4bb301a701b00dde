// Updates through the parts of one engine in this thread, as fast as it takes them.
#include "olafswitch/engine/native/emission.h"
#include "processor_time.h"
#include "queue_stage.h"

using namespace olaf;

namespace {

// Which part of the way is at work, and how long each was.
class Stages {
  public:
    void enter(unsigned stage) {
        uint64_t now = processor_ns();
        spent[at_] += now - since_;
        since_ = now;
        at_ = stage;
    }

    // What one entry takes by itself.
    uint64_t entry() {
        constexpr unsigned TIMES = 1000;
        uint64_t began = processor_ns();
        for (unsigned n = 0; n < TIMES; n++) enter(at_);
        return (processor_ns() - began) / TIMES;
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

// `count` frames, in turn the `kinds` of `frames`, come in at `port` of VNP4₁ and from the queue at
// `queue_port` of VNP4₂; a queue of `library` has the settings of `writes`, and `busy` as a replay's have.
// `six` is ns in VNP4₁, the queue, VNP4₂, and the rest (frames kept from one part to the next); the fifth is
// measured around all of them, the sixth is how many frames left. What reading the clock takes is not in it.
void olaf_engine_stages(p4_process_fn first, p4_switch *first_state, p4_process_fn second,
                        p4_switch *second_state, const char *library, const uint32_t *writes, size_t words,
                        uint32_t busy, unsigned port, unsigned queue_port, const uint8_t *frames,
                        size_t kinds, size_t length, uint64_t count, uint64_t *six) {
    QueueStage queue(library);
    queue.restart({{writes, writes + words}, busy});
    Switch vnp4_1{first, first_state}, vnp4_2{second, second_state};
    Frames into(AT_ONCE), out(AT_ONCE);
    uint64_t left = 0, began = processor_ns();
    Stages stages;
    for (uint64_t sent = 0; sent < count; sent += AT_ONCE) {
        size_t taken = 0, came = 0;
        stages.enter(FIRST);
        for (size_t each = 0; each < AT_ONCE; ++each)
            process(vnp4_1, port, frames + (sent + each) % kinds * length, length, sent,
                    [&](unsigned to, const uint8_t *bytes, size_t size) {
                        if (to == queue_port && taken < AT_ONCE) into[taken++].assign(bytes, bytes + size);
                    });
        stages.enter(QUEUE);
        for (size_t each = 0; each < taken; ++each)
            queue.offer_at(into[each].data(), into[each].size(), queue.cycle());
        queue.finish([&](const uint8_t *bytes, size_t size, uint64_t, uint64_t) {
            if (came < AT_ONCE) out[came++].assign(bytes, bytes + size);
        });
        stages.enter(SECOND);
        for (size_t each = 0; each < came; ++each)
            process(vnp4_2, queue_port, out[each].data(), out[each].size(), sent,
                    [&](unsigned, const uint8_t *, size_t) { left++; });
        stages.enter(REST);
    }
    uint64_t whole = processor_ns() - began, read = (count + AT_ONCE - 1) / AT_ONCE;
    const uint64_t spent[] = {stages.spent[FIRST], stages.spent[QUEUE], stages.spent[SECOND],
                              stages.spent[REST]};
    read *= stages.entry();
    for (unsigned stage = 0; stage < 4; stage++) six[stage] = spent[stage] - std::min(spent[stage], read);
    six[4] = whole - std::min(whole, 4 * read);
    six[5] = left;
}

}  // extern "C"
