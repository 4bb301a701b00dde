// Workers, engines and links as events in virtual time (docs/simulate.md).

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "agenda.h"
#include "control.h"
#include "downlink.h"
#include "engine.h"
#include "ledger.h"
#include "pool.h"
#include "random.h"
#include "simulate.h"

namespace olaf {

constexpr std::uint32_t kServer = std::numeric_limits<std::uint32_t>::max();
// Of what arrives by links at one instant, the first engine's is first; the rest of an event's order is a
// number.
constexpr int kNumberBits = 40;
constexpr std::uint32_t kTrace = kServer;  // the source that sends the given arrivals

// Under way to an engine or the parameter server, or as a result out of an engine.
struct Frame {
    Update update;
    std::uint32_t node;
    bool result = false;
};

constexpr std::uint32_t kNoIndex = std::numeric_limits<std::uint32_t>::max();

// Under way to an engine or, as kHear, to a worker.
struct Ack {
    double share;  // Q_max/N of the tightest engine so far
    std::int64_t bytes;
    std::uint32_t cluster;
    std::uint32_t node;
    std::uint32_t index = kNoIndex, round = 0;  // of a result
};

// A worker that sends in rounds.
struct Turn {
    std::int64_t generated = 0;  // its update
    std::int64_t due = 0;        // when the update is sent again
    bool watched = false;        // a retry is to come, at `due` or before
    std::vector<bool> missing;   // segments without their result
};

// What an engine does with the sums of an index.
struct Seat {
    std::uint32_t member;
    bool distributes;
};

class Simulation {
  public:
    Simulation(const OlafWorld &world, const OlafEngine *engines, std::size_t engine_count,
               const OlafSetting *settings, std::size_t setting_count, const OlafSource *sources,
               std::size_t source_count, const OlafArrival *arrivals, std::size_t arrival_count)
        : world_(world),
          sources_(sources, sources + source_count),
          trace_(arrivals, arrivals + arrival_count),
          turns_(source_count, 0),
          ledger_(world),
          downlink_({engines, engines + engine_count}, sources_, {world.owners, world.owners + world.indices},
                    world.clusters),
          random_(world.seed) {
        helps_.assign(world.indices, 0);
        turns_in_rounds_.resize(source_count);
        seats_.assign(engine_count, std::vector<Seat>(world.indices));
        engines_.reserve(engine_count);
        for (std::size_t each = 0; each < engine_count; ++each) {
            engines_.emplace_back(engines[each], world.indices);
        }
        for (std::size_t each = 0; each < setting_count; ++each) {
            const OlafSetting &one = settings[each];
            engines_[one.engine].queue().Set(one.index, {static_cast<olaf_mode>(one.mode),
                                                         one.reward_rule != 0, one.threshold, one.wanted});
            seats_[one.engine][one.index] = {one.member, one.distributes != 0};
        }
        members_.assign(world.clusters, 0);
        for (const OlafSource &source : sources_) ++members_[world.owners[source.index]];
        controls_.reserve(source_count);
        for (std::size_t each = 0; each < source_count; ++each) {
            controls_.emplace_back(sources_[each].v, sources_[each].tolerance);
            generations_.Push(Numbered(Next(each), Kind::kGenerate, static_cast<std::uint32_t>(each)));
        }
        if (!trace_.empty()) generations_.Push(Numbered(trace_.front().time, Kind::kGenerate, kTrace));
    }

    bool Run(std::uint64_t events) {
        for (; events > 0; --events) {
            if ((movements_.empty() && generations_.empty()) || ledger_.Done()) return false;
            const bool in_network =
                generations_.empty() || (!movements_.empty() && movements_.next() < generations_.next());
            const Event event = in_network ? movements_.next() : generations_.next();
            if (event.time > world_.end) return false;
            ++events_;
            if (!in_network) {
                Generate(event);
                continue;
            }
            movements_.Pop();
            switch (event.kind()) {
                case Kind::kSend: Send(event.time, event.what); break;
                case Kind::kDecide: {
                    const Frame frame = frames_.Take(event.what);
                    Decide(event.time, frame.node, frame.update);
                    break;
                }
                case Kind::kAcknowledge: Acknowledge(event.time, acks_.Take(event.what)); break;
                case Kind::kRetry: Retry(event.time, event.what); break;
                case Kind::kHear: Hear(event.time, acks_.Take(event.what)); break;
                default: Arrive(event.time, frames_.Take(event.what));
            }
        }
        return true;
    }

