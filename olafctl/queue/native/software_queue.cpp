// OlafQueue in C++ behind queue_model.h: the Verilog's rules and registers, in the time of its clock without
// going through its cycles. A frame arrives whole: there is no stream that could break off within one.
#pragma GCC visibility push(default)
#include "queue_model.h"
#include "shard.h"
#pragma GCC visibility pop

#include "register_file.h"

namespace {

using olaf::Buffer;
using olaf::Held;
using olaf::kNever;

constexpr int64_t kBypassBeats = 512;
// Cycles in the clock of timed.h, in which an update's decision takes no time. What passes by needs none, so
// it is there earlier; yet not before it came, however far the clock is by then, so the inside runs as many
// cycles behind the outside.
constexpr int64_t kBypassLead = 1;
constexpr int64_t kBypassCycles = 7;  // from its last beat read to the end of it
// From when an update begins to leave, or what passes by does, until its status is taken, and from a decision
// and a departure until the status has it.
constexpr int64_t kUpdateStatus = 6, kBypassStatus = 5, kSettled = 1, kLeft = 4;

// So many updates are in, at most, before a status tells it: room to keep them is all that it costs.
constexpr size_t kMostSettled = 256;

// Longer than an update's last beat is under way, or a status is.
constexpr int64_t kRest = OLAF_BEATS + 64;

const olaf::Combiner::Geometry kGeometry{OLAF_INDICES, OLAF_SLOTS, OLAF_BEATS, OLAF_MEMBERS,
                                         OLAF_ADDER_LATENCY};

int64_t beats(size_t length) { return olaf::Beats(length); }

}  // namespace

struct olaf_queue {
    olaf_queue() { make_room(); }

    struct Frame {
        Buffer *bytes;            // its shim in front
        size_t length;            // without it
        int64_t first, last;      // cycles; of a frame still to come, inside: when it comes and is decided
        bool update = false;      // from the queue
        int64_t status = kNever;  // when its status is taken
    };

    // An update is in, as a status tells it from `time` on.
    struct Settled {
        int64_t time;
        uint32_t index;
        bool grows;  // the occupancy does
    };

    olaf::Combiner combiner{kGeometry};
    olaf::RegisterFile registers{combiner, kGeometry};
    int64_t now = 0;
    olaf::Fifo<Frame> source, bypass, done;
    int64_t bypass_beats = 0;     // in the bypass
    int64_t begins = kNever;      // when the head begins to leave
    int64_t output_free = 0;      // the bypass has it until then
    int64_t last_left = kNever;   // when the last update that began to leave has left
    bool updates_turn = false;    // where both wait
    bool decision_known = false;  // of the first of the source
    Buffer *taken = nullptr;
    Buffer *next = nullptr;  // for the next frame
    olaf_room room{};        // in it
    size_t unmarked = 0;     // at the end of `done`: their status is not taken yet
    olaf::Fifo<Settled> settled;
    olaf::Fifo<int64_t> leaving;  // when the occupancy that a status tells falls
    int64_t told_occupancy = 0;

    // When something happens next: the first of the source is decided, an update begins to leave, or what
    // passes by does. Without a sign: kNever is later than all times.
    struct Due {
        uint64_t arrival, update, bypass;
        uint64_t first() const { return std::min(arrival, std::min(update, bypass)); }
    };

    Due due() {
        return {uint64_t(source.empty() ? kNever : decided()), uint64_t(update_begins()),
                uint64_t(bypass_begins())};
    }

    // When the first frame of the source is decided.
    int64_t decided() {
        Frame &frame = source.front();
        if (!decision_known) frame.last = decided(kind_of(frame), frame.first, frame.length);
        decision_known = true;
        return frame.last;
    }

    static unsigned kind_of(const Frame &frame) { return olaf_shim_kind(frame.bytes->frame()); }

