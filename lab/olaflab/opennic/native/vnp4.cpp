// The stand-ins' behaviour: frames in order, the headers through the program, the remainder as it came,
// cut-through.
#include "vnp4.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "svdpi.h"

namespace {

typedef void (*Process)(void *sw, const uint8_t *frame, size_t length, uint64_t timestamp, uint8_t *metadata,
                        void (*emit)(void *, uint32_t, const uint8_t *, size_t), void *context);

// A compiled program; what it leaves of the frame that it runs on is in `work`.
struct Compiled {
    Process process = nullptr;
    void *sw = nullptr;
    unsigned bits = 0;
};

vnp4_program program = nullptr;
vnp4_register registers = nullptr;
Compiled compiled[3];
vnp4_frame *asking = nullptr;
bool asked_extern = false;
unsigned latency = 40, extern_latency = 4;
uint64_t breaches = 0;

constexpr size_t HEAD = 128;
constexpr size_t ROOM = 64 * 1024;  // bytes inside before tready falls
constexpr size_t STORED = 24 * 64;  // bytes of a long update that the box has before it lets it go on
constexpr size_t OLAF = 42;         // where an Olaf header begins,
constexpr uint8_t UPDATE = 0x11;    // and how that of an update does

struct Frame {
    uint8_t meta_in[64]{};
    std::vector<uint8_t> in;
    bool whole = false;  // its last beat is in
    uint64_t due = 0;    // the cycle of its first beat out
    bool through = false, dropped = false, asks = false, asked = false;
    vnp4_frame work{};
    std::vector<uint8_t> out;
    size_t sent = 0, tail = 0, promised = 0;
};

struct Ip {
    std::deque<Frame> frames;
    uint64_t cycle = 0;
    bool mid_frame = false;
    bool offered = false;
    std::deque<uint64_t> answers_due;
    std::map<uint32_t, uint32_t> memory;

    size_t inside() const {
        size_t total = 0;
        for (const Frame &frame : frames) total += frame.in.size();
        return total;
    }
};

std::map<svScope, Ip> ips;

void breach(const char *what) {
    breaches++;
    std::fprintf(stderr, "vnp4: %s\n", what);
}

uint32_t crc32(const uint8_t *data, size_t length) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

struct Emitted {
    bool left = false;
    std::vector<uint8_t> frame;
};

void take(void *context, uint32_t, const uint8_t *frame, size_t length) {
    Emitted &emitted = *static_cast<Emitted *>(context);
    emitted.left = true;
    emitted.frame.assign(frame, frame + length);
}

// The program sees a frame of the size in the metadata, of which only the head is there yet: it looks
// at nothing else.
int run(const Compiled &with, uint64_t cycle, Frame &frame) {
    vnp4_frame &work = frame.work;
    const size_t bytes = (with.bits + 7) / 8;
    uint8_t metadata[64];
    for (size_t i = 0; i < bytes; i++) metadata[i] = work.meta[bytes - 1 - i];
    size_t size = 0;
    for (unsigned i = with.bits - 16; i < with.bits; i++)
        size |= size_t(work.meta[i / 8] >> i % 8 & 1) << (i - (with.bits - 16));
    frame.promised = size;
    if (size < work.head_bytes) size = work.head_bytes;
    std::vector<uint8_t> whole(size);
    memcpy(whole.data(), work.head, work.head_bytes);
    Emitted emitted;
    asking = &work;
    asked_extern = false;
    with.process(with.sw, whole.data(), size, cycle, metadata, take, &emitted);
    asking = nullptr;
    for (size_t i = 0; i < bytes; i++) work.meta[bytes - 1 - i] = metadata[i];
    if (!emitted.left) return 0;
    const size_t tail = size - work.head_bytes;
    if (emitted.frame.size() < tail || emitted.frame.size() - tail > sizeof work.head) {
        breach("the program made more of the headers than the stand-in has room for");
        return 0;
    }
    work.head_bytes = uint32_t(emitted.frame.size() - tail);
    memcpy(work.head, emitted.frame.data(), work.head_bytes);
    return asked_extern ? 2 : 1;
}

void advance(int which, uint64_t cycle, Frame &frame) {
    if (!frame.through && (frame.whole || frame.in.size() >= HEAD)) {
        frame.through = true;
        memcpy(frame.work.meta, frame.meta_in, 64);
        const size_t head = frame.in.size() < HEAD ? frame.in.size() : HEAD;
        memcpy(frame.work.head, frame.in.data(), head);
        frame.work.head_bytes = uint32_t(head);
        const Compiled &with = compiled[which];
        const int result = with.process ? run(with, cycle, frame) : program ? program(which, &frame.work) : 1;
        frame.dropped = result == 0;
        frame.asks = result == 2;
        frame.out.assign(frame.work.head, frame.work.head + frame.work.head_bytes);
        frame.tail = head;
    }
    // What looks like a long update has its declared size, before that can be checked.
    const bool says = frame.promised > STORED && frame.in.size() > OLAF && frame.in[OLAF] == UPDATE;
    if (frame.promised && frame.whole && frame.promised != frame.in.size() && !says)
        breach("the metadata's size is not the frame's");
    if (frame.through && frame.tail < frame.in.size()) {
        frame.out.insert(frame.out.end(), frame.in.begin() + long(frame.tail), frame.in.end());
        frame.tail = frame.in.size();
    }
}

}  // namespace

