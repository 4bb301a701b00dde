// Memory of frames, given back and used again: none is allocated for a frame once enough were.

#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace olaf {

class Buffer {
  public:
    std::uint8_t *frame() { return bytes_.get(); }
    void Copy(const std::uint8_t *frame, std::size_t length) { std::memcpy(Room(length), frame, length); }
    std::uint8_t *Room(std::size_t length) {
        if (room_ < length) {
            bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(length);
            room_ = length;
        }
        return bytes_.get();
    }

  private:
    std::unique_ptr<std::uint8_t[]> bytes_;
    std::size_t room_ = 0;
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
