// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/flood.hpp"

#include <algorithm>

#include "models/hisi_ptt/key_values.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kPauseNs = 100'000;  // interval between bursts

constexpr Key<FloodParams> kKeys[] = {
    {"rate", &FloodParams::rate, 1, 1'000'000'000},
    {"count", &FloodParams::count, 0, ~uint64_t{0}},
    {"burst", &FloodParams::burst, 1, 1u << 24},
};

}  // namespace

Result<FloodParams> parse_flood(std::string_view text)
{
    return parse_keys<FloodParams>("--flood", text, kKeys);
}

void Flood::start(uint64_t now_ns)
{
    running_ = true;
    made_ = made_since_ = 0;
    start_ns_ = now_ns;
}

uint64_t Flood::due_ns() const
{
    return start_ns_ + made_since_ * kNsPerSecond / params_.rate;
}

std::optional<uint64_t> Flood::next_ns() const
{
    if (!running_)
        return std::nullopt;
    const uint64_t after_ns = due_ns() - start_ns_;
    return start_ns_ + (after_ns + kPauseNs - 1) / kPauseNs * kPauseNs;
}

void Flood::run_until(uint64_t now_ns, const std::function<void(const Packets &)> &sink)
{
    if (!running_ || now_ns < due_ns())
        return;
    const uint64_t whole_seconds = (now_ns - start_ns_) / kNsPerSecond;
    const uint64_t rest_ns = (now_ns - start_ns_) % kNsPerSecond;
    const uint64_t due =
        whole_seconds * params_.rate + rest_ns * params_.rate / kNsPerSecond + 1 - made_since_;
    uint64_t count = std::min(due, params_.burst);
    if (params_.count != 0)
        count = std::min(count, params_.count - made_);
    const uint64_t first = made_;
    made_ += count;
    made_since_ += count;
    // Restarts the clock each second and after a delay, so that a late flood does not catch up.
    if (count < due || whole_seconds != 0) {
        start_ns_ = now_ns;
        made_since_ = 0;
    }
    running_ = params_.count == 0 || made_ < params_.count;
    sink({first, count, now_ns});
}

}  // namespace pmukit::models::hisi_ptt
