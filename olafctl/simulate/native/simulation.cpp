// Workers, engines and links as events in virtual time (docs/simulate.md).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "age.h"
#include "agenda.h"
#include "rules.h"
#include "simulate.h"

namespace {

using olaf::Age;
using olaf::Agenda;
using olaf::Disposition;
using olaf::Event;
using olaf::Kind;
using olaf::kNever;
using olaf::kPsPerNs;
using olaf::Queue;
using olaf::Update;

constexpr std::int64_t kBeatBytes = 64;
// The input takes a beat a cycle, and an update in no fewer cycles than this.
constexpr std::int64_t kLeastInputCycles = 4;
// Cycles from the first beat of an idle engine's input to the decision, and from the last beat read to the
// last sent.
constexpr std::int64_t kPipelineCycles = 3 + 4;

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t Next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // Uniform in [0, most].
    std::int64_t UpTo(std::int64_t most) {
        const unsigned __int128 product =
            static_cast<unsigned __int128>(Next()) * (static_cast<std::uint64_t>(most) + 1);
        return static_cast<std::int64_t>(product >> 64);
    }

  private:
    std::uint64_t state_;
};

struct Frame {
    Update update;
    std::uint32_t node;  // the engine it arrives at; kServer at the end
};
constexpr std::uint32_t kServer = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kTrace = kServer;  // the source that sends the given arrivals

struct Engine {
    Engine(const OlafEngine &given, std::size_t indices)
        : queue(given.slots, indices), setting(given), readable(indices, kNever) {}

    Queue queue;
    OlafEngine setting;
    std::deque<std::int64_t> ready;  // from when on each update in line that has not begun may begin to leave
    std::vector<std::int64_t> readable;   // by index: when the first beat of its update in line can be read
    std::int64_t merging_until = kNever;  // the adders' pipeline is empty after this
    OlafCounters counters{};
    std::int64_t left_at = kNever;   // when the update that leaves has left; kNever: none does
    std::int64_t freed_at = kNever;  // when the last slot became free
    std::int64_t debt = 0;  // of the rate limiter (hdl/olaf_rate_limiter.v) at cycle `debt_at`, times 2^32
    std::int64_t debt_at = 0;
    bool scheduled = false;
    std::int64_t input_free = 0;
    std::int64_t link_free = 0;
    std::deque<std::int64_t> on_link;  // when each frame waiting or being sent has left the queue of the link
};

class Simulation {
  public:
    Simulation(const OlafEngine *engines, std::size_t engine_count, const OlafSetting *settings,
               std::size_t setting_count, const OlafSource *sources, std::size_t source_count,
               const OlafArrival *arrivals, std::size_t arrival_count, std::size_t indices,
               std::uint64_t seed, std::int64_t start, std::int64_t end, bool record)
        : sources_(sources, sources + source_count),
          trace_(arrivals, arrivals + arrival_count),
          turns_(source_count, 0),
          clusters_(indices),
          ages_(indices),
          random_(seed),
          start_(start),
          end_(end),
          record_(record) {
        engines_.reserve(engine_count);
        for (std::size_t each = 0; each < engine_count; ++each) engines_.emplace_back(engines[each], indices);
        for (std::size_t each = 0; each < setting_count; ++each) {
            const OlafSetting &one = settings[each];
            engines_[one.engine].queue.Set(
                one.index, {static_cast<olaf::Mode>(one.mode), one.reward_rule != 0, one.threshold});
        }
        for (std::size_t each = 0; each < source_count; ++each) {
            generations_.Push(Numbered(Next(each), Kind::kGenerate, static_cast<std::uint32_t>(each)));
        }
        if (!trace_.empty()) generations_.Push(Numbered(trace_.front().time, Kind::kGenerate, kTrace));
    }

