// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads a trace of Perfetto in tests, by the numbers of its fields in protos/perfetto/trace/
// (github.com/google/perfetto).
#pragma once

#ifdef PMUKIT_ZLIB
#include <zlib.h>
#endif

#include <fmt/core.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/tests/wire_fields.hpp"

namespace pmukit::cli::testing {

struct TraceEvent {
    std::string category, name;
    uint64_t time_ns = 0;
    uint64_t type = 0;   // TrackEvent.Type: 3 instant, 4 counter
    uint64_t track = 0;  // uuid
    uint64_t value = 0;  // of a counter
    std::map<std::string, std::string> args;
};

struct PerfettoTraceFile {
    std::map<uint64_t, std::string> tracks;  // uuid -> name
    std::set<uint64_t> counters;             // uuids of counter tracks
    std::map<uint64_t, uint64_t> parents;
    std::vector<TraceEvent> events;
};

class TraceReader {
public:
    static PerfettoTraceFile read(std::string_view bytes)
    {
        TraceReader reader;
        reader.packets(bytes);
        return std::move(reader.file_);
    }

private:
    void packets(std::string_view bytes)
    {
        for (const WireField &field : wire_fields(bytes)) {
            EXPECT_EQ(field.number, 1U);
            packet(wire_fields(field.text));
        }
    }

    void packet(const std::vector<WireField> &fields)
    {
        uint64_t time_ns = 0;
        for (const WireField &field : fields) {  // those that the event refers to
            if (field.number == 8)
                time_ns = field.value;
            if (field.number == 13 && field.value & 1)
                names_.clear();
        }
        for (const WireField &field : fields)
            if (field.number == 12)
                names(wire_fields(field.text));
        for (const WireField &field : fields) {
            if (field.number == 50)
                packets(inflated(field.text));
            if (field.number == 60)
                descriptor(wire_fields(field.text));
            if (field.number == 11)
                event(time_ns, wire_fields(field.text));
        }
    }

    static std::string inflated([[maybe_unused]] std::string_view packed)
    {
        std::string bytes(size_t{1} << 20, '\0');
#ifdef PMUKIT_ZLIB
        uLongf size = bytes.size();
        EXPECT_EQ(::uncompress(reinterpret_cast<Bytef *>(bytes.data()), &size,
                               reinterpret_cast<const Bytef *>(packed.data()), packed.size()),
                  Z_OK);
        bytes.resize(size);
#else
        ADD_FAILURE() << "compressed, but built without zlib";
#endif
        EXPECT_LT(packed.size(), size_t{512} << 10);
        return bytes;
    }

    void names(const std::vector<WireField> &fields)
    {
        for (const WireField &kind : fields) {
            uint64_t id = 0;
            std::string text;
            for (const WireField &field : wire_fields(kind.text))
                (field.number == 1 ? void(id = field.value) : void(text = field.text));
            EXPECT_TRUE(names_.emplace(std::pair(kind.number, id), text).second) << text;
        }
    }

    std::string name(uint64_t kind, uint64_t id) const
    {
        const auto found = names_.find({kind, id});
        if (found != names_.end())
            return found->second;
        ADD_FAILURE() << "no name " << id << " of kind " << kind;
        return {};
    }

    void descriptor(const std::vector<WireField> &fields)
    {
        uint64_t uuid = 0, parent = 0;
        std::string text;
        bool is_counter = false;
        for (const WireField &field : fields) {
            if (field.number == 1)
                uuid = field.value;
            if (field.number == 2)
                text = field.text;
            if (field.number == 5)
                parent = field.value;
            is_counter |= field.number == 8;
            if (field.number == 3 || field.number == 4)
                for (const WireField &part : wire_fields(field.text))
                    if (part.number == (field.number == 3 ? 6 : 5))
                        text = part.text;
        }
        EXPECT_TRUE(file_.tracks.emplace(uuid, text).second) << text;
        if (parent) {
            EXPECT_TRUE(file_.tracks.contains(parent)) << text;
            file_.parents[uuid] = parent;
        }
        if (is_counter)
            file_.counters.insert(uuid);
    }

    void event(uint64_t time_ns, const std::vector<WireField> &fields)
    {
        TraceEvent event;
        event.time_ns = time_ns;
        for (const WireField &field : fields) {
            if (field.number == 3)
                event.category = name(1, field.value);
            if (field.number == 10)
                event.name = name(2, field.value);
            if (field.number == 9)
                event.type = field.value;
            if (field.number == 11)
                event.track = field.value;
            if (field.number == 30)
                event.value = field.value;
            if (field.number == 4)
                event.args.insert(annotation(wire_fields(field.text)));
        }
        EXPECT_TRUE(file_.tracks.contains(event.track)) << event.name;
        EXPECT_EQ(file_.counters.contains(event.track), event.type == 4) << event.name;
        file_.events.push_back(std::move(event));
    }

    std::pair<std::string, std::string> annotation(const std::vector<WireField> &fields) const
    {
        std::pair<std::string, std::string> arg;
        for (const WireField &field : fields) {
            if (field.number == 1)
                arg.first = name(3, field.value);
            if (field.number == 3)
                arg.second = std::to_string(field.value);
            if (field.number == 7)
                arg.second = fmt::format("{:#x}", field.value);
            if (field.number == 17)
                arg.second = name(29, field.value);
        }
        return arg;
    }

    PerfettoTraceFile file_;
    // Kind (the field of InternedData) and number -> name.
    std::map<std::pair<uint64_t, uint64_t>, std::string> names_;
};

}  // namespace pmukit::cli::testing
