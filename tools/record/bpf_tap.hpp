// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Receives the records of trace events on every CPU live, through BPF programs and one ring.
// Nothing is written to the trace buffer, and other users of tracing still get every record.
// Documentation/decisions/0012-live-records.rst says why pmukit assembles these programs itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "record/trace_format.hpp"

namespace pmukit::record {

class BpfTap {
public:
    // `event` is the index of the event's format in the argument of attach(). The record has the
    // layout that tracefs describes, and is valid during the call. Its first eight bytes are zero.
    using Sink = std::function<void(size_t event, Bytes record)>;

    // Returns an Error if the kernel, the user's privileges or this build do not allow BPF.
    static Result<BpfTap> attach(const std::vector<TraceFormat> &formats, Sink sink);
    BpfTap(BpfTap &&) noexcept;
    BpfTap &operator=(BpfTap &&) = delete;
    ~BpfTap();

    // Returns a descriptor that is readable when records are available.
    int fd() const;
    // Passes the available records to the sink. One call passes a limited number of records, so a
    // record that arrives during the call may wait for the next call.
    Result<void> take();
    // Returns the number of records that did not fit into the ring or were too long.
    uint64_t lost() const;

private:
    struct State;
    explicit BpfTap(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::record
