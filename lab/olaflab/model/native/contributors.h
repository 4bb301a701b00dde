// Which worker updates a merged frame consists of: more than its header shows, for measures of each worker.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace olaf {

constexpr std::uint32_t kNoContributors = 0xffffffff;

// Sets of worker updates as circles: any member stands for its circle, and exchanging the successors of a
// member of each joins two circles into one.
class Contributors {
  public:
    struct Part {
        std::uint32_t sender;
        std::int64_t generated;  // picoseconds
    };

    // A set of one.
    std::uint32_t Add(const Part &part) {
        std::uint32_t place = free_;
        if (place == kNoContributors) {
            place = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({part, place});
            return place;
        }
        free_ = entries_[place].next;
        entries_[place] = {part, place};
        return place;
    }

    // Afterwards each of them stands for both.
    void Join(std::uint32_t one, std::uint32_t other) { std::swap(entries_[one].next, entries_[other].next); }

    // Calls `use` with each part of a set, which is then gone.
    template <typename Use> void Take(std::uint32_t set, Use use) {
        if (set == kNoContributors) return;
        for (std::uint32_t place = set;;) {
            use(entries_[place].part);
            place = entries_[place].next;
            if (place == set) break;
        }
        std::swap(entries_[set].next, free_);
    }

    void Discard(std::uint32_t set) {
        Take(set, [](const Part &) {});
    }

  private:
    struct Entry {
        Part part;
        std::uint32_t next;
    };

    std::vector<Entry> entries_;
    std::uint32_t free_ = kNoContributors;  // a chain of free places
};

}  // namespace olaf