    bool Run(std::uint64_t events) {
        for (; events > 0; --events) {
            if (movements_.empty() && generations_.empty()) return false;
            const bool in_network =
                generations_.empty() || (!movements_.empty() && movements_.next() < generations_.next());
            const Event event = in_network ? movements_.next() : generations_.next();
            if (event.time > end_) return false;
            ++events_;
            if (!in_network) {
                Generate(event);
                continue;
            }
            movements_.Pop();
            switch (event.kind()) {
                case Kind::kSend: Send(event.time, event.what); break;
                case Kind::kDecide: {
                    const Frame frame = Take(event.what);
                    Decide(event.time, frame.node, frame.update);
                    break;
                }
                default: Arrive(event.time, Take(event.what));
            }
        }
        return true;
    }

    void Clusters(OlafCluster *into) const {
        for (std::size_t index = 0; index < clusters_.size(); ++index) {
            into[index] = clusters_[index];
            Age age = ages_[index];
            if (age.freshest != kNever && age.since < end_) age.Advance(end_);
            into[index].area = static_cast<double>(age.doubled_area) / 2;
            into[index].observed = age.observed;
            into[index].peaks = static_cast<double>(age.peaks);
            into[index].peak_count = age.peak_count;
            into[index].highest_peak = age.highest_peak;
        }
    }

    void Engines(OlafCounters *into) const {
        for (const Engine &engine : engines_) *into++ = engine.counters;
    }

    std::uint64_t under_way() const { return under_way_; }
    std::uint64_t events() const { return events_; }
    const std::vector<OlafReception> &receptions() const { return receptions_; }

  private:
    Event Numbered(std::int64_t time, Kind kind, std::uint32_t what) {
        return {time, static_cast<std::uint64_t>(kind) << 56 | numbered_++, what};
    }

    // When the next update of a source reaches its engine.
    std::int64_t Next(std::size_t source) {
        const OlafSource &given = sources_[source];
        const std::int64_t late = given.jitter ? random_.UpTo(given.jitter) : 0;
        return given.phase + turns_[source]++ * given.period + late + given.delay;
    }

    void Generate(const Event &event) {
        if (event.what == kTrace) {
            GenerateTraced(event.time);
            return;
        }
        const OlafSource &source = sources_[event.what];
        const std::int64_t generated = event.time - source.delay;
        const auto seq = static_cast<std::uint32_t>(turns_[event.what] - 1);
        // A jitter beyond the period does not reverse a source's updates.
        generations_.Replace(Numbered(std::max(Next(event.what), event.time), Kind::kGenerate, event.what));
        Enter(event.time, source.engine, generated, source.index, source.worker, seq, source.size);
    }

    void GenerateTraced(std::int64_t now) {
        const OlafArrival &arrival = trace_[traced_++];
        if (traced_ < trace_.size()) {
            generations_.Replace(Numbered(trace_[traced_].time, Kind::kGenerate, kTrace));
        } else {
            generations_.Pop();
        }
        const auto seq = static_cast<std::uint32_t>(traced_ - 1);
        Enter(now, arrival.engine, now, arrival.index, arrival.worker, seq, arrival.size);
    }

    // A worker's update reaches its first engine.
    void Enter(std::int64_t now, std::uint32_t engine, std::int64_t generated, std::uint32_t index,
               std::uint32_t worker, std::uint32_t seq, std::uint32_t size) {
        ++clusters_[index].generated;
        ++under_way_;
        const auto gen_time = static_cast<std::uint64_t>(generated / kPsPerNs) & olaf::kGenTimeMask;
        Offer(now, engine, Update{gen_time, index, worker, seq, 0, size, 1, 0, 0});
    }

    void Arrive(std::int64_t now, const Frame &frame) {
        if (frame.node != kServer) {
            Offer(now, frame.node, frame.update);
            return;
        }
        OlafCluster &cluster = clusters_[frame.update.index];
        ++cluster.frames;
        cluster.delivered += frame.update.count;
        under_way_ -= frame.update.count;
        const std::int64_t generated = olaf::NearestTime(frame.update.gen_time, now);
        ages_[frame.update.index].Receive(generated, now, start_);
        if (record_) receptions_.push_back({generated, now, frame.update.index, frame.update.count});
    }