    void Clusters(OlafCluster *into) const { ledger_.Report(world_.end, into); }
    void Workers(OlafWorker *into) const { ledger_.Report(world_.end, into); }
    void Engines(OlafCounters *into) const {
        for (const Engine &engine : engines_) *into++ = engine.counters;
    }
    std::uint64_t under_way() const { return ledger_.under_way(); }
    std::uint64_t events() const { return events_; }
    const std::vector<OlafReception> &receptions() const { return ledger_.receptions(); }

  private:
    Event Numbered(std::int64_t time, Kind kind, std::uint32_t what) {
        return {time, static_cast<std::uint64_t>(kind) << 56 | numbered_++, what};
    }

    // When the next update of a source reaches its engine.
    std::int64_t Next(std::size_t source) {
        const OlafSource &given = sources_[source];
        const std::int64_t turn = turns_[source]++;
        const std::int64_t late = Lateness(given, world_.seed, source, turn);
        return given.phase + turn * given.period + late + given.delay;
    }

    void Generate(const Event &event) {
        if (event.what == kTrace) {
            GenerateTraced(event.time);
            return;
        }
        const OlafSource &source = sources_[event.what];
        const std::int64_t generated = event.time - source.delay;
        if (engines_[source.engine].queue().InRounds(source.index)) {
            generations_.Pop();
            Turn &turn = turns_in_rounds_[event.what];
            turn.generated = generated;
            turn.missing.assign(source.segments, true);
            Contribute(event.time, event.what);
            return;
        }
        const auto seq = static_cast<std::uint32_t>(turns_[event.what] - 1);
        // A jitter beyond the period does not reverse a source's updates.
        generations_.Replace(Numbered(std::max(Next(event.what), event.time), Kind::kGenerate, event.what));
        if (source.tolerance > 0) {
            const double probability = controls_[event.what].Probability(generated);
            if (probability < 1 && random_.Share() >= probability) {
                ledger_.Held(source.index, source.segments);
                return;
            }
        }
        const std::uint32_t first = FirstSegment(source, world_.seed, event.what, seq);
        for (std::uint32_t turn = 0; turn < source.segments; ++turn) {
            Enter(event.time, generated, source, source.index + (first + turn) % source.segments, seq);
        }
    }

    // A worker sends the segments of its round whose result it lacks.
    void Contribute(std::int64_t now, std::uint32_t worker) {
        const OlafSource &source = sources_[worker];
        Turn &turn = turns_in_rounds_[worker];
        const auto round = static_cast<std::uint32_t>(turns_[worker] - 1);
        for (std::uint32_t segment = 0; segment < source.segments; ++segment) {
            if (turn.missing[segment]) { Enter(now, turn.generated, source, source.index + segment, round); }
        }
        turn.due = now + source.retry;
        if (!turn.watched) movements_.Push(Numbered(turn.due, Kind::kRetry, worker));
        turn.watched = true;
    }

    // Also asks for help; when every member has, none has the result, and the index begins its round again.
    // Most results come in time: rather than one event a round there is one a worker, which is put off.
    void Retry(std::int64_t now, std::uint32_t worker) {
        const OlafSource &source = sources_[worker];
        Turn &turn = turns_in_rounds_[worker];
        turn.watched = turn.due > now;
        if (turn.watched) movements_.Push(Numbered(turn.due, Kind::kRetry, worker));
        if (turn.due != now) return;
        for (std::uint32_t segment = 0; segment < source.segments; ++segment) {
            if (!turn.missing[segment]) continue;
            const std::uint32_t index = source.index + segment;
            if (++helps_[index] >= members_[ledger_.Owner(index)]) Reset(index);
        }
        Contribute(now, worker);
    }

