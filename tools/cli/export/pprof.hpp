// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Stacks as profile.proto of github.com/google/pprof. A sample has the number of samples, and per
// event the events that they represent; labels are the task's name and numbers. Fields of the
// profile are written as soon as they are known, because a reader concatenates repeated fields. If
// the names exceed kMostBytes, they are forgotten, and locations that follow have new ids.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/export/stacks.hpp"
#include "export/protobuf.hpp"

namespace pmukit::cli {

class Pprof final : public StackWriter {
public:
    // True if the first bytes of a file are those of a profile that this class wrote.
    static bool is_one(std::string_view front);
    static Result<std::unique_ptr<StackWriter>> make(const ExportOptions &options,
                                                     const Recording &recording, Names &names);
    using StackWriter::StackWriter;

    Result<void> finish() override;

private:
    // Ids of messages by their content.
    struct Ids {
        std::map<std::string, uint64_t, std::less<>> of;
        uint64_t last = 0;
    };

    void begin(const std::vector<bool> &wanted);
    void put(uint32_t field, const exporter::Message &message);
    void put_label(std::string_view key, std::string_view text, uint64_t number,
                   exporter::Message &sample);
    // These return the id of a message, and write the message if it has none yet.
    std::pair<uint64_t, bool> id_of(Ids &ids, std::string_view content);
    uint64_t text_id(std::string_view text);
    uint64_t function_id(std::string_view name);
    uint64_t mapping_id(const std::string &object);
    uint64_t location_id(const Stack &stack, const StackFrame &at, const Seen &seen,
                         Explainer &explainer);
    void forget();
    void write(const Stack &stack, const Seen &seen, Explainer &explainer) override;

    Ids texts_, functions_, mappings_, locations_;
    size_t id_bytes_ = 0;  // approximate size of the maps in Ids
    // Index of the event's value in a sample.
    std::map<size_t, size_t> value_of_event_;
    std::vector<uint64_t> values_, locations_of_stack_;
};

}  // namespace pmukit::cli