    // An update reaches an engine, whose input takes one after the other.
    void Offer(std::int64_t now, std::uint32_t at, const Update &update) {
        Engine &engine = engines_[at];
        const std::int64_t decided = std::max(now, engine.input_free);
        engine.input_free = decided + std::max(Beats(update), kLeastInputCycles) * engine.setting.cycle;
        if (decided == now) {
            Decide(now, at, update);
        } else {
            movements_.Push(Numbered(decided, Kind::kDecide, Put({update, at})));
        }
    }

    void Decide(std::int64_t now, std::uint32_t at, const Update &update) {
        Engine &engine = engines_[at];
        Release(&engine, now);
        std::uint32_t displaced;
        const Disposition disposition = engine.queue.Offer(update, engine.freed_at == now, &displaced);
        ++engine.counters.dispositions[static_cast<int>(disposition)];
        OlafCluster &cluster = clusters_[update.index];
        switch (disposition) {
            case Disposition::kAppended:
                engine.ready.push_back(now + engine.setting.cycle);
                Write(&engine, now, update, false);
                Schedule(now, at);
                break;
            case Disposition::kMerged:
                Write(&engine, now, update, true);
                cluster.uncounted += displaced;
                under_way_ -= displaced;
                break;
            case Disposition::kReplacedWorker:
            case Disposition::kReplacedReward:
                Write(&engine, now, update, false);
                cluster.replaced += displaced;
                under_way_ -= displaced;
                break;
            default:
                cluster.lost += update.count;
                under_way_ -= update.count;
                break;
        }
    }

    // An update decided now is written to its slot, through the adders' pipeline or past it
    // (hdl/olaf_merge.v): what needs no adding rides through it only while it is not empty.
    static void Write(Engine *engine, std::int64_t now, const Update &update, bool merged) {
        const std::int64_t cycle = engine->setting.cycle;
        const bool rides = merged || now <= engine->merging_until;
        const std::int64_t through = engine->setting.merge_cycles;
        engine->readable[update.index] = rides ? now + through * cycle : kNever;
        if (rides) engine->merging_until = now + (Beats(update) - 1 + through - 1) * cycle;
    }

    static std::int64_t Beats(const Update &update) { return (update.size + kBeatBytes - 1) / kBeatBytes; }

    // Frees the slot of what has left by `now`.
    void Release(Engine *engine, std::int64_t now) {
        if (engine->left_at == kNever || engine->left_at > now) return;
        engine->queue.Leave();
        engine->freed_at = engine->left_at;
        engine->left_at = kNever;
    }

    void Schedule(std::int64_t now, std::uint32_t at) {
        Engine &engine = engines_[at];
        if (engine.scheduled || !engine.queue.ready()) return;
        engine.scheduled = true;
        const std::int64_t cycle = engine.setting.cycle;
        std::int64_t begins = (std::max({now, engine.ready.front(), engine.left_at}) + cycle - 1) / cycle;
        if (engine.setting.rate) begins = std::max(begins, engine.debt_at + CyclesToPay(engine));
        movements_.Push(Numbered(begins * cycle, Kind::kSend, at));
    }

    static std::int64_t CyclesToPay(const Engine &engine) {
        return engine.debt > 0 ? (engine.debt + engine.setting.rate - 1) / engine.setting.rate : 0;
    }

    // The rate limiter charges for an update that begins to leave.
    static void Charge(Engine *engine, std::int64_t now, std::int64_t size) {
        const std::int64_t rate = engine->setting.rate;
        if (!rate) return;
        engine->debt -= CyclesToPay(*engine) * rate;
        engine->debt += (size * 8 << 32) - rate;
        engine->debt_at = now / engine->setting.cycle + 1;
    }

    void Send(std::int64_t now, std::uint32_t at) {
        Engine &engine = engines_[at];
        engine.scheduled = false;
        Release(&engine, now);
        const Update update = engine.queue.Begin();
        engine.ready.pop_front();
        ++engine.counters.sent;
        engine.left_at = std::max(now, engine.readable[update.index]) + Beats(update) * engine.setting.cycle;
        Charge(&engine, now, update.size);
        Transmit(now, &engine, update);
        Schedule(now, at);
    }

