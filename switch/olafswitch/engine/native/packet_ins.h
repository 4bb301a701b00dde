// Frames on their way to the control plane: a bounded queue for each port, which are served in turn, behind
// a policer. A flood of them costs the data plane nothing but the frames that do not fit, and other sources
// and ports nothing.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
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
    // False when `source` sent too many, its port's queue is full or the frame too long, and it was dropped.
    bool put(unsigned device, Source source, const uint8_t *frame, size_t length, uint64_t now) {
        if (length > MAX_PACKET_IN) return false;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            uint64_t place = place_of(device, source.port);
            auto &waiting = waiting_[place];
            if (waiting.size() >= CAPACITY || !policer_.allows(device, source, now)) return false;
            if (waiting.empty()) turns_.push_back(place);
            waiting.push_back({device, {frame, frame + length}});
        }
        changed_.notify_one();
        return true;
    }

    // The next frame of the port whose turn it is; nothing after `patience` or once closed.
    std::optional<PacketIn> take(std::chrono::milliseconds patience) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, patience, [this] { return closed_ || !turns_.empty(); });
        if (turns_.empty()) return std::nullopt;
        uint64_t place = turns_.front();
        auto &waiting = waiting_[place];
        PacketIn first = std::move(waiting.front());
        waiting.pop_front();
        turns_.pop_front();
        if (!waiting.empty()) turns_.push_back(place);
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
    static constexpr size_t CAPACITY = 512;  // frames of a port
    std::mutex mutex_;
    Policer policer_;
    std::condition_variable changed_;
    std::map<uint64_t, std::deque<PacketIn>> waiting_;
    std::deque<uint64_t> turns_;  // the ports of which frames wait
    bool closed_ = false;
};

}  // namespace olaf