extern "C" {

void vnp4_set_program(vnp4_program given) { program = given; }
void vnp4_bind(int which, void *process, void *sw, unsigned bits) {
    compiled[which] = {reinterpret_cast<Process>(process), sw, bits};
}

void vnp4_user_extern(void *, uint32_t, const uint8_t *in, uint8_t *out) {
    const size_t bytes = 13;
    for (size_t i = 0; i < bytes; i++) asking->question[i] = in[bytes - 1 - i];
    asking->expected = crc32(in, bytes);
    asking->answer_low = VNP4_EXPECTED;
    asked_extern = true;
    for (int i = 0; i < 4; i++) out[i] = uint8_t(asking->expected >> (24 - 8 * i));
}

void vnp4_set_registers(vnp4_register answer) { registers = answer; }

void olaf_vnp4_register(int which, svBit write, int address, int value, int *read) {
    if (registers) {
        *read = int(registers(which, write, uint32_t(address), uint32_t(value)));
        return;
    }
    uint32_t &word = ips[svGetScope()].memory[uint32_t(address) >> 16];
    if (write) word = uint32_t(value);
    *read = int(word);
}

void vnp4_set_latency(unsigned cycles, unsigned extern_cycles) {
    latency = cycles, extern_latency = extern_cycles;
}
uint64_t vnp4_breaches(void) { return breaches; }

void olaf_vnp4_step(int which, svBit reset, svBit taken, const svBitVecVal *data, const svBitVecVal *keep,
                    svBit last, svBit meta_valid, const svBitVecVal *meta, svBit answer_valid,
                    const svBitVecVal *answer, svBit sent, svBit *out_ready, svBit *out_valid,
                    svBitVecVal *out_data, svBitVecVal *out_keep, svBit *out_last, svBit *out_meta_valid,
                    svBitVecVal *out_meta, svBit *question_valid, svBitVecVal *question) {
    Ip &ip = ips[svGetScope()];
    *out_ready = *out_valid = *out_last = *out_meta_valid = *question_valid = 0;
    memset(out_data, 0, 64);
    memset(out_keep, 0, 8);
    memset(out_meta, 0, 64);
    memset(question, 0, 16);
    if (reset) {
        const auto memory = ip.memory;  // which a reset does not clear
        ip = Ip{};
        ip.memory = memory;
        return;
    }
    ip.cycle++;

    if (taken) {
        uint64_t mask;
        memcpy(&mask, keep, 8);
        if (!ip.mid_frame) {
            ip.frames.emplace_back();
            if (meta_valid)
                memcpy(ip.frames.back().meta_in, meta, 64);
            else
                breach("a frame's first beat came without metadata");
            ip.frames.back().due = ip.cycle + latency;
        } else if (meta_valid) {
            breach("metadata was valid in the middle of a frame");
        }
        Frame &frame = ip.frames.back();
        if (!last && ~mask) breach("a beat that is not a frame's last is not full");
        if (!mask || (mask & (mask + 1))) breach("a hole in tkeep");
        for (int i = 0; i < 64; i++)
            if (mask >> i & 1) frame.in.push_back(reinterpret_cast<const uint8_t *>(data)[i]);
        frame.whole = last;
        ip.mid_frame = !last;
        advance(which, ip.cycle, frame);
    }

    // One question a cycle; each answer comes exactly when it is due.
    if (answer_valid) {
        if (ip.answers_due.empty() || ip.answers_due.front() != ip.cycle)
            breach("the extern answered at a wrong time");
        for (Frame &frame : ip.frames)
            if (frame.asks && frame.asked) {
                const unsigned low = frame.work.answer_low;
                uint32_t value;
                memcpy(&value, answer, 4);
                if (low == VNP4_EXPECTED && value != frame.work.expected)
                    breach("the extern's answer is wrong");
                for (unsigned i = 0; low != VNP4_EXPECTED && i < 32; i++) {
                    uint8_t &byte = frame.work.meta[(low + i) / 8];
                    byte = uint8_t((byte & ~(1u << (low + i) % 8)) | (value >> i & 1) << (low + i) % 8);
                }
                frame.asks = false;
                break;
            }
        if (!ip.answers_due.empty()) ip.answers_due.pop_front();
    } else if (!ip.answers_due.empty() && ip.answers_due.front() <= ip.cycle) {
        breach("the extern did not answer in time");
        ip.answers_due.pop_front();
    }
    for (Frame &frame : ip.frames)
        if (frame.asks && !frame.asked) {
            frame.asked = true;
            *question_valid = 1;
            memcpy(question, frame.work.question, 16);
            ip.answers_due.push_back(ip.cycle + 1 + extern_latency);
            break;
        }

    if (sent) {
        Frame &frame = ip.frames.front();
        frame.sent += 64;
        if (frame.whole && frame.sent >= frame.out.size()) ip.frames.pop_front();
        ip.offered = false;
    }
    while (!ip.frames.empty() && ip.frames.front().dropped && ip.frames.front().whole) ip.frames.pop_front();

    if (!ip.frames.empty()) {
        const Frame &frame = ip.frames.front();
        const size_t left =
            frame.out.size() - (frame.sent < frame.out.size() ? frame.sent : frame.out.size());
        const bool beat = left > 64 || (left > 0 && frame.whole);
        if (ip.offered || (frame.through && !frame.dropped && !frame.asks && beat && ip.cycle >= frame.due)) {
            ip.offered = true;
            const size_t bytes = left < 64 ? left : 64;
            const uint64_t mask = bytes == 64 ? ~uint64_t(0) : (uint64_t(1) << bytes) - 1;
            *out_valid = 1;
            memcpy(out_data, frame.out.data() + frame.sent, bytes);
            memcpy(out_keep, &mask, 8);
            *out_last = frame.whole && left <= 64;
            *out_meta_valid = frame.sent == 0;
            if (frame.sent == 0) memcpy(out_meta, frame.work.meta, 64);
        }
    }
    *out_ready = ip.inside() < ROOM;
}
}