    void Reset(std::uint32_t index) {
        helps_[index] = 0;
        for (Engine &engine : engines_) {
            if (!engine.queue().Sums(index)) continue;
            if (const Update *sum = engine.queue().Waiting(index)) {
                ledger_.Lost(index, sum->count, sum->contributors);
                engine.queue().Discard(index);
            }
            engine.queue().Forget(index);
        }
    }

    // A worker has the result of an index.
    void Result(std::int64_t now, const Ack &ack) {
        const OlafSource &source = sources_[ack.node];
        if (!engines_[source.engine].queue().InRounds(ack.index)) return;
        Turn &turn = turns_in_rounds_[ack.node];
        const std::uint32_t segment = ack.index - source.index;
        if (ack.round != static_cast<std::uint32_t>(turns_[ack.node] - 1) || !turn.missing[segment]) return;
        turn.missing[segment] = false;
        if (std::find(turn.missing.begin(), turn.missing.end(), true) != turn.missing.end()) return;
        turn.due = 0;
        const std::int64_t late = Lateness(source, world_.seed, ack.node, turns_[ack.node]++);
        generations_.Push(Numbered(now + source.period + late + source.delay, Kind::kGenerate, ack.node));
    }

    void GenerateTraced(std::int64_t now) {
        const OlafArrival &arrival = trace_[traced_++];
        if (traced_ < trace_.size()) {
            generations_.Replace(Numbered(trace_[traced_].time, Kind::kGenerate, kTrace));
        } else {
            generations_.Pop();
        }
        Enter(now, now, arrival, arrival.index, arrival.seq);
    }

    // A worker's update, of a source or a given arrival, reaches its first engine.
    template <typename From> void Enter(std::int64_t now, std::int64_t generated, const From &from,
                                        std::uint32_t index, std::uint32_t seq) {
        ledger_.Generated(index);
        const auto gen_time = static_cast<std::uint64_t>(generated / kPsPerNs) & kGenTimeMask;
        const std::uint32_t contributor = ledger_.Contributor(from.sender, generated / kPsPerNs * kPsPerNs);
        Offer(now, from.engine,
              Update{gen_time, index, from.worker, seq, 0, from.size, 1, 0, contributor, {}});
    }

    void Arrive(std::int64_t now, const Frame &frame) {
        if (frame.result) {
            ledger_.Received(frame.update, now);
            helps_[frame.update.index] = 0;
            Acknowledge(now, {1.0, frame.update.size, ledger_.Owner(frame.update.index), frame.node,
                              frame.update.index, frame.update.seq});
            return;
        }
        if (frame.node != kServer) {
            Offer(now, frame.node, frame.update);
            return;
        }
        ledger_.Received(frame.update, now);
        if (!world_.acknowledge) return;
        const std::int64_t weights = world_.ack_bytes ? world_.ack_bytes : frame.update.size;
        const std::uint32_t cluster = ledger_.Owner(frame.update.index);
        Spread(now, {1.0, weights + world_.status_bytes, cluster, kServer}, downlink_.First(cluster));
    }

    void Offer(std::int64_t now, std::uint32_t at, const Update &update) {
        const std::int64_t decided = engines_[at].DecidedAt(now, update);
        if (decided == now) {
            Decide(now, at, update);
        } else {
            movements_.Push(Numbered(decided, Kind::kDecide, frames_.Put({update, at})));
        }
    }

