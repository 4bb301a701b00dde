// The C interface of the event-level model, which library.py reads.

#pragma once

#include <stdint.h>

#include "update.h"

extern "C" {

// One worker's transmission control; times in picoseconds, `v` in 1/s, the tolerance in seconds.
void *olaf_control_new(double v, double tolerance);
void olaf_control_free(void *control);
void olaf_control_acknowledged(void *control, int64_t now, double share);
double olaf_control_probability(void *control, int64_t now);

// A scenario in picoseconds. Arrays are read while olaf_simulation_new runs and not kept.
struct OlafEngine {
    uint64_t slots;
    uint64_t quota;        // of them, for sums of rounds that are not complete
    int64_t cycle;         // of the engine's clock: a beat of 64 bytes takes one
    int64_t merge_cycles;  // of a beat through the adders' pipeline until it can be read
    int64_t rate;          // the rate limiter's, in bits a cycle times 2^32; 0 does not limit
    double link_ps_per_byte;
    int64_t link_delay;
    uint64_t link_capacity;  // frames waiting or being sent; 0 is unlimited
    int64_t next;            // the engine at the link's end; -1 is the parameter server
    int64_t window;          // within which an index that sent is active
};
struct OlafSetting {
    uint32_t engine, index, mode, reward_rule;
    float threshold;
    uint32_t wanted;       // worker updates that make a round's result
    uint32_t member;       // the engine's own number at the next one, where its sums are contributions
    uint32_t distributes;  // whether a sum is a result, for all members
};
// An update is one frame for each of `segments` indices from `index` on. With a tolerance of 0 s there is no
// transmission control. In rounds the period is that from a result to the next update, and an update whose
// result has not come after `retry` is sent again.
struct OlafSource {
    int64_t phase, period, jitter, delay, retry;
    double v, tolerance;
    uint32_t engine, index, segments, worker, size;
    uint32_t sender;  // its number over all workers
};
// An update at a given time; arrays of them ascend in time.
struct OlafArrival {
    int64_t time;
    uint32_t engine, index, worker, size, sender;
    uint32_t seq;  // in rounds the round
};
struct OlafCluster {
    double area;  // of the age over time, in square picoseconds
    int64_t observed;
    double peaks;  // the sum of the peak ages
    uint64_t peak_count;
    int64_t highest_peak;
    uint64_t generated, replaced, lost, frames, delivered;
    uint64_t uncounted;     // merged into a frame whose count was at its limit
    uint64_t held;          // frames that transmission control did not send
    uint64_t acknowledged;  // ACKs that a worker received
};
struct OlafCounters {
    uint64_t dispositions[static_cast<int>(olaf::Disposition::kCount)];
    uint64_t sent, link_dropped;
};
// Measured of a worker: by the updates of its own that frames consist of.
struct OlafWorker {
    double area;  // as a cluster's
    int64_t observed;
    uint64_t delivered;
    int64_t reached;  // when the goal was, or -1
};
struct OlafReception {
    int64_t generated, time;
    uint32_t index, count;
};

// What a run is besides its engines and workers. `owners` has the cluster of each index, clusters in order.
struct OlafWorld {
    const uint32_t *owners;
    uint64_t indices, clusters;
    uint64_t seed;
    int64_t start, end;
    int64_t ack_bytes;     // of an ACK without status header; 0 is as long as the update that it answers
    int64_t status_bytes;  // of the status header
    // Workers measured one by one, and the number of delivered updates whose time is wanted of each; 0
    // measures no worker.
    uint64_t senders, goal;
    uint32_t acknowledge, record;
    uint32_t initial, unused;  // whether the server holds a model of every cluster that was generated at 0
};

void *olaf_simulation_new(const OlafWorld *world, const OlafEngine *engines, uint64_t engine_count,
                          const OlafSetting *settings, uint64_t setting_count, const OlafSource *sources,
                          uint64_t source_count, const OlafArrival *arrivals, uint64_t arrival_count);
void olaf_simulation_free(void *simulation);
// Up to `events` further events; 1 while the end is not reached.
uint32_t olaf_simulation_run(void *simulation, uint64_t events);
void olaf_simulation_clusters(void *simulation, OlafCluster *clusters);
void olaf_simulation_engines(void *simulation, OlafCounters *engines);
// Worker updates that are in a queue or on a link.
uint64_t olaf_simulation_under_way(void *simulation);
uint64_t olaf_simulation_events(void *simulation);
uint64_t olaf_simulation_receptions(void *simulation, const OlafReception **receptions);
void olaf_simulation_workers(void *simulation, OlafWorker *workers);

}  // extern "C"
