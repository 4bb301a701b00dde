// The additions: binary32 lanes, as the compiler vectorises them for the processor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace olaf {

// Not under ThreadSanitizer: what chooses the processor's runs before that can.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define OLAF_FOR_EACH_PROCESSOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define OLAF_FOR_EACH_PROCESSOR
#endif

// Adds `count` little-endian binary32 at `from` to those at `into`, each rounded to nearest even; what is not
// a number becomes the canonical quiet NaN, whatever NaN the processor makes of it.
OLAF_FOR_EACH_PROCESSOR inline void AddLanes(std::uint8_t *__restrict into,
                                             const std::uint8_t *__restrict from, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane) {
        float one, other;
        std::memcpy(&one, into + 4 * lane, 4);
        std::memcpy(&other, from + 4 * lane, 4);
        const float sum = one + other;
        std::uint32_t bits;
        std::memcpy(&bits, &sum, 4);
        bits = sum != sum ? 0x7fc00000u : bits;
        std::memcpy(into + 4 * lane, &bits, 4);
    }
}

}  // namespace olaf
