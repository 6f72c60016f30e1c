// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/kernel_symbols.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/file.hpp"
#include "base/notes.hpp"
#include "base/number.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "session/elf_file.hpp"
#include "session/functions.hpp"

namespace pmukit::cli {
namespace {

// Address of a module (without brackets) of the running kernel, from /proc/modules, whose lines are
// "name bytes users others state address". nullopt: it is not loaded, or addresses are hidden.
std::optional<uint64_t> address_of_module(const std::string &root, std::string_view module)
{
    std::ifstream modules(root + "/proc/modules");
    for (std::string line; std::getline(modules, line);) {
        std::istringstream words(line);
        std::string name, bytes, users, others, state, address;
        if (!(words >> name >> bytes >> users >> others >> state >> address) || name != module)
            continue;
        const Result<uint64_t> begin = parse_u64(address);
        return begin && *begin != 0 ? std::optional(*begin) : std::nullopt;
    }
    return std::nullopt;
}

// True if the object is a KSYMBOL, which is its own name; other objects are a path or in brackets.
bool is_symbol(std::string_view path)
{
    return !path.empty() && path[0] != '/' && path[0] != '[';
}

// Distance to the address in the table of the symbol after which the map of the kernel is named.
// The file offset of this map is the address of the symbol on the recorded machine.
std::optional<uint64_t> distance_to(const SymbolTable &table, std::string_view path,
                                    uint64_t address)
{
    const auto there = table.address_of(path.substr(kKernelObject.size()));
    return there ? std::optional(*there - address) : std::nullopt;
}

}  // namespace

// Build ids

Bytes RecordedBuildIds::find(std::string_view path)
{
    const std::optional<Bytes> content =
        ids_.empty() ? reader_.feature(perfdata::kFeatBuildId) : std::nullopt;
    const auto ids = content ? perfdata::parse_build_ids(*content, reader_.order()) : std::nullopt;
    for (const perfdata::BuildIdRecord &id : ids.value_or(std::vector<perfdata::BuildIdRecord>()))
        ids_.try_emplace(std::string(id.path), id.build_id.begin(), id.build_id.end());
    const auto known = ids_.find(path);
    return known == ids_.end() ? Bytes() : Bytes(known->second);
}

std::string kept_path(Bytes build_id)
{
    const std::string hex = hex_of(build_id);
    return "/.debug/.build-id/" + hex.substr(0, 2) + '/' +
           hex.substr(std::min<size_t>(2, hex.size()));
}

// Modules

std::string module_name(std::string_view path)
{
    const std::string_view file = base_name(path);
    const size_t end = file.find(".ko");
    if (end == file.npos || file.starts_with('['))
        return std::string(path);
    std::string name = '[' + std::string(file.substr(0, end)) + ']';
    std::ranges::replace(name, '-', '_');
    return name;
}

// Kernel

KernelSymbols::KernelSymbols(const perfdata::Reader &reader, std::optional<SymbolTable> copy,
                             std::string root)
    : reader_(reader), build_ids_(reader), copy_(std::move(copy)), root_(std::move(root))
{
    if (const Result<std::string> notes = read_small_file(root_ + "/sys/kernel/notes")) {
        const Bytes id = build_id_of_notes(as_bytes(*notes));
        own_id_.assign(id.begin(), id.end());
    }
}

Bytes KernelSymbols::build_id_of(const Threads::Object &kernel)
{
    return kernel.build_id.empty() ? build_ids_.find(kKernelObject) : Bytes(kernel.build_id);
}

bool KernelSymbols::is_running(const Threads &threads)
{
    return !own_id_.empty() &&
           std::ranges::any_of(threads.objects(), [this](const Threads::Object &object) {
               const Bytes id =
                   object.path.starts_with(kKernelObject) ? build_id_of(object) : Bytes();
               return !id.empty() && same_build(id, own_id_);
           });
}

bool KernelSymbols::is_of_this_host() const
{
    utsname name{};
    return ::uname(&name) == 0 && reader_.hostname() == name.nodename &&
           reader_.os_release() == name.release;
}

const SymbolTable *KernelSymbols::running()
{
    if (!running_) {
        Result<std::optional<SymbolTable>> read = read_kallsyms(root_ + "/proc/kallsyms");
        running_.emplace(read ? std::move(*read) : std::nullopt);
    }
    return *running_ ? &**running_ : nullptr;
}

const SymbolTable *KernelSymbols::kept_by_perf(Bytes build_id)
{
    const char *const home = std::getenv("HOME");
    const auto [at, fresh] =
        kept_.try_emplace(std::vector<std::byte>(build_id.begin(), build_id.end()));
    if (fresh && home && !build_id.empty())
        if (Result<std::optional<SymbolTable>> read =
                read_kallsyms(home + kept_path(build_id) + "/kallsyms"))
            at->second = std::move(*read);
    return at->second ? &*at->second : nullptr;
}

KernelSymbols::Source KernelSymbols::source_of_core(const Threads::Object &kernel, uint64_t address)
{
    const auto from = [&](const SymbolTable *table) {
        return Source{table, distance_to(*table, kernel.path, address).value_or(0)};
    };
    if (copy_)
        return from(&*copy_);
    const Bytes id = build_id_of(kernel);
    const bool may_run =
        id.empty() ? is_of_this_host() : same_build(id, own_id_) && !own_id_.empty();
    if (const SymbolTable *table = may_run ? running() : nullptr)
        if (const auto moved = distance_to(*table, kernel.path, address);
            moved && (!id.empty() || *moved == 0))
            return {table, *moved};
    const SymbolTable *const kept = kept_by_perf(id);
    return kept ? from(kept) : Source();
}

KernelSymbols::Source KernelSymbols::source_of_module(const Threads &threads, std::string_view path,
                                                      uint64_t begin)
{
    if (copy_)
        return {&*copy_, 0};
    const std::string name = module_name(path);
    const bool is_module = name.size() > 2 && name.starts_with('[') && name.ends_with(']');
    const bool is_there =
        is_module && (is_running(threads) || is_of_this_host()) &&
        address_of_module(root_, std::string_view(name).substr(1, name.size() - 2)) == begin;
    return {is_there ? running() : nullptr, 0};
}

KernelSymbols::Source KernelSymbols::source_of(const Threads &threads, const Threads::Place &place,
                                               uint64_t begin)
{
    const Threads::Object &object = threads.objects()[place.object];
    return object.path.starts_with(kKernelObject) ? source_of_core(object, place.map_offset)
                                                  : source_of_module(threads, object.path, begin);
}

std::optional<SymbolTable::Found> KernelSymbols::locate(const Threads &threads,
                                                        const std::optional<Threads::Place> &place,
                                                        uint64_t ip)
{
    if (!place)
        return copy_ ? copy_->locate(ip) : std::nullopt;
    const std::string_view path = threads.objects()[place->object].path;
    const uint64_t offset = place->file_offset - place->map_offset;
    if (is_symbol(path))
        return SymbolTable::Found{path, offset};
    const uint64_t begin = ip - offset;
    const auto [at, fresh] = sources_.try_emplace({place->object, begin});
    if (fresh)
        at->second = source_of(threads, *place, begin);
    const auto &[table, moved] = at->second;
    return table ? table->locate(ip + moved) : std::nullopt;
}

Result<std::optional<SymbolTable>> read_kallsyms(const std::string &path)
{
    if (path.empty())
        return std::optional<SymbolTable>();
    const Result<Fd> fd = open_for_reading(path, Readable::kPipeAlso);
    if (!fd)
        return fd.error();
    Kallsyms kallsyms;
    std::vector<char> chunk(65536);
    ssize_t got = 1;
    while (got) {
        got = ::read(fd->get(), chunk.data(), chunk.size());
        if (got < 0 && errno != EINTR)
            return system_error(path, errno);
        kallsyms.add({chunk.data(), got > 0 ? static_cast<size_t>(got) : 0});
    }
    Result<SymbolTable> table = kallsyms.finish();
    if (!table)
        return Error{table.error().code, path + ": " + table.error().message};
    return std::optional<SymbolTable>(std::move(*table));
}

}  // namespace pmukit::cli
