// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/cache_qos/resctrl_tree.hpp"

#include <pmukit/cache_qos.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace pmukit::cli::resctrl {
namespace {

constexpr std::pair<std::string_view, uint8_t> kEventFiles[] = {
    {"llc_occupancy", PMUKIT_CACHE_QOS_EVENT_OCCUPANCY},
    {"mbm_total_bytes", PMUKIT_CACHE_QOS_EVENT_TOTAL},
    {"mbm_local_bytes", PMUKIT_CACHE_QOS_EVENT_LOCAL},
};

std::string_view file_of(uint8_t event)
{
    for (const auto &[file, known] : kEventFiles)
        if (known == event)
            return file;
    return {};
}

// Parses "mon_L3_07" with prefix "mon_L3_".
std::optional<uint32_t> number_after(std::string_view name, std::string_view prefix)
{
    if (!name.starts_with(prefix))
        return std::nullopt;
    const Result<uint64_t> number = parse_u64(name.substr(prefix.size()));
    return number && *number <= UINT32_MAX ? std::optional(static_cast<uint32_t>(*number))
                                           : std::nullopt;
}

// Parses a size in sysfs, such as "16384K".
uint64_t size_of(std::string_view text)
{
    const bool kib = text.ends_with('K');
    const Result<uint64_t> size = parse_u64(text.substr(0, text.size() - kib));
    return size ? *size << (kib ? 10 : 0) : 0;
}

// Returns the size in bytes of each L3, by cache id.
std::map<uint32_t, uint64_t> cache_sizes(const Host &host)
{
    const std::string cpus = "sys/devices/system/cpu";
    std::map<uint32_t, uint64_t> sizes;
    for (const std::string &cpu : host.names(cpus))
        for (const std::string &index : host.names(cpus + "/" + cpu + "/cache")) {
            const std::string cache = cpus + "/" + cpu + "/cache/" + index;
            const auto id = host.number(cache + "/id");
            if (host.number(cache + "/level") == 3 && id && *id >= 0 && *id <= UINT32_MAX)
                sizes[static_cast<uint32_t>(*id)] =
                    size_of(host.text(cache + "/size").value_or(""));
        }
    return sizes;
}

// Returns the value of a line "KEY VALUE" or "KEY:VALUE".
std::string_view line_value(std::string_view text, std::string_view key)
{
    for (const std::string_view line : split(text, '\n'))
        if (line.starts_with(key))
            return trim(line.substr(key.size()));
    return {};
}

}  // namespace

std::optional<std::string> mount_point(const Host &host)
{
    const std::string mounts = host.text("proc/mounts").value_or("");
    std::optional<std::string> at;
    for (const std::string_view line : split(mounts, '\n')) {
        const std::vector<std::string_view> words = split(line, ' ');
        if (words.size() > 2 && words[2] == "resctrl")
            at = without_octal(words[1]);
    }
    return at;
}

Value parse_value(std::string_view text)
{
    text = trim(text);
    if (text == "Unavailable")
        return {Value::Kind::kUnavailable};
    if (text == "Unassigned")
        return {Value::Kind::kUnassigned};
    const Result<uint64_t> bytes = parse_u64(text);
    return bytes ? Value{Value::Kind::kNumber, *bytes} : Value{};
}

Result<Tree> Tree::open(const Host &host)
{
    const std::optional<std::string> at = mount_point(host);
    if (!at)
        return Error{Errc::kNotFound,
                     "resctrl is not mounted: mount -t resctrl resctrl /sys/fs/resctrl (cache_qos, "
                     "if it is loaded, then yields the registers)"};
    Tree tree(host, *at);
    const std::vector<Domain> domains = tree.domains();
    const std::string value = domains.empty()
                                  ? "cpus_list"
                                  : fmt::format("mon_data/{}/{}", domains.front().folder,
                                                file_of(domains.front().events.front()));
    const Result<std::string> text = read_small_file(host.path(tree.in("/", value)));
    if (!text && text.error().code == Errc::kDenied)
        return Error{Errc::kDenied, text.error().message + "; run as root"};
    if (domains.empty())
        return Error{Errc::kNotFound, "resctrl on " + *at +
                                          " has no mon_data/mon_L3_*: this kernel or processor "
                                          "does not monitor its L3"};
    return tree;
}

std::string Tree::in(std::string_view group, std::string_view file) const
{
    std::string path = mounted_on_.substr(mounted_on_.starts_with('/'));
    if (group != "/")
        path += group;
    return path.append("/").append(file);
}

// Adds the domain unless it has no known event.
void Tree::add_domain(uint32_t id, const std::string &folder, uint64_t cache_bytes,
                      std::vector<Domain> &domains) const
{
    Domain domain{id, folder, cache_bytes};
    for (const auto &[file, event] : kEventFiles)
        if (host_.has(in("/", "mon_data/" + folder).append("/").append(file)))
            domain.events.push_back(event);
    if (!domain.events.empty())
        domains.push_back(std::move(domain));
}

