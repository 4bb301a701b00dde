// The queue in C++ without its clock: told when things happen, as the golden model is, it says what becomes
// of updates.
#include <vector>

#include "register_file.h"

namespace {

using namespace olaf;

constexpr Combiner::Geometry kGeometry{OLAF_INDICES, OLAF_SLOTS, OLAF_BEATS, OLAF_MEMBERS,
                                       OLAF_ADDER_LATENCY};

struct Told {
    Combiner combiner{kGeometry};
    RegisterFile registers{combiner, kGeometry};
    Held left{};
};

}  // namespace

extern "C" {

Told *told_new() { return new Told; }
void told_free(Told *told) { delete told; }

// `length` bytes of it came to the end of its headers, or to its own; `closing` slots become free right now.
void told_decide(Told *told, const olaf_tuser *user, const uint8_t *frame, size_t length, size_t closing) {
    told->combiner.Decide(*user, frame, length, closing);
}

// `arrived` says of each declared value whether it did, or is null when all did.
void told_settle(Told *told, int64_t cycle, const uint8_t *frame, size_t length, uint32_t ending,
                 const uint8_t *arrived) {
    std::vector<uint8_t> whole(frame, frame + length);
    const uint32_t nothing = told->combiner.adds() ? 0x80000000u : 0;
    for (size_t value = 0; arrived && value < (length - OLAF_GRADIENTS_AT) / 4; ++value)
        if (!arrived[value]) std::memcpy(&whole[OLAF_GRADIENTS_AT + 4 * value], &nothing, 4);
    told->combiner.Settle(cycle, whole.data(), Ending(ending));
}

void told_begin(Told *told) { told->combiner.timed.queue.Begin(); }

// What leaves; its bytes stay until the next one leaves.
size_t told_leave(Told *told, olaf_tuser *user, const uint8_t **frame) {
    if (told->left.bytes) told->combiner.buffers.Give(told->left.bytes);
    told->left = told->combiner.timed.queue.Leaving();
    *user = Combiner::Finish(told->left);
    told->combiner.timed.queue.Leave();
    told->combiner.Count(OLAF_REGISTER_OUT_UPDATES);
    *frame = told->left.bytes->frame();
    return told->left.size;
}

void told_status(Told *told, int64_t cycle, olaf_tuser *user) {
    told->combiner.Status(cycle, told->combiner.timed.queue.occupancy(), user);
}

void told_commanded(Told *told, int64_t cycle) { told->registers.Step(cycle); }

// An ACK passes, of which `length` bytes came.
void told_acknowledge(Told *told, const olaf_tuser *user, const uint8_t *frame, size_t length) {
    told->combiner.Acknowledge(*user, frame, length);
}

uint32_t told_read(Told *told, uint32_t offset) { return told->registers.Read(offset); }

void told_write(Told *told, uint32_t offset, uint32_t value, uint32_t strobe, int64_t cycle) {
    uint32_t mask = 0;
    for (int byte = 0; byte < 4; ++byte)
        if (strobe >> byte & 1) mask |= 0xffu << 8 * byte;
    told->registers.Write(offset, value, mask, cycle);
}

}  // extern "C"
