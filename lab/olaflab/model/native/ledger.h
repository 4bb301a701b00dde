// What became of each cluster's updates, and how old its model is.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "age.h"
#include "contributors.h"
#include "simulate.h"
#include "update.h"

namespace olaf {

class Ledger {
  public:
    explicit Ledger(const OlafWorld &world)
        : owners_(world.owners, world.owners + world.indices),
          workers_(world.senders, Worker{First(world)}),
          goal_(world.goal),
          clusters_(world.clusters),
          ages_(world.clusters, First(world)),
          freshest_(world.indices, First(world).freshest),
          first_(world.clusters + 1, world.indices),
          start_(world.start),
          record_(world.record != 0) {
        for (std::size_t index = owners_.size(); index-- > 0;) first_[owners_[index]] = index;
    }

    std::uint32_t Owner(std::uint32_t index) const { return owners_[index]; }
    std::uint64_t under_way() const { return under_way_; }
    const std::vector<OlafReception> &receptions() const { return receptions_; }
    // Whether every worker has as many updates delivered as are wanted.
    bool Done() const { return goal_ > 0 && !workers_.empty() && reached_ == workers_.size(); }

    void Generated(std::uint32_t index) {
        ++Of(index).generated;
        ++under_way_;
    }
    // The update with which a worker's part begins its way.
    std::uint32_t Contributor(std::uint32_t sender, std::int64_t generated) {
        return workers_.empty() ? kNoContributors : contributors_.Add({sender, generated});
    }
    void Held(std::uint32_t index, std::uint32_t frames) { Of(index).held += frames; }
    void Acknowledged(std::uint32_t cluster) { ++clusters_[cluster].acknowledged; }
    void Replaced(std::uint32_t index, std::uint32_t updates, std::uint32_t contributors) {
        End(&Of(index).replaced, updates);
        contributors_.Discard(contributors);
    }
    void Lost(const Update &update) { Lost(update.index, update.count, update.contributors); }
    void Lost(std::uint32_t index, std::uint32_t updates, std::uint32_t contributors) {
        End(&Of(index).lost, updates);
        contributors_.Discard(contributors);
    }
    void Merged(const Update &update, std::uint32_t with, std::uint32_t uncounted) {
        End(&Of(update.index).uncounted, uncounted);
        if (with != kNoContributors) contributors_.Join(update.contributors, with);
    }

    // A frame reaches the parameter server.
    void Received(const Update &update, std::int64_t now) {
        OlafCluster &cluster = Of(update.index);
        ++cluster.frames;
        End(&cluster.delivered, update.count);
        contributors_.Take(update.contributors, [&](const Contributors::Part &part) {
            Worker &worker = workers_[part.sender];
            const bool before = worker.Reached();
            worker.Received(part.generated, now, start_, goal_);
            reached_ += worker.Reached() && !before;
        });
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
            const Age age = ages_[each].Until(end);
            into[each].area = static_cast<double>(age.doubled_area) / 2;
            into[each].observed = age.observed;
            into[each].peaks = static_cast<double>(age.peaks);
            into[each].peak_count = age.peak_count;
            into[each].highest_peak = age.highest_peak;
        }
    }

    void Report(std::int64_t end, OlafWorker *into) const {
        for (const Worker &worker : workers_) {
            const Age age = worker.age.Until(end);
            *into++ = {static_cast<double>(age.doubled_area) / 2, age.observed, worker.delivered,
                       worker.reached};
        }
    }

  private:
    static Age First(const OlafWorld &world) { return world.initial ? Age::OfInitial(world.start) : Age(); }

    struct Worker {
        Age age;
        std::uint64_t delivered = 0;
        std::int64_t reached = -1;

        void Received(std::int64_t generated, std::int64_t now, std::int64_t start, std::uint64_t goal) {
            age.Receive(generated, now, start);
            if (++delivered == goal) reached = now;
        }
        bool Reached() const { return reached >= 0; }
    };

    OlafCluster &Of(std::uint32_t index) { return clusters_[owners_[index]]; }
    std::size_t End(std::uint32_t cluster) const { return first_[cluster + 1]; }
    void End(std::uint64_t *how, std::uint32_t updates) {
        *how += updates;
        under_way_ -= updates;
    }

    std::vector<std::uint32_t> owners_;
    Contributors contributors_;
    std::vector<Worker> workers_;
    std::uint64_t goal_;
    std::size_t reached_ = 0;  // workers that reached the goal
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
