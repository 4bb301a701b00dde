// Frames and ACKs under way.

#pragma once

#include <cstdint>
#include <vector>

namespace olaf {

// Values under way: an event knows its value by a place that the next one takes over.
template <typename Value> class Pool {
  public:
    std::uint32_t Put(const Value &value) {
        if (free_.empty()) {
            values_.push_back(value);
            return static_cast<std::uint32_t>(values_.size() - 1);
        }
        const std::uint32_t place = free_.back();
        free_.pop_back();
        values_[place] = value;
        return place;
    }

    // Until the next Put.
    Value &operator[](std::uint32_t place) { return values_[place]; }

    Value Take(std::uint32_t place) {
        free_.push_back(place);
        return values_[place];
    }

  private:
    std::vector<Value> values_;
    std::vector<std::uint32_t> free_;
};

}  // namespace olaf
