// Iterations of one distributed training over a rack's switch, or racks below a root: a parameter server,
// a ring all-reduce, or an engine that sums (iSwitch §2.3, §3, §4), each with the hosts' software.
//
// Every link sends one frame after the other and delivers it whole; a switch forwards it then. An engine is
// the queue's rules on its clock. A host's software takes `message` for each message, `frame` for each frame
// and `byte` for each byte of payload, sent or received, in the order of requests; on one
// processor or on one for each direction. Computing takes it no time: a worker computes beside it.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "agenda.h"
#include "hosts.h"
#include "pool.h"
#include "random.h"
#include "timed.h"
#include "training.h"
#include "update.h"

namespace olaf {

class Iterations {
  public:
    Iterations(const OlafTraining &given, const std::uint32_t *messages)
        : given_(given), messages_(messages, messages + given.messages) {
        const std::uint32_t each = given.each_rack ? given.each_rack : given.workers;
        racks_ = (given.workers + each - 1) / each;
        each_rack_ = each;
        hosts_.resize(given.workers + 1);
        up_.assign(hosts_.size(), Wire(given.link_ps_per_byte, given.delay));
        down_ = up_;
        trunk_up_.assign(racks_, Wire(given.trunk_ps_per_byte, given.delay));
        trunk_down_ = trunk_up_;
        for (const std::uint32_t bytes : messages_) {
            first_segment_.push_back(segments_);
            segments_ += (bytes + given.payload - 1) / given.payload;
        }
        if (Sums()) {
            for (Host &host : hosts_) host.results.assign(segments_, 0);
            for (std::uint32_t engine = 0; engine < Engines(); ++engine) AddEngine(engine);
        }
        for (std::uint32_t worker = 0; worker < given.workers; ++worker) Compute(0, worker);
    }

    // Until `iterations` have been counted; 0 when nothing more can happen before, or a contribution was
    // dropped.
    bool Run() {
        while (updates_.size() < given_.iterations) {
            if (agenda_.empty() || dropped_) return false;
            const Event event = agenda_.next();
            agenda_.Pop();
            ++events_;
            switch (static_cast<What>(event.order >> 56)) {
                case What::kBegins: Begins(event.time, event.what); break;
                case What::kDecide: Decide(event.time, event.what); break;
                case What::kHop: Hop(event.time, event.what); break;
                case What::kSent: Sent(event.time, event.what); break;
                case What::kProcessed: Processed(event.time, packets_.Take(event.what)); break;
                case What::kComputed: Computed(event.time, event.what); break;
            }
        }
        return true;
    }

    const std::vector<std::int64_t> &updates() const { return updates_; }
    const std::uint64_t *staleness() const { return staleness_; }
    std::uint64_t discarded() const { return discarded_; }
    std::uint64_t events() const { return events_; }
    std::uint64_t dropped() const { return dropped_; }

  private:
    // At one instant in this order.
    enum class What : std::uint8_t { kBegins, kDecide, kHop, kSent, kProcessed, kComputed };

    bool Sums() const {
        return given_.approach == OLAF_TRAINING_ENGINE || given_.approach == OLAF_TRAINING_ENGINE_ASYNC;
    }
    std::uint32_t Server() const { return given_.workers; }
    std::uint32_t RackOf(std::uint32_t host) const { return host / each_rack_; }
    // Racks, and a root when there are several.
    std::uint32_t Engines() const { return racks_ == 1 ? 1 : racks_ + 1; }
    std::uint32_t Below(std::uint32_t engine) const {
        if (engine == racks_) return given_.workers;
        return std::min(each_rack_, given_.workers - engine * each_rack_);
    }

    void AddEngine(std::uint32_t engine) {
        BasicQueue<Update> rules(given_.slots, segments_, given_.quota, 64);
        const TimedQueue<Update>::Pace pace{given_.cycle, given_.merge_cycles};
        engines_.emplace_back(std::move(rules), pace, segments_);
        BasicQueue<Update>::Setting setting;
        setting.mode = static_cast<olaf_mode>(given_.mode);
        setting.wanted = Below(engine);
        for (std::uint32_t segment = 0; segment < segments_; ++segment) {
            engines_.back().queue.Set(segment, setting);
        }
    }

