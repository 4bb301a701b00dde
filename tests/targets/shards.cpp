// An engine in shards under load from all sides, while clusters move and registers are read: run under
// sanitizers by test_shards.py. Its programs do nothing: a frame comes in with its shim and leaves with it.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include <sys/eventfd.h>
#include <unistd.h>

#include "../../olafctl/queue/native/registers.h"
#include "../../olafctl/targets/engine/native/network.h"
#include "../../olafctl/wire/native/modes.h"
#include "../../olafctl/wire/native/olaf_header.h"

using namespace olaf;

namespace {

constexpr unsigned CPU = 510, QUEUE = 509, IN = 1, OUT = 2;
constexpr unsigned INDICES = 32, FIFO = 16;  // the first ones are in mode FIFO
constexpr uint32_t RATE = 100000;            // 400 Mb/s: updates wait, are merged and dropped
constexpr unsigned WORKERS = 4;              // of a lane
constexpr size_t VALUES = 16, SIZE = OLAF_GRADIENTS_AT + 4 * VALUES;

void wrong(const char *what) {
    std::printf("%s\n", what);
    std::exit(1);
}

void into_queue(p4_switch *, uint32_t, const uint8_t *frame, size_t length, uint64_t, p4_emit_fn emit,
                void *context) {
    emit(context, QUEUE, frame, length);
}

void out(p4_switch *, uint32_t, const uint8_t *frame, size_t length, uint64_t, p4_emit_fn emit,
         void *context) {
    emit(context, OUT, frame, length);
}

// What left, by index. Without a lock: an index is one shard's at a time, and the sanitizer sees if not.
struct Left {
    uint64_t frames = 0, updates = 0;
    std::map<uint32_t, uint32_t> last;  // number of each worker
};

class Sink : public Port {
  public:
    explicit Sink(std::vector<Left> &left) : left_(left) {}
    ~Sink() override { close(event_); }
    int fd() const override { return event_; }
    void receive(olaf::Sink &) override {}
    void send(const uint8_t *frame, size_t) override {
        const unsigned index = olaf_shim_index(frame);
        olaf_header header;
        olaf_header_read(&header, frame + OLAF_SHIM_BYTES + OLAF_HEADER_AT);
        Left &left = left_[index];
        left.frames++;
        left.updates += header.count;
        for (size_t value = 0; value < VALUES; value++) {
            float sum;
            std::memcpy(&sum, frame + OLAF_SHIM_BYTES + OLAF_GRADIENTS_AT + 4 * value, sizeof sum);
            if (sum != float(header.count)) wrong("a sum is not that of its updates");
        }
        if (index >= FIFO) return;
        uint32_t &last = left.last[olaf_shim_worker(frame)];
        if (header.seq <= last) wrong("a flow was overtaken");
        last = header.seq;
    }

  private:
    std::vector<Left> &left_;
    int event_ = eventfd(0, EFD_CLOEXEC);
};

std::vector<uint8_t> update(unsigned index, uint32_t worker, uint32_t seq) {
    std::vector<uint8_t> bytes(OLAF_SHIM_BYTES + SIZE);
    olaf_shim_set_size(bytes.data(), SIZE);
    olaf_shim_set_kind(bytes.data(), OLAF_KIND_UPDATE);
    olaf_shim_set_index(bytes.data(), uint16_t(index));
    olaf_shim_set_worker(bytes.data(), worker);
    uint8_t *frame = bytes.data() + OLAF_SHIM_BYTES;
    const unsigned udp = SIZE - OLAF_UDP_AT;
    frame[OLAF_UDP_LENGTH_AT] = uint8_t(udp >> 8);
    frame[OLAF_UDP_LENGTH_AT + 1] = uint8_t(udp);
    olaf_header header{};
    header.version = OLAF_VERSION;
    header.frame_type = OLAF_TYPE_UPDATE;
    header.count = 1;
    header.seq = seq;
    header.gen_time = seq;
    olaf_header_write(&header, frame + OLAF_HEADER_AT);
    const float one = 1;
    for (size_t value = 0; value < VALUES; value++)
        std::memcpy(frame + OLAF_GRADIENTS_AT + 4 * value, &one, sizeof one);
    return bytes;
}

class Bench {
  public:
    Bench(const char *library, unsigned shards) : engine_(shards), left_(INDICES) {
        auto common = std::make_shared<Shards>(shards);
        for (unsigned lane = 0; lane < shards; lane++) {
            auto network = std::make_unique<Network>(engine_, WiredPorts{CPU, QUEUE, 500},
                                                     std::vector<std::string>{library}, lane, common);
            network->set_switch(0, {into_queue, nullptr});
            network->set_switch(1, {out, nullptr});
            networks_.push_back(network.get());
            engine_.wire(std::move(network), lane);
        }
        common->divide();
        Queues sinks;
        while (sinks.size() < shards) sinks.push_back(std::make_unique<Sink>(left_));
        engine_.add_port(OUT, std::move(sinks));
        command(OLAF_REGISTER_SET_MODE, OLAF_MODE_FIFO, 0, FIFO - 1);
        write(OLAF_REGISTER_RATE, RATE);
        engine_.start();
    }

