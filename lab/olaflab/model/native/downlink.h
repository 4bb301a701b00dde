// Where ACKs and results go: down the tree of engines to every worker of a cluster.

#pragma once

#include <cstdint>
#include <vector>

#include "simulate.h"

namespace olaf {

class Downlink {
  public:
    Downlink(const std::vector<OlafEngine> &engines, const std::vector<OlafSource> &sources,
             const std::vector<std::uint32_t> &owners, std::size_t clusters)
        : engines_(engines.size(), std::vector<Below>(clusters)), first_(clusters) {
        for (std::uint32_t source = 0; source < sources.size(); ++source) {
            const std::uint32_t cluster = owners[sources[source].index];
            std::uint32_t at = sources[source].engine;
            engines_[at][cluster].workers.push_back(source);
            while (engines[at].next >= 0) {
                const auto next = static_cast<std::uint32_t>(engines[at].next);
                Add(&engines_[next][cluster].engines, at);
                at = next;
            }
            Add(&first_[cluster], at);
        }
    }

    // The engines next to the parameter server behind which the cluster has workers.
    const std::vector<std::uint32_t> &First(std::uint32_t cluster) const { return first_[cluster]; }
    // The engines below `engine` behind which it has some, and its workers at `engine` itself.
    const std::vector<std::uint32_t> &Engines(std::uint32_t engine, std::uint32_t cluster) const {
        return engines_[engine][cluster].engines;
    }
    const std::vector<std::uint32_t> &Workers(std::uint32_t engine, std::uint32_t cluster) const {
        return engines_[engine][cluster].workers;
    }

  private:
    struct Below {
        std::vector<std::uint32_t> engines, workers;
    };

    static void Add(std::vector<std::uint32_t> *to, std::uint32_t engine) {
        for (const std::uint32_t known : *to) {
            if (known == engine) return;
        }
        to->push_back(engine);
    }

    std::vector<std::vector<Below>> engines_;
    std::vector<std::vector<std::uint32_t>> first_;
};

}  // namespace olaf