    int64_t decided(unsigned kind, int64_t comes, size_t length) {
        const int64_t first = std::max(comes, now + kBypassLead);
        if (kind == OLAF_KIND_UPDATE) return combiner.timed.DecidedAt(first, int64_t(length));
        return combiner.timed.DecidedAt(first, int64_t(length), 1) - kBypassLead;
    }

    // Updates and what passes by take turns where both wait.
    int64_t update_begins() {
        if (registers.hold() || (!bypass.empty() && !updates_turn)) return kNever;
        if (begins == kNever) begins = combiner.timed.Schedule(now);
        return begins == kNever ? kNever : std::max(begins, output_free);
    }

    // An update that leaves, leaves whole before what passes by.
    int64_t bypass_begins() const {
        if (bypass.empty()) return kNever;
        return std::max({bypass.front().first, output_free, last_left + 1});
    }

    // Everything that happens before `end`.
    void run(int64_t end) {
        happen_before(end);
        now = std::max(now, end);
        combiner.timed.Release(end - 1);
    }

    // Whether nothing happens unless something comes.
    bool idle() const {
        return source.empty() && bypass.empty() && (registers.hold() || !combiner.timed.queue.ready());
    }

    void happen_before(int64_t end) {
        while (!idle()) {
            const Due next = due();
            const uint64_t first = next.first();
            if (first >= uint64_t(end)) return;
            const auto time = int64_t(first);
            now = std::max(now, time);
            if (next.arrival == first && kind_of(source.front()) != OLAF_KIND_UPDATE)
                arrive(time);
            else if (next.update == first)
                send(time);
            else if (next.bypass == first)
                pass(time);
            else
                arrive(time);
        }
    }

    // Takes the statuses up to `time` of what has begun to leave. Only what reads or changes what they tell
    // needs them.
    void mark(int64_t time) {
        while (unmarked && done[done.size() - unmarked].status <= time) mark(&done[done.size() - unmarked]);
        tell(time);
    }

    void mark(Frame *frame) {
        tell(frame->status);
        combiner.Status(frame->status, size_t(told_occupancy), frame->bytes->frame());
        --unmarked;
    }

    // What a status tells, as of `time`.
    void tell(int64_t time) {
        for (; !settled.empty() && settled.front().time <= time; settled.pop_front()) {
            combiner.activity.Mark(settled.front().time - kSettled, settled.front().index);
            told_occupancy += settled.front().grows;
        }
        for (; !leaving.empty() && leaving.front() <= time; leaving.pop_front()) --told_occupancy;
    }

    void send(int64_t time) {
        begins = kNever;
        updates_turn = false;
        const Held &update = combiner.timed.Send(time);
        const int64_t last = combiner.timed.Sent() - kBypassLead - 1;
        const int64_t length = beats(update.size);
        Frame &frame = done.push();
        olaf::Combiner::Finish(update);
        frame.bytes = update.bytes;
        frame.length = update.size;
        frame.first = last + 1 - length;
        frame.last = last;
        frame.update = true;
        last_left = combiner.timed.left_at();
        leaving.push_back(last_left + kLeft);
        frame.status = last_left - length + kUpdateStatus;
        ++unmarked;
        combiner.Count(OLAF_REGISTER_OUTPUT_BEATS, uint64_t(length));
    }

    void pass(int64_t time) {
        Frame &frame = done.push_back(bypass.front());
        bypass.pop_front();
        const int64_t length = beats(frame.length);
        bypass_beats -= length;
        output_free = time + length;
        updates_turn = true;
        frame.last = output_free + kBypassCycles - kBypassLead - 1;
        frame.first = frame.last + 1 - length;
        frame.status = time + kBypassStatus;
        ++unmarked;
        combiner.Count(OLAF_REGISTER_OUTPUT_BEATS, uint64_t(length));
    }

    void arrive(int64_t time) {
        const Frame frame = source.front();
        source.pop_front();
        decision_known = false;
        if (!arrive(time, frame.bytes->frame(), frame.length, frame.bytes))
            combiner.buffers.Give(frame.bytes);
    }

