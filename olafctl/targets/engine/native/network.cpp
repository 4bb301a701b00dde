#include "network.h"

namespace olaf {

Network::Network(Engine &engine, WiredPorts ports, const std::vector<std::string> &queue_libraries,
                 unsigned lane, std::shared_ptr<Shards> shards)
    : engine_(engine),
      ports_(ports),
      lane_(lane),
      shards_(std::move(shards)),
      sent_to_(shards_ ? shards_->count() : 0),
      place_at_(ports.last_front + 1) {
    if (shards_) shards_->add(*this);
    for (const std::string &library : queue_libraries) {
        auto place = unsigned(twins_.size());
        twins_.push_back(std::make_unique<Twin>(engine, *this, ports, place, library));
    }
}

bool Network::ready() const {
    return std::all_of(twins_.begin(), twins_.end(), [](const auto &twin) { return twin->ready(); });
}

void Network::set_switch(unsigned device, Switch program) {
    if (has(device / 2)) twins_[device / 2]->set_switch(device % 2, program);
}

inline bool Network::send(unsigned place, unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    if (place_at_[port] != place) return false;
    Cable *cable = cables.from(port);
    if (cable == nullptr) return engine_.send(port, frame, length, lane_);
    return send_by(*cable, frame, length, now);
}

bool Network::send_by(Cable &cable, const uint8_t *frame, size_t length, uint64_t now) {
    cable.put(frame, length, now);
    return true;
}

void Network::arrived(unsigned port, const uint8_t *frame, size_t length, uint64_t now) {
    Twin &twin = twin_at(port);
    twin.into_first(port, frame, length, now, [this, &twin, now](const uint8_t *bytes, size_t size) {
        return offer(twin, bytes, size, now);
    });
}

inline bool Network::offer(Twin &twin, const uint8_t *frame, size_t length, uint64_t now) {
    if (shards_ && length > OLAF_SHIM_BYTES) return offer_to_shard(twin, frame, length, now);
    return twin.queue.offer_now(frame, length, now);
}

// What is of a cluster goes to its shard, everything else through the queue of the shard where it came in.
bool Network::offer_to_shard(Twin &twin, const uint8_t *frame, size_t length, uint64_t now) {
    const bool passes = olaf_shim_kind(frame) == OLAF_KIND_BYPASS;
    const unsigned owner = passes ? lane_ : shards_->of(olaf_shim_index(frame));
    if (owner == lane_) return twin.queue.offer_now(frame, length, now);
    if (!shards_->between(lane_, owner).put(frame, length)) between_shards++;
    sent_to_[owner] = true;
    return true;
}

auto Network::leaving_now(unsigned place, uint64_t now) {
    return [this, place, now](const uint8_t *frame, size_t length, uint64_t) {
        twins_[place]->into_second(ports_.queue, frame, length, now,
                                   [=, this](unsigned out, const uint8_t *bytes, size_t size) {
                                       return send(place, out, bytes, size, now);
                                   });
    };
}

void Network::take_in() {
    const uint64_t now = engine_.now();
    for (unsigned from = 0; from < shards_->count(); from++)
        shards_->between(from, lane_).take(BATCH, [&](const uint8_t *frame, size_t length) {
            twins_.front()->queue.offer_now(frame, length, now);
        });
}

void Network::send_all() {
    twins_.front()->queue.send_all(leaving_now(0, engine_.now()));
    engine_.flush(lane_);
}

bool Network::more() const {
    for (unsigned from = 0; shards_ && from < shards_->count(); from++)
        if (!shards_->between(from, lane_).empty()) return true;
    return false;
}

uint32_t Network::read(unsigned place, uint32_t offset) {
    return shards_ ? shards_->read(offset) : queue_of(place).read(offset);
}

void Network::write(unsigned place, uint32_t offset, uint32_t value) {
    shards_ ? shards_->write(offset, value) : queue_of(place).write(offset, value);
}

void Network::catch_up(unsigned place, uint64_t now) {
    shards_ ? shards_->catch_up(now) : queue_of(place).catch_up(now);
}

void Network::packet_out(unsigned device, const uint8_t *frame, size_t length, uint64_t now) {
    unsigned place = device / 2;
    if (!has(place)) return;
    Twin &twin = *twins_[place];
    if (device % 2 == 0) {
        twin.into_first(ports_.cpu, frame, length, now,
                        [&](const uint8_t *bytes, size_t size) { return offer(twin, bytes, size, now); });
    } else {
        twin.into_second(ports_.cpu, frame, length, now,
                         [&](unsigned out, const uint8_t *bytes, size_t size) {
                             return send(place, out, bytes, size, now);
                         });
    }
}

uint64_t Network::advance(uint64_t now) {
    auto arrive = [&](unsigned port, const uint8_t *frame, size_t length) {
        arrived(port, frame, length, now);
    };
    cables.advance(now, arrive);
    if (shards_) {
        take_in();
        for (unsigned other = 0; other < sent_to_.size(); other++)
            if (sent_to_[other]) engine_.nudge(other);
        sent_to_.assign(sent_to_.size(), false);
    }
    uint64_t wait = NEVER;
    for (unsigned place = 0; place < twins_.size(); place++)
        wait = std::min(wait, twins_[place]->queue.advance(now, leaving_now(place, now)));
    return std::min(wait, cables.advance(now, arrive));
}

void Network::begin_replay(const std::vector<QueueSettings> &settings) {
    for (size_t place = 0; place < twins_.size(); place++) {
        twins_[place]->queue.restart(settings.at(place));
        twins_[place]->base = twins_[place]->queue.cycle();
    }
    if (shards_) shards_->restart_others(settings.front());
    cables.clear();
    arrivals_.clear();
    departures_.clear();
    clock_ = 0;
}

void Network::resume(uint64_t now) {
    for (auto &twin : twins_) twin->queue.resume(now);
    if (shards_) shards_->resume_others(now);
    cables.clear();
    arrivals_.clear();
}

void Network::arrived_at(unsigned port, const uint8_t *frame, size_t length, uint64_t time) {
    arrivals_.push_back({time, port, frame, length});
}

void Network::offer_at(unsigned port, const uint8_t *frame, size_t length, uint64_t time) {
    Twin &twin = twin_at(port);
    twin.into_first(port, frame, length, time, [&](const uint8_t *bytes, size_t size) {
        return twin.queue.offer_at(bytes, size, twin.base + time / NS_PER_CYCLE);
    });
}

// The earliest time, up to `limit`, at which a frame arrives or leaves a queue.
uint64_t Network::soonest(uint64_t limit) const {
    uint64_t time = limit;
    if (!arrivals_.empty()) time = std::min(time, arrivals_.front().time);
    if (const Cable *cable = cables.next()) time = std::min(time, cable->front().arrives);
    for (const auto &twin : twins_) {
        if (time <= clock_) return clock_;
        if (!twin->queue.waiting()) continue;
        uint64_t quiet = twin->queue.quiet((time - clock_) / NS_PER_CYCLE);
        time = std::min(time, clock_ + quiet * NS_PER_CYCLE);
    }
    return std::max(time, clock_);
}

// Everything that arrives before `end` goes to its VNP4₁, by time; at the same time, first what comes by
// links, in the order in which they were made.
void Network::take_arrivals(uint64_t end) {
    while (true) {
        Cable *cable = cables.next();
        uint64_t by_link = cable == nullptr ? NEVER : cable->front().arrives;
        uint64_t by_port = arrivals_.empty() ? NEVER : arrivals_.front().time;
        if (std::min(by_link, by_port) >= end) return;
        if (by_link <= by_port) {
            const auto &frame = cable->front().frame;
            offer_at(cable->to, frame.data(), frame.size(), by_link);
            cable->pop();
        } else {
            const Arrival &arrival = arrivals_.front();
            offer_at(arrival.port, arrival.frame, arrival.length, by_port);
            arrivals_.pop_front();
        }
    }
}

auto Network::leaving(unsigned place, const Deliver &deliver) {
    return [this, place, &deliver](const uint8_t *frame, size_t length, uint64_t last) {
        Twin &twin = *twins_[place];
        uint64_t time = (last + 1 - twin.base) * NS_PER_CYCLE;
        twin.into_second(ports_.queue, frame, length, time,
                         [&](unsigned out, const uint8_t *bytes, size_t size) {
                             if (place_at_[out] != place) return false;
                             if (Cable *cable = cables.from(out))
                                 cable->put(bytes, size, time);
                             else if (twins_.size() == 1)
                                 deliver(time, out, bytes, size);
                             else
                                 departures_.push_back({time, out, {bytes, bytes + size}});
                             return true;
                         });
    };
}

// Every engine up to `end`, NEVER for as long as anything moves; no frame may arrive from another before.
void Network::window(uint64_t end, const Deliver &deliver) {
    take_arrivals(end);
    for (unsigned place = 0; place < twins_.size(); place++) {
        Twin &twin = *twins_[place];
        if (end == NEVER)
            twin.queue.finish(leaving(place, deliver));
        else
            twin.queue.run_until(twin.base + end / NS_PER_CYCLE, leaving(place, deliver));
    }
    if (end != NEVER) clock_ = end;
    std::stable_sort(departures_.begin(), departures_.end(),
                     [](const Departure &one, const Departure &other) { return one.time < other.time; });
    for (const Departure &departure : departures_)
        deliver(departure.time, departure.port, departure.frame.data(), departure.frame.size());
    departures_.clear();
}

void Network::run_until(uint64_t time, const Deliver &deliver) {
    uint64_t lookahead = cables.shortest();
    while (clock_ < time) {
        uint64_t begin = lookahead == NEVER ? clock_ : soonest(time);
        window(lookahead < time - begin ? begin + lookahead : time, deliver);
    }
    take_arrivals(time + 1);
}

void Network::finish(const Deliver &deliver) {
    if (cables.shortest() == NEVER) {
        window(NEVER, deliver);
        return;
    }
    while (waiting()) window(soonest(clock_ + SLICE_NS) + cables.shortest(), deliver);
}

bool Network::waiting() const {
    return !arrivals_.empty() || !cables.empty() ||
           std::any_of(twins_.begin(), twins_.end(), [](const auto &twin) { return twin->queue.waiting(); });
}

}  // namespace olaf
