#include "rules.h"

#include "simulate.h"

using olaf::Queue;

void *olaf_rules_new(uint64_t slots, uint64_t indices, uint64_t quota) {
    return new Queue(slots, indices, quota);
}

void olaf_rules_free(void *queue) { delete static_cast<Queue *>(queue); }

void olaf_rules_set(void *queue, uint32_t index, uint32_t mode, uint32_t reward_rule, float threshold,
                    uint32_t wanted) {
    static_cast<Queue *>(queue)->Set(index,
                                     {static_cast<olaf::Mode>(mode), reward_rule != 0, threshold, wanted});
}

uint32_t olaf_rules_offer(void *queue, const olaf::Update *update) {
    std::uint32_t displaced;
    return static_cast<uint32_t>(static_cast<Queue *>(queue)->Offer(*update, 0, &displaced));
}

uint32_t olaf_rules_begin(void *queue, olaf::Update *update) {
    try {
        *update = static_cast<Queue *>(queue)->Begin();
    } catch (const std::logic_error &) { return 0; }
    return 1;
}

uint32_t olaf_rules_leave(void *queue) {
    try {
        static_cast<Queue *>(queue)->Leave();
    } catch (const std::logic_error &) { return 0; }
    return 1;
}

uint64_t olaf_rules_occupancy(void *queue) { return static_cast<Queue *>(queue)->occupancy(); }
