// The Verilated OlafQueue behind queue_model.h and queue_probe.h.
// Only the C interface is visible: a process may hold several queues of different parameters.
#pragma GCC visibility push(default)
#include "queue_probe.h"
#pragma GCC visibility pop

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Volaf.h"
#include "Volaf___024root.h"
#include "verilated.h"
#include "verilated_stops.h"

// The evaluation itself, without the locks that Verilator takes around it for designs of several threads:
// they cost some 25 ns a cycle. Where it has another name, all of `eval` runs instead.
void Volaf___024root___eval(Volaf___024root *) __attribute__((weak));

// A signal of the OlafQueue in the rendered instance, by the name that Verilator gives it.
#define INSIDE(signal) olaf_instance__DOT__queue__DOT__##signal
#include "queue_time.h"

namespace {

constexpr size_t beat_bytes = 64;
constexpr uint64_t whole = ~uint64_t(0);  // tkeep of a beat all of whose bytes are valid
constexpr int start_cycles = 10000;       // within which a queue has cleared its tables
constexpr int answer_cycles = 1000;       // within which the register port must answer
constexpr size_t most_spare = 256;        // frames whose memory is kept

struct Frame {
    std::vector<uint8_t> bytes;   // the shim, then the frame
    uint64_t first, last;         // cycles; of a frame still to come, `first` is the earliest
    std::vector<uint64_t> keeps;  // tkeep of each beat; none: all bytes are valid
};

// A stream that stops and resumes at random.
struct Restless {
    uint32_t stop = 0, resume = 65536;
    bool stopped = false;
    void step(uint32_t chance) { stopped = stopped ? chance >= resume : chance < stop; }
};

// Nothing is sensitive to the clock's fall, so it needs no evaluation where Verilator can be told that it saw
// it: where its variable has the name that it has today. Otherwise false.
template <typename Root> auto saw_fall(Root &root, int)
    -> decltype(root.__Vtrigprevexpr___TOP__aclk__0, bool()) {
    root.__Vtrigprevexpr___TOP__aclk__0 = 0;
    return true;
}
template <typename Root> bool saw_fall(Root &, long) { return false; }

}  // namespace

struct olaf_queue {
    VerilatedContext context;
    std::unique_ptr<Volaf> top;
    bool initialized = false;  // by the first evaluation
    uint64_t cycle = 0;

    std::vector<Frame> spare;
    std::deque<Frame> source;
    size_t at = OLAF_SHIM_BYTES;  // the byte of source.front() from which its next beat is presented
    bool presented = false;
    bool within = false;  // a frame is leaving
    std::vector<uint8_t> leaving;
    uint64_t leaving_first = 0;
    std::deque<Frame> done;
    Frame taken{};

    Restless idle, stop;
    bool blocked = false, watching = false;
    bool irregular = false;  // the register port's master waits here and there
    uint64_t random = 1;
    std::vector<olaf_instant> instants, handed_out;

    olaf_queue() {
        context.threads(1);  // or it keeps a worker thread for nothing
        top.reset(new Volaf(&context));
        top->aclk = 1;
        reset(true);
    }

    // The queue as after power-up, its tables clear or not yet; what was under way is forgotten.
    void reset(bool clear) {
        enter();
        source.clear();
        at = OLAF_SHIM_BYTES;
        presented = false;
        within = false;
        leaving.clear();
        done.clear();
        instants.clear();
        top->aresetn = 0;
        top->m_axis_tready = 1;
        top->s_axis_tvalid = 0;
        top->s_axil_awvalid = top->s_axil_wvalid = top->s_axil_arvalid = 0;
        top->s_axil_bready = top->s_axil_rready = 0;
        for (int edge = 0; edge < 4; ++edge) edge_up();
        top->aresetn = 1;
        int cycles_left = start_cycles;
        while (clear && root().INSIDE(queue_rst) && --cycles_left) edge_up();
        cycle = 0;
    }
    ~olaf_queue() {
        enter();
        top->final();
    }