    void Push(std::int64_t time, What kind, std::uint32_t what) {
        agenda_.Push({time, static_cast<std::uint64_t>(kind) << 56 | numbered_++, what});
    }

    // When the host's processor is through with `duration` more.
    std::int64_t Busy(std::int64_t now, std::int64_t *free, double duration) {
        *free = std::max(now, *free) + std::llround(duration);
        return *free;
    }
    std::int64_t *Receiving(std::uint32_t host) {
        return given_.duplex ? &hosts_[host].receiving_free : &hosts_[host].sending_free;
    }

    // Of a frame of a message of `whole` bytes; at the message's edge, which is its first frame for the
    // sender and its last one for the receiver.
    double Cost(std::uint32_t payload, std::uint32_t whole, bool edge) const {
        if (given_.whole) payload = edge ? whole : 0;
        return given_.frame_ps + given_.byte_ps * payload + (edge ? given_.message_ps : 0.0);
    }

    // --- Sending ------------------------------------------------------------------------------------

    void HandOver(std::uint32_t host, std::uint32_t to, std::uint32_t bytes, std::uint32_t segment,
                  std::uint32_t number) {
        hosts_[host].out.push_back({to, bytes, segment, number});
    }

    void HandOverGradient(std::uint32_t host, std::uint32_t to, std::uint32_t number) {
        for (std::size_t each = 0; each < messages_.size(); ++each) {
            HandOver(host, to, messages_[each], first_segment_[each], number);
        }
    }

    void Pump(std::int64_t now, std::uint32_t number) {
        Host &host = hosts_[number];
        if (host.sending || host.out.empty()) return;
        if (given_.approach == OLAF_TRAINING_ENGINE && host.flying >= given_.window) return;
        const std::uint32_t payload = std::min(given_.payload, host.out.front().bytes - host.sent_bytes);
        host.sending = true;
        const double cost = Cost(payload, host.out.front().bytes, host.sent_bytes == 0);
        Push(Busy(now, &host.sending_free, cost), What::kSent, number);
    }

    // A host's next frame goes out.
    void Sent(std::int64_t now, std::uint32_t number) {
        Host &host = hosts_[number];
        const Message message = host.out.front();
        Packet packet{};
        packet.from = number;
        packet.to = message.to;
        packet.whole = message.bytes;
        packet.payload = std::min(given_.payload, message.bytes - host.sent_bytes);
        packet.segment = message.segment + host.sent_bytes / given_.payload;
        host.sent_bytes += packet.payload;
        packet.last = host.sent_bytes == message.bytes;
        if (packet.last) {
            host.out.pop_front();
            host.sent_bytes = 0;
        }
        if (Sums()) {
            ++host.flying;
            const std::uint32_t member = racks_ == 1 ? number : number % each_rack_;
            packet.update = {0, packet.segment, member, message.number, 0, Size(packet), 1, 0, 0, {}};
        }
        host.sending = false;
        Push(up_[number].Carry(now, Size(packet)), What::kHop, packets_.Put(packet));
        Pump(now, number);
    }

    std::uint32_t Size(const Packet &packet) const { return given_.header + packet.payload; }

    // --- The network --------------------------------------------------------------------------------

    // A frame has arrived whole: at a switch, or at its host when it has no further way.
    void Hop(std::int64_t now, std::uint32_t what) {
        Packet &packet = packets_[what];
        if (Sums()) {
            HopToEngine(now, what);
            return;
        }
        Wire *next = NextWire(packet);
        if (next) {
            ++packet.hop;
            Push(next->Carry(now, Size(packet)), What::kHop, what);
        } else {
            Received(now, packets_.Take(what));
        }
    }

