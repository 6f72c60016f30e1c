// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/tierd/tierd.hpp"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/saturate.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/tierd/audit_log.hpp"
#include "cli/tierd/hot_feed.hpp"
#include "cli/tierd/metrics.hpp"
#include "console/signals.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "record/cgroups.hpp"
#include "tier/plan.hpp"
#include "tier/policy.hpp"
#include "tier/process_pages.hpp"
#include "tierd/mover.hpp"
#include "tierd/other_migrators.hpp"
#include "tierd/targets.hpp"

namespace pmukit::cli {
namespace {

// The nodes

struct NodePair {
    uint32_t fast, slow;
};

Result<std::vector<int>> nodes_in(const TierdOptions &options, const char *file)
{
    const std::string path = options.cxl_topology + "/devices/system/node/" + file;
    const Result<std::string> text = read_small_file(path);
    return text ? parse_cpulist(trim(*text)) : Result<std::vector<int>>(text.error());
}

// Returns the given node, which must have memory, or the only candidate.
Result<uint32_t> choose_node(const char *kind, const char *option, std::optional<uint32_t> given,
                             const std::vector<int> &with_memory,
                             const std::vector<int> &candidates)
{
    if (given && std::ranges::find(with_memory, static_cast<int>(*given)) == with_memory.end())
        return Error{Errc::kUsage, fmt::format("{} {}: the node has no memory; nodes with memory: "
                                               "{}",
                                               option, *given, joined(with_memory, ", "))};
    if (given)
        return *given;
    if (candidates.size() == 1)
        return static_cast<uint32_t>(candidates.front());
    return candidates.empty()
               ? Error{Errc::kNotFound,
                       fmt::format("no {0} node: of the nodes with memory ({1}), {2}; give {3}",
                                   kind, joined(with_memory, ", "),
                                   with_memory.empty() ? "none is known" : "each has CPUs", option)}
               : Error{Errc::kUsage, fmt::format("which node is {}: {}? give {}", kind,
                                                 joined(candidates, ", "), option)};
}

// The fast node has CPUs and memory, the slow node only memory.
Result<NodePair> find_nodes(const TierdOptions &options)
{
    const Result<std::vector<int>> memory = nodes_in(options, "has_memory");
    if (!memory)
        return memory.error();
    const Result<std::vector<int>> cpus = nodes_in(options, "has_cpu");
    if (!cpus)
        return cpus.error();
    std::vector<int> with_cpus, without;
    for (const int node : *memory)
        (std::ranges::find(*cpus, node) == cpus->end() ? without : with_cpus).push_back(node);
    const Result<uint32_t> slow =
        choose_node("slow", "--slow-node", options.slow_node, *memory, without);
    if (!slow)
        return slow.error();
    std::erase(with_cpus, static_cast<int>(*slow));
    const Result<uint32_t> fast =
        choose_node("fast", "--fast-node", options.fast_node, *memory, with_cpus);
    if (!fast)
        return fast.error();
    if (*fast == *slow)
        return Error{Errc::kUsage, fmt::format("node {} cannot be both fast and slow: give "
                                               "--fast-node and --slow-node",
                                               *fast)};
    return NodePair{*fast, *slow};
}

// Other programs that move pages

// Returns the lock that keeps a second tierd away. With --force, other programs are only reported.
Result<Fd> exclude_others(const TierdOptions &options)
{
    if (options.dry_run)
        return Fd();
    std::vector<std::string> others = tierd::other_migrators(options.proc_root, options.sys_root);
    Result<Fd> lock = tierd::lock_file(options.lock);
    if (!lock && lock.error().code != Errc::kBusy)
        return lock.error();
    if (!lock)
        others.push_back(lock.error().message);
    if (!others.empty() && !options.force)
        return Error{Errc::kBusy, joined(others, "; ") + "; or give --force"};
    for (const std::string &other : others)
        warn(other + "; going on because of --force");
    return lock ? std::move(*lock) : Fd();
}

// The limits of an interval

uint64_t moves_per_interval(const TierdOptions &options, uint64_t page_bytes)
{
    uint64_t most = options.most_pages.value_or(UINT64_MAX);
    if (options.most_mib_s) {
        constexpr double kMiB = 1 << 20, kSecond_ns = 1e9;
        const double bytes = static_cast<double>(*options.most_mib_s) * kMiB *
                             static_cast<double>(options.interval_ns) / kSecond_ns;
        most = std::min(most, static_cast<uint64_t>(bytes / static_cast<double>(page_bytes)));
    }
    return most;
}

uint64_t wall_ns()
{
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
}

// A condition that is reported when it begins, and again only after it ended.
class Condition {
public:
    void report_if(bool is_so, const std::string &message)
    {
        if (is_so && !was_)
            warn(message);
        was_ = is_so;
    }

private:
    bool was_ = false;
};

class Tierd {
public:
    Tierd(const TierdOptions &options, NodePair nodes, Output &out)
        : options_(options), nodes_(nodes), out_(out)
    {
        totals_.dry_run = options.dry_run;
    }

