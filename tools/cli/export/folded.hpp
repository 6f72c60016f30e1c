// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Folded stacks, the input of flame graphs: one line per stack, "command;outermost;...;innermost
// SAMPLES". Kernel functions end in _[k], inlined functions in _[i]. A frame without a symbol is
// its program or library, such as [libc.so.6], or [unknown]. Stacks come from samples of trace_imc
// (one function each) and from ordinary samples. Up to two frames precede the command:
// "source=model" if the device is emulated, and the event if events of several names were recorded.
// Each of them starts a separate graph.
//
// Stacks are counted by their addresses. Symbols replace the addresses as late as possible, because
// in a pipe maps can follow the samples that need them: at the end, or when the counted stacks
// exceed kMostBytes. Lines are written when they exceed kMostBytes, so a stack can have a second
// line later.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "cli/export/driver_export.hpp"
#include "cli/export/export.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"
#include "session/functions.hpp"

namespace pmukit::cli {

class Folded final : public exporter::Writer, public StackSink {
public:
    // True if the first bytes of a file are lines of folded stacks.
    static bool is_one(std::string_view front);
    // `names` has the names of functions, and must outlive this object.
    static Result<std::unique_ptr<Folded>> make(const ExportOptions &options,
                                                const Recording &recording, Names &names);
    Folded(exporter::TextFile file, const Recording &recording, Names &names)
        : file_(std::move(file)), recording_(recording), names_(names)
    {
    }

    // `threads` has the tasks and their maps, and must outlive this object.
    void name_by(const Threads &threads) { threads_ = &threads; }
    void rows(const exporter::Table &, exporter::Values, exporter::Values) override {}
    void stack(const StackSample &sample) override;
    const Result<void> &state() const override { return file_.state(); }
    Result<void> finish() override;
    // Valid after finish():
    size_t stacks() const { return written_; }
    uint64_t samples() const { return samples_; }

private:
    struct Stack {
        size_t event;
        uint32_t pid, tid;
        uint64_t since_ns;  // time at which the task got its name and program
        std::vector<StackFrame> frames;
        auto operator<=>(const Stack &) const = default;
    };
    struct Seen {
        uint64_t samples = 0, first_ns = 0;
    };

    // Limit for each of stacks_ and lines_.
    static constexpr size_t kMostBytes = limits::kStacks / 2;

    void look_at_events();
    const std::string &outermost(size_t event);
    void put_frame(const Stack &stack, const StackFrame &at, const Seen &seen, Explainer &explainer,
                   std::string &line);
    std::string line_of(const Stack &stack, const Seen &seen, Explainer &explainer);
    void name_stacks();
    void write_lines();

    exporter::TextFile file_;
    const Recording &recording_;
    Names &names_;
    std::set<std::string> event_names_;  // at most two, to detect that there are several
    // Frames that precede the frame of the command: source and event. The key is the event number.
    std::map<size_t, std::string> outermost_;
    const Threads *threads_ = nullptr;
    std::map<Stack, Seen> stacks_;
    std::map<std::string, uint64_t> lines_;
    size_t stack_bytes_ = 0, line_bytes_ = 0;  // approximate
    size_t written_ = 0;
    uint64_t samples_ = 0;
};

}  // namespace pmukit::cli
