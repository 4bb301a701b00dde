#include "bench.h"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model.h"
#include "verilated.h"
#ifdef OLAF_BENCH_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

struct Port {
    uint8_t *at;
    unsigned bits;
};

// Verilator keeps every port as little-endian words, so that a port is its bytes.
struct Slice {
    uint8_t *at = nullptr;
    unsigned first = 0, bits = 0;

    void get(uint8_t *out) const {
        if (first % 8 == 0) {
            memcpy(out, at + first / 8, (bits + 7) / 8);
            if (bits % 8) out[bits / 8] &= uint8_t((1u << bits % 8) - 1);
            return;
        }
        memset(out, 0, (bits + 7) / 8);
        for (unsigned i = 0; i < bits; i++)
            out[i / 8] |= uint8_t((at[(first + i) / 8] >> ((first + i) % 8) & 1) << i % 8);
    }
    void set(const uint8_t *in) const {
        if (first % 8 == 0 && bits % 8 == 0) {
            memcpy(at + first / 8, in, bits / 8);
            return;
        }
        for (unsigned i = 0; i < bits; i++) {
            uint8_t &byte = at[(first + i) / 8];
            const unsigned place = (first + i) % 8;
            byte = uint8_t((byte & ~(1u << place)) | unsigned(in[i / 8] >> i % 8 & 1) << place);
        }
    }
    bool bit() const { return at && (at[first / 8] >> first % 8 & 1); }
    void bit(bool value) const {
        if (at) at[first / 8] = uint8_t((at[first / 8] & ~(1u << first % 8)) | unsigned(value) << first % 8);
    }
};

struct Beat {
    uint8_t data[64];
    uint64_t keep;
    std::vector<uint8_t> user;
    bool last;
};

struct Frame {
    std::vector<uint8_t> data, user;
    uint64_t first_cycle, last_cycle;
    bool broken;
};

struct Clock {
    Slice pin;
    uint64_t period, next, cycles;
};

struct Stream {
    bool source;
    int clock;
    Slice data, keep, last, valid, ready;
    std::vector<Slice> user;
    size_t user_bytes = 0;
    int pause = 0;
    uint64_t beats = 0, whole = 0;  // the tkeep of a full beat
    std::mt19937_64 random;

    std::deque<Beat> waiting;  // of a source
    std::deque<Frame> taken;   // of a sink
    Frame open{};
    bool mid_frame = false;
    uint64_t unstable = 0;
    bool was_offered = false;
    Beat offered{};
    bool handshake = false, now_valid = false;
    Beat sampled{};

    bool pauses() { return pause && int(random() % 1000) < pause; }

    Beat look() const {
        Beat beat{};
        data.get(beat.data);
        beat.keep = keep.at ? 0 : whole;
        if (keep.at) keep.get(reinterpret_cast<uint8_t *>(&beat.keep));
        beat.user.resize(user_bytes);
        size_t at = 0;
        for (const Slice &part : user) {
            part.get(beat.user.data() + at);
            at += (part.bits + 7) / 8;
        }
        beat.last = last.at ? last.bit() : true;
        return beat;
    }

    void before() {
        now_valid = valid.bit();
        handshake = now_valid && (ready.at ? ready.bit() : true);
        if (!source && now_valid) sampled = look();
    }

    void after(uint64_t cycle) {
        if (handshake) beats++;
        if (source) {
            if (handshake) waiting.pop_front();
            // A beat that is offered stays.
            const bool offer = !waiting.empty() && ((now_valid && !handshake) || !pauses());
            valid.bit(offer);
            if (offer) {
                const Beat &beat = waiting.front();
                data.set(beat.data);
                if (keep.at) keep.set(reinterpret_cast<const uint8_t *>(&beat.keep));
                size_t at = 0;
                for (const Slice &part : user) {
                    part.set(beat.user.data() + at);
                    at += (part.bits + 7) / 8;
                }
                last.bit(beat.last);
            }
            return;
        }
        if (was_offered &&
            (!now_valid || memcmp(offered.data, sampled.data, 64) || offered.keep != sampled.keep ||
             offered.user != sampled.user || offered.last != sampled.last))
            unstable++;
        was_offered = now_valid && !handshake;
        if (was_offered) offered = sampled;
        if (handshake) take(cycle);
        ready.bit(!pauses());
    }

    void take(uint64_t cycle) {
        if (!mid_frame) {
            open = Frame{{}, sampled.user, cycle, cycle, false};
        } else if (open.user != sampled.user) {
            open.broken = true;
        }
        const uint64_t keep = sampled.keep;
        // Every byte of a beat but the last, then the first ones, and of none none: AXI4-Stream would allow
        // null bytes and null beats, but no link here has them.
        if ((!sampled.last && keep != whole) || (keep & (keep + 1)) || !keep) open.broken = true;
        for (int i = 0; i < 64; i++)
            if (keep >> i & 1) open.data.push_back(sampled.data[i]);
        open.last_cycle = cycle;
        mid_frame = !sampled.last;
        if (sampled.last) taken.push_back(std::move(open));
    }
};

