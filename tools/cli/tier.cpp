// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/tier.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/cxl_hmu/hot_lists.hpp"
#include "cli/hot_memory.hpp"
#include "tier/move_pages.hpp"
#include "tier/plan.hpp"
#include "tier/process_pages.hpp"

namespace pmukit::cli {
namespace {

// The recording

// Returns the accesses to a unit. In always-on mode a device counts no accesses; the function then
// returns the number of times that the unit was hot.
double heat_of(const decode::cxl_hmu::HotTotals &totals, const decode::cxl_hmu::HotUnit &unit)
{
    return static_cast<double>(totals.always_on ? unit.epochs : unit.accesses);
}

void add_list(const std::string &pmu, const decode::cxl_hmu::HotList &list, const Placer &placer,
              HotMemory &memory)
{
    const decode::cxl_hmu::HotTotals &totals = list.totals();
    const uint64_t unit_bytes = totals.unit_log2 ? uint64_t{1} << *totals.unit_log2 : 0;
    memory.units_left_out += list.left_out().units;
    for (const decode::cxl_hmu::HotUnit &unit : list.all())
        memory.add(placer, pmu, unit.dpa, unit_bytes, heat_of(totals, unit));
}

Result<HotMemory> hot_memory(const Recording &recording, const HotLists &lists,
                             const TierOptions &options)
{
    const Result<Placer> placer = Placer::open_for(recording, options.cxl_topology, options.host);
    if (!placer)
        return placer.error();
    HotMemory memory;
    for (const auto &[event, list] : lists.by_event()) {
        add_list(recording.pmu_name(event), list, *placer, memory);
        if (!memory.source)
            memory.source = recording.source(event);
    }
    if (!memory.ranges.empty())
        return memory;
    return Error{Errc::kNotFound,
                 memory.units_without_place
                     ? fmt::format("no hot unit has a host address: {}", memory.first_reason)
                     : recording.path() + ": it has no hot units of device memory"};
}

// The nodes

// Returns --fast-node, or the only node that has CPUs and no hot memory.
Result<uint32_t> find_fast_node(const TierOptions &options, const HotMemory &memory)
{
    if (options.fast_node)
        return *options.fast_node;
    const std::string path = options.cxl_topology + "/devices/system/node/has_cpu";
    const Result<std::string> text = read_small_file(path);
    const Result<std::vector<int>> with_cpus =
        text ? parse_cpulist(*text) : Result<std::vector<int>>(text.error());
    std::vector<uint32_t> fast;
    for (int node : with_cpus ? *with_cpus : std::vector<int>())
        if (!memory.nodes.contains(static_cast<uint32_t>(node)))
            fast.push_back(static_cast<uint32_t>(node));
    if (fast.size() == 1)
        return fast.front();
    return Error{Errc::kUsage,
                 fmt::format("which node is fast? give --fast-node ({})",
                             fast.empty() ? path + " names none"
                                          : fmt::format("CPUs are near {}", joined(fast, ", ")))};
}

// Returns --slow-node, or the node with the most heat.
Result<uint32_t> find_slow_node(const TierOptions &options, const HotMemory &memory)
{
    if (options.slow_node)
        return *options.slow_node;
    const auto hottest = std::ranges::max_element(
        memory.nodes, {}, [](const auto &node_heat) { return node_heat.second; });
    if (hottest != memory.nodes.end())
        return hottest->first;
    return Error{Errc::kUsage,
                 "which node is slow? give --slow-node (the hot memory is on no node that " +
                     options.cxl_topology + " names: is it online?)"};
}

Result<tier::Nodes> find_nodes(const TierOptions &options, const HotMemory &memory)
{
    const Result<uint32_t> fast = find_fast_node(options, memory);
    if (!fast)
        return fast.error();
    const Result<uint32_t> slow = find_slow_node(options, memory);
    if (!slow)
        return slow.error();
    if (*fast == *slow)
        return Error{Errc::kUsage,
                     fmt::format("node {} cannot be both fast and slow: give --fast-node and "
                                 "--slow-node",
                                 *fast)};
    tier::Nodes nodes{*fast, *slow, {}};
    for (const auto &[node, heat] : memory.nodes)
        nodes.watched.insert(node);
    return nodes;
}

// The process

struct Decision {
    tier::HeldProcess process;
    tier::Nodes nodes{};
    tier::PageCounts counts{};
    uint64_t movable = 0, unplaced = 0, budget = 0;
    tier::Plan plan{};
};

Error explain_process(const TierOptions &options, const Error &error)
{
    if (error.code == Errc::kNotFound)
        return Error{Errc::kNotFound, fmt::format("process {} does not exist", options.pid)};
    if (error.code == Errc::kDenied && error.message.find("CAP_") == std::string::npos)
        return Error{Errc::kDenied,
                     fmt::format("{}: CAP_SYS_PTRACE is needed, be root", error.message)};
    return error;
}

Result<Decision> decide(const TierOptions &options, const tier::Budget &budget,
                        const HotMemory &memory)
{
    Result<tier::Nodes> nodes = find_nodes(options, memory);
    if (!nodes)
        return nodes.error();
    const Result<topology::MemoryMap> map = topology::MemoryMap::read(options.cxl_topology);
    if (!map)
        return map.error();

    const std::string folder = fmt::format("{}/{}", options.proc_root, options.pid);
    Result<tier::HeldProcess> process = tier::HeldProcess::open(folder);
    if (!process)
        return explain_process(options, process.error());
    Decision decision{std::move(*process)};
    decision.nodes = *nodes;
    const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const tier::HeatMap heat(memory.ranges);
    tier::Planner planner(heat, std::move(*nodes), page_bytes);
    const Result<tier::PageCounts> counts =
        tier::walk_pages(folder, page_bytes, [&](uint64_t address, uint64_t hpa) {
            if (const std::optional<uint32_t> node = map->node_of(hpa, page_bytes))
                planner.add({address, hpa, *node});
            else
                decision.unplaced++;
        });
    if (!counts)
        return explain_process(options, counts.error());
    if (!decision.process.is_there())
        return Error{Errc::kNotFound, fmt::format("process {}: it ended", options.pid)};
    decision.counts = *counts;
    decision.movable = planner.pages();
    decision.budget = tier::pages_of(budget, planner.pages());
    decision.plan = planner.plan(decision.budget);
    return decision;
}

// If not all pages could be moved, `error` has the reason. Pages that were moved before the error
// stay on their new node.
struct Outcome {
    tier::Moved moved;
    std::optional<Error> error{};
};

Outcome carry_out(const TierOptions &options, const Decision &decision)
{
    Outcome outcome;
    const auto pid = static_cast<pid_t>(options.pid);
    Result<void> done = tier::move_to(pid, decision.process, decision.plan.demote,
                                      decision.nodes.slow, outcome.moved, options.move_pages);
    if (done)
        done = tier::move_to(pid, decision.process, decision.plan.promote, decision.nodes.fast,
                             outcome.moved, options.move_pages);
    if (!done)
        outcome.error = done.error();
    return outcome;
}

// Text output

std::string percent_of(double part, double whole)
{
    return fmt::format("{:.1f}%", whole > 0 ? part / whole * 100 : 0.0);
}

void print_moves(const char *title, const std::vector<tier::Move> &moves, double heat, size_t top,
                 Output &out)
{
    if (moves.empty())
        return;
    out.print("\n  {:>5}  {:<18}  {:>12}  {:>6}\n", "rank", title, "heat", "share");
    const size_t shown = top ? std::min(top, moves.size()) : moves.size();
    for (size_t i = 0; i < shown; i++)
        out.print("  {:>5}  {:#018x}  {:>12.0f}  {:>6}\n", i + 1, moves[i].address, moves[i].heat,
                  percent_of(moves[i].heat, heat));
    if (shown < moves.size())
        out.print("  {:>5}  {} more pages; --top 0 shows all\n", "...", moves.size() - shown);
}

void print_outcome(const tier::Moved &moved, size_t planned, Output &out)
{
    out.print("\nmoved {} of {} pages\n", moved.moved, planned);
    const Remark remarks[] = {
        {moved.gone, "pages are gone: freed or swapped out"},
        {moved.shared, "pages are shared with another process"},
        {moved.busy, "pages are pinned or were in use"},
        {moved.no_room, "pages did not fit on their node"},
    };
    for (const Remark &remark : remarks)
        if (remark.count)
            out.print("{}\n", counted_text(remark.count, remark.at_least, remark.text));
}

void print_decision(const TierOptions &options, const HotMemory &memory, const Decision &decision,
                    Output &out)
{
    const tier::Plan &plan = decision.plan;
    out.print("process {}: {} pages that can move, {} of them on node {}, the fast one{}\n",
              options.pid, decision.movable, plan.fast_pages_before, decision.nodes.fast,
              memory.source ? "  source=" + *memory.source : "");
    const Remark remarks[] = {
        {decision.counts.shared, "pages are shared with other processes and stay"},
        {decision.counts.swapped, "pages are swapped out"},
        {decision.unplaced, "pages are on no known node"},
        {decision.counts.vast_mappings, "mappings beyond 1 TiB were not examined"},
    };
    for (const Remark &remark : remarks)
        if (remark.count)
            out.print("  {}\n", counted_text(remark.count, remark.at_least, remark.text));
    if (memory.units_left_out)
        out.print("  {} times a cold unit was dropped (limit of units)\n", memory.units_left_out);
    if (memory.units_without_place)
        out.print("  {} hot units have no host address; first reason: {}\n",
                  memory.units_without_place, memory.first_reason);
    out.print("  budget: {} pages of node {}\n", decision.budget, decision.nodes.fast);
    out.print("  promote {} pages to node {}, demote {} to node {}; afterwards {} are on node {}\n",
              plan.promote.size(), decision.nodes.fast, plan.demote.size(), decision.nodes.slow,
              plan.fast_pages_after, decision.nodes.fast);
    out.print("  recorded heat of the process on node {}: {} before, {} after\n",
              decision.nodes.fast, percent_of(plan.fast_heat_before, plan.heat),
              percent_of(plan.fast_heat_after, plan.heat));
    print_moves("promote", plan.promote, plan.heat, options.top, out);
    print_moves("demote", plan.demote, plan.heat, options.top, out);
}

// JSON output

nlohmann::ordered_json json_of(const std::vector<tier::Move> &moves)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const tier::Move &move : moves)
        json.push_back({{"address", move.address}, {"heat", move.heat}});
    return json;
}

