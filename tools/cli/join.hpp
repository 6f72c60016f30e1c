// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What several drivers recorded, joined: hot memory and PCIe requests by host address, NUMA node
// and tier, and both with what groups had of the caches, by time.
//
//     device address of a hot unit --topology--> host address --+-- range --> node, tier
//     address of a PCIe request (untranslated: as it stands) ---+
//     time of a hot list, of an AUX buffer, of a reading -------+-- column
//
// Caches have no addresses: a group and a range have nothing in common but time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"
#include "decode/time_grid.hpp"
#include "session/placement.hpp"

namespace pmukit::cli {

struct JoinTraffic {
    decode::hisi_ptt::TlpCount reads, writes;
    uint64_t tlps() const { return reads.tlps + writes.tlps; }
    uint64_t bytes() const { return reads.requested + writes.bytes; }
};

// A line over the axis that all share.
struct JoinLine {
    std::string name;
    std::vector<uint64_t> columns;
};

struct JoinRange {
    Placement at;  // hpa: of the range
    uint64_t heat = 0, units = 0;
    std::vector<std::pair<uint16_t, JoinTraffic>> requesters;  // most bytes first
    JoinLine line;                                             // of its heat
    std::vector<double> together;                              // with each group, 0 to 1
};

struct JoinNode {
    std::optional<uint32_t> node, tier;
    uint64_t heat = 0;
    JoinTraffic traffic;
};

struct Joined {
    uint64_t origin_ns = 0, column_ns = 1;
    size_t columns = 0;
    uint64_t range_bytes = 0;
    std::vector<JoinRange> ranges;     // hottest first
    std::vector<JoinLine> requesters;  // bytes of their requests in hot ranges, in the order of ids
    std::vector<JoinLine> groups;      // bytes that they moved, or had
    std::vector<JoinNode> nodes;
    std::vector<std::string> not_joined;  // a line for each thing that has no place in it
};

// The part of what both have that lies at the same times: 1 when they rise and fall alike.
double overlap_of(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b);

class Join {
public:
    // Of hot ranges, and of requesters of ranges, that have a line over time.
    static constexpr size_t kMostRows =
        limits::kLines / 4 / (2 * sizeof(decode::TimeGrid::Columns));

    Join(const Placer &placer, unsigned range_log2) : placer_(placer), range_log2_(range_log2) {}

    void hot(const std::string &pmu, uint64_t unit_bytes, uint64_t dpa, uint64_t time_ns,
             uint64_t heat);
    // A memory request. time_ns: nullopt: its time is unknown.
    void request(const decode::hisi_ptt::Tlp &tlp, const decode::hisi_ptt::TlpCount &count,
                 std::optional<uint64_t> time_ns);
    // The series live until finish().
    void groups(const decode::cache_qos::SeriesTable &series);
    // Times of two clocks cannot be compared.
    void clock(const std::string &pmu, const std::string &name) { clocks_[name].insert(pmu); }

    // After the last of all these.
    Joined finish();

private:
    struct Pair {
        uint64_t range;
        uint16_t requester;
        auto operator<=>(const Pair &) const = default;
    };
    struct Group {
        std::string name;
        const decode::cache_qos::Series *series;
    };

    std::optional<uint64_t> range_of(const std::string &pmu, uint64_t unit_bytes, uint64_t dpa);
    void leave_groups_out();
    void align();
    void add_ranges(Joined &joined) const;
    void add_requesters(Joined &joined) const;
    void add_groups(Joined &joined) const;
    void add_nodes(Joined &joined) const;
    void add_rest(Joined &joined) const;
    std::vector<uint64_t> shown(const decode::TimeGrid::Columns &columns) const;
    std::vector<uint64_t> columns_of(const Group &group) const;

    const Placer &placer_;
    unsigned range_log2_;
    // Of a PMU, by device address: the range of a unit; nullopt: it has none.
    std::map<std::string, AddressMap<std::optional<uint64_t>>> known_;
    decode::TimeGrid heat_{kMostRows};      // by range
    decode::TimeGrid requests_{kMostRows};  // bytes, by range and requester
    std::map<uint64_t, uint64_t> units_;    // of a range
    std::map<Pair, JoinTraffic> pairs_;
    std::vector<Group> groups_;
    Budget left_{limits::kJoin};
    std::map<std::string, std::set<std::string>> clocks_;
    std::string why_not_;  // the first unit has no host address
    uint64_t units_without_host_ = 0, units_in_pieces_ = 0, heat_elsewhere_ = 0;
    uint64_t untranslated_ = 0, translations_ = 0, without_time_ = 0, requests_elsewhere_ = 0;
    uint64_t groups_elsewhere_ = 0;
};

}  // namespace pmukit::cli
