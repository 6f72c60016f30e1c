// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Makes two comparisons: the packets of a recording with the model's log of packets that became
// entries; and this log with the packets that should have become entries, which are selected from
// the model's log of all packets. The recording is the output of `pmukit dump --tlp`, or is read by
// hisi_ptt_entries.hpp. Shares no code with the decoder or the model. The logs are described in
// tools/models/hisi_ptt/tlp_log.hpp and run_logs.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::checker::hisi_ptt {

// A packet, with the fields that the recording and the logs have in common
struct Tlp {
    std::string kind;       // MRd, MWr, CfgRd, CfgWr, Cpl, CplD
    std::string requester;  // 01:00.0
    std::string other;      // completer, or target of a configuration request
    std::string status;     // completion status
    std::string pasid;      // as in the text; empty: the packet has no PASID
    uint64_t tag = 0;
    uint64_t ticks = 0;  // the time, with only the bits that an entry has
    // Memory request: address of the first byte. Completion: the Lower Address field (7 bits).
    // Configuration request: register number.
    uint64_t address = 0;
    // Request: number of bytes to read or write. Completion: the Byte Count field.
    uint64_t bytes = 0;
    uint64_t dwords = 0;  // length of a completion's data

    bool operator==(const Tlp &) const = default;
};

std::string text_of(const Tlp &tlp);

// Sets a request's address and length from its byte enables.
void count_enabled(uint64_t first, uint64_t last, uint64_t dwords, Tlp &tlp);

// The packets that a trace is configured to record
struct Selection {
    unsigned format_dwords = 8;
    unsigned direction = 0;
    unsigned types = 0;  // bits 0 to 2: posted, non-posted, completion
    bool by_requester = false;
    unsigned target = 0;  // requester ID if by_requester is true, else mask of ports
    uint64_t tick_ns = 1;
};

// A line of the model's packet log.
struct Seen {
    uint64_t time_ns = 0;
    bool inbound = false;
    std::string flow;  // P, NP, CPL
    std::string port;
    Tlp tlp;  // tlp.ticks is not set
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
// Returns the packets in the order of the text.
Result<std::vector<Tlp>> read_dump(std::string_view text);

bool takes(const Selection &selection, const Seen &seen);

// Returns the packets with only those fields that the entries of the run have (4 or 8 dwords).
std::vector<Tlp> logged(const Trace &run, const std::vector<Seen> &packets);
std::vector<Seen> ought_to_be_taken(const Trace &run, const std::vector<Seen> &seen);

// Returns one line about the first difference, or nullopt if there is no difference.
std::optional<std::string> difference(const std::vector<Tlp> &expected,
                                      const std::vector<Tlp> &found);

// Returns the packets of all these traces, for a recording of several consecutive traces.
std::vector<Tlp> logged_of_all(std::span<const Trace> runs);

// Removes the upper bits of all times. Entries of `format_dwords` dwords do not have these bits;
// decoders add them.
void cut_times(unsigned format_dwords, std::vector<Tlp> &tlps);

}  // namespace pmukit::checker::hisi_ptt
