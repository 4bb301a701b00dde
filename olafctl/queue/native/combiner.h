// Updates with their bytes: which are faulty, what the rules make of the others, what leaves, and the
// counters.

#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "../../wire/native/olaf_header.h"
#include "../../wire/native/tuser.h"
#include "activity.h"
#include "buffers.h"
#include "lanes.h"
#include "registers.h"
#include "timed.h"
#include "versions.h"

namespace olaf {

// What the rules know of an update, and where its bytes are, its shim in front.
struct Held {
    std::uint64_t gen_time;
    std::uint32_t index, worker, seq, reward, size;
    std::uint16_t count;
    Versions versions;
    std::uint8_t aggregated, number;
    bool result;   // it came in a mode that sums: a sum, also when it is of one
    bool patched;  // others were merged into it, or it was weighed
    Buffer *bytes;

    std::uint32_t member() const { return number; }
    void Weigh() { patched = true; }
    void Merge(const Held &other, bool newer) {
        versions.Merge(other.versions);
        patched = true;
        if (!newer) return;
        gen_time = other.gen_time;
        worker = other.worker;
        seq = other.seq;
    }
};

// How an update arrived to its end.
enum class Ending : std::uint8_t { kGood, kTruncated, kOverlong };

class Combiner {
  public:
    struct Geometry {
        std::size_t indices, slots, beats;
        std::uint32_t members, adder_latency;
    };

    explicit Combiner(const Geometry &geometry)
        : geometry_(geometry),
          slots_(geometry.slots),
          timed({geometry.slots, geometry.indices, geometry.slots > 1 ? geometry.slots / 2 : 1,
                 geometry.members},
                {1, geometry.adder_latency + kMergeCycles}, geometry.indices),
          activity(OLAF_RESET_ACTIVE_WINDOW, geometry.indices, static_cast<std::int64_t>(geometry.indices)) {}

    static Ending EndingOf(std::size_t size, std::size_t length) {
        return length < size ? Ending::kTruncated : length > size ? Ending::kOverlong : Ending::kGood;
    }

    struct Arrival {
        bool kept;      // it is in the buffer that came with it
        bool known;     // it is an update of an index, good or dropped by a rule
        bool appended;  // there is one more
    };

    // A whole frame arrives at once, decided and settled at `now`; `own` is the frame's buffer, taken over
    // when the update needs one, or null.
    OLAF_INLINE Arrival Arrive(std::int64_t now, const std::uint8_t *shim, std::size_t length, Buffer *own) {
        Held &update = timed.queue.Arriving();
        Count(OLAF_REGISTER_IN_UPDATES);
        if (const auto fault = Read(shim, length, &update)) {
            Count(fault);
            return {false, false, false};
        }
        if (const Ending ending = EndingOf(olaf_shim_size(shim), length); ending != Ending::kGood) {
            Count(CounterOf(ending));
            return {false, false, false};
        }
        const Held *joined = timed.queue.Waiting(update.index);
        const Old old = OldOf(joined, update);
        update.bytes = own ? own : buffers.Take();
        std::uint32_t displaced;
        const Disposition what = timed.Decide(now, update, &displaced);
        return {Keep(what, update, old, displaced, shim, own == nullptr), true,
                what == Disposition::kAppended};
    }

    // The same in steps, told from outside when each happens: the laboratory compares them with the
    // Verilog's.
    void Decide(const std::uint8_t *shim, std::size_t length, std::size_t closing) {
        fault_ = Read(shim, length, &arriving_);
        torn_ = !fault_ && length < OLAF_GRADIENTS_AT;
        if (fault_ || torn_) return;
        arriving_.bytes = buffers.Take();
        decided_ = timed.queue.Decide(arriving_, closing);
    }
    // Whether the update that arrives is added to another.
    bool adds() const { return !fault_ && !torn_ && decided_ == Disposition::kMerged; }
    void Settle(std::int64_t now, const std::uint8_t *shim, Ending ending) {
        Count(OLAF_REGISTER_IN_UPDATES);
        if (fault_ || torn_) {
            Count(fault_ ? fault_ : CounterOf(ending));
            return;
        }
        if (ending != Ending::kGood) {
            if (!timed.queue.HasBegun()) {
                timed.queue.GiveUp();
                buffers.Give(arriving_.bytes);
                Count(CounterOf(ending));
                return;
            }
            Count(OLAF_REGISTER_REPAIRED);
        }
        activity.Mark(now, arriving_.index);
        const Old old = OldOf(timed.queue.Joined(), arriving_);
        std::uint32_t displaced;
        timed.queue.Settle(&displaced);
        Keep(decided_, arriving_, old, displaced, shim, true);
    }