    void run(uint64_t frames) {
        std::atomic<unsigned> sending{engine_.lanes()};
        std::vector<std::thread> senders;
        for (unsigned lane = 0; lane < engine_.lanes(); lane++)
            senders.emplace_back([&, lane] {
                send(lane, frames);
                sending--;
            });
        std::minstd_rand pick(1);
        uint64_t moves = 0, looks = 0;
        for (; sending || looks < 10; looks++) {
            const unsigned first = pick() % INDICES, last = first + pick() % (INDICES - first);
            const unsigned shard = pick() % engine_.lanes();
            engine_.act(
                [&](Wiring &wiring) { static_cast<Network &>(wiring).shards()->place(first, last, shard); });
            moves++;
            if (looks % 4 == 0) command(OLAF_REGISTER_SET_MODE, OLAF_MODE_OLAF, FIFO, INDICES - 1);
            look();
        }
        for (auto &sender : senders) sender.join();
        write(OLAF_REGISTER_RATE, 0);
        while (look()) std::this_thread::yield();
        finish(frames * engine_.lanes(), moves);
    }

  private:
    void send(unsigned lane, uint64_t frames) {
        std::minstd_rand pick(lane + 7);
        std::map<std::pair<unsigned, uint32_t>, uint32_t> numbers;
        for (uint64_t sent = 0; sent < frames;) {
            engine_.act_in(lane, [&](Wiring &wiring) {
                for (unsigned burst = 0; burst < 32 && sent < frames; burst++, sent++) {
                    const unsigned index = pick() % INDICES;
                    const uint32_t worker = 1 + lane * WORKERS + pick() % WORKERS;
                    const auto bytes = update(index, worker, ++numbers[{index, worker}]);
                    wiring.arrived(IN, bytes.data(), bytes.size(), engine_.now());
                }
            });
        }
    }

    void command(uint32_t setting, uint32_t value, unsigned first, unsigned last) {
        for (auto [offset, written] :
             std::initializer_list<std::pair<uint32_t, uint32_t>>{{setting, value},
                                                                  {OLAF_REGISTER_RANGE_FIRST, first},
                                                                  {OLAF_REGISTER_RANGE_LAST, last},
                                                                  {OLAF_REGISTER_COMMAND, OLAF_COMMAND_SET}})
            write(offset, written);
    }

    void write(uint32_t offset, uint32_t value) {
        engine_.act([=](Wiring &wiring) { static_cast<Network &>(wiring).write(0, offset, value); });
    }

    uint64_t counter(QueueStage &queue, uint32_t offset) {
        return queue.read(offset) | uint64_t(queue.read(offset + 4)) << 32;
    }

    // In each shard, and so in all, nothing is lost or counted twice; how many updates are in the queues.
    uint64_t look() {
        uint64_t resident = 0;
        engine_.act([&](Wiring &wiring) {
            static_cast<Network &>(wiring).write(0, OLAF_REGISTER_SNAPSHOT, 1);
            for (Network *network : networks_) {
                QueueStage &queue = network->queue_of(0);
                uint64_t accounted = queue.read(OLAF_REGISTER_RESIDENT_UPDATES);
                resident += accounted;
                for (uint32_t gone : {OLAF_REGISTER_OUT_UPDATES, OLAF_REGISTER_MERGED,
                                      OLAF_REGISTER_REPLACED_WORKER, OLAF_REGISTER_REPLACED_REWARD,
                                      OLAF_REGISTER_DROPPED_FULL, OLAF_REGISTER_DROPPED_REWARD})
                    accounted += counter(queue, gone);
                if (accounted != counter(queue, OLAF_REGISTER_IN_UPDATES))
                    wrong("a shard lost an update, or has one twice");
                resident += network->more();
            }
        });
        return resident;
    }

    void finish(uint64_t sent, uint64_t moves) {
        engine_.act([&](Wiring &wiring) {
            auto &network = static_cast<Network &>(wiring);
            auto sum = [&](uint32_t offset) {
                return network.read(0, offset) | uint64_t(network.read(0, offset + 4)) << 32;
            };
            uint64_t frames = 0, updates = 0, between = 0;
            for (const Left &left : left_) frames += left.frames, updates += left.updates;
            for (Network *each : networks_) between += each->between_shards;
            const uint64_t gone =
                sum(OLAF_REGISTER_REPLACED_WORKER) + sum(OLAF_REGISTER_DROPPED_FULL) + between;
            if (sum(OLAF_REGISTER_IN_UPDATES) + between != sent) wrong("not all that was sent came in");
            if (frames != sum(OLAF_REGISTER_OUT_UPDATES)) wrong("not all that left was counted");
            if (updates + gone != sent) wrong("not every update is in what left");
            std::printf("%llu sent, %llu left, %llu merged, %llu dropped, %llu between, %llu moves\n",
                        (unsigned long long)sent, (unsigned long long)frames,
                        (unsigned long long)sum(OLAF_REGISTER_MERGED),
                        (unsigned long long)sum(OLAF_REGISTER_DROPPED_FULL), (unsigned long long)between,
                        (unsigned long long)moves);
        });
    }

    Engine engine_;
    std::vector<Left> left_;
    std::vector<Network *> networks_;
};

}  // namespace

int main(int, char **argv) {
    Bench(argv[1], unsigned(std::atoi(argv[2]))).run(std::strtoull(argv[3], nullptr, 10));
}
