// A schedule on SimGrid: one communication for each piece of a send, started when what it waits for is there.
//
//     g++ -O2 -std=c++17 simgrid.cpp -o simgrid -lsimgrid
//     simgrid FILE [--latency=links]
//
// Reads the file that export.py writes (its words are described there) and prints a line of JSON: simulated
// seconds, CPU seconds that reading and running took, sends. No actor runs: a communication that has ended starts
// those that waited for it. An actor for each rank with mailboxes is no faster (ring all_reduce on two busy cores:
// 256 ranks 0.18 s of CPU time against 0.27, 1,024 ranks 9 to 11 s against 8 to 13).
//
// Flows share links max-min fairly, and the latency of a route passes before its bytes flow. Left to itself
// (--latency=links) SimGrid's CM02 model also weighs flows by latency: one over 3 hops gets a third of the rate
// of one over 1 hop.

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace s4u = simgrid::s4u;
namespace kernel = simgrid::kernel;
using Links = std::vector<kernel::resource::StandardLinkImpl*>;
#if SIMGRID_VERSION_MAJOR >= 4
using Completed = s4u::Comm;
#else
using Completed = s4u::Activity;
#endif

namespace {

struct Route {
    double latency = 0;
    std::vector<Links> pieces;  // equal parts of the bytes
};

struct Arc {
    long ahead;  // steps
    int row;     // of that step
};

struct Send {
    int route = 0;
    double bytes = 0;
    int waits = 0;
    std::vector<Arc> opens;
};

struct Block {
    long times = 0;  // steps that are alike
    std::vector<Send> sends;
};

struct Plan {
    std::vector<double> bandwidth;
    std::vector<std::pair<double, std::vector<std::vector<int>>>> routes;  // latency, links of each piece
    std::vector<Block> blocks;
};

[[noreturn]] void fail(const std::string& what) {
    std::cerr << "simgrid: " << what << "\n";
    std::exit(2);
}

template <class T> T next(std::istream& in, const char* what) {
    T value;
    if (!(in >> value))
        fail(std::string("the file ends or is wrong where there should be ") + what);
    return value;
}

long section(std::istream& in, const std::string& name) {
    if (next<std::string>(in, name.c_str()) != name)
        fail("no section '" + name + "' where it should be");
    return next<long>(in, "a count");
}

Plan read(std::istream& in) {
    Plan plan;
    plan.bandwidth.resize(section(in, "links"));
    for (double& one : plan.bandwidth)
        one = next<double>(in, "a bandwidth");
    plan.routes.resize(section(in, "routes"));
    for (auto& [latency, pieces] : plan.routes) {
        latency = next<double>(in, "a latency");
        pieces.resize(next<int>(in, "a number of pieces"));
        for (auto& piece : pieces) {
            piece.resize(next<int>(in, "a number of links"));
            for (int& link : piece)
                link = next<int>(in, "a link");
        }
    }
    plan.blocks.resize(section(in, "blocks"));
    for (Block& block : plan.blocks) {
        block.times = section(in, "block");
        block.sends.resize(next<long>(in, "a number of sends"));
        for (Send& one : block.sends) {
            one.route = next<int>(in, "a route");
            one.bytes = next<double>(in, "bytes");
            one.waits = next<int>(in, "a number of sends");
            one.opens.resize(next<long>(in, "a number of sends"));
            for (Arc& arc : one.opens) {
                arc.ahead = next<long>(in, "steps");
                arc.row = next<int>(in, "a send");
            }
        }
    }
    return plan;
}

// The links of the communication that is being started. A table of the routes between all hosts would be larger
// than all else, and holds one route for a pair, where ties may take two.
const Links* crossed = nullptr;
double delayed = 0;

class Crossed : public kernel::routing::NetZoneImpl {
public:
    Crossed() : NetZoneImpl("crossed") {}
    void get_local_route(const kernel::routing::NetPoint*, const kernel::routing::NetPoint*,
                         kernel::routing::Route* into, double* latency) override {
        into->link_list_ = *crossed;
        if (latency != nullptr)
            *latency += delayed;
    }
};

class Run {
public:
    double last = 0;  // when the last send was received
    long sends = 0, received = 0;

    Run(Plan plan, bool by_links) : blocks_(std::move(plan.blocks)), by_links_(by_links) {
        auto* crossed = new Crossed;  // the engine's own zone, or since version 4 in that
#if SIMGRID_VERSION_MAJOR >= 4
        crossed->set_parent(s4u::Engine::get_instance()->get_netzone_root()->get_impl());
#endif
        s4u::NetZone* zone = crossed->get_iface();
        from_ = zone->create_host("from", 1e9)->seal();
        to_ = zone->create_host("to", 1e9)->seal();
        Links all;
        for (size_t i = 0; i < plan.bandwidth.size(); i++)
            all.push_back(zone->create_link(std::to_string(i), plan.bandwidth[i])->seal()->get_impl());
        zone->seal();
        for (const auto& [latency, pieces] : plan.routes) {
            Route route;
            route.latency = latency;
            for (const auto& piece : pieces) {
                route.pieces.emplace_back();
                for (int link : piece)
                    route.pieces.back().push_back(all.at(link));
            }
            routes_.push_back(std::move(route));
        }
        Completed::on_completion_cb([this](const Completed& a) { arrived(a); });
    }

