// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/message_path.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

constexpr unsigned kVector = 0;  // the only vector

}  // namespace

void MessagePath::raise(unsigned)
{
    if (++merged_ < params_.merge)
        return;
    merged_ = 0;
    under_way_.push_back(host_.now_ns());
    const bool waits_for_time_only = params_.late == 0 && params_.late_ns != 0;
    if (!waits_for_time_only && under_way_.size() > params_.late)
        arrive();
}

void MessagePath::arrive()
{
    under_way_.pop_front();
    if (params_.lose_every != 0 && ++due_ % params_.lose_every == 0)
        return;
    arrived_++;
    host_.raise(kVector);
}

void MessagePath::trace_begins()
{
    under_way_.clear();
    merged_ = 0;
    due_ = 0;
}

std::optional<uint64_t> MessagePath::next_deadline_ns() const
{
    if (params_.late_ns == 0 || under_way_.empty())
        return std::nullopt;
    return under_way_.front() + params_.late_ns;
}

void MessagePath::advance(uint64_t now_ns)
{
    for (auto due_ns = next_deadline_ns(); due_ns && *due_ns <= now_ns; due_ns = next_deadline_ns())
        arrive();
}

}  // namespace pmukit::models::hisi_ptt