    // The way from the switch of the sender; the server is at the root.
    Wire *NextWire(const Packet &packet) {
        const bool rise = racks_ > 1 && packet.from != Server() &&
                          (packet.to == Server() || RackOf(packet.from) != RackOf(packet.to));
        const bool fall = racks_ > 1 && packet.to != Server() &&
                          (packet.from == Server() || RackOf(packet.from) != RackOf(packet.to));
        std::uint32_t hop = packet.hop;
        if (rise && hop-- == 0) return &trunk_up_[RackOf(packet.from)];
        if (fall && hop-- == 0) return &trunk_down_[RackOf(packet.to)];
        return hop == 0 ? &down_[packet.to] : nullptr;
    }

    // `hop` counts the engines passed on the way up; kDown and more is the way down.
    static constexpr std::uint16_t kDown = 16, kHost = 17;

    void HopToEngine(std::int64_t now, std::uint32_t what) {
        Packet &packet = packets_[what];
        if (packet.hop == kHost) {
            Received(now, packets_.Take(what));
        } else if (packet.hop == kDown) {  // at a rack's switch
            const Packet result = packets_.Take(what);
            ToMembers(now, result, result.to);
        } else {
            Offer(now, what, EngineOf(packet));
        }
    }

    std::uint32_t EngineOf(const Packet &packet) const {
        return packet.hop == 0 ? RackOf(packet.from) : racks_;
    }

    void Offer(std::int64_t now, std::uint32_t what, std::uint32_t engine) {
        const std::int64_t decided = engines_[engine].DecidedAt(now, packets_[what].update.size);
        if (decided == now) {
            Decide(now, what);
        } else {
            Push(decided, What::kDecide, what);
        }
    }

    void Decide(std::int64_t now, std::uint32_t what) {
        const Packet packet = packets_.Take(what);
        const std::uint32_t engine = EngineOf(packet);
        TimedQueue<Update> &queue = engines_[engine];
        std::uint32_t displaced;
        const Disposition disposition = queue.Decide(now, packet.update, &displaced);
        if (disposition != Disposition::kAppended && disposition != Disposition::kMerged) ++dropped_;
        if (queue.queue.released()) Schedule(now, engine);
    }

    void Schedule(std::int64_t now, std::uint32_t engine) {
        const std::int64_t begins = engines_[engine].Schedule(now);
        if (begins != kNever) Push(begins, What::kBegins, engine);
    }

    // A sum begins to leave an engine.
    void Begins(std::int64_t now, std::uint32_t engine) {
        TimedQueue<Update> &queue = engines_[engine];
        Packet packet{};
        packet.update = queue.Send(now);
        packet.segment = packet.update.index;
        packet.payload = packet.update.size - given_.header;
        packet.last = LastOfItsMessage(packet.segment);
        const std::int64_t sent = queue.Sent();
        if (engine + 1 == Engines()) {
            Results(sent, packet);
        } else {
            packet.from = engine * each_rack_;
            packet.hop = 1;
            packet.update.worker = engine;
            Push(trunk_up_[engine].Carry(sent, Size(packet)), What::kHop, packets_.Put(packet));
        }
        Schedule(now, engine);
    }

    bool LastOfItsMessage(std::uint32_t segment) const {
        return segment + 1 == segments_ ||
               std::binary_search(first_segment_.begin(), first_segment_.end(), segment + 1);
    }

    // A result goes down to all members.
    void Results(std::int64_t now, Packet packet) {
        if (racks_ == 1) {
            ToMembers(now, packet, 0);
            return;
        }
        for (std::uint32_t rack = 0; rack < racks_; ++rack) {
            packet.hop = kDown;
            packet.to = rack;
            Push(trunk_down_[rack].Carry(now, Size(packet)), What::kHop, packets_.Put(packet));
        }
    }

    void ToMembers(std::int64_t now, Packet packet, std::uint32_t rack) {
        packet.hop = kHost;
        const std::uint32_t first = rack * each_rack_;
        for (std::uint32_t worker = first; worker < first + Below(rack); ++worker) {
            packet.to = worker;
            Push(down_[worker].Carry(now, Size(packet)), What::kHop, packets_.Put(packet));
        }
    }

