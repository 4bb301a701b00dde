// Control-plane policing: no source, and no port with any number of sources, may send more to the control
// plane than it can deal with, so that one that floods it costs the others nothing. Dropped here, a frame
// costs neither the P4Runtime stream nor the controller anything.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>

namespace olaf {

// Where a frame came in, and who sent it: its IPv4 address, or its MAC address when it has none.
struct Source {
    unsigned port;
    uint64_t address;
};

inline Source source_of(unsigned port, const uint8_t *frame, size_t length) {
    constexpr size_t ETHER_TYPE = 12, SOURCE_MAC = 6, SOURCE_IPV4 = 26;
    uint64_t address = 0;
    bool ipv4 = length >= SOURCE_IPV4 + 4 && frame[ETHER_TYPE] == 0x08 && frame[ETHER_TYPE + 1] == 0x00;
    if (ipv4) {
        std::memcpy(&address, frame + SOURCE_IPV4, 4);
    } else if (length >= ETHER_TYPE) {
        std::memcpy(&address, frame + SOURCE_MAC, 6);
    }
    return {port, address ^ uint64_t(ipv4) << 63};
}

// A port of a device, as one number.
inline uint64_t place_of(unsigned device, unsigned port) { return uint64_t(device) << 32 | port; }

// A leaky bucket (GCRA) for `RATE` frames a second, `BURST` at once.
template <uint64_t RATE, uint64_t BURST> class Bucket {
  public:
    bool full(uint64_t now) {
        if (due_ > now + BURST * INTERVAL) due_ = now;  // the clock was set back
        return due_ > now + (BURST - 1) * INTERVAL;
    }
    void count(uint64_t now) { due_ = (due_ > now ? due_ : now) + INTERVAL; }

  private:
    static constexpr uint64_t INTERVAL = 1'000'000'000 / RATE;  // ns
    uint64_t due_ = 0;
};

// A bucket for each port, and one for each of a fixed number of slots that sources are hashed to. The hash
// differs in each process: no source can choose to share a slot with another.
class Policer {
  public:
    // Whether one more frame of `source` for `device` may pass now, in ns; counts it if so. What is refused
    // of a source does not count against its port.
    bool allows(unsigned device, Source source, uint64_t now) {
        uint64_t place = place_of(device, source.port);
        auto &its = sources_[slot(source.address ^ uint64_t(source.port) << 48 ^ uint64_t(device) << 40)];
        auto &all = ports_[place];
        if (its.full(now) || all.full(now)) return false;
        its.count(now);
        all.count(now);
        return true;
    }

  private:
    using OfSource = Bucket<250, 250>;
    using OfPort = Bucket<200, 500>;
    static constexpr unsigned SLOT_BITS = 12;

    // Multiplication by a random odd number; the upper bits depend on every bit of the source.
    size_t slot(uint64_t source) const {
        return size_t((source ^ source >> 32) * factor_ >> (64 - SLOT_BITS));
    }

    uint64_t factor_ = uint64_t(std::random_device{}()) << 32 | std::random_device{}() | 1;
    std::array<OfSource, 1 << SLOT_BITS> sources_;
    std::map<uint64_t, OfPort> ports_;
};

}  // namespace olaf