    Result<void> open();
    Result<int> run(HotFeed &feed);

private:
    Result<void> open_targets();
    Result<void> open_mover();
    void drop_ended();
    bool has_targets() const { return options_.all || cgroup_ || !held_.empty(); }
    Result<bool> end_interval(const HotMemory &memory, uint64_t lost);
    void report_conditions(const HotMemory &memory, const tierd::Interval &interval);
    Result<void> show(const tierd::Interval &interval);
    void print_summary();

    const TierdOptions &options_;
    NodePair nodes_;
    Output &out_;
    uint64_t page_bytes_ = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    std::map<uint32_t, tier::HeldProcess> held_;  // by pid, of --pid
    std::optional<Fd> cgroup_;
    std::unique_ptr<tierd::Mover> mover_;
    std::unique_ptr<AuditLog> audit_;
    TierdTotals totals_;
    Condition no_room_, refused_, without_place_;
};

// Opening

Result<void> Tierd::open()
{
    if (Result<void> opened = open_targets(); !opened)
        return opened;
    if (Result<void> begun = begin_metrics(options_.metrics); !begun)
        return begun;
    if (!options_.audit.empty()) {
        Result<std::unique_ptr<AuditLog>> audit =
            AuditLog::open(options_.audit, options_.dry_run, page_bytes_);
        if (!audit)
            return audit.error();
        audit_ = std::move(*audit);
    }
    return open_mover();
}

Result<void> Tierd::open_targets()
{
    for (const uint32_t pid : options_.processes) {
        Result<tier::HeldProcess> process =
            tier::HeldProcess::open(options_.proc_root + "/" + std::to_string(pid));
        if (!process)
            return process.error().code == Errc::kNotFound
                       ? Error{Errc::kNotFound, fmt::format("process {} does not exist", pid)}
                       : process.error();
        held_.emplace(pid, std::move(*process));
    }
    if (options_.cgroup.empty())
        return {};
    Result<Fd> cgroup = record::open_cgroup(options_.cgroup);
    if (!cgroup)
        return cgroup.error();
    cgroup_ = std::move(*cgroup);
    return {};
}

Result<void> Tierd::open_mover()
{
    const Result<tier::Budget> budget = tier::parse_budget(options_.budget);
    if (!budget)
        return budget.error();
    tierd::MoverSetup setup;
    setup.fast = nodes_.fast;
    setup.slow = nodes_.slow;
    setup.page_bytes = page_bytes_;
    setup.budget = *budget;
    setup.fast_percent = options_.fast_percent;
    setup.most_moves = moves_per_interval(options_, page_bytes_);
    setup.demotes = options_.demotes;
    setup.dry_run = options_.dry_run;
    setup.proc_root = options_.proc_root;
    setup.sys_root = options_.sys_root;
    setup.move_pages = options_.move_pages;
    if (audit_) {
        setup.report = [this](const tierd::PageMove &move) { audit_->add(wall_ns(), move); };
        setup.report_stay = [this](const tierd::PageStay &stay) {
            audit_->add(wall_ns(), stay, nodes_.fast);
        };
    }
    tier::PolicySettings policy;
    policy.move_cost = options_.move_cost;
    Result<std::unique_ptr<tierd::Mover>> mover =
        tierd::Mover::create(std::move(setup), tier::policy_of_name(options_.policy)->make(policy));
    if (!mover)
        return mover.error();
    mover_ = std::move(*mover);
    return {};
}

// Running

// Another process may get the pid of an ended one, so an ended process is dropped at once.
void Tierd::drop_ended()
{
    std::erase_if(held_, [](const auto &process) {
        if (!process.second.is_there())
            warn(fmt::format("process {} ended", process.first));
        return !process.second.is_there();
    });
    if (cgroup_ && ::faccessat(cgroup_->get(), "cgroup.procs", F_OK, 0) != 0) {
        warn("cgroup " + options_.cgroup + " was removed");
        cgroup_.reset();
    }
}

// An interval without hot pages does not show that a condition ended.
void Tierd::report_conditions(const HotMemory &memory, const tierd::Interval &interval)
{
    if (memory.ranges.empty() && memory.units_without_place == 0)
        return;
    no_room_.report_if(
        interval.no_room != 0,
        fmt::format("{} hot pages stay, node {} or a limit has no place for them: {} pages of the "
                    "budget of {} are used; see --budget, --fast-share, --max-pages and --max-rate",
                    interval.no_room, nodes_.fast, interval.fast_pages, interval.budget_pages));
    refused_.report_if(interval.refused_processes != 0,
                       fmt::format("{} processes keep their pages: their cpusets lack node {} or "
                                   "{}",
                                   interval.refused_processes, nodes_.fast, nodes_.slow));
    without_place_.report_if(memory.units_without_place != 0,
                             fmt::format("{} hot units have no host address; first reason: {}",
                                         memory.units_without_place, memory.first_reason));
}

// Returns how many hot pages stay for each reason: "; 5 locked, 2 no room". Empty: none stays.
std::string stays_text(const tierd::Interval &interval)
{
    const std::pair<uint64_t, const char *> counts[] = {
        {interval.stay, "locked"},
        {interval.not_allowed, "forbidden by a memory policy"},
        {interval.refused_pages, "forbidden by a cpuset"},
        {interval.backing_off, "moved a short time ago"},
        {interval.no_room, "without room"},
        {interval.not_chosen, "not chosen"},
    };
    std::string text;
    for (const auto &[count, reason] : counts)
        if (count)
            text += fmt::format("{} {} {}", text.empty() ? "; hot pages that stay:" : ",", count,
                                reason);
    return text;
}

Result<void> Tierd::show(const tierd::Interval &interval)
{
    if (interval.hot || interval.promoted.moved || interval.demoted.moved)
        out_.print(
            "interval {}: {} hot pages; {}promoted {} pages to node {}, demoted {} to node "
            "{}; before, {} of {} pages were on node {}{}\n",
            totals_.intervals, interval.hot, options_.dry_run ? "would have " : "",
            interval.promoted.moved, nodes_.fast, interval.demoted.moved, nodes_.slow,
            interval.fast_pages, interval.pages, nodes_.fast, stays_text(interval));
    return out_.finish();
}

Result<bool> Tierd::end_interval(const HotMemory &memory, uint64_t lost)
{
    drop_ended();
    if (!has_targets())
        return false;
    tierd::Targets targets;
    for (const auto &[pid, process] : held_)
        targets.processes.push_back(pid);
    if (cgroup_)
        targets.cgroup = "/proc/self/fd/" + std::to_string(cgroup_->get());
    targets.all = options_.all;
    const Result<std::vector<uint32_t>> processes =
        tierd::find_processes(targets, options_.proc_root);
    if (!processes)
        return processes.error();
    const Result<tierd::Interval> interval = mover_->end_interval(memory.ranges, *processes);
    // What was moved before an error is in the log, too.
    if (audit_)
        if (Result<void> flushed = audit_->flush(); !flushed)
            return flushed.error();
    if (!interval)
        return interval.error();

    totals_.add(*interval);
    totals_.lost = lost;
    add_to(totals_.without_place, memory.units_without_place);
    if (memory.source)
        totals_.source = memory.source;
    report_conditions(memory, *interval);
    if (!options_.metrics.empty())
        if (Result<void> written =
                write_metrics(options_.metrics, metrics_text(totals_, *interval));
            !written)
            return written.error();
    if (Result<void> shown = show(*interval); !shown)
        return shown.error();
    return true;
}

void Tierd::print_summary()
{
    out_.print(
        "{} intervals: {}promoted {} pages to node {}, demoted {} to node {}; {} pages could "
        "not be moved{}\n",
        totals_.intervals, options_.dry_run ? "would have " : "", totals_.promoted, nodes_.fast,
        totals_.demoted, nodes_.slow, totals_.failed,
        totals_.source ? "  source=" + *totals_.source : "");
    if (totals_.lost)
        out_.print("  {} entries of hot lists were lost\n", totals_.lost);
    if (totals_.without_place)
        out_.print("  {} times a hot unit had no host address\n", totals_.without_place);
}

Result<int> Tierd::run(HotFeed &feed)
{
    const Result<void> ran =
        feed.run([&](const HotMemory &memory) { return end_interval(memory, feed.lost()); });
    print_summary();
    return ran ? Result<int>(kExitGood) : ran.error();
}

// Options as CLI11 fills them.
struct TierdWords {
    TierdOptions options;
    double interval_s = 1;
    std::string explain;
    uint64_t most_pages = 0, most_mib_s = 0;
    bool no_demote = false;
};

std::set<std::string> policy_names()
{
    std::set<std::string> names;
    for (const tier::PolicyKind &kind : tier::policies())
        names.emplace(kind.name);
    return names;
}

void add_options(CLI::App &tierd, TierdWords &words)
{
    TierdOptions &options = words.options;
    tierd
        .add_option("-e,--event", options.events,
                    "cxl_hmu event that reports hot memory; may be repeated")
        ->allow_extra_args(false);
    tierd.add_option("--replay", options.replay,
                     "with --dry-run: read the hot memory from this recording");
    tierd.add_option("-p,--pid", options.processes, "processes whose pages may move: PID,PID")
        ->delimiter(',')
        ->allow_extra_args(false);
    tierd.add_option("-G,--cgroup", options.cgroup,
                     "cgroup whose processes' pages may move, with its child cgroups");
    tierd.add_flag("-a,--all", options.all, "pages of all processes may move");
    tierd.add_option("-d,--interval", words.interval_s, "length of an interval in seconds")
        ->check(CLI::Range(0.05, 86400.0))
        ->capture_default_str();
    tierd.add_option("--policy", options.policy, "which pages move")
        ->check(CLI::IsMember(policy_names()))
        ->capture_default_str();
    tierd
        .add_option("--move-cost", options.move_cost,
                    "accesses that must be fast to pay for moving a page once")
        ->check(CLI::Range(uint64_t{0}, uint64_t{UINT32_MAX}))
        ->capture_default_str();
    tierd
        .add_option("--budget", options.budget,
                    "limit on the fast node: PAGES, or PERCENT% of the processes' pages")
        ->capture_default_str();
    tierd
        .add_option("--fast-share", options.fast_percent,
                    "limit on the fast node: PERCENT of its memory")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    tierd.add_option("--max-pages", words.most_pages,
                     "limit of the pages that move in an interval");
    tierd.add_option("--max-rate", words.most_mib_s, "limit of the memory that moves, in MiB/s");
    tierd.add_flag("--no-demote", words.no_demote,
                   "promote pages into free memory only, and demote none");
    tierd.add_option("--fast-node", options.fast_node,
                     "NUMA node to promote to (default: the node with CPUs)");
    tierd.add_option("--slow-node", options.slow_node,
                     "NUMA node to demote to (default: the node without CPUs)");
    tierd
        .add_option("--cxl-topology", options.cxl_topology,
                    "sysfs, or a saved copy that describes decoders and nodes")
        ->capture_default_str();
    tierd.add_option("--host", options.host, kHostHelp);
    tierd
        .add_option("--source", options.source,
                    "mark all output: 'model' if the devices are emulated")
        ->check(CLI::IsMember({"model"}));
    tierd.add_flag("--dry-run", options.dry_run, "report the moves without moving pages");
    tierd.add_flag("--force", options.force,
                   "move pages although the kernel or another tierd moves them, too");
    tierd.add_option("--audit", options.audit,
                     "append one JSON object per decision about a page to this file");
    tierd.add_option("--metrics", options.metrics,
                     "after each interval, write OpenMetrics text to this file");
    tierd.add_option("--explain", words.explain,
                     "print from the --audit file why the page at this address was moved or not");
    tierd.footer(
        "Examples:\n  pmukit tierd -e cxl_hmu_mem0.0.0/hotness_threshold=16/ -p 1234 --budget 20%\n"
        "  pmukit tierd -e cxl_hmu_mem0.0.0// -a --fast-share 50 --max-rate 100 --audit "
        "tierd.jsonl\n"
        "  pmukit tierd --explain 0x7f0000001000 --audit tierd.jsonl\n"
        "  pmukit tierd --replay perf.data -p 1234 --dry-run\n"
        "Needs root, to read the physical addresses of pages and to move them. Ends at SIGINT or "
        "SIGTERM, when its processes end, or at the end of --replay.\n"
        "Exit status: 0 it ended as requested, or the page is explained, 1 it cannot run, or "
        "another program moves pages, 2 usage.");
}

Result<uint64_t> parse_address(const std::string &text)
{
    const Result<uint64_t> address = parse_u64(text);
    return address ? address
                   : Error{Errc::kUsage, "--explain " + text +
                                             ": not an address; give one such as 0x7f0000001000"};
}

Result<int> run_words(TierdWords &words, const CLI::App &tierd, Output &out)
{
    TierdOptions &options = words.options;
    options.interval_ns = static_cast<uint64_t>(words.interval_s * 1e9);
    options.demotes = !words.no_demote;
    if (tierd.count("--max-pages"))
        options.most_pages = words.most_pages;
    if (tierd.count("--max-rate"))
        options.most_mib_s = words.most_mib_s;
    if (tierd.count("--explain")) {
        const Result<uint64_t> address = parse_address(words.explain);
        if (!address)
            return address.error();
        options.explain = *address;
    }
    if (Result<void> good = check_options(options); !good)
        return good.error();
    return run_tierd(options, out);
}

}  // namespace

Result<void> check_options(const TierdOptions &options)
{
    struct Rule {
        bool is_broken;
        const char *message;
    };
    const bool runs = !options.explain;
    const bool has_no_target = options.processes.empty() && options.cgroup.empty() && !options.all;
    const uint64_t page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const Rule rules[] = {
        {!runs && options.audit.empty(), "--explain: from which log? give --audit FILE"},
        {!runs && options.processes.size() > 1, "--explain: one page is explained: give one --pid"},
        {runs && options.events.empty() && options.replay.empty(),
         "which device? give -e cxl_hmu_memN.N.N// (see pmukit list), or --replay FILE"},
        {runs && !options.events.empty() && !options.replay.empty(),
         "-e and --replay cannot be combined"},
        {runs && !options.replay.empty() && !options.dry_run,
         "--replay: a recording of the past moves no pages; add --dry-run"},
        {runs && has_no_target, "whose pages? give --pid, --cgroup or -a"},
        {runs && options.all && !(options.processes.empty() && options.cgroup.empty()),
         "-a cannot be combined with --pid or --cgroup"},
        {runs && moves_per_interval(options, page_bytes) == 0,
         "no page may move: --max-pages or --max-rate is less than a page per interval"},
    };
    for (const Rule &rule : rules)
        if (rule.is_broken)
            return Error{Errc::kUsage, rule.message};
    for (const std::string &event : options.events)
        if (!event.starts_with(decode::cxl_hmu::kPmuPrefix))
            return Error{Errc::kUsage,
                         "-e " + event + ": not an event of cxl_hmu; see pmukit list"};
    if (Result<tier::Budget> budget = tier::parse_budget(options.budget); !budget)
        return budget.error();
    return {};
}

Result<int> run_tierd(const TierdOptions &options, Output &out)
{
    if (options.explain)
        return explain_page(
            options.audit, *options.explain,
            options.processes.empty() ? std::nullopt : std::optional(options.processes.front()),
            out);
    const Result<NodePair> nodes = find_nodes(options);
    if (!nodes)
        return nodes.error();
    const Result<Fd> lock = exclude_others(options);
    if (!lock)
        return lock.error();
    Tierd tierd(options, *nodes, out);
    if (Result<void> opened = tierd.open(); !opened)
        return opened.error();
    const Result<Fd> signals = catch_signals(ending_signals());
    if (!signals)
        return signals.error();
    const HotFeedOptions wanted{options.events, options.source,      options.cxl_topology,
                                options.host,   options.interval_ns, signals->get()};
    Result<std::unique_ptr<HotFeed>> feed =
        options.replay.empty() ? make_live_feed(wanted) : make_replay_feed(options.replay, wanted);
    if (!feed)
        return feed.error();
    return tierd.run(**feed);
}

Command add_tierd(CLI::App &app)
{
    const auto owned = std::make_shared<TierdWords>();
    CLI::App *tierd = app.add_subcommand(
        "tierd", "move hot pages of running processes to the fast NUMA node, interval by interval");
    add_options(*tierd, *owned);
    return {tierd, [owned, tierd](const Invocation &invocation) {
                return run_words(*owned, *tierd, invocation.out);
            }};
}

}  // namespace pmukit::cli
