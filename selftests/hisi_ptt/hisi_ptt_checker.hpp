// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the packets of a recording with the model's packet logs: the packets that became
// entries, and of all packets seen those that should have. The recording is read from the output
// of `pmukit dump --tlp`, or as in hisi_ptt_entries.hpp. Shares no code with decoder or model. The
// logs: tools/models/hisi_ptt/tlp_log.hpp and run_logs.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::checker::hisi_ptt {

// A packet as both sides can tell it.
struct Tlp {
    std::string kind;       // MRd, MWr, CfgRd, CfgWr, Cpl, CplD
    std::string requester;  // 01:00.0
    std::string other;      // completer, or whose configuration
    std::string status;     // of a completion
    std::string pasid;      // as it is written; empty without
    uint64_t tag = 0;
    uint64_t ticks = 0;    // as many bits of the time as the format keeps
    uint64_t address = 0;  // of the first byte; of a completion 7 bits; a register
    uint64_t bytes = 0;    // sent or asked for; of a completion what was still to come
    uint64_t dwords = 0;   // of a completion's data

    bool operator==(const Tlp &) const = default;
};

std::string text_of(const Tlp &tlp);

// What byte enables say of a request's first byte and length.
void count_enabled(uint64_t first, uint64_t last, uint64_t dwords, Tlp &tlp);

// The packets that a trace is configured to take.
struct Selection {
    unsigned format_dwords = 8;
    unsigned direction = 0;
    unsigned types = 0;  // bits: posted, non-posted, completion
    bool by_requester = false;
    unsigned target = 0;  // mask of ports, or a requester id
    uint64_t tick_ns = 1;
};

// A line of the model's packet log.
struct Seen {
    uint64_t time_ns = 0;
    bool inbound = false;
    std::string flow;  // P, NP, CPL
    std::string port;
    Tlp tlp;  // ticks not filled in
    bool lost = false;
};

// A trace from its start to its stop.
struct Trace {
    Selection selection;
    uint64_t start_ns = 0;
    uint64_t stop_ns = ~uint64_t{0};
    std::vector<Seen> packets;
};

Result<std::vector<Trace>> read_traced(std::string_view text);
Result<std::vector<Seen>> read_seen(std::string_view text);
// In the order of the text.
Result<std::vector<Tlp>> read_dump(std::string_view text);

bool takes(const Selection &selection, const Seen &seen);

// As a decoder of the run's format can know them.
std::vector<Tlp> logged(const Trace &run, const std::vector<Seen> &packets);
std::vector<Seen> ought_to_be_taken(const Trace &run, const std::vector<Seen> &seen);

// One line naming the first place where they differ; nothing when they are the same.
std::optional<std::string> difference(const std::vector<Tlp> &expected,
                                      const std::vector<Tlp> &found);

// The packets of consecutive traces, for a recording that holds all of them.
std::vector<Tlp> logged_of_all(std::span<const Trace> runs);

// A decoder unwraps times; what the format kept of them is compared.
void cut_times(unsigned format_dwords, std::vector<Tlp> &tlps);

}  // namespace pmukit::checker::hisi_ptt
