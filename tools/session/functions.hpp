// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names the function at an address of a recording, from the recording's maps and, if available, the
// symbols of its programs and of the kernel.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/imc/imc_decode.hpp"
#include "perfdata/reader.hpp"
#include "session/debuginfod.hpp"
#include "session/inlines.hpp"
#include "session/kernel_symbols.hpp"
#include "session/symbols.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

struct Function {
    std::string object, name;  // name: symbol, or object+0xoffset
    bool has_symbol = false;
    decode::imc::Mode mode = decode::imc::Mode::kUser;
    auto operator<=>(const Function &) const = default;
};

std::string_view base_name(std::string_view path);

// An address as perf script prints it.
struct NamedFrame {
    std::string symbol;   // empty: unknown
    uint64_t offset = 0;  // bytes from the start of the symbol
    bool is_inlined = false;
};
struct NamedFrames {
    std::string object;              // empty: unknown
    std::vector<NamedFrame> frames;  // innermost inlined function first, then its callers
};

// Programs of the recording, opened when a sample needs them.
class Programs {
public:
    // symfs: root folder of the programs; empty: /. kernel: whether the recording is of the running
    // kernel, which has the vDSO; nullptr: unknown.
    Programs(const Threads &threads, std::string symfs, const perfdata::Reader &reader,
             KernelSymbols *kernel = nullptr);

    // Name of the symbol at this place; empty: none.
    std::string_view find(const Threads::Place &place);
    // Frames of a user address; valid until the next call.
    const NamedFrames &frames(const Threads::Place &place);
    // Returns cached frames, valid as in frames(); make() computes them on a cache miss.
    template <typename Make>
    const NamedFrames &kept(size_t object, uint64_t offset, Make make);
    // Opens the file at the recorded path of the program or, if that is another build, the copy
    // that perf record has made in $HOME/.debug, or that of debuginfod. For [vdso], takes that of
    // this process if it is the same build.
    std::optional<ElfFile> open_file(size_t object);
    // Files that exist, but whose build id is not the recorded one.
    const std::vector<std::string> &changed() const { return changed_; }
    // See Debuginfod::trouble().
    std::string debuginfod_trouble() const { return debuginfod_.trouble(); }
    // Files that exceed a limit of memory or work: their names or inlined functions are missing.
    const std::set<std::string> &too_large() const { return too_large_; }

private:
    using Place = std::pair<size_t, uint64_t>;

    bool is_own_vdso(const ElfFile &own, Bytes build_id) const;
    const ElfSymbols *symbols(size_t object);
    Inlines *inlines(size_t object);

    static constexpr size_t kMostRead = size_t{2} << 30, kMostInlines = 16,
                            kMostInlineBytes = size_t{10} << 20;

    const Threads &threads_;
    std::string symfs_;
    RecordedBuildIds build_ids_;
    KernelSymbols *kernel_;
    Debuginfod debuginfod_;
    std::map<size_t, std::optional<ElfSymbols>> opened_;
    std::map<size_t, std::optional<Inlines>> inlines_;
    std::map<Place, NamedFrames> frames_;
    Budget symbols_left_{limits::kSymbols}, frames_left_{limits::kFrames};
    Budget to_read_{kMostRead};  // bytes of symbols and debug information, over all files
    Demangler demangle_;
    std::set<std::string> changed_paths_;
    std::vector<std::string> changed_;
    std::set<std::string> too_large_;
};

template <typename Make>
const NamedFrames &Programs::kept(size_t object, uint64_t offset, Make make)
{
    const Place place(object, offset);
    if (const auto known = frames_.find(place); known != frames_.end())
        return known->second;
    NamedFrames found = make();
    size_t bytes = sizeof(Place) + sizeof found + kNodeBytes + found.object.size();
    for (const NamedFrame &frame : found.frames)
        bytes += sizeof frame + frame.symbol.size();
    if (!frames_left_.take(bytes)) {
        frames_.clear();
        frames_left_ = Budget(limits::kFrames);
        frames_left_.take(bytes);
    }
    return frames_.emplace(place, std::move(found)).first->second;
}

class Explainer {
public:
    Explainer(const Threads &threads, Programs &programs, KernelSymbols &kernel)
        : threads_(threads), programs_(programs), kernel_(kernel)
    {
    }

    Function function_at(uint32_t pid, decode::imc::Mode mode, uint64_t ip, uint64_t time_ns);
    // Valid until the next call. in_kernel: see Threads::find().
    const NamedFrames &frames_at(uint32_t pid, decode::imc::Mode mode, uint64_t ip,
                                 uint64_t time_ns, bool in_kernel = false);

private:
    const NamedFrames &user_frames(const Threads::Place &place, uint64_t ip);
    Function kernel_function(uint64_t ip, uint64_t time_ns);
    NamedFrames kernel_frames(const std::optional<Threads::Place> &place, uint64_t ip) const;

    const Threads &threads_;
    Programs &programs_;
    KernelSymbols &kernel_;
};

// Frames of call chains, as often as samples have them.
struct FrameCounts {
    uint64_t all = 0, nameless = 0, nameless_kernel = 0;
};

// Names for all addresses of a recording. Its programs are opened on the first lookup.
class Names {
public:
    // symfs: see Programs. kernel, root: see KernelSymbols.
    Names(const perfdata::Reader &reader, std::string symfs, std::optional<SymbolTable> kernel,
          std::string root = {})
        : reader_(reader),
          symfs_(std::move(symfs)),
          kernel_(reader, std::move(kernel), std::move(root))
    {
    }

    // threads: the same object in each call.
    Explainer explainer(const Threads &threads);
    Programs &programs(const Threads &threads);
    // Files that exist, but whose build id is not the recorded one.
    std::vector<std::string> changed() const
    {
        return programs_ ? programs_->changed() : std::vector<std::string>();
    }
    // A warning about each of them, for the recording of this path.
    std::vector<std::string> changed_warnings(const std::string &recording) const;
    // Message about debuginfod; empty: none.
    std::string debuginfod_trouble() const
    {
        return programs_ ? programs_->debuginfod_trouble() : std::string();
    }
    // Files that exceed a limit of memory or work.
    std::set<std::string> too_large() const
    {
        return programs_ ? programs_->too_large() : std::set<std::string>();
    }

    // Counts a frame of so many samples.
    void count(decode::imc::Mode mode, const NamedFrames &frame, uint64_t samples);
    const FrameCounts &counts() const { return counts_; }
    // See KernelSymbols::is_hidden().
    bool kernel_is_hidden() const { return kernel_.is_hidden(); }

private:
    const perfdata::Reader &reader_;
    std::string symfs_;
    KernelSymbols kernel_;
    FrameCounts counts_;
    std::optional<Programs> programs_;
};

}  // namespace pmukit::cli
