// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Live records of trace events on every CPU, through BPF programs and one ring. Nothing is written
// to the trace buffer. Other users of tracing are not affected: the programs let every record pass.
// Documentation/decisions/0012-live-records.rst says why the programs are assembled here.
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
    // event: index of its format in attach(). The record has the layout that tracefs describes and
    // is valid during the call; its first eight bytes are zero.
    using Sink = std::function<void(size_t event, Bytes record)>;

    // Error: the kernel, the user or this build cannot use BPF.
    static Result<BpfTap> attach(const std::vector<TraceFormat> &formats, Sink sink);
    BpfTap(BpfTap &&) noexcept;
    BpfTap &operator=(BpfTap &&) = delete;
    ~BpfTap();

    // Readable when records are available.
    int fd() const;
    // Passes the available records to the sink. The number of records per call is limited, so that
    // records that arrive during the call may be passed by the next one.
    Result<void> take();
    // Records that did not fit into the ring or were too long.
    uint64_t lost() const;

private:
    struct State;
    explicit BpfTap(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::record