    // An ACK passes: what its header says of the weights' version is learnt.
    void Acknowledge(const std::uint8_t *shim, std::size_t length) {
        const std::uint32_t index = olaf_shim_index(shim);
        if (index >= geometry_.indices || length < OLAF_GRADIENTS_AT) return;
        olaf_header header;
        olaf_header_read(&header, shim + OLAF_SHIM_BYTES + OLAF_HEADER_AT);
        timed.queue.Acknowledged(index, header.weights_version);
    }

    // Fewer slots than the geometry has, from now on.
    void SetSlots(std::size_t slots) {
        slots_ = slots;
        timed.queue.SetSlots(slots);
    }

    // Takes over what of the indices `first` … `last` waits in `from`, whose clock is at `then`; how many.
    std::size_t TakeOver(Combiner *from, std::uint32_t first, std::uint32_t last, std::int64_t now,
                         std::int64_t then) {
        std::size_t taken = 0;
        timed.TakeOver(&from->timed, first, last, now, [&](Held *update) {
            Buffer *own = buffers.Take();
            own->Copy(update->bytes->frame(), OLAF_SHIM_BYTES + update->size);
            from->buffers.Give(std::exchange(update->bytes, own));
            ++taken;
        });
        for (std::uint32_t index = first; index <= last; ++index) {
            const std::int64_t sent = from->activity.Forget(index);
            if (sent != Activity::kSilent)
                activity.Mark(std::max<std::int64_t>(now - (then - sent), 0), index);
        }
        return taken;
    }

    // What becomes of a partial sum by a command.
    void Discarded(const Held *sum) {
        buffers.Give(sum->bytes);
        Count(OLAF_REGISTER_DROPPED_RESET);
    }

    // The headers of what leaves, as they leave.
    static void Finish(const Held &update) {
        std::uint8_t *shim = update.bytes->frame(), *frame = shim + OLAF_SHIM_BYTES;
        if (update.patched || update.result) {
            olaf_header header;
            olaf_header_read(&header, frame + OLAF_HEADER_AT);
            header.flags = (header.flags & ~OLAF_FLAG_SUMMED) | OLAF_FLAG_AGGREGATED |
                           (update.versions.summed ? OLAF_FLAG_SUMMED : 0);
            header.count = update.count;
            header.seq = update.seq;
            header.reward = update.reward;
            header.weights_version = update.versions.weights_version;
            olaf_header_write(&header, frame + OLAF_HEADER_AT);
            // The payload differs, so its UDP checksum must not be checked any more.
            frame[OLAF_UDP_CHECKSUM_AT] = frame[OLAF_UDP_CHECKSUM_AT + 1] = 0;
        }
        olaf_shim_set_kind(shim, update.result ? OLAF_KIND_RESULT : OLAF_KIND_UPDATE);
    }

    // The queue's status in what leaves.
    void Status(std::int64_t now, std::size_t occupancy, std::uint8_t *shim) {
        const std::size_t active = activity.Active(now);
        olaf_shim_set_occupancy(shim, static_cast<std::uint32_t>(occupancy));
        olaf_shim_set_active_clusters(shim, static_cast<std::uint16_t>(active));
        olaf_shim_set_slots(shim, static_cast<std::uint16_t>(slots_));
        olaf_shim_set_status_flags(shim, (occupancy >= slots_ ? OLAF_STATUS_FULL : 0) |
                                             (active > slots_ ? OLAF_STATUS_CONGESTED : 0));
    }

    void Count(std::uint32_t counter, std::uint64_t by = 1) { At(counter) += by; }
    std::uint64_t &At(std::uint32_t counter) { return counters[(counter - OLAF_COUNTERS_AT) / 8]; }

  private:
    static constexpr std::int64_t kMergeCycles = 3;  // of a beat to the adders and behind them
    static constexpr std::size_t kGradientsAt = OLAF_SHIM_BYTES + OLAF_GRADIENTS_AT;

    // What an update is combined with, before it is.
    struct Old {
        Buffer *bytes;
        bool newer;  // the one that arrives, than it
    };

    const Geometry geometry_;
    std::size_t slots_;
    Held arriving_{};
    std::uint32_t fault_ = 0;
    bool torn_ = false;
    Disposition decided_ = Disposition::kCount;

  public:
    Buffers buffers;
    TimedQueue<Held, 1> timed;
    Activity activity;
    std::array<std::uint64_t, OLAF_COUNTERS> counters{};

  private:
    static std::uint32_t CounterOf(Ending ending) {
        return ending == Ending::kTruncated ? OLAF_REGISTER_DROPPED_TRUNCATED
                                            : OLAF_REGISTER_DROPPED_OVERLONG;
    }

    static Old OldOf(const Held *joined, const Held &update) {
        if (joined == nullptr) return {nullptr, false};
        return {joined->bytes, AtLeastAsNew(update.gen_time, joined->gen_time)};
    }

