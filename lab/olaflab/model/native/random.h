// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).

#pragma once

#include <cstdint>

#include "simulate.h"

namespace olaf {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t Next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // The numbers of update `turn` of a source: any other program can draw the same.
    static Random Of(std::uint64_t seed, std::uint64_t source, std::uint64_t turn) {
        return Random(Random(seed).Next() ^ Random(source << 40 ^ turn).Next());
    }
    // Uniform in [0, most].
    std::int64_t UpTo(std::int64_t most) {
        const unsigned __int128 product =
            static_cast<unsigned __int128>(Next()) * (static_cast<std::uint64_t>(most) + 1);
        return static_cast<std::int64_t>(product >> 64);
    }
    // Uniform in [0, 1).
    double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

// How much later than its turn an update of a source is generated.
inline std::int64_t Lateness(const OlafSource &source, std::uint64_t seed, std::uint64_t number,
                             std::int64_t turn) {
    if (!source.jitter) return 0;
    return Random::Of(seed, number, static_cast<std::uint64_t>(turn)).UpTo(source.jitter);
}

// With which of its segments a source begins an update: a random one at first, then the next, as the SDK's
// workers do. A full queue drops the last of a burst; so no segment is always the last.
inline std::uint32_t FirstSegment(const OlafSource &source, std::uint64_t seed, std::uint64_t number,
                                  std::uint32_t turn) {
    if (source.segments == 1) return 0;
    constexpr auto kBefore = static_cast<std::uint64_t>(-1);  // no turn
    const std::int64_t first = Random::Of(seed, number, kBefore).UpTo(source.segments - 1);
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(first) + turn) % source.segments);
}

}  // namespace olaf
