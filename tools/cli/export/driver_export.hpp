// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Exports one driver's data: rows of its table, and losses. A driver that is exported sets
// make_export in its description (drivers.hpp).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/schema.hpp"
#include "session/aux_threads.hpp"
#include "session/cgroup_names.hpp"
#include "session/identity.hpp"
#include "session/recording.hpp"
#include "session/samples.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

// One loss. Documentation/components/export.rst explains each kind.
struct Loss {
    std::string_view driver;  // driver that lost data; empty: the whole recording
    std::string_view kind;
    std::string_view measure;  // unit of the amount; empty: none
    std::optional<uint64_t> amount{}, offset{}, time_ns{};
    bool at_least = false;  // the amount is a lower bound
};

struct StackSample {
    size_t event;
    uint32_t pid, tid;
    uint64_t time_ns;
    std::span<const StackFrame> frames;  // innermost first
    uint64_t period = 1;                 // events that the sample represents
};
class StackSink {
public:
    virtual ~StackSink() = default;
    virtual void stack(const StackSample &sample) = 0;
    // Call before threads() forgets tasks: their names are no longer available.
    virtual void before_forgetting() = 0;
};

// Counts the rows of the drivers, and passes them with their origin to the writer of the format.
class RowsOut {
public:
    // id: see recording_id()
    RowsOut(const Recording &recording, std::optional<std::string> id, AuxThreads aux,
            exporter::RowSink &to)
        : recording_(recording),
          source_(recording.common_source()),
          id_(std::move(id)),
          boots_(boot_ids(recording)),
          aux_(std::move(aux)),
          to_(to)
    {
        threads_.note_exits();
    }
    RowsOut(const RowsOut &) = delete;
    RowsOut &operator=(const RowsOut &) = delete;

    // From now on, writes rows of this table, and only counts rows of other tables.
    void only(const exporter::Table *table) { only_ = table; }
    // Returns false if rows of this table are not written; the caller then need not make them.
    bool wants(const exporter::Table &table) const
    {
        return !stacks_ && (!only_ || only_ == &table);
    }
    void count(const exporter::Table &table) { counts_[&table]++; }
    // Sends stacks to this sink; wants() is then false.
    void stacks_to(StackSink *sink) { stacks_ = sink; }
    // Sends the stack of a sample to the sink of stacks. `table` has the sample as a row.
    void stack(const exporter::Table &table, size_t event, const perfdata::SampleId &sample_id,
               std::span<const StackFrame> frames, uint64_t period = 1);

    const Recording &recording() const { return recording_; }
    // `names` has all threads of the recording, and must outlive this object. Without this call, as
    // for input from a pipe, only threads whose records were already read have names.
    void name_by(const Threads &names) { names_of_all_ = &names; }
    // For a recording with too many threads for name_by(): `untimed` has those that the untimed
    // records name (see is_untimed()), and the others have names as from a pipe.
    void begin_with(Threads untimed);
    // For a recording without times: a name counts from its record on.
    void name_by_order() { by_order_ = true; }
    const Threads &threads() const { return names_of_all_ ? *names_of_all_ : threads_; }
    // Names of cgroups whose records were already read.
    const CgroupNames &cgroups() const { return cgroups_; }
    void note(const perfdata::Record &record)
    {
        cgroups_.note(record, recording_.reader().order());
        if (by_order_ && stacks_ && renames(record.type))
            stacks_->before_forgetting();
        if (!names_of_all_ && !(skip_untimed_ && is_untimed(record, recording_.reader())))
            threads_.note(record, recording_.reader());
    }
    // True if forget_until() is worth its time.
    bool should_forget() const { return !names_of_all_ && threads_.should_forget(); }
    // Forgets tasks that exited. No later row may be about an earlier time.
    void forget_until(uint64_t time_ns);
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id)
    {
        if (!names_of_all_)  // after name_by(), aux_ is already complete
            aux_.note(stream, aux, sample_id);
    }
    const AuxThreads &aux_threads() const { return aux_; }
    // Returns the task and time of the AUX data at this offset; nullptr if no AUX record covers it.
    const AuxThreads::Range *announced(const Stream &stream, uint64_t offset) const
    {
        return aux_.find(stream, offset);
    }

    // Writes the row of the table "recording".
    void describe_recording();
    // Fills in the first fields of a row, see exporter::Origin.
    void origin(const Stream &stream, std::optional<uint64_t> time_ns, exporter::Value *to);
    void rows(const exporter::Table &table, exporter::Values common, exporter::Values rest);
    void lose(const Stream &stream, const Loss &loss);
    // Writes a loss that belongs to no event.
    void lose(const Loss &loss);

    const std::map<const exporter::Table *, uint64_t> &counts() const { return counts_; }

private:
    // True if a record of this type changes names of tasks or of their memory.
    static bool renames(uint32_t record_type);

    struct Name {
        std::string host, pmu, boot;
        std::optional<std::string> source;
        std::string_view driver;
        std::optional<perfdata::ClockData> clock;
    };
    const Name &name_of(size_t event);
    std::string host_name() const;
    std::string host_of(size_t event, std::string_view pmu) const;
    // Fills in the fields that do not depend on an event.
    void origin_of_all(std::string_view host, exporter::Value *to) const;
    void put_loss(const Loss &loss, std::array<exporter::Value, exporter::kOriginColumns> &origin);

    const Recording &recording_;
    std::optional<std::string> source_;  // source that all events have in common
    std::optional<std::string> id_;
    std::map<std::string, std::string, std::less<>> boots_;  // by PMU
    AuxThreads aux_;
    exporter::RowSink &to_;
    const exporter::Table *only_ = nullptr;
    StackSink *stacks_ = nullptr;
    Threads threads_;
    CgroupNames cgroups_;
    bool skip_untimed_ = false, by_order_ = false;
    const Threads *names_of_all_ = nullptr;
    std::map<size_t, Name> names_;
    std::map<const exporter::Table *, uint64_t> counts_;
};

// Evaluates the sequence numbers and the driver's loss counts of records.
class Numbers {
public:
    // `from_zero` is true if sequence numbers restart at 0 when the event is enabled. `continues`
    // is true if this recording continues another one, which has already reported all earlier
    // losses.
    Numbers(bool from_zero, bool continues) : from_zero_(from_zero), continues_(continues) {}
    // Returns false for a duplicate record (stock perf's reader can write a burst twice).
    bool note(std::optional<uint64_t> sequence, std::optional<uint64_t> lost);
    // missing() returns how many records are missing between the last record and the one before.
    // lost() returns by how much the driver's loss count grew in the same gap.
    uint64_t missing() const { return missing_; }
    uint64_t lost() const { return lost_; }

private:
    bool from_zero_, continues_;
    std::optional<uint64_t> last_, last_lost_;
    uint64_t missing_ = 0, lost_ = 0;
};

class DriverExport : public DriverSink {
public:
    // Call at the end of the data. Returns the number of bytes in which no record was found.
    virtual uint64_t finish() = 0;
};

// Returns a field with the number; an empty field for nullopt.
template <typename T>
exporter::Value value_of(const std::optional<T> &number)
{
    return number ? exporter::Value(uint64_t{*number}) : exporter::Value();
}

// Returns a field with the text; an empty field for an empty text.
inline exporter::Value value_of(std::string_view text)
{
    return text.empty() ? exporter::Value() : exporter::Value(text);
}

// Returns a field with a process or thread. The kernel records -1 for a task that has exited.
inline exporter::Value task_value(const std::optional<uint32_t> &number)
{
    return number != UINT32_MAX ? value_of(number) : exporter::Value();
}

}  // namespace pmukit::cli
