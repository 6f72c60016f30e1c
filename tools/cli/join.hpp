// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Joins the data of several drivers: hot memory with PCIe requests by host address, NUMA node and
// tier, and both of these with the cache use of groups by time.
//
//     device address of a hot unit --topology--> host address --+-- range --> node, tier
//     address of a PCIe request (untranslated: as recorded) ----+
//     time of a hot list, of an AUX buffer, of a reading -------+-- column
//
// Cache readings have no addresses, so groups and ranges are compared only over time.
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

// One value per column of the common time axis.
struct JoinLine {
    std::string name;
    std::vector<uint64_t> columns;
};

struct JoinRange {
    Placement at;  // at.hpa is the host address of the range
    uint64_t heat = 0, units = 0;
    std::vector<std::pair<uint16_t, JoinTraffic>> requesters;  // most bytes first
    JoinLine line;                                             // heat over time
    std::vector<double> together;                              // overlap_of() with each group
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
    std::vector<JoinLine> requesters;  // bytes of requests to hot ranges, ordered by requester
    std::vector<JoinLine> groups;      // bytes moved, or bytes held in the cache
    std::vector<JoinNode> nodes;
    std::vector<std::string> not_joined;  // one line for each kind of data left out
};

// Returns how much two series of counts over time overlap. Each column has a share of the sum of
// its series. The overlap is the sum, over all columns, of the smaller of the two shares. It is 1
// if the series are proportional, and 0 if no column has counts in both.
double overlap_of(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b);

class Join {
public:
    // Limit for rows of a time grid: one row per hot range, or per pair of a range and a requester.
    static constexpr size_t kMostRows =
        limits::kLines / 4 / (2 * sizeof(decode::TimeGrid::Columns));

    Join(const Placer &placer, unsigned range_log2) : placer_(placer), range_log2_(range_log2) {}

    void hot(const std::string &pmu, uint64_t unit_bytes, uint64_t dpa, uint64_t time_ns,
             uint64_t heat);
    // Adds a memory request. `time_ns` is nullopt if the time is unknown.
    void request(const decode::hisi_ptt::Tlp &tlp, const decode::hisi_ptt::TlpCount &count,
                 std::optional<uint64_t> time_ns);
    // `series` must stay valid until finish().
    void groups(const decode::cache_qos::SeriesTable &series);
    // Notes the clock of a PMU, to warn if PMUs have different clocks.
    void clock(const std::string &pmu, const std::string &name) { clocks_[name].insert(pmu); }

    // Call once, after all functions above.
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
    // Range of each unit, by PMU and device address; nullopt for a unit without a host address.
    std::map<std::string, AddressMap<std::optional<uint64_t>>> known_;
    decode::TimeGrid heat_{kMostRows};      // heat by range
    decode::TimeGrid requests_{kMostRows};  // bytes, by range and requester
    std::map<uint64_t, uint64_t> units_;    // number of units, by range
    std::map<Pair, JoinTraffic> pairs_;
    std::vector<Group> groups_;
    Budget left_{limits::kJoin};
    std::map<std::string, std::set<std::string>> clocks_;
    std::string why_not_;  // why the first of the units without a host address has none
    uint64_t units_without_host_ = 0, units_in_pieces_ = 0, heat_elsewhere_ = 0;
    uint64_t untranslated_ = 0, translations_ = 0, without_time_ = 0, requests_elsewhere_ = 0;
    uint64_t groups_elsewhere_ = 0;
};

}  // namespace pmukit::cli
