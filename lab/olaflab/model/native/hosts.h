// The links and hosts of a distributed training (iterations.h), and what they send.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <vector>

#include "update.h"

namespace olaf {

// One direction of a link; times are picoseconds.
class Wire {
  public:
    Wire(double ps_per_byte, std::int64_t delay) : ps_per_byte_(ps_per_byte), delay_(delay) {}

    // When the last byte of a frame that is there now has arrived.
    std::int64_t Carry(std::int64_t now, std::uint32_t bytes) {
        free_ = std::max(now, free_) + std::llround(bytes * ps_per_byte_);
        return free_ + delay_;
    }

  private:
    double ps_per_byte_;
    std::int64_t delay_;
    std::int64_t free_ = 0;
};

// What a host has to send: a message is one or more frames.
struct Message {
    std::uint32_t to;
    std::uint32_t bytes;
    std::uint32_t segment;  // the first one's; segments are frames of a gradient, in its order
    std::uint32_t number;   // what the approach calls it: the round, or the gradient
};

struct Packet {
    std::uint32_t from, to;
    std::uint32_t payload, whole;  // bytes of a gradient, and of its message
    std::uint32_t segment;
    bool last;  // of its message
    std::uint16_t hop;
    Update update;  // at an engine
};

// What a worker or the server has under way.
struct Host {
    std::deque<Message> out;
    std::uint32_t sent_bytes = 0;  // of the first of them
    bool sending = false;
    std::int64_t sending_free = 0, receiving_free = 0;  // when its processor is
    std::int64_t flying = 0;                            // segments sent, less results
    std::uint64_t started = 0;                          // messages or gradients handed over
    std::uint64_t received = 0;                         // messages
    std::uint64_t version = 0;                          // iterations whose result is applied
    std::uint64_t computed_from = 0;                    // the version of the gradient that is computed
    std::uint64_t commits = 0;                          // gradients handed over since the last result
    bool computing = false;
    bool waits = false;                  // for a result, to commit
    std::vector<std::uint32_t> results;  // by segment
    std::deque<std::uint32_t> complete;  // how many segments have the result of version + 1, + 2, ...
};

}  // namespace olaf
