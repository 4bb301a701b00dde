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
    Value &operator[](std::size_t at) {
        Value *place = first_ + at;
        return place < end_ ? *place : place[-std::ptrdiff_t(room_)];
    }
    Value &front() { return *first_; }
    const Value &front() const { return *first_; }
    Value &back() { return last_ == values_.get() ? end_[-1] : last_[-1]; }
    // One more, whose value is any.
    Value &push() {
        if (size_ == room_) Grow();
        ++size_;
        Value &pushed = *last_;
        last_ = After(last_);
        return pushed;
    }
    Value &push_back(const Value &value) { return push() = value; }
    void pop_front() {
        first_ = After(first_);
        --size_;
    }
    void clear() {
        size_ = 0;
        last_ = first_;
    }

  private:
    Value *After(Value *place) const {
        ++place;
        return __builtin_expect(place == end_, 0) ? values_.get() : place;
    }

    void Grow() {
        const std::size_t room = room_ ? 2 * room_ : 16;
        auto values = std::make_unique<Value[]>(room);
        for (std::size_t at = 0; at < size_; ++at) values[at] = (*this)[at];
        values_ = std::move(values);
        room_ = room;
        first_ = values_.get();
        last_ = first_ + size_;
        end_ = first_ + room;
    }

    std::unique_ptr<Value[]> values_;
    Value *first_ = nullptr, *last_ = nullptr, *end_ = nullptr;
    std::size_t room_ = 0, size_ = 0;
};

}  // namespace olaf
