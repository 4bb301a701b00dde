// Frames from one thread to one other, without a lock.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

namespace olaf {

class Ring {
  public:
    // By the one thread; false when it is full.
    bool put(const uint8_t *frame, size_t length) {
        const uint64_t end = written_.load(std::memory_order_relaxed);
        const uint64_t left = BYTES - end % BYTES, size = room(length);
        const uint64_t skipped = left < size ? left : 0;  // a frame lies in one piece
        if (end + skipped + size - read_.load(std::memory_order_acquire) > BYTES) return false;
        if (skipped) mark(end, SKIP);
        mark(end + skipped, uint32_t(length));
        std::memcpy(at(end + skipped) + HEAD, frame, length);
        written_.store(end + skipped + size, std::memory_order_release);
        return true;
    }

    // By the other: up to `most` of what is there, by `took(frame, length)`.
    template <typename Took> void take(size_t most, Took took) {
        uint64_t next = read_.load(std::memory_order_relaxed);
        const uint64_t end = written_.load(std::memory_order_acquire);
        while (next != end && most > 0) {
            uint32_t length;
            std::memcpy(&length, at(next), sizeof length);
            if (length == SKIP) {
                next += BYTES - next % BYTES;
                continue;
            }
            most--;
            took(at(next) + HEAD, length);
            next += room(length);
            read_.store(next, std::memory_order_release);
        }
    }

    bool empty() const {
        return read_.load(std::memory_order_relaxed) == written_.load(std::memory_order_acquire);
    }

  private:
    // 1,840 frames of 9,036 bytes, more than wait at a port.
    static constexpr uint64_t BYTES = 1 << 24;
    static constexpr uint64_t HEAD = 8;  // in front of a frame: its length
    static constexpr uint32_t SKIP = UINT32_MAX;

    static uint64_t room(uint64_t length) { return HEAD + (length + 7) / 8 * 8; }
    uint8_t *at(uint64_t place) const { return bytes_.get() + place % BYTES; }
    void mark(uint64_t place, uint32_t length) { std::memcpy(at(place), &length, sizeof length); }

    std::unique_ptr<uint8_t[]> bytes_{new uint8_t[BYTES]};
    alignas(64) std::atomic<uint64_t> written_{0};
    alignas(64) std::atomic<uint64_t> read_{0};
};

}  // namespace olaf
