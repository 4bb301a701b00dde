// What became of each cluster's updates, and how old its model is.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "age.h"
#include "rules.h"
#include "simulate.h"

namespace olaf {

class Ledger {
  public:
    // `owners` has the cluster of each index, clusters in order.
    Ledger(std::vector<std::uint32_t> owners, std::size_t clusters, std::int64_t start, bool record)
        : owners_(std::move(owners)),
          clusters_(clusters),
          ages_(clusters),
          freshest_(owners_.size(), kNever),
          first_(clusters + 1, owners_.size()),
          start_(start),
          record_(record) {
        for (std::size_t index = owners_.size(); index-- > 0;) first_[owners_[index]] = index;
    }

    std::uint32_t Owner(std::uint32_t index) const { return owners_[index]; }
    std::uint64_t under_way() const { return under_way_; }
    const std::vector<OlafReception> &receptions() const { return receptions_; }

    void Generated(std::uint32_t index) {
        ++Of(index).generated;
        ++under_way_;
    }
    void Held(std::uint32_t index, std::uint32_t frames) { Of(index).held += frames; }
    void Acknowledged(std::uint32_t cluster) { ++clusters_[cluster].acknowledged; }
    void Replaced(std::uint32_t index, std::uint32_t updates) { End(&Of(index).replaced, updates); }
    void Lost(std::uint32_t index, std::uint32_t updates) { End(&Of(index).lost, updates); }
    void Uncounted(std::uint32_t index, std::uint32_t updates) { End(&Of(index).uncounted, updates); }

    // A frame reaches the parameter server.
    void Received(const Update &update, std::int64_t now) {
        OlafCluster &cluster = Of(update.index);
        ++cluster.frames;
        End(&cluster.delivered, update.count);
        const std::int64_t generated = NearestTime(update.gen_time, now);
        if (record_) receptions_.push_back({generated, now, update.index, update.count});
        if (freshest_[update.index] != kNever && generated <= freshest_[update.index]) return;
        freshest_[update.index] = generated;
        const std::uint32_t owner = owners_[update.index];
        const std::int64_t oldest =
            *std::min_element(freshest_.begin() + static_cast<std::ptrdiff_t>(first_[owner]),
                              freshest_.begin() + static_cast<std::ptrdiff_t>(End(owner)));
        if (oldest != kNever) ages_[owner].Receive(oldest, now, start_);
    }

    // The figures of every cluster, observed until `end`.
    void Report(std::int64_t end, OlafCluster *into) const {
        for (std::size_t each = 0; each < clusters_.size(); ++each) {
            into[each] = clusters_[each];
            Age age = ages_[each];
            if (age.freshest != kNever && age.since < end) age.Advance(end);
            into[each].area = static_cast<double>(age.doubled_area) / 2;
            into[each].observed = age.observed;
            into[each].peaks = static_cast<double>(age.peaks);
            into[each].peak_count = age.peak_count;
            into[each].highest_peak = age.highest_peak;
        }
    }

  private:
    OlafCluster &Of(std::uint32_t index) { return clusters_[owners_[index]]; }
    std::size_t End(std::uint32_t cluster) const { return first_[cluster + 1]; }
    void End(std::uint64_t *how, std::uint32_t updates) {
        *how += updates;
        under_way_ -= updates;
    }

    std::vector<std::uint32_t> owners_;
    std::vector<OlafCluster> clusters_;
    std::vector<Age> ages_;
    std::vector<std::int64_t> freshest_;  // by index: the newest generation time received
    std::vector<std::size_t> first_;      // index of each cluster; every cluster has one at least
    std::int64_t start_;
    bool record_;
    std::uint64_t under_way_ = 0;
    std::vector<OlafReception> receptions_;
};

}  // namespace olaf
