// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Formats of stacks: equal stacks of a task are counted before they are written. These formats are
// not in tools/export, because stacks are not rows.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "cli/export/driver_export.hpp"
#include "cli/export/export.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"
#include "session/functions.hpp"

namespace pmukit::cli {

class StackWriter : public exporter::Writer, public StackSink {
public:
    // `names` has the names of functions, and must outlive this object.
    StackWriter(exporter::TextFile file, const Recording &recording, Names &names)
        : file_(std::move(file)), recording_(recording), names_(names)
    {
    }

    // `threads` has the tasks and their maps, and must outlive this object.
    void name_by(const Threads &threads) { threads_ = &threads; }
    void rows(const exporter::Table &, exporter::Values, exporter::Values) override {}
    void stack(const StackSample &sample) override;
    void before_forgetting() override { write_stacks(); }
    const Result<void> &state() const override { return file_.state(); }
    // Number of written stacks and their samples. Valid after finish().
    size_t stacks() const { return written_; }
    uint64_t samples() const { return samples_; }

protected:
    struct Stack {
        size_t event;
        uint32_t pid, tid;
        uint64_t since_ns;  // time at which the task got its name and program
        std::vector<StackFrame> frames;
        auto operator<=>(const Stack &) const = default;
    };
    struct Seen {
        uint64_t samples = 0, period = 0, first_ns = 0;
    };

    static constexpr size_t kMostBytes = limits::kStacks / 2;  // for each table of stacks or names
    static constexpr size_t kNodeBytes = 64;  // estimated overhead of a map node, in bytes

    // Calls write() with each stack, and forgets them.
    void write_stacks();
    virtual void write(const Stack &stack, const Seen &seen, Explainer &explainer) = 0;

    const Recording &recording() const { return recording_; }
    const Threads &threads() const { return *threads_; }
    // Name of the task when it had this stack; "[unknown]" if there is none.
    std::string_view command(const Stack &stack, const Seen &seen) const;
    // Returns the frames of an address of the stack, and counts them.
    const NamedFrames &explain(const Stack &stack, const StackFrame &at, const Seen &seen,
                               Explainer &explainer);

    exporter::TextFile file_;
    size_t written_ = 0;

private:
    const Recording &recording_;
    Names &names_;
    const Threads *threads_ = nullptr;
    std::map<Stack, Seen> stacks_;
    size_t stack_bytes_ = 0;  // approximate
    uint64_t samples_ = 0;
};

// Name of a frame without a symbol, as in stackcollapse-perf.pl: [libc.so.6], [unknown]. It has no
// address, so that such frames of a flame graph are one.
std::string nameless_frame(decode::imc::Mode mode, const std::string &object);

struct StackFormat {
    std::string_view name;
    std::string_view meaning;  // the text for --help
    Result<std::unique_ptr<StackWriter>> (*make)(const ExportOptions &options,
                                                 const Recording &recording, Names &names);
    bool (*is_one)(std::string_view front);  // see exporter::Format
};
std::span<const StackFormat> stack_formats();
// Returns nullptr if no format of stacks has this name.
const StackFormat *find_stack_format(std::string_view name);

}  // namespace pmukit::cli
