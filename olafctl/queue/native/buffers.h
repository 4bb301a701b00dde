// Memory of frames, given back and used again: none is allocated for a frame once enough were.

#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace olaf {

class Buffer {
  public:
    // Bytes in front of a frame that its receiver may write, a shim for instance.
    static constexpr std::size_t kHeadroom = 64;

    std::uint8_t *frame() { return bytes_.data() + kHeadroom; }
    const std::uint8_t *frame() const { return bytes_.data() + kHeadroom; }
    void Copy(const std::uint8_t *frame, std::size_t length) {
        if (bytes_.size() < kHeadroom + length) bytes_.resize(kHeadroom + length);
        std::memcpy(this->frame(), frame, length);
    }

  private:
    std::vector<std::uint8_t> bytes_;
};

class Buffers {
  public:
    Buffer *Take() {
        if (free_.empty()) return &all_.emplace_back();
        Buffer *buffer = free_.back();
        free_.pop_back();
        return buffer;
    }
    void Give(Buffer *buffer) { free_.push_back(buffer); }

  private:
    std::deque<Buffer> all_;
    std::vector<Buffer *> free_;
};

}  // namespace olaf
