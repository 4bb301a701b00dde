// Control-plane policing: no source may send more to the control plane than it can deal with, so that one
// that floods it costs the others nothing. Dropped here, a frame costs neither the P4Runtime stream nor the
// controller anything.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <random>

namespace olaf {

// Who sent a frame that came in by `port`: its IPv4 address, or its MAC address when it has none.
inline uint64_t source_of(unsigned port, const uint8_t *frame, size_t length) {
    constexpr size_t ETHER_TYPE = 12, SOURCE_MAC = 6, SOURCE_IPV4 = 26;
    uint64_t address = 0;
    bool ipv4 = length >= SOURCE_IPV4 + 4 && frame[ETHER_TYPE] == 0x08 && frame[ETHER_TYPE + 1] == 0x00;
    if (ipv4) {
        std::memcpy(&address, frame + SOURCE_IPV4, 4);
    } else if (length >= ETHER_TYPE) {
        std::memcpy(&address, frame + SOURCE_MAC, 6);
    }
    return address ^ uint64_t(port) << 48 ^ uint64_t(ipv4) << 63;
}

// A leaky bucket (GCRA) for each of a fixed number of slots that sources are hashed to. The hash differs in
// each process: no source can choose to share a slot with another.
class Policer {
  public:
    // Whether one more frame of `source` for `device` may pass now, in ns; counts it if so.
    bool allows(unsigned device, uint64_t source, uint64_t now) {
        uint64_t &due = due_[slot(source ^ uint64_t(device) << 40)];
        if (due > now + BURST * INTERVAL) due = now;  // the clock was set back
        if (due > now + (BURST - 1) * INTERVAL) return false;
        due = (due > now ? due : now) + INTERVAL;
        return true;
    }

  private:
    static constexpr uint64_t INTERVAL = 4'000'000;  // ns: 250 frames a second
    static constexpr uint64_t BURST = 250;
    static constexpr unsigned SLOT_BITS = 12;

    // Multiplication by a random odd number; the upper bits depend on every bit of the source.
    size_t slot(uint64_t source) const {
        return size_t((source ^ source >> 32) * factor_ >> (64 - SLOT_BITS));
    }

    uint64_t factor_ = uint64_t(std::random_device{}()) << 32 | std::random_device{}() | 1;
    std::array<uint64_t, 1 << SLOT_BITS> due_{};  // when each slot's bucket is empty again
};

}  // namespace olaf
