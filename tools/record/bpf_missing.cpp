// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Replaces bpf_tap.cpp in a build without libbpf.
#include "record/bpf_tap.hpp"

namespace pmukit::record {

struct BpfTap::State {};

Result<BpfTap> BpfTap::attach(const std::vector<TraceFormat> &, Sink)
{
    return Error{Errc::kUnsupported, "this pmukit was built without libbpf"};
}

BpfTap::BpfTap(std::unique_ptr<State> state) : state_(std::move(state)) {}
BpfTap::BpfTap(BpfTap &&) noexcept = default;
BpfTap::~BpfTap() = default;

int BpfTap::fd() const
{
    return -1;
}

Result<void> BpfTap::take()
{
    return {};
}

uint64_t BpfTap::lost() const
{
    return 0;
}

}  // namespace pmukit::record