    // Starts the sends that wait for nothing; a step of them may come late.
    void begin() {
        long step = 0;
        for (const Block& block : blocks_) {
            for (long i = 0; i < block.times; i++, step++)
                for (size_t row = 0; row < block.sends.size(); row++)
                    if (block.sends[row].waits == 0)
                        ready(step, static_cast<int>(row));
            sends += block.times * static_cast<long>(block.sends.size());
        }
    }

private:
    struct Step {  // one that has begun and not ended
        const Block* block;
        std::vector<int> waits, pieces;  // of each send, what is still to come
        size_t left;
    };
    struct Flow {
        s4u::CommPtr comm;
        long step;
        int row;
    };

    std::vector<Route> routes_;
    std::vector<Block> blocks_;
    bool by_links_;
    s4u::Host *from_, *to_;
    std::deque<Step> steps_;
    long first_ = 0;  // number of steps_[0]
    size_t block_ = 0;
    long copy_ = 0;
    std::vector<Flow*> over_;  // an activity must not be deleted in its own callback

    Step& at(long step) {
        while (first_ + static_cast<long>(steps_.size()) <= step) {
            const Block& block = blocks_.at(block_);
            steps_.push_back({&block, {}, std::vector<int>(block.sends.size()), block.sends.size()});
            for (const Send& one : block.sends)
                steps_.back().waits.push_back(one.waits);
            if (++copy_ == block.times) {
                copy_ = 0;
                block_++;
            }
        }
        return steps_[step - first_];
    }

    void ready(long step, int row) {
        double wait = by_links_ ? 0 : routes_[at(step).block->sends[row].route].latency;
        kernel::timer::Timer::set(s4u::Engine::get_clock() + wait, [this, step, row] { flow(step, row); });
    }

    void flow(long step, int row) {
        for (Flow* one : over_)
            delete one;
        over_.clear();
        Step& mine = at(step);
        const Send& one = mine.block->sends[row];
        const Route& route = routes_[one.route];
        double bytes = one.bytes / static_cast<double>(route.pieces.size());
        double whole = std::round(bytes);
        if (std::abs(whole - bytes) > 1e-9 * bytes)
            fail("SimGrid counts whole bytes; a flow has " + std::to_string(bytes));
        mine.pieces[row] = static_cast<int>(route.pieces.size());
        for (const Links& piece : route.pieces) {
            crossed = &piece;
            delayed = by_links_ ? route.latency : 0;
            auto* flow = new Flow{s4u::Comm::sendto_init(from_, to_), step, row};
            flow->comm->set_payload_size(static_cast<uint64_t>(whole));
            flow->comm->set_data(flow);
            flow->comm->start();
        }
    }

    void arrived(const Completed& a) {
        auto* flow = a.get_data<Flow>();
        over_.push_back(flow);
        Step& mine = at(flow->step);
        if (--mine.pieces[flow->row] > 0)
            return;
        last = s4u::Engine::get_clock();
        received++;
        mine.left--;
        for (const Arc& arc : mine.block->sends[flow->row].opens)
            if (--at(flow->step + arc.ahead).waits[arc.row] == 0)
                ready(flow->step + arc.ahead, arc.row);
        while (!steps_.empty() && steps_.front().left == 0) {
            steps_.pop_front();
            first_++;
        }
    }
};

double cpu_seconds() {
    std::timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
    s4u::Engine engine(&argc, argv);
    engine.set_config("network/model:CM02");
    engine.set_config("network/TCP-gamma:0");
    engine.set_config("network/crosstraffic:0");
    std::ifstream in(argc > 1 ? argv[1] : "");
    if (!in)
        fail("usage: simgrid FILE [--latency=links]");
    double start = cpu_seconds();
    Run run(read(in), argc > 2 && std::string(argv[2]) == "--latency=links");
    double reading = cpu_seconds() - start;
    start = cpu_seconds();
    run.begin();
    engine.run();
    if (run.received != run.sends)
        fail(std::to_string(run.sends - run.received) + " sends never started");
    std::printf("{\"seconds\": %.17g, \"read_s\": %.6f, \"run_s\": %.6f, \"sends\": %ld}\n", run.last, reading,
                cpu_seconds() - start, run.sends);
}