std::vector<Domain> Tree::domains() const
{
    const std::map<uint32_t, uint64_t> sizes = cache_sizes(host_);
    std::vector<Domain> domains;
    for (const std::string &folder : host_.names(in("/", "mon_data"))) {
        const std::optional<uint32_t> l3 = number_after(folder, "mon_L3_");
        if (!l3)
            continue;
        std::vector<std::pair<uint32_t, std::string>> nodes;
        for (const std::string &name : host_.names(in("/", "mon_data/" + folder)))
            if (const std::optional<uint32_t> node = number_after(name, "mon_sub_L3_"))
                nodes.emplace_back(*node, folder + "/" + name);
        const auto size = sizes.find(*l3);
        const uint64_t bytes = size == sizes.end() ? 0 : size->second;
        for (const auto &[node, of_node] : nodes)
            add_domain(node, of_node, bytes / nodes.size(), domains);
        if (nodes.empty())
            add_domain(*l3, folder, bytes, domains);
    }
    std::ranges::sort(domains, {}, &Domain::id);
    return domains;
}

// Adds the groups in a directory: control groups, or the monitoring groups of `control`.
void Tree::add_groups(const std::string &parent, const std::string &control,
                      std::vector<Group> &groups) const
{
    for (const std::string &name : host_.names(in(parent, ""))) {
        const std::string path = (parent == "/" ? "" : parent) + "/" + name;
        struct stat status {};
        if (!host_.has(in(path, "mon_data")) ||
            ::stat(host_.path(in(path, "")).c_str(), &status) != 0)
            continue;
        groups.push_back({path, control, {status.st_dev, status.st_ino}});
    }
}

std::vector<Group> Tree::groups() const
{
    struct stat status {};
    if (!host_.has(in("/", "mon_data")) || ::stat(host_.path(in("/", "")).c_str(), &status) != 0)
        return {};
    std::vector<Group> controls = {{"/", "", {status.st_dev, status.st_ino}}};
    add_groups("/", "", controls);
    std::vector<Group> groups = controls;
    for (const Group &control : controls)
        add_groups((control.path == "/" ? "" : control.path) + "/mon_groups", control.path, groups);
    std::ranges::sort(groups, {}, &Group::path);
    return groups;
}

Value Tree::read(const Group &group, const Domain &domain, uint8_t event) const
{
    const std::string file =
        in(group.path, "mon_data/" + domain.folder).append("/").append(file_of(event));
    const Result<std::string> text = read_small_file(host_.path(file));
    if (!text)
        return {text.error().code == Errc::kNotFound ? Value::Kind::kGone : Value::Kind::kError};
    return parse_value(*text);
}

// Returns the cgroup of the tasks if all have the same; otherwise some of their processes.
std::string Tree::tasks(const Group &group) const
{
    constexpr size_t kMostTasks = 512, kMostNames = 3;
    const Result<std::string> text = read_small_file(host_.path(in(group.path, "tasks")));
    if (!text)
        return text.error().code == Errc::kUnsupported ? "many tasks" : "";
    const std::vector<std::string_view> tasks = split(*text, '\n');
    if (tasks.size() > kMostTasks)
        return fmt::format("{} tasks", tasks.size());
    std::set<std::string, std::less<>> cgroups, processes;
    for (const std::string_view task : tasks) {
        const std::string folder = "proc/" + std::string(task);
        const std::string status = host_.text(folder + "/status").value_or("");
        const std::string process(line_value(status, "Tgid:"));
        if (process.empty())  // the task has ended
            continue;
        cgroups.emplace(line_value(host_.text(folder + "/cgroup").value_or(""), "0::"));
        processes.insert(host_.text("proc/" + process + "/comm").value_or("?") + "-" + process);
    }
    if (cgroups.size() == 1 && cgroups.begin()->size() > 1)
        return "cgroup " + *cgroups.begin();
    const size_t named = std::min(processes.size(), kMostNames);
    std::vector<std::string> names(processes.begin(),
                                   std::next(processes.begin(), static_cast<ptrdiff_t>(named)));
    if (named < processes.size())
        names.push_back(fmt::format("{} more", processes.size() - named));
    return joined(names, ", ");
}

std::string Tree::members(const Group &group) const
{
    if (group.path == "/")
        return {};
    std::vector<std::string> members;
    if (std::string all = tasks(group); !all.empty())
        members.push_back(std::move(all));
    if (const std::string cpus = host_.text(in(group.path, "cpus_list")).value_or("");
        !cpus.empty())
        members.push_back("CPU " + cpus);
    return joined(members, ", ");
}

std::string Tree::mode(const Group &group) const
{
    return host_.text(in(group.path, "mode")).value_or("");
}

uint64_t Tree::rmids() const
{
    const auto rmids = host_.number(in("/", "info/L3_MON/num_rmids"));
    return rmids && *rmids > 0 ? static_cast<uint64_t>(*rmids) : 0;
}

// The file has a line for each mode, the current one in brackets.
std::string Tree::assign_mode() const
{
    const std::string modes = host_.text(in("/", "info/L3_MON/mbm_assign_mode")).value_or("");
    const size_t open = modes.find('['), close = modes.find(']');
    if (open == modes.npos || close == modes.npos || close < open)
        return {};
    const std::string mode = modes.substr(open + 1, close - open - 1);
    return mode == "default" ? std::string() : mode;
}

}  // namespace pmukit::cli::resctrl
