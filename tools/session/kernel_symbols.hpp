// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names addresses in the kernel: from the copy of /proc/kallsyms that the user names; otherwise, if
// the recording is of the kernel that runs on this machine, from /proc/kallsyms; otherwise from the
// copy that perf record keeps in $HOME/.debug.
//
// The recording is of the running kernel if the build ids are the same. If the recording has no
// build id of the kernel, the name of the host, the release, and the address of the kernel, which
// is random at each boot, must all be the same. The core of the kernel may be at another address
// than now. A module is loaded at an address of its own, so it must be there still.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "perfdata/reader.hpp"
#include "session/symbols.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

constexpr std::string_view kKernelObject = "[kernel.kallsyms]";

// Build ids by path, from the header of a recording. In pipe layout they arrive late.
class RecordedBuildIds {
public:
    explicit RecordedBuildIds(const perfdata::Reader &reader) : reader_(reader) {}
    // Empty: the header has none, or not yet.
    Bytes find(std::string_view path);

private:
    const perfdata::Reader &reader_;
    std::map<std::string, std::vector<std::byte>, std::less<>> ids_;
};

class KernelSymbols {
public:
    // copy: from --kallsyms; nullopt: there is none. root: folder that has /proc and /sys; empty:
    // this machine. The reader must outlive this object.
    KernelSymbols(const perfdata::Reader &reader, std::optional<SymbolTable> copy,
                  std::string root = {});

    // Symbol at the address ip of the kernel. place: its map; nullopt: none is recorded.
    std::optional<SymbolTable::Found> locate(const Threads &threads,
                                             const std::optional<Threads::Place> &place,
                                             uint64_t ip);
    // True if the recording has the build id of the kernel that runs on this machine.
    bool is_running(const Threads &threads);
    // True if the symbols of the running kernel were needed, but this user may not read them.
    bool is_hidden() const { return running_ && !*running_; }

private:
    // Where the symbols of a map are, and the distance from its addresses to those of the symbols.
    struct Source {
        const SymbolTable *table = nullptr;  // nullptr: nowhere
        uint64_t moved = 0;
    };
    Source source_of(const Threads &threads, const Threads::Place &place, uint64_t begin);
    Source source_of_core(const Threads::Object &kernel, uint64_t address);
    Source source_of_module(const Threads &threads, std::string_view path, uint64_t begin);
    Bytes build_id_of(const Threads::Object &kernel);
    const SymbolTable *running();
    const SymbolTable *kept_by_perf(Bytes build_id);
    bool is_of_this_host() const;

    const perfdata::Reader &reader_;
    RecordedBuildIds build_ids_;
    std::optional<SymbolTable> copy_;
    std::string root_;
    std::vector<std::byte> own_id_;                      // of the running kernel
    std::optional<std::optional<SymbolTable>> running_;  // read when they are needed first
    std::map<std::vector<std::byte>, std::optional<SymbolTable>> kept_;  // by build id
    std::map<std::pair<size_t, uint64_t>, Source> sources_;  // by object and start of the map
};

// Reads a copy of /proc/kallsyms; nullopt for an empty path.
Result<std::optional<SymbolTable>> read_kallsyms(const std::string &path);

// Module name as perf prints it: [nf_tables] for
// /lib/modules/6.12/kernel/net/netfilter/nf-tables.ko.xz
std::string module_name(std::string_view path);

// Path below $HOME of what perf record keeps of a build: /.debug/.build-id/01/23456789
std::string kept_path(Bytes build_id);

}  // namespace pmukit::cli
