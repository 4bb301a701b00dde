// A queue of plain values in one array that grows and never shrinks: no allocation once it was long enough.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace olaf {

template <typename Value> class Fifo {
  public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    Value &operator[](std::size_t at) { return values_[(first_ + at) & (room_ - 1)]; }
    const Value &operator[](std::size_t at) const { return values_[(first_ + at) & (room_ - 1)]; }
    Value &front() { return (*this)[0]; }
    const Value &front() const { return (*this)[0]; }
    Value &back() { return (*this)[size_ - 1]; }
    const Value &back() const { return (*this)[size_ - 1]; }
    // One more, whose value is any.
    Value &push() {
        if (size_ == room_) Grow();
        return (*this)[size_++];
    }
    Value &push_back(const Value &value) { return push() = value; }
    void pop_front() {
        ++first_;
        --size_;
    }

  private:
    void Grow() {
        const std::size_t room = room_ ? 2 * room_ : 16;
        auto values = std::make_unique<Value[]>(room);
        for (std::size_t at = 0; at < size_; ++at) values[at] = (*this)[at];
        values_ = std::move(values);
        room_ = room;
        first_ = 0;
    }

    std::unique_ptr<Value[]> values_;
    std::size_t room_ = 0, first_ = 0, size_ = 0;
};

}  // namespace olaf
