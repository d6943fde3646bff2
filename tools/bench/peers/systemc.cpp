// The kernel workloads in SystemC, in the styles its users write.
//
//   systemc ring event|signal|clocked|thread HOPS
//   systemc pipe clocked|thread ITEMS
//   systemc phold event EVENTS
//
// Prints CPU nanoseconds of the run phase and the units done, nothing else.

#include <systemc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace {

const unsigned MODULES = 1024, TOKENS = 64, STAGES = 8, DEPTH = 4, EVERY = 3;
const unsigned OBJECTS = 1024, EVENTS_EACH = 16, DELAY_MAX = 1000;
const sc_time CYCLE(1, SC_NS);

std::uint64_t done = 0, wanted = 0;

void count() {
    if (++done == wanted) sc_stop();
}

bool starts_with_token(unsigned module) {
    return module * TOKENS / MODULES != (module + 1) * TOKENS / MODULES;
}

// A hop is a notification one cycle later.
struct EventHop : sc_module {
    sc_event arrived;
    EventHop* next = nullptr;
    bool first;
    SC_HAS_PROCESS(EventHop);
    EventHop(sc_module_name name, bool token) : sc_module(name), first(token) {
        SC_METHOD(hop);
        sensitive << arrived;
    }
    void hop() {
        if (sc_time_stamp() == SC_ZERO_TIME) {
            if (first) next->arrived.notify(CYCLE);
            return;
        }
        count();
        next->arrived.notify(CYCLE);
    }
};

// A hop is a write to a signal, seen one delta cycle later.
struct SignalHop : sc_module {
    sc_in<std::uint64_t> in;
    sc_out<std::uint64_t> out;
    bool first;
    SC_HAS_PROCESS(SignalHop);
    SignalHop(sc_module_name name, bool token) : sc_module(name), first(token) {
        SC_METHOD(hop);
        sensitive << in;
    }
    void hop() {
        if (in.read() == 0) {
            if (first) out.write(1);
            return;
        }
        count();
        out.write(in.read() + 1);
    }
};

// Registers clocked by one clock: every module looks in every cycle.
struct ClockedHop : sc_module {
    sc_in<bool> clock;
    sc_in<std::uint64_t> in;
    sc_out<std::uint64_t> out;
    std::uint64_t seen = 0;
    bool first;
    SC_HAS_PROCESS(ClockedHop);
    ClockedHop(sc_module_name name, bool token) : sc_module(name), first(token) {
        SC_METHOD(hop);
        sensitive << clock.pos();
        dont_initialize();
    }
    void hop() {
        if (first) {
            first = false;
            out.write(1);
            return;
        }
        const std::uint64_t value = in.read();
        if (value != seen) {
            seen = value;
            count();
            out.write(value + 1);
        }
    }
};

// A thread that waits for its event and sleeps for a cycle.
struct ThreadHop : sc_module {
    sc_event arrived;
    ThreadHop* next = nullptr;
    bool first;
    SC_HAS_PROCESS(ThreadHop);
    ThreadHop(sc_module_name name, bool token) : sc_module(name), first(token) {
        SC_THREAD(run);
        set_stack_size(16 * 1024);
    }
    void run() {
        if (first) next->arrived.notify(CYCLE);
        while (true) {
            wait(arrived);
            count();
            next->arrived.notify(CYCLE);
        }
    }
};

// Stages around bounded queues; a method per stage at every clock edge.
struct ClockedStage : sc_module {
    sc_in<bool> clock;
    sc_fifo<std::uint64_t>*in = nullptr, *out = nullptr;
    unsigned every = 1, phase = 0;
    SC_HAS_PROCESS(ClockedStage);
    explicit ClockedStage(sc_module_name name) : sc_module(name) {
        SC_METHOD(step);
        sensitive << clock.pos();
        dont_initialize();
    }
    void step() {
        std::uint64_t item = 0;
        if (!in) {
            if (out->num_free() > 0) out->nb_write(item);
            return;
        }
        if (++phase < every) return;
        if (in->num_available() > 0 && (!out || out->num_free() > 0)) {
            phase = 0;
            in->nb_read(item);
            count();
            if (out) out->nb_write(item);
        }
    }
};

struct ThreadStage : sc_module {
    sc_fifo<std::uint64_t>*in = nullptr, *out = nullptr;
    unsigned every = 1;
    SC_HAS_PROCESS(ThreadStage);
    explicit ThreadStage(sc_module_name name) : sc_module(name) {
        SC_THREAD(run);
        set_stack_size(16 * 1024);
    }
    void run() {
        while (true) {
            std::uint64_t item = 0;
            if (in) {
                in->read(item);
                count();
            }
            if (out) out->write(item);
            wait(every * CYCLE);
        }
    }
};

