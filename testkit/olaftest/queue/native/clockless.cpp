// The queue in C++ without its clock: it receives the times of events, as the golden model does, and
// decides what becomes of updates.
#include <vector>

#include "register_file.h"

namespace {

using namespace olaf;

constexpr Combiner::Geometry kGeometry{OLAF_INDICES, OLAF_SLOTS, OLAF_BEATS, OLAF_MEMBERS,
                                       OLAF_ADDER_LATENCY};

struct Clockless {
    Combiner combiner{kGeometry};
    RegisterFile registers{combiner, kGeometry};
    Held left{};
};

}  // namespace

extern "C" {

Clockless *clockless_new() { return new Clockless; }
void clockless_free(Clockless *queue) { delete queue; }

// Behind its shim `length` bytes of it came to the end of its headers, or to its own; `closing` slots become
// free right now.
void clockless_decide(Clockless *queue, const uint8_t *frame, size_t length, size_t closing) {
    queue->combiner.Decide(frame, length, closing);
}

// `arrived` holds for each declared value whether it arrived, or is null when all have.
void clockless_settle(Clockless *queue, int64_t cycle, const uint8_t *frame, size_t length, uint32_t ending,
                      const uint8_t *arrived) {
    std::vector<uint8_t> whole(frame, frame + length);
    const uint32_t nothing = queue->combiner.adds() ? 0x80000000u : 0;
    const size_t at = OLAF_SHIM_BYTES + OLAF_GRADIENTS_AT;
    for (size_t value = 0; arrived && value < (length - at) / 4; ++value)
        if (!arrived[value]) std::memcpy(&whole[at + 4 * value], &nothing, 4);
    queue->combiner.Settle(cycle, whole.data(), Ending(ending));
}

void clockless_begin(Clockless *queue) { queue->combiner.timed.queue.Begin(); }

// What leaves; its bytes stay until the next one leaves.
size_t clockless_leave(Clockless *queue, const uint8_t **frame) {
    if (queue->left.bytes) queue->combiner.buffers.Give(queue->left.bytes);
    queue->left = queue->combiner.timed.queue.Leaving();
    Combiner::Finish(queue->left);
    queue->combiner.timed.queue.Leave();
    queue->combiner.Count(OLAF_REGISTER_OUT_UPDATES);
    *frame = queue->left.bytes->frame();
    return OLAF_SHIM_BYTES + queue->left.size;
}

void clockless_status(Clockless *queue, int64_t cycle, uint8_t *shim) {
    queue->combiner.Status(cycle, queue->combiner.timed.queue.occupancy(), shim);
}

void clockless_commanded(Clockless *queue, int64_t cycle) { queue->registers.Step(cycle); }

// An ACK passes, of which `length` bytes came behind its shim.
void clockless_acknowledge(Clockless *queue, const uint8_t *frame, size_t length) {
    queue->combiner.Acknowledge(frame, length);
}

uint32_t clockless_read(Clockless *queue, uint32_t offset) { return queue->registers.Read(offset); }

void clockless_write(Clockless *queue, uint32_t offset, uint32_t value, uint32_t strobe, int64_t cycle) {
    uint32_t mask = 0;
    for (int byte = 0; byte < 4; ++byte)
        if (strobe >> byte & 1) mask |= 0xffu << 8 * byte;
    queue->registers.Write(offset, value, mask, cycle);
}

}  // extern "C"