    // Verilator keeps the thread's current context: it must be this queue's, not one that is gone.
    void enter() { Verilated::threadContextp(&context); }

    Volaf___024root &root() const { return *top->rootp; }

    // The inputs settle, and the clock rises.
    void edge_up() {
        if (!saw_fall(root(), 0)) {
            top->aclk = 0;
            evaluate();
            top->aclk = 1;
        }
        evaluate();
    }

    void evaluate() {
        if (Volaf___024root___eval && initialized)
            Volaf___024root___eval(&root());
        else
            top->eval();
        initialized = true;
    }

    // A frame to fill, and one that is done with: its memory is used again.
    Frame fresh() {
        if (spare.empty()) return {};
        Frame frame = std::move(spare.back());
        spare.pop_back();
        frame.bytes.clear();
        frame.keeps.clear();
        return frame;
    }
    void reuse(Frame &&frame) {
        if (spare.size() < most_spare) spare.push_back(std::move(frame));
    }

    uint32_t chance() {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        return random >> 20 & 0xffff;
    }

    void present() {
        if (presented) return;
        top->s_axis_tvalid = 0;
        if (source.empty() || source.front().first > cycle) return;
        if (idle.stop) idle.step(chance());
        if (idle.stopped) return;
        const Frame &frame = source.front();
        size_t count = std::min(frame.bytes.size() - at, beat_bytes);
        uint64_t keep = count == beat_bytes ? whole : (uint64_t(1) << count) - 1;
        if (count < beat_bytes) std::memset(&top->s_axis_tdata[0], 0, beat_bytes);
        std::memcpy(&top->s_axis_tdata[0], frame.bytes.data() + at, count);
        top->s_axis_tkeep = frame.keeps.empty() ? keep : frame.keeps[(at - OLAF_SHIM_BYTES) / beat_bytes];
        top->s_axis_tlast = at + count == frame.bytes.size();
        if (at == OLAF_SHIM_BYTES) {
            uint32_t words[OLAF_TUSER_WORDS];
            olaf_tuser_pack(frame.bytes.data(), words);
            std::memcpy(&top->s_axis_tuser[0], words, sizeof words);
        }
        top->s_axis_tvalid = 1;
        presented = true;
    }

    void collect() {
        if (!within) {
            uint32_t words[OLAF_TUSER_WORDS];
            std::memcpy(words, &top->m_axis_tuser[0], sizeof words);
            leaving_first = cycle;
            leaving.resize(OLAF_SHIM_BYTES);
            olaf_tuser_unpack(leaving.data(), words);
        }
        const uint8_t *data = reinterpret_cast<const uint8_t *>(&top->m_axis_tdata[0]);
        if (top->m_axis_tkeep == whole)
            leaving.insert(leaving.end(), data, data + beat_bytes);
        else
            for (size_t byte = 0; byte < beat_bytes; ++byte)
                if (top->m_axis_tkeep >> byte & 1) leaving.push_back(data[byte]);
        within = !top->m_axis_tlast;
        if (top->m_axis_tlast) {
            Frame &left = done.emplace_back(fresh());
            left.first = leaving_first;
            left.last = cycle;
            left.bytes.swap(leaving);
            leaving.clear();
        }
    }

    void watch() {
        evaluate();
        uint32_t what =
            root().INSIDE(start) * OLAF_BEGUN | root().INSIDE(depart) * OLAF_LEFT |
            root().INSIDE(enqueue__DOT__deciding) * OLAF_DECIDED | root().INSIDE(settled) * OLAF_SETTLED |
            root().INSIDE(out__DOT__status_sampled) * OLAF_STATUS |
            root().INSIDE(bypass__DOT__admits) * OLAF_ADMITTED |
            root().INSIDE(bypass__DOT__refuses) * OLAF_REFUSED | root().INSIDE(commanded) * OLAF_COMMANDED;
        if (what) instants.push_back({cycle, what});
    }