// An event in flight: a method that triggers itself after a random delay at a random object.
// (An object with an sc_event_queue of its own is the other natural style, and no faster.)
struct Flight : sc_module {
    const std::vector<sc_time>& delays;
    std::vector<std::uint64_t>& handled;
    std::uint64_t random;
    unsigned target;
    SC_HAS_PROCESS(Flight);
    Flight(sc_module_name name, std::uint64_t seed, const std::vector<sc_time>& delays,
           std::vector<std::uint64_t>& handled)
        : sc_module(name), delays(delays), handled(handled), random(seed), target(0) {
        SC_METHOD(handle);
    }
    std::uint64_t draw() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    }
    void handle() {
        if (sc_time_stamp() != SC_ZERO_TIME) {
            ++handled[target];
            count();
        }
        target = draw() % OBJECTS;
        next_trigger(delays[draw() % DELAY_MAX]);
    }
};

std::string name(const char* what, unsigned i) { return what + std::to_string(i); }

void run() {
    sc_start(SC_ZERO_TIME);
    const std::clock_t before = std::clock();
    done = 0;
    sc_start();
    const double seconds = double(std::clock() - before) / CLOCKS_PER_SEC;
    std::printf("%.0f %llu\n", seconds * 1e9, (unsigned long long)done);
}

template <class Hop>
void ring_by_reference() {
    std::vector<std::unique_ptr<Hop>> hops;
    for (unsigned i = 0; i < MODULES; ++i)
        hops.emplace_back(new Hop(name("hop", i).c_str(), starts_with_token(i)));
    for (unsigned i = 0; i < MODULES; ++i) hops[i]->next = hops[(i + 1) % MODULES].get();
    run();
}

void ring_by_signals(bool clocked) {
    std::vector<std::unique_ptr<sc_signal<std::uint64_t>>> wires;
    for (unsigned i = 0; i < MODULES; ++i)
        wires.emplace_back(new sc_signal<std::uint64_t>(name("wire", i).c_str()));
    sc_clock clock("clock", CYCLE);
    std::vector<std::unique_ptr<sc_module>> hops;
    for (unsigned i = 0; i < MODULES; ++i) {
        sc_signal<std::uint64_t>&in = *wires[i], &out = *wires[(i + 1) % MODULES];
        if (clocked) {
            auto* hop = new ClockedHop(name("hop", i).c_str(), starts_with_token(i));
            hop->clock(clock);
            hop->in(in);
            hop->out(out);
            hops.emplace_back(hop);
        } else {
            auto* hop = new SignalHop(name("hop", i).c_str(), starts_with_token(i));
            hop->in(in);
            hop->out(out);
            hops.emplace_back(hop);
        }
    }
    run();
}

template <class Stage>
void pipe() {
    std::vector<std::unique_ptr<sc_fifo<std::uint64_t>>> queues;
    for (unsigned i = 0; i <= STAGES; ++i)
        queues.emplace_back(new sc_fifo<std::uint64_t>(name("queue", i).c_str(), DEPTH));
    sc_clock clock("clock", CYCLE);
    std::vector<std::unique_ptr<Stage>> stages;
    for (unsigned i = 0; i < STAGES + 2; ++i) {
        auto* stage = new Stage(name("stage", i).c_str());
        if (i > 0) stage->in = queues[i - 1].get();
        if (i <= STAGES) stage->out = queues[i].get();
        if (i == STAGES + 1) stage->every = EVERY;
        if constexpr (std::is_same<Stage, ClockedStage>::value) stage->clock(clock);
        stages.emplace_back(stage);
    }
    run();
}

void phold() {
    std::vector<sc_time> delays;
    for (unsigned d = 1; d <= DELAY_MAX; ++d) delays.push_back(d * CYCLE);
    std::vector<std::uint64_t> handled(OBJECTS);
    std::vector<std::unique_ptr<Flight>> flights;
    for (unsigned i = 0; i < OBJECTS * EVENTS_EACH; ++i)
        flights.emplace_back(
            new Flight(name("flight", i).c_str(), 88172645463325252ull + i, delays, handled));
    run();
}

}  // namespace

int sc_main(int argc, char** argv) {
    if (argc != 4) return 2;
    sc_report_handler::set_verbosity_level(SC_NONE);
    sc_report_handler::set_actions(SC_INFO, SC_DO_NOTHING);
    const std::string workload = argv[1], style = argv[2];
    wanted = std::strtoull(argv[3], nullptr, 10);
    if (workload == "ring" && style == "event") ring_by_reference<EventHop>();
    else if (workload == "ring" && style == "thread") ring_by_reference<ThreadHop>();
    else if (workload == "ring" && style == "signal") ring_by_signals(false);
    else if (workload == "ring" && style == "clocked") ring_by_signals(true);
    else if (workload == "pipe" && style == "clocked") { wanted *= STAGES + 1; pipe<ClockedStage>(); }
    else if (workload == "pipe" && style == "thread") { wanted *= STAGES + 1; pipe<ThreadStage>(); }
    else if (workload == "phold" && style == "event") phold();
    else return 2;
    std::fflush(stdout);
    return 0;
}