    // A frame of `length` bytes behind its shim. Whether `own`, if it is not null, was kept.
    OLAF_INLINE bool arrive(int64_t time, const uint8_t *shim, size_t length, Buffer *own) {
        if (olaf_shim_kind(shim) == OLAF_KIND_UPDATE) return arrive_update(time, shim, length, own);
        combiner.Count(OLAF_REGISTER_INPUT_BEATS, uint64_t(beats(length)));
        combiner.Count(OLAF_REGISTER_IN_BYPASS);
        const int64_t wanted = std::max<int64_t>(beats(olaf_shim_size(shim)), 1);
        if (std::max(wanted, beats(length)) > kBypassBeats - bypass_beats) {
            combiner.Count(OLAF_REGISTER_DROPPED_BYPASS);
            return false;
        }
        if (olaf_shim_kind(shim) == OLAF_KIND_ACK) combiner.Acknowledge(shim, length);
        Buffer *bytes = own ? own : combiner.buffers.Take();
        if (!own) bytes->Copy(shim, OLAF_SHIM_BYTES + length);
        bypass.push_back({bytes, length, time, 0});
        bypass_beats += beats(length);
        ++registers.other_frames;
        return true;
    }

    __attribute__((noinline)) bool arrive_update(int64_t time, const uint8_t *shim, size_t length,
                                                 Buffer *own) {
        if (settled.size() == kMostSettled) mark(time);
        combiner.Count(OLAF_REGISTER_INPUT_BEATS, uint64_t(beats(length)));
        const auto arrival = combiner.Arrive(time, shim, length, own);
        const int64_t over = time + std::max(beats(length), olaf::kLeastInputCycles);
        if (arrival.known) settled.push_back({over + kSettled, olaf_shim_index(shim), arrival.appended});
        return arrival.kept;
    }

    void offer(const uint8_t *shim, size_t length, int64_t cycle) {
        Buffer *own = shim == room.bytes ? next : nullptr;
        if (!source.empty() || cycle > now) {
            Buffer *bytes = own ? own : combiner.buffers.Take();
            if (own)
                make_room();
            else
                bytes->Copy(shim, OLAF_SHIM_BYTES + length);
            source.push_back({bytes, length, cycle + kBypassLead, 0});
            return;
        }
        const unsigned kind = olaf_shim_kind(shim);
        const int64_t time = decided(kind, cycle + kBypassLead, length);
        happen_before(kind == OLAF_KIND_UPDATE ? time + 1 : time);
        now = std::max(now, time);
        combiner.timed.Release(time);
        if (arrive(time, shim, length, own) && own) make_room();
    }

    void make_room() {
        next = combiner.buffers.Take();
        room.length = OLAF_SHIM_BYTES + OLAF_BEATS * OLAF_BEAT_BYTES;
        room.bytes = next->Room(room.length);
    }

    bool waiting() { return due().first() < uint64_t(kNever) || (!done.empty() && done.back().last >= now); }

    // When everything will have happened that can be seen, or something happens next; kNever for never.
    int64_t next_step() {
        const auto time = int64_t(due().first());
        if (time != kNever || done.empty() || done.back().last < now) return time;
        return done.back().last + 1;
    }

    // When something happens next, or a frame has left; kNever for never.
    int64_t next_seen() {
        const int64_t time = next_step();
        std::size_t leaves = 0;
        while (leaves < done.size() && done[leaves].last < now) ++leaves;
        return leaves == done.size() ? time : std::min(time, done[leaves].last + 1);
    }

    uint64_t settle(int64_t limit) {
        const int64_t start = now;
        while (now - start < limit) {
            const int64_t time = next_step();
            if (time == kNever) break;
            run(std::min(std::max(time, now) + 1, start + limit));
        }
        return uint64_t(now - start);
    }

