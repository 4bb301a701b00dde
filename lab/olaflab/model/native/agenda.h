// The events to come, in order of time.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace olaf {

// At one instant events happen in this order.
enum class Kind : std::uint8_t { kSend, kDecide, kArrive, kAcknowledge, kHear, kGenerate, kRetry };

struct Event {
    std::int64_t time;
    std::uint64_t order;  // kind, the engine whose link an arrival comes by, the number of the event
    std::uint32_t what;   // engine, frame, ACK or source
    Kind kind() const { return static_cast<Kind>(order >> 56); }
    friend bool operator<(const Event &one, const Event &other) {
        return one.time != other.time ? one.time < other.time : one.order < other.order;
    }
};

// The events to come: a heap of four children a node, shallower than a binary one.
class Agenda {
  public:
    bool empty() const { return events_.empty(); }
    const Event &next() const { return events_.front(); }

    void Push(const Event &event) {
        events_.emplace_back();
        SiftUp(events_.size() - 1, event);
    }

    void Pop() {
        const Event last = events_.back();
        events_.pop_back();
        if (!events_.empty()) SiftDown(last);
    }

    // Pop and Push in one.
    void Replace(const Event &event) { SiftDown(event); }

  private:
    void SiftUp(std::size_t place, const Event &event) {
        while (place > 0) {
            const std::size_t parent = (place - 1) / 4;
            if (!(event < events_[parent])) break;
            events_[place] = events_[parent];
            place = parent;
        }
        events_[place] = event;
    }

    void SiftDown(const Event &event) {
        const std::size_t size = events_.size();
        std::size_t place = 0;
        for (std::size_t child = 1; child < size; child = 4 * place + 1) {
            const std::size_t end = std::min(child + 4, size);
            std::size_t least = child;
            for (std::size_t other = child + 1; other < end; ++other) {
                if (events_[other] < events_[least]) least = other;
            }
            if (!(events_[least] < event)) break;
            events_[place] = events_[least];
            place = least;
        }
        events_[place] = event;
    }

    std::vector<Event> events_;
};

}  // namespace olaf
