// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Folded stacks, the input of flame graphs: one line per stack, "command;outermost;...;innermost
// SAMPLES". Kernel functions end in _[k], inlined functions in _[i]. A frame without a symbol is
// its program or library, such as [libc.so.6], or [unknown]. Stacks come from samples of trace_imc
// (one function each) and from ordinary samples. Up to two frames precede the command:
// "source=model" if the device is emulated, and the event if events of several names were recorded.
// Each of them starts a separate graph.
//
// Stacks are counted by their addresses (stacks.hpp). Symbols replace the addresses as late as
// possible, because in a pipe maps can follow the samples that need them: at the end, or when the
// counted stacks exceed kMostBytes. Lines are written when they exceed kMostBytes, so a stack can
// have a second line later.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "cli/export/stacks.hpp"

namespace pmukit::cli {

class Folded final : public StackWriter {
public:
    // True if the first bytes of a file are lines of folded stacks.
    static bool is_one(std::string_view front);
    static Result<std::unique_ptr<StackWriter>> make(const ExportOptions &options,
                                                     const Recording &recording, Names &names);
    using StackWriter::StackWriter;

    Result<void> finish() override;

private:
    void look_at_events();
    const std::string &outermost(size_t event);
    void put_frame(const Stack &stack, const StackFrame &at, const Seen &seen, Explainer &explainer,
                   std::string &line);
    std::string line_of(const Stack &stack, const Seen &seen, Explainer &explainer);
    void write(const Stack &stack, const Seen &seen, Explainer &explainer) override;
    void write_lines();

    std::set<std::string> event_names_;  // at most two, to detect that there are several
    // Frames that precede the frame of the command: source and event. The key is the event number.
    std::map<size_t, std::string> outermost_;
    std::map<std::string, uint64_t> lines_;
    size_t line_bytes_ = 0;  // approximate
};

}  // namespace pmukit::cli
