// Frames on their way to the control plane: a bounded queue behind a policer, so that a flood of them costs
// the data plane nothing but the frames that do not fit, and other sources nothing.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "policer.h"

namespace olaf {

// Longer than any frame that comes in: programs put headers in front of what they punt.
constexpr size_t MAX_PACKET_IN = 65536;

struct PacketIn {
    unsigned device;
    std::vector<uint8_t> frame;
};

class PacketIns {
  public:
    // False when `source` sent too many, the queue is full or the frame too long, and it was dropped.
    bool put(unsigned device, uint64_t source, const uint8_t *frame, size_t length, uint64_t now) {
        if (length > MAX_PACKET_IN) return false;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (waiting_.size() >= CAPACITY || !policer_.allows(device, source, now)) return false;
            waiting_.push_back({device, {frame, frame + length}});
        }
        changed_.notify_one();
        return true;
    }

    // The next frame; nothing after `patience` or once closed.
    std::optional<PacketIn> take(std::chrono::milliseconds patience) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, patience, [this] { return closed_ || !waiting_.empty(); });
        if (waiting_.empty()) return std::nullopt;
        PacketIn first = std::move(waiting_.front());
        waiting_.pop_front();
        return first;
    }

    void close() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

  private:
    static constexpr size_t CAPACITY = 4096;
    std::mutex mutex_;
    Policer policer_;
    std::condition_variable changed_;
    std::deque<PacketIn> waiting_;
    bool closed_ = false;
};

}  // namespace olaf