    // One cycle: see what is exchanged at its end, which no input of it changes, and let the edge pass.
    void clock() {
        enter();
        present();
        if (stop.stop) stop.step(chance());
        top->m_axis_tready = !stop.stopped && !blocked;
        if (watching) watch();
        if (presented && top->s_axis_tready) {
            presented = false;
            at += beat_bytes;
            if (at >= source.front().bytes.size()) {
                reuse(std::move(source.front()));
                source.pop_front();
                at = OLAF_SHIM_BYTES;
            }
        }
        if (top->m_axis_tvalid && top->m_axis_tready) collect();
        edge_up();
        ++cycle;
    }

    olaf::QueueTime<Volaf___024root> time() const { return {root(), OLAF_INDICES}; }
    bool still() const { return time().still() && !presented && !within; }

    // Cycles for which nothing can happen but the passing of time, at most up to `end`.
    uint64_t quiet(uint64_t end) const {
        if (!still()) return 0;
        if (!source.empty()) end = std::min(end, source.front().first);
        return end <= cycle ? 0 : time().quiet(end - cycle);
    }

    void skip(uint64_t span) {
        time().skip(span);
        cycle += span;
        evaluate();
    }

    void run(uint64_t end) {
        while (cycle < end)
            if (uint64_t span = quiet(end); span > 0)
                skip(span);
            else
                clock();
    }

    // A short time, of no fixed length once the streams are disturbed.
    uint32_t pause() { return irregular ? chance() % 4 : 0; }

    // One access of the register port; false when it is not answered as AXI4-Lite asks.
    bool read(uint32_t offset, uint32_t *value, uint32_t *response) {
        top->s_axil_araddr = offset;
        top->s_axil_arvalid = 1;
        top->s_axil_rready = 0;
        int cycles_left = answer_cycles;
        do clock();
        while (!top->s_axil_rvalid && --cycles_left);
        top->s_axil_arvalid = 0;
        top->s_axil_araddr = ~offset;
        for (uint32_t left = pause(); left; --left) clock();
        bool answered = top->s_axil_rvalid;
        *value = top->s_axil_rdata;
        *response = top->s_axil_rresp;
        top->s_axil_rready = 1;
        clock();
        top->s_axil_rready = 0;
        return answered;
    }

    // Address and data come, and the answer is taken, each in its own time. What is not valid reads otherwise
    // than what was meant, and there must be no answer before both were taken, nor a second one.
    bool write(uint32_t offset, uint32_t value, uint32_t strobe, uint32_t *response) {
        uint32_t until_address = pause(), until_data = pause(), until_taken = pause();
        bool address_due = true, data_due = true;
        for (int cycles_left = answer_cycles; cycles_left; --cycles_left) {
            top->s_axil_awvalid = address_due && until_address == 0;
            top->s_axil_awaddr = top->s_axil_awvalid ? offset : ~offset;
            top->s_axil_wvalid = data_due && until_data == 0;
            top->s_axil_wdata = top->s_axil_wvalid ? value : ~value;
            top->s_axil_wstrb = top->s_axil_wvalid ? strobe : 0xf;
            bool answered = top->s_axil_bvalid;
            if (answered && (address_due || data_due)) return false;
            top->s_axil_bready = answered && until_taken == 0;
            evaluate();
            bool address_taken = top->s_axil_awvalid && top->s_axil_awready;
            bool data_taken = top->s_axil_wvalid && top->s_axil_wready;
            bool over = answered && top->s_axil_bready;
            *response = top->s_axil_bresp;
            clock();
            if (over) {
                top->s_axil_bready = 0;
                return !top->s_axil_bvalid;
            }
            if (address_taken) address_due = false;
            if (data_taken) data_due = false;
            if (until_address) --until_address;
            if (until_data) --until_data;
            if (answered && until_taken) --until_taken;
        }
        return false;
    }

    bool waiting() const {
        bool leaves = root().INSIDE(waiting) && !(root().INSIDE(hold) & 1);
        return !source.empty() || leaves || !still();
    }
};

