// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The hot lists of all cxl_hmu events of a recording, for commands that need nothing else.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "session/recording.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {

// 2^log2; nullopt: it is unknown, or a record has an invalid value.
std::optional<uint64_t> known_power(std::optional<unsigned> log2);
// log2 of the unit size that the event asks for, by the term hotness_granual in its name or else in
// its attributes: records of the CXL HMU RFC do not have it. nullopt: the event does not say it.
std::optional<unsigned> asked_unit_log2(const Recording &recording, size_t event);
// Returns a warning about units that the list left out because of its limit; an empty text if it
// left out none.
std::string left_out_text(const decode::cxl_hmu::HotList &list);

// What the columns "share" and "sum" are parts of.
constexpr const char *kShareOfHot =
    "share and sum are parts of what the device reported, which is above hotness_threshold; sum "
    "is that of the line and the lines above";

class HotLists final : public DriverSink {
public:
    // on_list: called for the new list of an event, before its first record. most_units: see
    // HotList.
    using OnList = std::function<void(size_t event, decode::cxl_hmu::HotList &list)>;
    explicit HotLists(const Recording &recording, OnList on_list = {},
                      size_t most_units = decode::cxl_hmu::HotList::kMostUnits)
        : recording_(&recording), on_list_(std::move(on_list)), most_units_(most_units)
    {
    }
    // For a recording that begins later: call name_by() before the first data.
    HotLists(OnList on_list, size_t most_units)
        : on_list_(std::move(on_list)), most_units_(most_units)
    {
    }
    void name_by(const Recording *recording) { recording_ = recording; }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override;
    void aux(const Stream &stream, Bytes data) override;
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override;
    void sample(const Stream &stream, uint64_t, Bytes words) override;
    // Call at the end of the data.
    void finish();

    const std::map<size_t, decode::cxl_hmu::HotList> &by_event() const { return lists_; }

private:
    decode::cxl_hmu::HotList &list(size_t event);

    const Recording *recording_ = nullptr;
    OnList on_list_;
    size_t most_units_;
    std::map<size_t, decode::cxl_hmu::HotList> lists_;
    StreamMap<decode::cxl_hmu::StreamDecoder> streams_;
};

}  // namespace pmukit::cli
