// The C interface (simulate.h): handles on the classes.

#include "control.h"
#include "simulate.h"
#include "simulation.h"

using olaf::Control;
using olaf::Simulation;

void *olaf_control_new(double v, double tolerance) { return new Control(v, tolerance); }

void olaf_control_free(void *control) { delete static_cast<Control *>(control); }

void olaf_control_acknowledged(void *control, int64_t now, double share) {
    static_cast<Control *>(control)->Acknowledged(now, share);
}

double olaf_control_probability(void *control, int64_t now) {
    return static_cast<Control *>(control)->Probability(now);
}

void *olaf_simulation_new(const OlafWorld *world, const OlafEngine *engines, uint64_t engine_count,
                          const OlafSetting *settings, uint64_t setting_count, const OlafSource *sources,
                          uint64_t source_count, const OlafArrival *arrivals, uint64_t arrival_count) {
    return new Simulation(*world, engines, engine_count, settings, setting_count, sources, source_count,
                          arrivals, arrival_count);
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

void olaf_simulation_workers(void *simulation, OlafWorker *workers) {
    static_cast<Simulation *>(simulation)->Workers(workers);
}