extern "C" {

olaf_queue *olaf_queue_new(void) { return new olaf_queue; }
void olaf_queue_free(olaf_queue *queue) { delete queue; }

void olaf_queue_offer(olaf_queue *queue, const uint8_t *frame, size_t length, uint64_t cycle) {
    if (length <= OLAF_SHIM_BYTES) return;
    Frame &offered = queue->source.emplace_back(queue->fresh());
    offered.first = cycle;
    offered.bytes.assign(frame, frame + length);
}

void olaf_queue_offer_beats(olaf_queue *queue, const uint8_t *frame, const uint64_t *keeps, size_t beats,
                            uint64_t cycle) {
    const uint8_t *end = frame + OLAF_SHIM_BYTES + beats * beat_bytes;
    if (beats > 0) queue->source.push_back({{frame, end}, cycle, 0, {keeps, keeps + beats}});
}

void olaf_queue_reset(olaf_queue *queue, int clear) { queue->reset(clear); }

void olaf_queue_run(olaf_queue *queue, uint64_t cycle) { queue->run(cycle); }

uint64_t olaf_queue_settle(olaf_queue *queue, uint64_t limit) {
    uint64_t start = queue->cycle;
    while (queue->cycle - start < limit && queue->waiting())
        if (uint64_t span = queue->quiet(start + limit); span > 0)
            queue->skip(span);
        else
            queue->clock();
    return queue->cycle - start;
}

int olaf_queue_waiting(const olaf_queue *queue) { return queue->waiting(); }

uint64_t olaf_queue_quiet(const olaf_queue *queue, uint64_t cycle) { return queue->quiet(cycle); }

uint64_t olaf_queue_cycle(const olaf_queue *queue) { return queue->cycle; }

size_t olaf_queue_take(olaf_queue *queue, const uint8_t **frame, uint64_t *first, uint64_t *last) {
    if (queue->done.empty()) return 0;
    queue->reuse(std::move(queue->taken));
    queue->taken = std::move(queue->done.front());
    queue->done.pop_front();
    *frame = queue->taken.bytes.data();
    *first = queue->taken.first;
    *last = queue->taken.last;
    return queue->taken.bytes.size();
}

int olaf_queue_access(olaf_queue *queue, int write, uint32_t offset, uint32_t *value, uint32_t strobe) {
    uint32_t response = 0;
    bool answered =
        write ? queue->write(offset, *value, strobe, &response) : queue->read(offset, value, &response);
    return answered ? int(response) : -1;
}

uint32_t olaf_queue_read(olaf_queue *queue, uint32_t offset) {
    uint32_t value = 0;
    olaf_queue_access(queue, 0, offset, &value, 0);
    return value;
}

void olaf_queue_write(olaf_queue *queue, uint32_t offset, uint32_t value) {
    olaf_queue_access(queue, 1, offset, &value, 0xf);
}

void olaf_queue_disturb(olaf_queue *queue, uint64_t seed, uint32_t idle, uint32_t stop, uint32_t resume) {
    queue->random = seed * 0x9e3779b97f4a7c15u | 1;
    queue->irregular = true;
    queue->idle = {idle, resume};
    queue->stop = {stop, resume};
}

void olaf_queue_block(olaf_queue *queue, int blocked) { queue->blocked = blocked; }

uint64_t olaf_queue_drain(olaf_queue *queue, uint64_t limit) {
    uint64_t start = queue->cycle;
    while (queue->cycle - start < limit && !queue->source.empty()) queue->clock();
    return queue->cycle - start;
}

void olaf_queue_watch(olaf_queue *queue, int on) { queue->watching = on; }

size_t olaf_queue_instants(olaf_queue *queue, const olaf_instant **instants) {
    queue->handed_out = std::move(queue->instants);
    queue->instants.clear();
    *instants = queue->handed_out.data();
    return queue->handed_out.size();
}

uint64_t olaf_queue_failures(void) { return verilated_stops(); }

}  // extern "C"
