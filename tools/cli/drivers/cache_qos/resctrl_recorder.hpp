// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes the values of resctrl's groups as records of cache_qos_aux (include/uapi/pmukit/
// cache_qos.h). A group is a monitor; a group that is made again under the same path is the next
// life of its monitor. Times are of CLOCK_MONOTONIC.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "cli/drivers/cache_qos/resctrl_tree.hpp"
#include "cli/record/source_recorder.hpp"
#include "record/event_string.hpp"

namespace pmukit::cli::resctrl {

// attr.type of the event in recordings. The kernel does not use numbers this high for PMUs.
constexpr uint32_t kType = INT32_MAX;

// The growth of a counter, from values that may fall. The kernel adds the values of monitoring
// groups to that of their control group: when one is removed or moves, or has no value for a while,
// the sum falls or rises although nothing was counted. Growth in such an interval is left out, so
// that the sum is a lower bound.
class Counter {
public:
    // `pass` counts the readings. `unsettled`: the value may have changed without being counted.
    void read(const Value &value, uint64_t pass, bool unsettled);
    // True if the last two readings differ in whether there was a value.
    bool came_or_went() const { return came_or_went_; }
    bool has_gap() const { return gap_; }  // the sum is a lower bound
    uint64_t sum() const { return sum_; }

private:
    uint64_t last_ = 0, sum_ = 0, pass_ = 0;
    bool known_ = false;    // a value was read
    bool valued_ = false;   // the last reading had a value
    bool counted_ = false;  // a counter has counted since the last value, without interruption
    bool fell_ = false;     // the last value was smaller than the one before
    bool gap_ = false, came_or_went_ = false;
};

// Makes the records of one recording.
class Snapshots {
public:
    explicit Snapshots(Tree tree) : tree_(std::move(tree)) {}

    const Tree &tree() const { return tree_; }
    // The next pass begins with headers and names.
    void begin() { front_due_ = true; }
    // Returns the records of one pass. `last`: names are up to date. If resctrl was unmounted, the
    // records end the default group (missing.hpp); there are none if there was no pass before.
    std::vector<std::byte> pass(uint64_t time_ns, bool last);
    bool is_unmounted() const { return unmounted_; }
    // Groups that were removed.
    uint64_t removed() const { return removed_; }
    // Readings without a value, by their text.
    uint64_t unavailable() const { return unavailable_; }
    uint64_t unassigned() const { return unassigned_; }
    uint64_t errors() const { return errors_; }
    uint64_t gone() const { return gone_; }
    // The number of a domain in records: its id, or an unused number if the id exceeds 16 bits.
    const std::map<uint32_t, uint16_t> &numbers() const { return numbers_; }

private:
    struct Monitor {
        uint32_t number = 0, life = 1;
        std::string path, name;
        uint64_t passes = 0;
        std::map<std::pair<uint32_t, uint8_t>, Counter> counters{};  // by domain id and event
    };
    struct Read {
        const Group *group;
        const Domain *domain;
        uint8_t event;
        Value value;
        uint64_t time_ns;
    };

    std::vector<Read> read_all(const std::vector<Group> &groups,
                               const std::vector<Domain> &domains) const;
    // Returns the domains of the last pass with the events that are no longer there.
    std::vector<Domain> vanished(const std::vector<Domain> &now) const;
    std::vector<std::byte> end_all();
    void put_readings(std::vector<Read> reads, const std::set<Group::Key> &changed);
    void note_groups(const std::vector<Group> &groups);
    void note_domains(std::vector<Domain> domains);
    void end_monitor(const Monitor &monitor);
    void put_front();
    void put_names(Monitor &monitor, const Group &group, bool all);
    void put_name(const Monitor &monitor, uint32_t life, std::string_view text);
    void put_reading(const Read &read, const Monitor &monitor, const Counter &counter);
    void count(const Value &value);
    void put(std::initializer_list<uint64_t> words);
    // Returns the control groups whose sums changed without being counted, between two listings.
    std::set<Group::Key> unsettled(const std::vector<Group> &from,
                                   const std::vector<Group> &to) const;

    Tree tree_;
    std::vector<Domain> domains_;
    std::map<uint32_t, uint16_t> numbers_;
    std::map<Group::Key, Monitor> monitors_;
    std::map<std::string, std::pair<uint32_t, uint32_t>> ended_;  // path: number, life
    std::vector<Group> groups_;                                   // after the last pass
    std::set<Group::Key> unsettled_;                              // at the end of the last pass
    uint32_t next_number_ = 1;
    uint64_t sequence_ = 0, passes_ = 0;
    uint64_t begun_ns_ = 0;  // time of the first pass
    uint64_t unavailable_ = 0, unassigned_ = 0, errors_ = 0;
    uint64_t gone_ = 0, removed_ = 0;
    bool front_due_ = true, unmounted_ = false;
    std::vector<std::byte> bytes_;  // records of the current pass
};

// Error: resctrl is not mounted or cannot be read, or the event has unknown terms.
Result<std::unique_ptr<SourceRecorder>> open_recorder(const record::EventString &event,
                                                      const Host &host);

}  // namespace pmukit::cli::resctrl