    void write(uint32_t offset, uint32_t value) {
        mark(now);
        registers.Write(offset, value, ~uint32_t(0), now);
        const auto before = combiner.timed.queue.occupancy();
        while (registers.commanded()) registers.Step(now);
        told_occupancy -= int64_t(before - combiner.timed.queue.occupancy());
        // The rate may be another one, or the line.
        begins = kNever;
        combiner.timed.Unschedule();
    }

    // What has come is decided, and the statuses have it. What had begun to leave has left; what waited
    // behind it may have begun.
    void come_to_rest() {
        while (!source.empty()) run(decided() + 1);
        run(now + kRest);
        mark(now);
    }

    void take_over(olaf_queue &from, uint32_t first, uint32_t last) {
        come_to_rest();
        from.come_to_rest();
        const auto taken = int64_t(combiner.TakeOver(&from.combiner, first, last, now, from.now));
        registers.Moved(taken);
        from.registers.Moved(-taken);
        told_occupancy += taken;
        from.told_occupancy -= taken;
        begins = from.begins = kNever;
    }

    size_t take(const uint8_t **frame, uint64_t *first, uint64_t *last) {
        if (taken) combiner.buffers.Give(std::exchange(taken, nullptr));
        if (done.empty() || done.front().last >= now) return 0;
        Frame &left = done.front();
        if (unmarked == done.size()) mark(&left);
        done.pop_front();
        if (left.update) {
            combiner.Count(OLAF_REGISTER_OUT_UPDATES);
        } else {
            combiner.Count(OLAF_REGISTER_OUT_BYPASS);
            --registers.other_frames;
        }
        taken = left.bytes;
        *frame = taken->frame();
        *first = uint64_t(left.first);
        *last = uint64_t(left.last);
        return OLAF_SHIM_BYTES + left.length;
    }
};

extern "C" {

olaf_queue *olaf_queue_new(void) { return new olaf_queue; }
void olaf_queue_free(olaf_queue *queue) { delete queue; }

void olaf_queue_offer(olaf_queue *queue, const uint8_t *frame, size_t length, uint64_t cycle) {
    if (length > OLAF_SHIM_BYTES) queue->offer(frame, length - OLAF_SHIM_BYTES, int64_t(cycle));
}

const olaf_room *olaf_queue_room(const olaf_queue *queue) { return &queue->room; }

void olaf_queue_run(olaf_queue *queue, uint64_t cycle) { queue->run(int64_t(cycle)); }

uint64_t olaf_queue_settle(olaf_queue *queue, uint64_t limit) { return queue->settle(int64_t(limit)); }

int olaf_queue_waiting(const olaf_queue *queue) { return const_cast<olaf_queue *>(queue)->waiting(); }

uint64_t olaf_queue_quiet(const olaf_queue *queue, uint64_t cycle) {
    const int64_t now = queue->now, end = int64_t(cycle);
    const int64_t time = const_cast<olaf_queue *>(queue)->next_seen();
    if (end <= now) return 0;
    return uint64_t((time == kNever ? end : std::min(std::max(time, now), end)) - now);
}

uint64_t olaf_queue_cycle(const olaf_queue *queue) { return uint64_t(queue->now); }

size_t olaf_queue_take(olaf_queue *queue, const uint8_t **frame, uint64_t *first, uint64_t *last) {
    return queue->take(frame, first, last);
}

uint32_t olaf_queue_read(olaf_queue *queue, uint32_t offset) { return queue->registers.Read(offset); }

void olaf_queue_write(olaf_queue *queue, uint32_t offset, uint32_t value) { queue->write(offset, value); }

void olaf_queue_limit(olaf_queue *queue, uint32_t slots) {
    queue->mark(queue->now);
    queue->combiner.SetSlots(slots);
}

void olaf_queue_take_over(olaf_queue *queue, olaf_queue *from, uint32_t first, uint32_t last) {
    queue->take_over(*from, first, last);
}

}  // extern "C"