    // --- Receiving ----------------------------------------------------------------------------------

    void Received(std::int64_t now, const Packet &packet) {
        const double cost = Cost(packet.payload, packet.whole, packet.last);
        const std::int64_t done = Busy(now, Receiving(packet.to), cost);
        Push(done, What::kProcessed, packets_.Put(packet));
    }

    void Processed(std::int64_t now, const Packet &packet) {
        if (Sums()) {
            Result(now, packet);
            return;
        }
        if (!packet.last) return;
        Host &host = hosts_[packet.to];
        ++host.received;
        if (given_.approach == OLAF_TRAINING_RING) {
            AroundTheRing(now, packet.to);
        } else if (packet.to != Server()) {
            if (host.received % messages_.size() == 0) Applied(now, packet.to);
        } else if (given_.approach == OLAF_TRAINING_SERVER) {
            if (host.received % (messages_.size() * given_.workers) == 0) Broadcast(now);
        } else if (++hosts_[packet.from].started % messages_.size() == 0) {
            Answer(now, packet.from);
        }
    }

    // The server has every worker's gradient: it sends the weights, message by message to all.
    void Broadcast(std::int64_t now) {
        for (std::size_t each = 0; each < messages_.size(); ++each) {
            for (std::uint32_t worker = 0; worker < given_.workers; ++worker) {
                HandOver(Server(), worker, messages_[each], first_segment_[each], 0);
            }
        }
        Pump(now, Server());
    }

    // The server has one worker's gradient: it steps, unless that is too stale, and sends the weights back.
    void Answer(std::int64_t now, std::uint32_t worker) {
        Host &server = hosts_[Server()];
        if (Commit(server.version, hosts_[worker].computed_from)) {
            ++server.version;
            updates_.push_back(now);
        }
        hosts_[worker].computed_from = server.version;
        HandOverGradient(Server(), worker, 0);
        Pump(now, Server());
    }

    // Every message of a worker follows the one before, from its neighbour: 2·(N - 1) of each part.
    void AroundTheRing(std::int64_t now, std::uint32_t worker) {
        Host &host = hosts_[worker];
        const std::uint64_t steps = 2 * (std::uint64_t{given_.workers} - 1);
        const std::uint64_t all = steps * messages_.size();
        const std::uint64_t base = host.version * all;
        while (!host.computing && host.started < base + all && host.started <= host.received) {
            const std::uint32_t whole = messages_[(host.started - base) / steps];
            const std::uint32_t part = (whole + given_.workers - 1) / given_.workers;
            HandOver(worker, (worker + 1) % given_.workers, (part + 3) / 4 * 4, 0, 0);
            ++host.started;
        }
        Pump(now, worker);
        if (host.started == base + all && host.received >= base + all) Applied(now, worker);
    }

    // One segment's result; the version is applied when every segment's is here.
    void Result(std::int64_t now, const Packet &packet) {
        Host &host = hosts_[packet.to];
        --host.flying;
        const std::uint64_t result = ++host.results[packet.segment];
        while (host.complete.size() < result - host.version) host.complete.push_back(0);
        ++host.complete[result - host.version - 1];
        while (!host.complete.empty() && host.complete.front() == segments_) {
            host.complete.pop_front();
            Applied(now, packet.to);
        }
        Pump(now, packet.to);
    }

    // --- Iterations ---------------------------------------------------------------------------------

    void Compute(std::int64_t now, std::uint32_t worker) {
        Host &host = hosts_[worker];
        host.computing = true;
        if (given_.approach != OLAF_TRAINING_SERVER_ASYNC) host.computed_from = host.version;
        const std::int64_t late = Random::Of(given_.seed, worker, turn_[worker]++).UpTo(given_.jitter);
        Push(now + given_.compute + late - given_.jitter / 2, What::kComputed, worker);
    }