    // Store and forward over the engine's link.
    void Transmit(std::int64_t now, Engine *engine, const Update &update) {
        const OlafEngine &setting = engine->setting;
        std::deque<std::int64_t> &waiting = engine->on_link;
        while (!waiting.empty() && waiting.front() <= now) waiting.pop_front();
        if (setting.link_capacity && waiting.size() >= setting.link_capacity) {
            ++engine->counters.link_dropped;
            clusters_[update.index].lost += update.count;
            under_way_ -= update.count;
            return;
        }
        const std::int64_t came = engine->left_at + kPipelineCycles * setting.cycle;
        const std::int64_t sent =
            std::max(came, engine->link_free) + std::llround(update.size * setting.link_ps_per_byte);
        engine->link_free = sent;
        if (setting.link_capacity) waiting.push_back(sent);
        const std::int64_t arrives = sent + setting.link_delay;
        const auto node = setting.next < 0 ? kServer : static_cast<std::uint32_t>(setting.next);
        movements_.Push(Numbered(arrives, Kind::kArrive, Put({update, node})));
    }

    std::uint32_t Put(const Frame &frame) {
        if (free_frames_.empty()) {
            frames_.push_back(frame);
            return static_cast<std::uint32_t>(frames_.size() - 1);
        }
        const std::uint32_t slot = free_frames_.back();
        free_frames_.pop_back();
        frames_[slot] = frame;
        return slot;
    }

    Frame Take(std::uint32_t slot) {
        free_frames_.push_back(slot);
        return frames_[slot];
    }

    std::vector<OlafSource> sources_;
    std::vector<OlafArrival> trace_;
    std::size_t traced_ = 0;
    std::vector<std::int64_t> turns_;
    std::vector<Engine> engines_;
    std::vector<OlafCluster> clusters_;
    std::vector<Age> ages_;
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> free_frames_;
    std::vector<OlafReception> receptions_;
    Agenda generations_;  // one a source, always
    Agenda movements_;    // of frames and engines: far fewer, so kept apart from the many sources
    std::uint64_t numbered_ = 0;
    Random random_;
    std::int64_t start_, end_;
    bool record_;
    std::uint64_t under_way_ = 0;
    std::uint64_t events_ = 0;
};

}  // namespace

void *olaf_simulation_new(const OlafEngine *engines, uint64_t engine_count, const OlafSetting *settings,
                          uint64_t setting_count, const OlafSource *sources, uint64_t source_count,
                          const OlafArrival *arrivals, uint64_t arrival_count, uint64_t indices,
                          uint64_t seed, int64_t start, int64_t end, uint32_t record) {
    return new Simulation(engines, engine_count, settings, setting_count, sources, source_count, arrivals,
                          arrival_count, indices, seed, start, end, record != 0);
}

void olaf_simulation_free(void *simulation) { delete static_cast<Simulation *>(simulation); }

uint32_t olaf_simulation_run(void *simulation, uint64_t events) {
    return static_cast<Simulation *>(simulation)->Run(events) ? 1 : 0;
}

void olaf_simulation_clusters(void *simulation, OlafCluster *clusters) {
    static_cast<Simulation *>(simulation)->Clusters(clusters);
}

void olaf_simulation_engines(void *simulation, OlafCounters *engines) {
    static_cast<Simulation *>(simulation)->Engines(engines);
}

uint64_t olaf_simulation_under_way(void *simulation) {
    return static_cast<Simulation *>(simulation)->under_way();
}

uint64_t olaf_simulation_events(void *simulation) { return static_cast<Simulation *>(simulation)->events(); }

uint64_t olaf_simulation_receptions(void *simulation, const OlafReception **receptions) {
    const std::vector<OlafReception> &all = static_cast<Simulation *>(simulation)->receptions();
    *receptions = all.data();
    return all.size();
}
