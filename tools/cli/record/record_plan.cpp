// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_plan.hpp"

#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>

#include "base/clocks.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/record/record_events.hpp"
#include "cli/record/record_pages.hpp"
#include "console/output.hpp"
#include "record/online_cpus.hpp"
#include "record/pfm_events.hpp"

namespace pmukit::cli {
namespace {

Error wrong_option(const std::string &option, const std::string &value, const std::string &why)
{
    return Error{Errc::kUsage, option + " " + value + ": " + why};
}

uint64_t setting(const char *name, uint64_t otherwise)
{
    const Result<std::string> text = read_small_file(std::string("/proc/sys/kernel/") + name);
    const Result<uint64_t> value = text ? parse_u64(trim(*text)) : Result<uint64_t>(text.error());
    return value ? *value : otherwise;
}

// Appends a list of events to `events`. An event names its group leader by its index in the list;
// the function converts this to an index in `events`.
Result<void> add_pfm_events(const std::string &list, std::vector<record::CodedEvent> &events)
{
    Result<std::vector<record::CodedEvent>> more = record::encode_pfm_list(list);
    if (!more)
        return more.error();
    const size_t before = events.size();
    for (record::CodedEvent &event : *more) {
        if (event.leader)
            *event.leader += before;
        events.push_back(std::move(event));
    }
    return {};
}

// Formats CPUs as "0-3,8".
std::string cpulist_text(const std::vector<int> &cpus)
{
    std::vector<std::string> ranges;
    for (size_t i = 0, end; i < cpus.size(); i = end) {
        for (end = i + 1; end < cpus.size() && cpus[end] == cpus[end - 1] + 1;)
            end++;
        ranges.push_back(std::to_string(cpus[i]) +
                         (end > i + 1 ? "-" + std::to_string(cpus[end - 1]) : ""));
    }
    return joined(ranges, ",");
}

class Planner {
public:
    Planner(const RecordCommandOptions &options, const RecordHost &host)
        : options_(options), host_(host)
    {
    }

    Result<RecordPlan> plan()
    {
        // The order decides which error is reported: errors in options before missing PMUs.
        for (const auto step :
             {&Planner::add_events, &Planner::choose_rate, &Planner::choose_whom,
              &Planner::choose_files, &Planner::find_pmus, &Planner::choose_chains,
              &Planner::choose_cgroups, &Planner::note_rates, &Planner::describe})
            if (Result<void> done = (this->*step)(); !done)
                return done.error();
        return std::move(plan_);
    }

private:
    struct Described {
        std::string text;
        record::Pmu pmu;
        record::EventSettings settings;
    };

    Result<void> add_events();
    Result<void> add_text(const std::string &text);
    Result<void> choose_rate();
    Result<void> choose_chains();
    Result<void> choose_whom();
    Result<void> choose_cpus();
    Result<void> choose_cgroups();
    Result<void> choose_files();
    Result<void> find_pmus();
    Result<void> note_rates();
    Result<void> describe();
    std::string event_line(size_t index) const;
    std::string target() const;
    Result<std::vector<pid_t>> ids(const std::string &option, const std::string &list) const;
    void remark(std::string text) { plan_.remarks.push_back(std::move(text)); }