nlohmann::ordered_json json_of(const std::optional<tier::Moved> &moved)
{
    if (!moved)
        return nullptr;
    return {{"moved", moved->moved},
            {"gone", moved->gone},
            {"shared", moved->shared},
            {"busy", moved->busy},
            {"no_room", moved->no_room}};
}

nlohmann::ordered_json json_of(const TierOptions &options, const HotMemory &memory,
                               const Decision &decision, const std::optional<tier::Moved> &moved)
{
    const tier::Plan &plan = decision.plan;
    return {{"source", memory.source ? nlohmann::ordered_json(*memory.source) : nullptr},
            {"pid", options.pid},
            {"fast_node", decision.nodes.fast},
            {"slow_node", decision.nodes.slow},
            {"movable_pages", decision.movable},
            {"shared_pages", decision.counts.shared},
            {"swapped_pages", decision.counts.swapped},
            {"unplaced_pages", decision.unplaced},
            {"vast_mappings", decision.counts.vast_mappings},
            {"units_without_hpa", memory.units_without_place},
            {"units_left_out", memory.units_left_out},
            {"budget_pages", decision.budget},
            {"fast_pages_before", plan.fast_pages_before},
            {"fast_pages_after", plan.fast_pages_after},
            {"heat", plan.heat},
            {"fast_heat_before", plan.fast_heat_before},
            {"fast_heat_after", plan.fast_heat_after},
            {"applied", json_of(moved)},
            {"promote", json_of(plan.promote)},
            {"demote", json_of(plan.demote)}};
}

}  // namespace