struct Axil {
    int clock;
    std::map<std::string, Slice> pin;
    bool aw = false, w = false, ar = false;  // accepted
    bool done = false;
    int response = 0;
    uint32_t data = 0;
    bool busy = false, writing = false;
    bool got_aw = false, got_w = false, got_ar = false, got_b = false, got_r = false;

    void before() {
        got_aw = pin["awvalid"].bit() && pin["awready"].bit();
        got_w = pin["wvalid"].bit() && pin["wready"].bit();
        got_ar = pin["arvalid"].bit() && pin["arready"].bit();
        got_b = pin["bvalid"].bit() && pin["bready"].bit();
        got_r = pin["rvalid"].bit() && pin["rready"].bit();
        uint8_t two = 0;
        if (got_b) pin["bresp"].get(&two), response = two;
        if (got_r)
            pin["rresp"].get(&two), response = two, pin["rdata"].get(reinterpret_cast<uint8_t *>(&data));
    }
    void after() {
        if (got_aw) pin["awvalid"].bit(false);
        if (got_w) pin["wvalid"].bit(false);
        if (got_ar) pin["arvalid"].bit(false);
        if (got_b || got_r) {
            pin["bready"].bit(false);
            pin["rready"].bit(false);
            done = true;
        }
    }
};

}  // namespace

struct bench {
    VerilatedContext context;
    std::unique_ptr<BenchModel> model;
    std::map<std::string, Port> ports;
    std::vector<Clock> clocks;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Axil> axils;
    std::mt19937_64 random;
#ifdef OLAF_BENCH_TRACE
    VerilatedVcdC waves;  // in ps
    void dump(uint64_t now) {
        if (waves.isOpen()) waves.dump(now);
    }
#else
    void dump(uint64_t) {}
#endif

    Slice slice(const std::string &name) const {
        auto found = ports.find(name);
        return found == ports.end() ? Slice{} : Slice{found->second.at, 0, found->second.bits};
    }

    // All clocks that rise now, in one instant.
    int step() {
        uint64_t now = ~uint64_t(0);
        for (const Clock &clock : clocks) now = clock.next < now ? clock.next : now;
        std::vector<char> rises(clocks.size());
        for (size_t i = 0; i < clocks.size(); i++) rises[i] = clocks[i].next == now;
        for (auto &stream : streams)
            if (rises[stream->clock]) stream->before();
        for (Axil &axil : axils)
            if (rises[axil.clock]) axil.before();
        for (size_t i = 0; i < clocks.size(); i++)
            if (rises[i]) clocks[i].pin.bit(true);
        model->eval();
        dump(now);
        for (auto &stream : streams)
            if (rises[stream->clock]) stream->after(clocks[stream->clock].cycles);
        for (Axil &axil : axils)
            if (rises[axil.clock]) axil.after();
        for (size_t i = 0; i < clocks.size(); i++)
            if (rises[i]) {
                clocks[i].pin.bit(false);
                clocks[i].next += clocks[i].period;
                clocks[i].cycles++;
            }
        model->eval();
        dump(now + clocks[0].period / 2);
        return rises[0];
    }

    int transact(int which, uint64_t limit) {
        Axil &axil = axils[which];
        axil.done = false;
        model->eval();  // or the first edge misses a slave that is ready at once, and it is asked twice
        const uint64_t end = clocks[axil.clock].cycles + limit;
        while (!axil.done && clocks[axil.clock].cycles < end) step();
        return axil.done ? axil.response : -1;
    }
};