    const RecordCommandOptions &options_;
    const RecordHost &host_;
    RecordPlan plan_;
    std::vector<Described> events_;  // in the order of opening
};

// Events

Result<void> Planner::add_text(const std::string &text)
{
    Result<std::vector<record::EventString>> events = record::parse_event_strings(text);
    if (!events)
        return events.error();
    for (record::EventString &event : *events) {
        if (Result<void> resolved = resolve_names(event, host_.sysfs_root); !resolved)
            return resolved.error();
        event.modifiers.exclude_kernel |= options_.all_user;
        event.modifiers.exclude_hv |= options_.all_user;
        event.modifiers.exclude_user |= options_.all_kernel;
        plan_.recorder.events.push_back(std::move(event));
    }
    return {};
}

Result<void> Planner::add_events()
{
    constexpr const char *kUsualEvent = "cycles:P";
    plan_.recorder.sysfs_root = host_.sysfs_root;
    if (options_.all_user && options_.all_kernel)
        return Error{Errc::kUsage, "--all-user and --all-kernel leave nothing; drop one of them"};
    const bool none = options_.events.empty() && options_.pfm_events.empty();
    if (Result<void> added = none ? add_text(kUsualEvent) : Result<void>(); !added)
        return added;
    for (const std::string &text : options_.events)
        if (Result<void> added = add_text(text); !added)
            return added;
    for (const std::string &list : options_.pfm_events)
        if (Result<void> added = add_pfm_events(list, plan_.recorder.coded); !added)
            return added;
    for (record::CodedEvent &event : plan_.recorder.coded) {
        record::Modifiers &modifiers = event.settings.modifiers;
        modifiers.exclude_kernel |= options_.all_user;
        modifiers.exclude_hv |= options_.all_user;
        modifiers.exclude_user |= options_.all_kernel;
    }
    return {};
}

Result<void> Planner::find_pmus()
{
    for (const record::EventString &event : plan_.recorder.events) {
        Result<record::Pmu> pmu = record::pmu_of(host_.sysfs_root, event);
        if (!pmu)
            return pmu.error();
        Result<record::EventSettings> settings = record::encode_event(event, *pmu);
        if (!settings)
            return settings.error();
        events_.push_back({event.name, std::move(*pmu), *settings});
    }
    for (const record::CodedEvent &event : plan_.recorder.coded) {
        record::Pmu pmu;
        pmu.type = event.type;
        events_.push_back({event.text, std::move(pmu), event.settings});
    }
    return {};
}

// As in perf, -c has priority over -F.
Result<void> Planner::choose_rate()
{
    record::Sampling &sampling = plan_.recorder.sampling;
    sampling.weight = options_.weight;
    sampling.wakes_at_once = options_.no_buffering;
    if (!options_.period.empty()) {
        const Result<uint64_t> period = parse_u64(options_.period);
        if (!period || *period == 0)
            return wrong_option("-c", options_.period, "expected a number of events, 1 or more");
        sampling.period = *period;
    }
    if (options_.frequency.empty())
        return {};
    if (sampling.period) {
        remark("-F " + options_.frequency + " is ignored: -c sets the period");
        return {};
    }
    const Result<uint64_t> rate = options_.frequency == "max" ? Result<uint64_t>(host_.most_hz)
                                                              : parse_u64(options_.frequency);
    if (!rate || *rate == 0)
        return wrong_option("-F", options_.frequency, "expected samples per second, or max");
    if (*rate > host_.most_hz) {
        const std::string limit =
            fmt::format("kernel.perf_event_max_sample_rate allows {} per second", host_.most_hz);
        if (options_.strict_frequency)
            return wrong_option("-F", options_.frequency, limit);
        remark("-F " + options_.frequency + ": " + limit + ", which is used");
    }
    sampling.frequency_hz = std::min(*rate, host_.most_hz);
    return {};
}

Result<void> Planner::note_rates()
{
    if (!plan_.recorder.sampling.frequency_hz)
        return {};
    for (const Described &event : events_)
        if (!record::samples_tasks(event.pmu))
            remark("-F does not apply to " + event.text +
                   ": its PMU delivers every record (cpumask)");
    return {};
}

// Call chains

// Parses the 16384 of "dwarf,16384".
Result<uint32_t> stack_bytes(const std::string &how, std::string_view text)
{
    constexpr uint64_t kMost = 65528;  // limit of perf_event_attr.sample_stack_user
    const Result<uint64_t> bytes = parse_u64(text);
    if (!bytes || *bytes == 0 || *bytes > kMost)
        return wrong_option("--call-graph", how,
                            fmt::format("expected bytes of the stack, up to {}", kMost));
    return static_cast<uint32_t>((*bytes + 7) / 8 * 8);
}

Result<void> Planner::choose_chains()
{
    using record::Chains;
    record::Sampling &sampling = plan_.recorder.sampling;
    if (options_.chains_by.empty() && !options_.chains)
        return {};
    const std::string how = options_.chains_by.empty() ? "fp" : options_.chains_by;
    const std::vector<std::string_view> parts = split(how, ',');
    const std::string_view kind = parts.front();
    constexpr std::pair<std::string_view, Chains> kKinds[] = {
        {"fp", Chains::kFramePointers}, {"dwarf", Chains::kStack}, {"lbr", Chains::kBranches}};
    const auto *known =
        std::ranges::find(kKinds, kind, [](const auto &entry) { return entry.first; });
    const bool is_deferred = how == "fp,defer";
    if (known == std::end(kKinds) ||
        parts.size() > (kind == "dwarf" || is_deferred ? size_t{2} : size_t{1}))
        return wrong_option("--call-graph", how,
                            "expected fp, fp,defer, dwarf, dwarf,BYTES or lbr");
    sampling.chains = known->second;
    sampling.defers_chains = is_deferred;
    if (is_deferred && !host_.defers_chains)
        return Error{Errc::kUnsupported,
                     "--call-graph fp,defer: this kernel does not defer call chains "
                     "(defer_callchain, Linux 7.2); use --call-graph fp"};
    if (parts.size() == 2 && !is_deferred) {
        const Result<uint32_t> bytes = stack_bytes(how, parts[1]);
        if (!bytes)
            return bytes.error();
        sampling.stack_bytes = *bytes;
    }
    plan_.recorder.data_maps |= known->second == Chains::kStack;
    std::vector<std::string> without;
    for (const Described &event : events_)
        if (!record::samples_tasks(event.pmu))
            without.push_back(event.text);
    if (without.size() == events_.size())
        return Error{Errc::kUsage, "-g: " + joined(without, ", ") +
                                       ": a system-wide PMU (cpumask) has no call chains; drop -g"};
    for (const std::string &event : without)
        remark("-g does not apply to " + event + ": its PMU is system-wide (cpumask)");
    return {};
}

// Target

Result<std::vector<pid_t>> Planner::ids(const std::string &option, const std::string &list) const
{
    std::vector<pid_t> all;
    for (std::string_view part : split(list, ',')) {
        const Result<uint64_t> id = parse_u64(trim(part));
        if (!id || *id == 0 || *id > INT32_MAX)
            return wrong_option(option, list, "expected numbers, such as 1234,99");
        all.push_back(static_cast<pid_t>(*id));
    }
    return all;
}

Result<void> Planner::choose_cpus()
{
    if (options_.cpus.empty())
        return {};
    // The limit is above the number of any CPU, so that the error names the first CPU that does not
    // exist.
    Result<std::vector<int>> cpus = parse_list(options_.cpus, 1 << 20);
    if (!cpus)
        return wrong_option("-C", options_.cpus, cpus.error().message);
    std::ranges::sort(*cpus);
    cpus->erase(std::unique(cpus->begin(), cpus->end()), cpus->end());
    for (const int cpu : *cpus)
        if (std::ranges::find(host_.online, cpu) == host_.online.end())
            return wrong_option("-C", options_.cpus,
                                fmt::format("there is no CPU {}, or it is offline; there are {}",
                                            cpu, cpulist_text(host_.online)));
    plan_.recorder.cpus = std::move(*cpus);
    return {};
}

Result<void> Planner::choose_whom()
{
    record::RecordOptions &recorder = plan_.recorder;
    recorder.inherit = !options_.no_inherit;
    recorder.build_ids = !options_.no_build_ids;
    recorder.data_maps = options_.data_maps;
    recorder.all_cpus = options_.all_cpus;
    if (Result<void> chosen = choose_cpus(); !chosen)
        return chosen;
    for (const auto &[option, list, tasks] :
         {std::tuple("-p", &options_.processes, &recorder.processes),
          {"-t", &options_.threads, &recorder.threads}}) {
        if (list->empty())
            continue;
        Result<std::vector<pid_t>> parsed = ids(option, *list);
        if (!parsed)
            return parsed.error();
        *tasks = std::move(*parsed);
    }
    // Precedence as in perf: -p, then -t, then -a and -C. The options that do not apply are
    // cleared.
    if (!recorder.processes.empty() && !recorder.threads.empty()) {
        remark("-t is ignored: -p selects the target");
        recorder.threads.clear();
    }
    const std::string tasks = !recorder.processes.empty() ? "-p"
                              : !recorder.threads.empty() ? "-t"
                                                          : "";
    if (!tasks.empty() && recorder.all_cpus)
        remark("-a is ignored: " + tasks + " selects the target");
    if (!tasks.empty() && !recorder.cpus.empty())
        remark("-C is ignored: " + tasks + " selects the target");
    if (!tasks.empty()) {
        recorder.all_cpus = false;
        recorder.cpus.clear();
    }
    if (tasks.empty() && recorder.cpus.empty() && options_.command.empty())
        recorder.all_cpus = true;
    return {};
}

Result<void> Planner::choose_cgroups()
{
    if (options_.cgroups.empty())
        return {};
    if (!plan_.recorder.all_cpus)
        return wrong_option("-G", options_.cgroups, "a cgroup is recorded system-wide: add -a");
    for (const std::string_view name : split(options_.cgroups, ','))
        plan_.recorder.cgroups.emplace_back(name);
    if (plan_.recorder.cgroups.size() > events_.size())
        return wrong_option(
            "-G", options_.cgroups,
            fmt::format("{} cgroups for {} event{}; give one for each event, or one "
                        "for all",
                        plan_.recorder.cgroups.size(), events_.size(),
                        events_.size() == 1 ? "" : "s"));
    return {};
}

// Rings and files

Result<void> Planner::choose_files()
{
    constexpr size_t kUsualAuxBytes = size_t{4} << 20;
    record::RecordOptions &recorder = plan_.recorder;
    recorder.clock_id = clock_of_word(options_.clock);
    recorder.pages = usual_pages(host_.mlock_kib, host_.page_bytes);
    recorder.aux_pages = usual_aux_pages(recorder.events, host_.page_bytes)
                             .value_or(std::max<size_t>(1, kUsualAuxBytes / host_.page_bytes));
    const Result<bool> rounded = parse_pages(options_.pages, host_.page_bytes, recorder);
    if (!rounded)
        return rounded.error();
    if (*rounded)
        remark("-m " + options_.pages + ": rounded up to powers of two");
    if (options_.interval.empty())
        return {};
    const Result<Interval> interval = parse_interval(options_.interval);
    if (!interval)
        return interval.error();
    plan_.interval = *interval;
    return {};
}

// Descriptions

std::string Planner::event_line(size_t index) const
{
    const Described &event = events_[index];
    const record::RecordOptions &recorder = plan_.recorder;
    perf_event_attr attr{};
    const std::vector<std::byte> bytes = record::make_attr(
        event.pmu, event.settings, record::Start::kWhenEnabled, false, recorder.sampling);
    std::memcpy(&attr, bytes.data(), std::min(sizeof attr, bytes.size()));
    std::string line = "event: " + event.text;
    if (attr.freq)
        line += fmt::format(", {} a second", uint64_t{attr.sample_freq});
    else if (attr.sample_period == 1)
        line += ", every one";
    else
        line += fmt::format(", one of {}", uint64_t{attr.sample_period});
    if (options_.all_user || options_.all_kernel)
        line += options_.all_user ? ", user mode only" : ", kernel only";
    if (attr.sample_type & PERF_SAMPLE_STACK_USER)
        line += fmt::format(", with {} of the stack", size_text(attr.sample_stack_user));
    else if (attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
        line += ", with call chains from branch records";
    else if (attr.sample_type & PERF_SAMPLE_CALLCHAIN)
        line += ", with call chains from frame pointers";
    if (!recorder.cgroups.empty() && record::samples_tasks(event.pmu)) {
        const std::string &cgroup =
            recorder.cgroups[recorder.cgroups.size() == 1
                                 ? 0
                                 : std::min(index, recorder.cgroups.size() - 1)];
        line += cgroup.empty() ? "" : ", of cgroup " + cgroup;
    }
    return line;
}

std::string Planner::target() const
{
    const record::RecordOptions &recorder = plan_.recorder;
    const std::string children = recorder.inherit ? " and children" : "";
    const auto of_device = [](const Described &event) { return !record::samples_tasks(event.pmu); };
    if (std::ranges::all_of(events_, of_device))
        return "the whole machine, as its PMU sees it";
    if (!recorder.processes.empty())
        return "process " + joined(recorder.processes, ", ") + children;
    if (!recorder.threads.empty())
        return "thread " + joined(recorder.threads, ", ") + children;
    if (!recorder.cpus.empty())
        return "CPU " + cpulist_text(recorder.cpus);
    return recorder.all_cpus ? "all CPUs" : "the command" + children;
}

Result<void> Planner::describe()
{
    const record::RecordOptions &recorder = plan_.recorder;
    std::vector<std::string> &lines = plan_.lines;
    for (size_t i = 0; i < events_.size(); i++)
        lines.push_back(event_line(i));
    lines.push_back("target: " + target());
    const auto may_have_aux = [](const Described &event) {
        return event.pmu.type > PERF_TYPE_BREAKPOINT;
    };
    std::string rings = "rings: " + size_text(recorder.pages * host_.page_bytes) + " for each CPU";
    if (recorder.aux_pages && std::ranges::any_of(events_, may_have_aux))
        rings += ", AUX areas of " + size_text(recorder.aux_pages * host_.page_bytes);
    lines.push_back(rings);
    lines.push_back(output_line(options_));
    lines.push_back(until_line(options_));
    return {};
}

}  // namespace

std::string output_line(const RecordCommandOptions &options)
{
    return "output: " +
           (is_standard_output(options.output) ? std::string("standard output") : options.output) +
           (options.interval.empty() ? "" : ".NUMBER, by " + options.interval);
}

std::string until_line(const RecordCommandOptions &options)
{
    return options.command.empty() ? "until: Ctrl-C" : "command: " + joined(options.command, " ");
}

Result<RecordHost> this_host()
{
    RecordHost host;
    Result<std::vector<int>> online = record::online_cpus();
    if (!online)
        return online.error();
    host.online = std::move(*online);
    host.page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    host.mlock_kib = setting("perf_event_mlock_kb", host.mlock_kib);
    host.defers_chains = record::has_deferred_chains();
    host.most_hz = setting("perf_event_max_sample_rate", host.most_hz);
    return host;
}

Result<RecordPlan> make_plan(const RecordCommandOptions &options, const RecordHost &host)
{
    return Planner(options, host).plan();
}

}  // namespace pmukit::cli