Command add_tier(CLI::App &app)
{
    const auto owned = std::make_shared<TierOptions>();
    TierOptions &options = *owned;
    CLI::App *tier = app.add_subcommand(
        "tier", "move hot pages of a process to the fast NUMA node, based on a recording");
    tier->add_option("-i,--input", options.input, "perf.data file or directory; -: standard input")
        ->capture_default_str();
    tier->add_option("-p,--pid", options.pid, "process id")->required();
    tier->add_option("--budget", options.budget,
                     "limit on the fast node: PAGES, or PERCENT% of the process's pages")
        ->capture_default_str();
    tier->add_option("--fast-node", options.fast_node,
                     "NUMA node to promote to (default: the node with CPUs)");
    tier->add_option("--slow-node", options.slow_node,
                     "NUMA node to demote to (default: the node with the hot memory)");
    tier->add_option("--cxl-topology", options.cxl_topology,
                     "sysfs, or a saved copy that describes decoders and nodes")
        ->capture_default_str();
    tier->add_option("--host", options.host, kHostHelp);
    tier->add_flag("--dry-run", options.dry_run, "print the moves without moving pages (default)");
    tier->add_flag("--apply", options.apply, "move the pages");
    tier->add_option("--top", options.top, "moves to list; 0: all")->capture_default_str();
    tier->add_flag("--json", options.json, "print one JSON object with all moves instead of text");
    tier->footer(
        "Examples:\n  pmukit tier -i perf.data --pid 1234 --budget 20%\n"
        "  pmukit tier -i perf.data --pid 1234 --budget 50000 --apply\n"
        "  pmukit tier --pid 1234 --json | jq '.promote | length'\n"
        "Needs root, to read the physical addresses of pages and decoders.\n"
        "Exit status: 0 the plan was printed or carried out, 1 the recording is damaged, the "
        "process cannot be read, moving failed, or no page moved, 2 usage.");
    return {tier,
            [owned](const Invocation &invocation) { return run_tier(*owned, invocation.out); },
            Shows::kText};
}