extern "C" {

bench *bench_new(uint64_t seed) {
    bench *made = new bench;
    made->context.randReset(2);
    made->context.randSeed(int(seed & 0x7fffffff) | 1);
    made->random.seed(seed);
#ifdef OLAF_BENCH_TRACE
    made->context.traceEverOn(true);
#endif
    made->model.reset(bench_model(&made->context));
    made->model->ports([](void *to, const char *name, uint8_t *at,
                          unsigned bits) { static_cast<bench *>(to)->ports[name] = Port{at, bits}; },
                       made);
    for (auto &port : made->ports) memset(port.second.at, 0, (port.second.bits + 7) / 8);
    return made;
}

int bench_trace(bench *b, const char *path) {
#ifdef OLAF_BENCH_TRACE
    b->model->trace(&b->waves);
    b->waves.open(path);
    return b->waves.isOpen();
#else
    (void)b, (void)path;
    return 0;
#endif
}

void bench_free(bench *b) {
#ifdef OLAF_BENCH_TRACE
    b->waves.close();
#endif
    b->model->final();
    delete b;
}

void *bench_verilated(bench *b) { return b->model->verilated(); }

int bench_clock(bench *b, const char *port, unsigned period) {
    b->clocks.push_back(Clock{b->slice(port), period, period, 0});
    return int(b->clocks.size()) - 1;
}

static int add_stream(bench *b, const bench_stream &names, bool source) {
    auto stream = std::make_unique<Stream>();
    stream->source = source;
    stream->clock = names.clock;
    stream->random.seed(b->random());
    auto lane = [&](const char *name, unsigned width) {
        Slice slice = b->slice(name);
        if (!slice.at) return slice;
        slice.bits = width;
        slice.first = unsigned(names.lane) * width;
        return slice;
    };
    stream->whole = ~uint64_t(0) >> (64 - names.beat);
    stream->data = lane(names.data, 8 * unsigned(names.beat));
    stream->keep = lane(names.keep, unsigned(names.beat));
    stream->last = lane(names.last, 1);
    stream->valid = lane(names.valid, 1);
    stream->ready = lane(names.ready, 1);
    std::string users = names.user;
    while (!users.empty()) {
        const std::string part = users.substr(0, users.find(','));
        users = part.size() == users.size() ? "" : users.substr(part.size() + 1);
        const size_t colon = part.find(':');
        stream->user.push_back(
            lane(part.substr(0, colon).c_str(), unsigned(std::stoul(part.substr(colon + 1)))));
        stream->user_bytes += (stream->user.back().bits + 7) / 8;
    }
    b->streams.push_back(std::move(stream));
    return int(b->streams.size()) - 1;
}

int bench_source(bench *b, bench_stream names) { return add_stream(b, names, true); }
int bench_sink(bench *b, bench_stream names) { return add_stream(b, names, false); }

int bench_axil(bench *b, const char *prefix, int clock) {
    Axil axil;
    axil.clock = clock;
    for (const char *name :
         {"awvalid", "awready", "awaddr", "wvalid", "wready", "wdata", "wstrb", "bvalid", "bready", "bresp",
          "arvalid", "arready", "araddr", "rvalid", "rready", "rdata", "rresp"})
        axil.pin[name] = b->slice(std::string(prefix) + name);
    b->axils.push_back(axil);
    return int(b->axils.size()) - 1;
}

void bench_pause(bench *b, int stream, int per_mille) { b->streams[stream]->pause = per_mille; }

void bench_beat(bench *b, int source, const uint8_t *data, uint64_t keep, const uint8_t *user,
                size_t user_bytes, int last) {
    Beat beat{};
    memcpy(beat.data, data, 64);
    beat.keep = keep;
    beat.user.assign(user, user + user_bytes);
    beat.user.resize(b->streams[source]->user_bytes);
    beat.last = last;
    b->streams[source]->waiting.push_back(std::move(beat));
}

size_t bench_pending(bench *b, int source) { return b->streams[source]->waiting.size(); }
size_t bench_frames(bench *b, int sink) { return b->streams[sink]->taken.size(); }

bench_frame bench_next(bench *b, int sink) {
    const Frame &frame = b->streams[sink]->taken.front();
    return {frame.first_cycle, frame.last_cycle, uint32_t(frame.data.size()), uint32_t(frame.user.size()),
            frame.broken};
}

void bench_take(bench *b, int sink, uint8_t *data, uint8_t *user) {
    const Frame &frame = b->streams[sink]->taken.front();
    memcpy(data, frame.data.data(), frame.data.size());
    memcpy(user, frame.user.data(), frame.user.size());
    b->streams[sink]->taken.pop_front();
}

uint64_t bench_beats(bench *b, int stream) { return b->streams[stream]->beats; }
uint64_t bench_unstable(bench *b, int sink) { return b->streams[sink]->unstable; }

void bench_forget(bench *b, int source) {
    b->streams[source]->waiting.clear();
    b->streams[source]->valid.bit(false);
}

void bench_run(bench *b, int clock, uint64_t cycles) {
    const uint64_t end = b->clocks[clock].cycles + cycles;
    while (b->clocks[clock].cycles < end) b->step();
}

uint64_t bench_cycles(bench *b, int clock) { return b->clocks[clock].cycles; }

int bench_read(bench *b, int which, uint32_t address, uint32_t *data, uint64_t limit) {
    Axil &axil = b->axils[which];
    axil.pin["araddr"].set(reinterpret_cast<const uint8_t *>(&address));
    axil.pin["arvalid"].bit(true);
    axil.pin["rready"].bit(true);
    const int response = b->transact(which, limit);
    *data = axil.data;
    return response;
}

int bench_write(bench *b, int which, uint32_t address, uint32_t data, uint64_t limit) {
    Axil &axil = b->axils[which];
    axil.pin["awaddr"].set(reinterpret_cast<const uint8_t *>(&address));
    axil.pin["wdata"].set(reinterpret_cast<const uint8_t *>(&data));
    if (axil.pin["wstrb"].at) *axil.pin["wstrb"].at = 15;
    axil.pin["awvalid"].bit(true);
    axil.pin["wvalid"].bit(true);
    axil.pin["bready"].bit(true);
    return b->transact(which, limit);
}

int bench_width(bench *b, const char *port) {
    auto found = b->ports.find(port);
    return found == b->ports.end() ? -1 : int(found->second.bits);
}
void bench_poke(bench *b, const char *port, const uint8_t *bytes) {
    const Port &found = b->ports.at(port);
    memcpy(found.at, bytes, (found.bits + 7) / 8);
    b->model->eval();
}
void bench_peek(bench *b, const char *port, uint8_t *bytes) {
    const Port &found = b->ports.at(port);
    memcpy(bytes, found.at, (found.bits + 7) / 8);
}
}