    // A gradient is there.
    void Computed(std::int64_t now, std::uint32_t worker) {
        Host &host = hosts_[worker];
        host.computing = false;
        switch (given_.approach) {
            case OLAF_TRAINING_RING: AroundTheRing(now, worker); return;
            case OLAF_TRAINING_ENGINE_ASYNC: CommitAndGoOn(now, worker); return;
            case OLAF_TRAINING_ENGINE:
                HandOverGradient(worker, 0, static_cast<std::uint32_t>(host.version + 1));
                break;
            case OLAF_TRAINING_SERVER_ASYNC:
                if (!given_.in_turn || callers_.empty()) HandOverGradient(worker, Server(), 0);
                if (given_.in_turn) callers_.push_back(worker);
                break;
            default: HandOverGradient(worker, Server(), 0);
        }
        Pump(now, worker);
    }

    // The server is through with the worker it serves.
    void NextCaller(std::int64_t now) {
        callers_.pop_front();
        if (callers_.empty()) return;
        HandOverGradient(callers_.front(), Server(), 0);
        Pump(now, callers_.front());
    }

    // iSwitch's algorithm 1: what is too stale is not sent; the next gradient begins at once. A member has
    // at most bound + 1 gradients under way between two results.
    void CommitAndGoOn(std::int64_t now, std::uint32_t worker) {
        Host &host = hosts_[worker];
        if (host.commits > given_.bound) {
            host.waits = true;
            return;
        }
        if (Commit(host.version, host.computed_from)) {
            ++host.commits;
            HandOverGradient(worker, 0, static_cast<std::uint32_t>(++host.started));
            Pump(now, worker);
        }
        Compute(now, worker);
    }

    // Whether a gradient is fresh enough.
    bool Commit(std::uint64_t version, std::uint64_t from) {
        const std::uint64_t stale = version - from;
        if (stale > given_.bound) {
            ++discarded_;
            return false;
        }
        ++staleness_[std::min<std::uint64_t>(stale, OLAF_TRAINING_STALENESS - 1)];
        return true;
    }

    // A worker has the weights of its next version.
    void Applied(std::int64_t now, std::uint32_t worker) {
        Host &host = hosts_[worker];
        ++host.version;
        host.commits = 0;
        if (given_.approach == OLAF_TRAINING_SERVER_ASYNC) {
            Compute(now, worker);
            if (given_.in_turn) NextCaller(now);
            return;
        }
        if (given_.approach == OLAF_TRAINING_ENGINE_ASYNC) {
            if (worker == 0) updates_.push_back(now);
            if (host.waits) {
                host.waits = false;
                CommitAndGoOn(now, worker);
            }
            return;
        }
        if (++applied_ == given_.workers) {  // no one can be through with the next one before
            applied_ = 0;
            updates_.push_back(now);
        }
        Compute(now, worker);
    }

    const OlafTraining given_;
    const std::vector<std::uint32_t> messages_;
    std::vector<std::uint32_t> first_segment_;  // by message
    std::uint32_t segments_ = 0, racks_ = 1, each_rack_ = 1;
    std::vector<Host> hosts_;  // the workers, and the server
    std::vector<Wire> up_, down_, trunk_up_, trunk_down_;
    std::vector<TimedQueue<Update>> engines_;  // of the racks, then the root
    std::vector<std::uint64_t> turn_ = std::vector<std::uint64_t>(given_.workers, 0);  // gradients begun
    Pool<Packet> packets_;
    Agenda agenda_;
    std::uint64_t numbered_ = 0, events_ = 0, dropped_ = 0, discarded_ = 0;
    std::uint64_t staleness_[OLAF_TRAINING_STALENESS] = {};
    std::uint32_t applied_ = 0;          // workers that are through with the iteration
    std::deque<std::uint32_t> callers_;  // of a server that serves in turn: whom it serves, and who waits
    std::vector<std::int64_t> updates_;
};

}  // namespace olaf