Result<int> run_tier(const TierOptions &options, Output &out)
{
    if (options.apply && options.dry_run)
        return Error{Errc::kUsage, "--apply and --dry-run cannot be combined"};
    const Result<tier::Budget> budget = tier::parse_budget(options.budget);
    if (!budget)
        return budget.error();
    Result<Recording> recording = Recording::open(options.input, recorded_drivers());
    if (!recording)
        return recording.error();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    HotLists lists(*recording);
    const Result<RecordingTotals> totals = recording->walk(lists);
    if (!totals)
        return totals.error();
    lists.finish();
    const Result<HotMemory> memory = hot_memory(*recording, lists, options);
    if (!memory)
        return memory.error();
    const Result<Decision> decision = decide(options, *budget, *memory);
    if (!decision)
        return decision.error();

    std::optional<Outcome> outcome;
    std::optional<tier::Moved> moved;
    if (options.apply) {
        outcome = carry_out(options, *decision);
        moved = outcome->moved;
    }
    const size_t planned = decision->plan.promote.size() + decision->plan.demote.size();
    if (options.json) {
        print_json(json_of(options, *memory, *decision, moved), out);
    } else {
        print_decision(options, *memory, *decision, out);
        if (moved)
            print_outcome(*moved, planned, out);
        else
            out.text("\nnothing was moved; use --apply\n");
    }
    const int damaged = say_troubles({recording->damage()});
    if (outcome && outcome->error) {
        warn(outcome->error->message);
        return kExitFailed;
    }
    return moved && planned && !moved->moved ? static_cast<int>(kExitFailed) : damaged;
}

}  // namespace pmukit::cli
