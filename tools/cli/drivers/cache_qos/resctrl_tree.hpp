// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The monitoring files of a mounted resctrl (Documentation/filesystems/resctrl.rst of the kernel):
//
//     ROOT, ROOT/GROUP                       control groups; ROOT is the default group
//     .../mon_groups/GROUP                   monitoring groups of a control group
//     .../mon_data/mon_L3_ID/EVENT           value of an event in the L3 with this cache id
//     .../mon_data/mon_L3_ID/mon_sub_L3_NODE/EVENT    with sub-NUMA clustering: value in a node
//
// The kernel adds the values of monitoring groups to those of their control group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/doctor_host.hpp"

namespace pmukit::cli::resctrl {

// What commands print about values from resctrl.
constexpr const char *kMeaning =
    "source resctrl: counted by group, not by process; a control group includes its mon_groups, "
    "other groups do not nest";

// Returns the directory on which resctrl is mounted, from /proc/mounts; nullopt: it is not mounted.
std::optional<std::string> mount_point(const Host &host);

struct Domain {
    uint32_t id = 0;           // cache id of the L3; with sub-NUMA clustering, number of the node
    std::string folder;        // below mon_data
    uint64_t cache_bytes = 0;  // size of the L3, or of a node's part; 0: unknown
    std::vector<uint8_t> events{};  // PMUKIT_CACHE_QOS_EVENT_*
    bool operator==(const Domain &) const = default;
};

struct Group {
    using Key = std::pair<uint64_t, uint64_t>;  // device and inode: a new group has new ones

    std::string path;     // from the root: "/", "/g", "/g/mon_groups/m"
    std::string control;  // path of the control group of a monitoring group; otherwise empty
    Key key{};
    bool operator==(const Group &) const = default;
};

struct Value {
    enum class Kind {
        kNumber,
        kUnavailable,  // the hardware has no value now
        kUnassigned,   // ABMC, MPAM: the group has no counter
        kGone,         // the file is not there: its L3 went offline
        kError,        // the hardware returned an error, or the text is unknown
    };
    Kind kind = Kind::kError;
    uint64_t bytes = 0;  // only for kNumber

    bool has_number() const { return kind == Kind::kNumber; }
    bool has_failed() const { return kind == Kind::kGone || kind == Kind::kError; }
    // True if a counter of bandwidth, if there is one, has not counted all traffic since its last
    // value.
    bool is_interrupted() const { return kind == Kind::kUnassigned || kind == Kind::kGone; }
};
// Parses the contents of an event file.
Value parse_value(std::string_view text);

class Tree {
public:
    // Error: resctrl is not mounted, cannot be read, or monitors nothing.
    static Result<Tree> open(const Host &host);

    const std::string &mounted_on() const { return mounted_on_; }
    // Domains with an online CPU, sorted by id.
    std::vector<Domain> domains() const;
    // All groups, sorted by path. Empty: resctrl was unmounted.
    std::vector<Group> groups() const;
    Value read(const Group &group, const Domain &domain, uint8_t event) const;
    // Returns what the group contains, such as "gzip-12, CPU 2-3" or "cgroup /a"; empty: nothing.
    // The tasks of the default group are not named: it has all that no other group has.
    std::string members(const Group &group) const;
    // "shareable", "exclusive" and so on; empty: the group controls nothing.
    std::string mode(const Group &group) const;
    uint64_t rmids() const;  // 0: unknown
    // How RMIDs get bandwidth counters, such as "mbm_event" (ABMC); empty: each has its own.
    std::string assign_mode() const;

private:
    Tree(Host host, std::string mounted_on)
        : host_(std::move(host)), mounted_on_(std::move(mounted_on))
    {
    }
    // Returns the path of a file of a group, for Host.
    std::string in(std::string_view group, std::string_view file) const;
    void add_groups(const std::string &parent, const std::string &control,
                    std::vector<Group> &groups) const;
    void add_domain(uint32_t id, const std::string &folder, uint64_t cache_bytes,
                    std::vector<Domain> &domains) const;
    std::string tasks(const Group &group) const;

    Host host_;
    std::string mounted_on_;
};

}  // namespace pmukit::cli::resctrl
