// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records of trace events as they happen, on every CPU, through BPF programs and one ring: nothing
// is written to the trace buffer, and other users of tracing are not disturbed: the programs let
// every record pass. Documentation/decisions/0012-live-records.rst says why they are assembled
// here.
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
    // event: index of its format in attach(). The record, as tracefs describes it, is borrowed for
    // the call; its first eight bytes are nothing.
    using Sink = std::function<void(size_t event, Bytes record)>;

    // Error: this kernel, this user or this build has no BPF.
    static Result<BpfTap> attach(const std::vector<TraceFormat> &formats, Sink sink);
    BpfTap(BpfTap &&) noexcept;
    BpfTap &operator=(BpfTap &&) = delete;
    ~BpfTap();

    // Readable when there are records.
    int fd() const;
    // Hands the records that are there to the sink. Those that come meanwhile may have to wait for
    // the next call: it ends however fast they come.
    Result<void> take();
    // Records that did not fit into the ring.
    uint64_t lost() const;

private:
    struct State;
    explicit BpfTap(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::record