    void Decide(std::int64_t now, std::uint32_t at, const Update &update) {
        const Update *waiting = engines_[at].queue().Waiting(update.index);
        const std::uint32_t with = waiting ? waiting->contributors : kNoContributors;
        std::uint32_t displaced;
        const Disposition disposition = engines_[at].Decide(now, update, &displaced);
        switch (disposition) {
            case Disposition::kAppended: Schedule(now, at); break;
            case Disposition::kMerged: ledger_.Merged(update, with, displaced); break;
            case Disposition::kReplacedWorker:
            case Disposition::kReplacedReward: ledger_.Replaced(update.index, displaced, with); break;
            case Disposition::kDroppedSuperseded: ledger_.Lost(update.index, displaced, with); break;
            default: ledger_.Lost(update); break;
        }
        if (engines_[at].queue().released()) Schedule(now, at);
    }

    void Schedule(std::int64_t now, std::uint32_t at) {
        const std::int64_t begins = engines_[at].Schedule(now);
        if (begins != kNever) movements_.Push(Numbered(begins, Kind::kSend, at));
    }

    void Send(std::int64_t now, std::uint32_t at) {
        Engine &engine = engines_[at];
        Update update = engine.Send(now);
        if (engine.queue().Sums(update.index)) {
            const Seat &seat = seats_[at][update.index];
            if (seat.distributes) {
                movements_.Push(Numbered(engine.Sent(), Kind::kArrive, frames_.Put({update, at, true})));
                Schedule(now, at);
                return;
            }
            update.worker = seat.member;
        }
        const std::int64_t arrives = engine.Transmit(update);
        if (arrives == kNever) {
            ledger_.Lost(update);
        } else {
            const std::int64_t next = engine.setting.next;
            const std::uint32_t node = next < 0 ? kServer : static_cast<std::uint32_t>(next);
            Event arrival = Numbered(arrives, Kind::kArrive, frames_.Put({update, node}));
            arrival.order |= static_cast<std::uint64_t>(at) << kNumberBits;
            movements_.Push(arrival);
        }
        Schedule(now, at);
    }

    // An ACK goes down to each of `engines`.
    void Spread(std::int64_t now, Ack ack, const std::vector<std::uint32_t> &engines) {
        for (const std::uint32_t engine : engines) {
            ack.node = engine;
            const std::int64_t arrives = engines_[engine].TransmitDown(now, ack.bytes);
            movements_.Push(Numbered(arrives, Kind::kAcknowledge, acks_.Put(ack)));
        }
    }

    // An ACK crosses an engine, which keeps the tighter status in it.
    void Acknowledge(std::int64_t now, Ack ack) {
        const std::uint32_t at = ack.node;
        ack.share = std::min(ack.share, engines_[at].Share(now));
        Spread(now, ack, downlink_.Engines(at, ack.cluster));
        for (const std::uint32_t worker : downlink_.Workers(at, ack.cluster)) {
            ack.node = worker;
            if (sources_[worker].delay == 0) {
                Hear(now, ack);
            } else {
                movements_.Push(Numbered(now + sources_[worker].delay, Kind::kHear, acks_.Put(ack)));
            }
        }
    }

    void Hear(std::int64_t now, const Ack &ack) {
        if (ack.index != kNoIndex) {
            Result(now, ack);
            return;
        }
        controls_[ack.node].Acknowledged(now, ack.share);
        ledger_.Acknowledged(ack.cluster);
    }

    const OlafWorld world_;
    std::vector<OlafSource> sources_;
    std::vector<OlafArrival> trace_;
    std::size_t traced_ = 0;
    std::vector<std::int64_t> turns_;
    std::vector<Control> controls_;
    std::vector<Engine> engines_;
    std::vector<std::vector<Seat>> seats_;  // by engine and index
    std::vector<Turn> turns_in_rounds_;     // by source
    std::vector<std::uint32_t> helps_;      // by index: requested since its last result
    std::vector<std::uint32_t> members_;    // by cluster: sources
    Ledger ledger_;
    Downlink downlink_;
    Pool<Frame> frames_;
    Pool<Ack> acks_;
    Agenda generations_;  // at most one a source
    Agenda movements_;    // all else: far fewer, so kept apart from the many sources
    std::uint64_t numbered_ = 0;
    Random random_;
    std::uint64_t events_ = 0;
};

}  // namespace olaf