    // The counter of what is wrong with its headers, or 0.
    std::uint32_t Read(const std::uint8_t *shim, std::size_t length, Held *update) const {
        const std::uint8_t *frame = shim + OLAF_SHIM_BYTES;
        const std::uint32_t size = olaf_shim_size(shim), index = olaf_shim_index(shim);
        if (length < OLAF_GRADIENTS_AT)  // its headers are not whole
            return size < OLAF_GRADIENTS_AT ? OLAF_REGISTER_DROPPED_LENGTH : 0;
        olaf_header header;
        olaf_header_read(&header, frame + OLAF_HEADER_AT);
        // As one number: compilers compare two of these fields in memory, where what was just written stalls
        // it.
        if ((header.version ^ OLAF_VERSION) | (header.frame_type ^ OLAF_TYPE_UPDATE) | !header.count)
            return OLAF_REGISTER_DROPPED_HEADER;
        const std::uint32_t udp = frame[OLAF_UDP_LENGTH_AT] << 8 | frame[OLAF_UDP_LENGTH_AT + 1];
        if (size < OLAF_GRADIENTS_AT || size != OLAF_UDP_AT + udp || size % 4)
            return OLAF_REGISTER_DROPPED_LENGTH;
        if (size > geometry_.beats * OLAF_BEAT_BYTES) return OLAF_REGISTER_DROPPED_OVERSIZE;
        if (index >= geometry_.indices) return OLAF_REGISTER_DROPPED_INDEX;
        *update = {header.gen_time,
                   index,
                   olaf_shim_worker(shim),
                   header.seq,
                   header.reward,
                   size,
                   header.count,
                   {header.weights_version, (header.flags & OLAF_FLAG_SUMMED) != 0},
                   static_cast<std::uint8_t>(header.flags & OLAF_FLAG_AGGREGATED),
                   olaf_shim_member(shim),
                   timed.queue.Sums(index),
                   false,
                   nullptr};
        return 0;
    }

    // Its bytes, and what they displace. Whether update.bytes was kept; else it is given back if it is
    // `ours`.
    bool Keep(Disposition what, const Held &update, const Old &old, std::uint32_t displaced,
              const std::uint8_t *shim, bool ours) {
        static constexpr std::uint32_t kCounters[] = {
            OLAF_REGISTER_APPENDED,           OLAF_REGISTER_MERGED,
            OLAF_REGISTER_REPLACED_WORKER,    OLAF_REGISTER_REPLACED_REWARD,
            OLAF_REGISTER_DROPPED_FULL,       OLAF_REGISTER_DROPPED_REWARD,
            OLAF_REGISTER_DROPPED_MISMATCH,   OLAF_REGISTER_DROPPED_MEMBER,
            OLAF_REGISTER_DROPPED_DUPLICATE,  OLAF_REGISTER_DROPPED_LATE,
            OLAF_REGISTER_DROPPED_SUPERSEDED, OLAF_REGISTER_DROPPED_QUOTA,
            OLAF_REGISTER_DROPPED_HALTED,     OLAF_REGISTER_DROPPED_STALE,
        };
        static_assert(std::size(kCounters) == static_cast<std::size_t>(Disposition::kCount));
        Count(kCounters[static_cast<std::size_t>(what)]);
        const std::uint32_t shift = timed.queue.shift();
        if (shift && what != Disposition::kDroppedStale) {
            if (ours) update.bytes->Copy(shim, OLAF_SHIM_BYTES + update.size);
            shim = update.bytes->frame();
            ScaleLanes(update.bytes->frame() + kGradientsAt, (update.size - OLAF_GRADIENTS_AT) / 4, shift);
        }
        switch (what) {
            case Disposition::kReplacedWorker:
            case Disposition::kReplacedReward:
            case Disposition::kDroppedSuperseded: buffers.Give(old.bytes); [[fallthrough]];
            case Disposition::kAppended:
                if (timed.queue.after_locked() && what == Disposition::kAppended)
                    Count(OLAF_REGISTER_LOCKED_APPENDS);
                if (ours && !shift) update.bytes->Copy(shim, OLAF_SHIM_BYTES + update.size);
                return true;
            case Disposition::kMerged: {
                std::uint8_t *sum = old.bytes->frame();
                if (old.newer) std::memcpy(sum, shim, kGradientsAt);
                AddLanes(sum + kGradientsAt, shim + kGradientsAt, (update.size - OLAF_GRADIENTS_AT) / 4);
                if (displaced) Count(OLAF_REGISTER_SATURATIONS);
                break;
            }
            default: break;
        }
        if (ours) buffers.Give(update.bytes);
        return false;
    }
};

}  // namespace olaf
