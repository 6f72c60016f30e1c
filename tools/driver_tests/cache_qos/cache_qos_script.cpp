// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cache_qos_script.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace pmukit::kshim {
namespace {

constexpr u64 kNsPerUs = 1000;
constexpr u64 kMsPerS = 1000;

u64 number_of(const std::string &word)
{
    if (word == "idle" || word == "none")
        return World::kNone;
    size_t used = 0;
    const u64 number = std::stoull(word, &used, 0);
    if (used != word.size())
        throw std::invalid_argument(word);
    return number;
}

u32 cast(u64 number)
{
    return static_cast<u32>(number);
}

std::vector<std::string> split(const std::string &line)
{
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

template <typename... Numbers>
std::string line(const char *name, Numbers... numbers)
{
    std::string text = name;
    ((text += " " + std::to_string(numbers)), ...);
    return text;
}

}  // namespace

// Steps

struct Script::Word {
    std::string_view name;
    size_t arguments;
    void (*run)(Script &script, const std::vector<u64> &numbers);
};

const std::vector<Script::Word> &Script::words()
{
    using Numbers = const std::vector<u64> &;
    static const std::vector<Word> kWords = {
        {"task", 2,
         [](Script &s, Numbers n) {
             s.tasks.push_back(s.world_.new_task(n[0], n[1] * kMsPerS * s.world_.scale()));
         }},
        {"fork", 1, [](Script &s, Numbers n) { s.tasks.push_back(s.world_.fork(cast(n[0]))); }},
        {"exit", 1,
         [](Script &s, Numbers n) {
             s.world_.exit(cast(n[0]));
             std::erase(s.tasks, cast(n[0]));
         }},
        {"switch", 2, [](Script &s, Numbers n) { s.world_.switch_to(cast(n[0]), cast(n[1])); }},
        {"run", 1, [](Script &s, Numbers n) { s.world_.run(n[0] * kNsPerUs); }},
        {"burst", 2, [](Script &s, Numbers n) { s.world_.burst(cast(n[0]), n[1]); }},
        {"group", 1,
         [](Script &s, Numbers n) {
             u32 group = 0;
             s.result = s.world_.new_group(cast(n[0]), &group);
             if (!s.result)
                 s.groups.push_back(group);
         }},
        {"rmgroup", 1,
         [](Script &s, Numbers n) {
             s.result = s.world_.remove_group(cast(n[0]));
             if (!s.result)
                 std::erase(s.groups, cast(n[0]));
         }},
        {"monitor", 2,
         [](Script &s, Numbers n) { s.result = s.world_.monitor_group(cast(n[0]), n[1] != 0); }},
        {"move", 2, [](Script &s, Numbers n) { s.world_.move_task(cast(n[0]), cast(n[1])); }},
        {"cgroup", 1,
         [](Script &s, Numbers n) {
             s.world_.new_cgroup(cast(n[0]));
             s.cgroups++;
         }},
        {"watchcg", 2,
         [](Script &s, Numbers n) { s.result = s.world_.watch_cgroup(cast(n[0]), n[1] != 0); }},
        {"tocg", 2, [](Script &s, Numbers n) { s.world_.move_to_cgroup(cast(n[0]), cast(n[1])); }},
        {"monitors", 1,
         [](Script &s, Numbers n) {
             u32 monitor = 0;
             s.result = s.world_.new_monitor(
                 n[0] ? PMUKIT_CACHE_QOS_KIND_CPU : PMUKIT_CACHE_QOS_KIND_TASK, &monitor);
             if (!s.result)
                 s.monitors.push_back(monitor);
         }},
        {"watch", 2,
         [](Script &s, Numbers n) { s.result = s.world_.watch_task(cast(n[0]), cast(n[1])); }},
        {"unwatch", 2, [](Script &s, Numbers n) { s.world_.unwatch_task(cast(n[0]), cast(n[1])); }},
        {"watchcpu", 2,
         [](Script &s, Numbers n) { s.result = s.world_.watch_cpu(cast(n[0]), cast(n[1])); }},
        {"unwatchcpu", 2,
         [](Script &s, Numbers n) { s.world_.unwatch_cpu(cast(n[0]), cast(n[1])); }},
        {"end", 1,
         [](Script &s, Numbers n) {
             s.world_.end_monitor(cast(n[0]));
             std::erase(s.monitors, cast(n[0]));
         }},
        {"online", 2, [](Script &s, Numbers n) { s.world_.cpu_online(cast(n[0]), n[1] != 0); }},
        {"closid", 2, [](Script &s, Numbers n) { s.world_.set_closid(cast(n[0]), cast(n[1])); }},
        {"flush", 1,
         [](Script &s, Numbers n) { cache_qos_sim_flush(s.world_.machine().get(), cast(n[0])); }},
        {"shrink", 2,
         [](Script &s, Numbers n) {
             cache_qos_sim_shrink(s.world_.machine().get(), cast(n[0]), cast(n[1]));
         }},
        {"pin", 3,
         [](Script &s, Numbers n) {
             cache_qos_sim_pin(s.world_.machine().get(), cast(n[0]), cast(n[1]), cast(n[2]));
         }},
        // Arguments: kind of fault, number of reads before the fault, number of reads that fail
        {"fault", 3,
         [](Script &s, Numbers n) {
             const cache_qos_sim_fault fault = {static_cast<cache_qos_sim_fault_kind>(n[0]),
                                                CACHE_QOS_SIM_ANY,
                                                CACHE_QOS_SIM_ANY,
                                                n[1],
                                                n[2],
                                                0};
             cache_qos_sim_inject(s.world_.machine().get(), &fault);
         }},
        // Compares all values with the truth. If a read of this pass failed because of a fault, the
        // comparison is left to the next pass.
        {"pass", 0,
         [](Script &s, Numbers) {
             const bool faults = s.world_.machine().has_faults();
             const bool good = s.world_.pass();
             s.world_.had_bad_readings |= !good;
             if (good || !faults)
                 s.world_.compare();
         }},
        {"result", 1,
         [](Script &s, Numbers n) {
             if (s.result != -static_cast<int>(n[0]))
                 throw std::invalid_argument("the result was " + std::to_string(s.result));
         }},
    };
    return kWords;
}

// Runs a step "bytes group|cgroup|monitor NUMBER EVENT = UNITS".
void Script::expect_bytes(const std::vector<std::string> &words)
{
    if (words.size() != 6 || words[4] != "=")
        throw std::invalid_argument("bytes WHAT NUMBER EVENT = UNITS");
    u32 monitor = static_cast<u32>(number_of(words[2]));
    if (words[1] == "group")
        monitor = world_.monitor_of_group(monitor);
    else if (words[1] == "cgroup")
        monitor = world_.monitor_of_cgroup(monitor);
    else if (words[1] != "monitor")
        throw std::invalid_argument(words[1]);
    const auto event = static_cast<pmukit_cache_qos_event>(number_of(words[3]));
    const u64 units = world_.bytes(monitor, event) / world_.scale();
    if (units != number_of(words[5]))
        throw std::invalid_argument("it has " + std::to_string(units));
}

void Script::step(const std::string &text)
{
    const std::vector<std::string> parts = split(text);
    if (parts.empty() || parts[0].starts_with("#"))
        return;
    if (parts[0] == "bytes") {
        expect_bytes(parts);
        return;
    }
    std::vector<u64> numbers;
    for (size_t i = 1; i < parts.size(); i++)
        numbers.push_back(number_of(parts[i]));
    for (const Word &word : words()) {
        if (word.name == parts[0] && word.arguments == numbers.size()) {
            word.run(*this, numbers);
            world_.conserve();
            return;
        }
    }
    throw std::invalid_argument("no such step");
}

std::string Script::run(std::string_view text)
{
    std::istringstream in{std::string(text)};
    std::string wrong;
    for (std::string one; std::getline(in, one);) {
        try {
            step(one);
        } catch (const std::invalid_argument &error) {
            wrong += one + ": " + error.what() + "\n";
        }
        if (const std::string violations = world_.violations(); !violations.empty())
            wrong += one + ":\n" + violations;
    }
    return wrong;
}

// Random steps

RandomSteps::RandomSteps(Script &script, u64 seed, u32 cpus, u32 domains)
    : script_(script), engine_(seed), cpus_(cpus), domains_(domains), offline_(cpus)
{
    for (const char *cgroup : {"cgroup none", "cgroup 0", "cgroup 0", "cgroup 1"})
        script_.step(cgroup);
}

std::string RandomSteps::of_tasks()
{
    constexpr u32 kMost = 12;
    const std::vector<u32> &tasks = script_.tasks;
    if (tasks.empty())
        return line("task", 1 + dice(80), 1 + dice(40));
    switch (dice(tasks.size() < kMost ? 4 : 2)) {
        case 0:
            return line("exit", one_of(tasks));
        case 2:
            return line("fork", one_of(tasks));
        case 3:
            return line("task", 1 + dice(80), 1 + dice(40));
        default: {
            const u32 group = dice(u32(script_.groups.size()) + 1);
            return line("move", one_of(tasks), group ? script_.groups[group - 1] : World::kRoot);
        }
    }
}

std::string RandomSteps::of_groups()
{
    constexpr u32 kMost = 8;
    const std::vector<u32> &groups = script_.groups;
    if (groups.empty() || (groups.size() < kMost && dice(4) == 0)) {
        const u32 parent = dice(u32(groups.size()) + 1);
        return line("group", parent ? groups[parent - 1] : World::kRoot);
    }
    if (dice(6) == 0)
        return line("rmgroup", one_of(groups));
    return line("monitor", one_of(groups), dice(3) ? 1U : 0U);
}

std::string RandomSteps::of_cgroups()
{
    if (!script_.tasks.empty() && dice(2))
        return line("tocg", one_of(script_.tasks), dice(script_.cgroups));
    return line("watchcg", dice(script_.cgroups), dice(2));
}

std::string RandomSteps::of_monitors()
{
    constexpr u32 kMost = 6;
    const std::vector<u32> &monitors = script_.monitors;
    if (monitors.empty() || (monitors.size() < kMost && dice(4) == 0))
        return line("monitors", dice(2));
    const u32 monitor = one_of(monitors);
    switch (dice(7)) {
        case 0:
            return line("end", monitor);
        case 1:
            return line("watchcpu", monitor, dice(cpus_));
        case 2:
            return line("unwatchcpu", monitor, dice(cpus_));
        case 3:
            if (!script_.tasks.empty())
                return line("unwatch", monitor, one_of(script_.tasks));
            [[fallthrough]];
        default:
            if (!script_.tasks.empty())
                return line("watch", monitor, one_of(script_.tasks));
            return line("watchcpu", monitor, dice(cpus_));
    }
}

std::string RandomSteps::of_machine()
{
    switch (dice(12)) {
        case 0:
            return line("flush", dice(domains_));
        case 1:
            return line("shrink", dice(domains_), dice(1000));
        case 2:
            if (const u32 cpu = dice(cpus_); !offline_[cpu])
                return line("closid", cpu, dice(16));
            break;
        case 3:
            if (with_faults)
                return line("fault", CACHE_QOS_SIM_FAULT_UNAVAILABLE + dice(2), dice(50),
                            1 + dice(4));
            break;
        case 4:
            // CPU 0 stays online.
            if (with_hotplug) {
                const u32 cpu = 1 + dice(cpus_ - 1);
                offline_[cpu] = !offline_[cpu];
                return line("online", cpu, offline_[cpu] ? 0U : 1U);
            }
            break;
        case 5:
        case 6:
            if (const u32 cpu = dice(cpus_); !offline_[cpu])
                return line("burst", cpu, dice(1 << 20));
            break;
        default:
            break;
    }
    return "pass";
}

std::string RandomSteps::of_scheduler()
{
    const u32 cpu = dice(cpus_);
    if (offline_[cpu] || dice(3) == 0)
        return line("run", 100 + dice(3000));
    if (script_.tasks.empty() || dice(8) == 0)
        return "switch " + std::to_string(cpu) + " idle";
    const u32 task = one_of(script_.tasks);
    for (u32 i = 0; i < cpus_; i++)
        if (script_.world().running(i) == task)
            return line("run", 100 + dice(3000));
    return line("switch", cpu, task);
}

std::string RandomSteps::next()
{
    switch (dice(16)) {
        case 0:
        case 1:
            return of_tasks();
        case 2:
        case 3:
            return of_groups();
        case 4:
            return of_cgroups();
        case 5:
        case 6:
            return of_monitors();
        case 7:
        case 8:
            return of_machine();
        default:
            return of_scheduler();
    }
}

}  // namespace pmukit::kshim
