// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/functions.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/file.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;

Function nameless(const std::string &object, uint64_t offset, Mode mode)
{
    return {object, fmt::format("{}+{:#x}", base_name(object), offset), false, mode};
}

}  // namespace

std::string_view base_name(std::string_view path)
{
    return path.starts_with('[') ? path : path.substr(path.rfind('/') + 1);
}

Programs::Programs(const Threads &threads, std::string symfs, const perfdata::Reader &reader)
    : threads_(threads), symfs_(std::move(symfs))
{
    const std::optional<Bytes> content = reader.feature(perfdata::kFeatBuildId);
    const auto ids = content ? perfdata::parse_build_ids(*content, reader.order()) : std::nullopt;
    for (const perfdata::BuildIdRecord &id : ids.value_or(std::vector<perfdata::BuildIdRecord>()))
        build_ids_.try_emplace(std::string(id.path), id.build_id);
}

std::string_view Programs::find(const Threads::Place &place)
{
    const auto [at, fresh] = opened_.try_emplace(place.object);
    if (fresh)
        at->second = open(threads_.objects()[place.object]);
    return at->second ? at->second->find(place.file_offset) : std::string_view();
}

std::optional<ElfSymbols> Programs::open(const Threads::Object &object)
{
    if (!object.path.starts_with('/'))
        return std::nullopt;
    Result<ElfSymbols> symbols = ElfSymbols::open(object.path, symfs_);
    if (!symbols)
        return std::nullopt;
    Bytes build_id(object.build_id);
    if (const auto known = build_ids_.find(object.path);
        build_id.empty() && known != build_ids_.end())
        build_id = known->second;
    if (symbols->matches(build_id))
        return std::move(*symbols);
    changed_.push_back(object.path);
    return std::nullopt;
}

Function Explainer::function_at(uint32_t pid, Mode mode, uint64_t ip, uint64_t time_ns)
{
    if (mode == Mode::kKernel)
        return kernel_function(ip, time_ns);
    if (mode != Mode::kUser)
        return nameless("[guest]", ip, mode);
    const auto place = threads_.find(pid, ip, time_ns);
    if (!place)
        return nameless("[unknown]", ip, mode);
    const std::string &path = threads_.objects()[place->object].path;
    const std::string_view symbol = programs_.find(*place);
    if (symbol.empty())
        return nameless(path, place->file_offset, mode);
    return {path, demangle_(symbol), true, mode};
}

Function Explainer::kernel_function(uint64_t ip, uint64_t time_ns)
{
    constexpr std::string_view kKernel = "[kernel.kallsyms]";
    const auto place = threads_.find(Threads::kKernel, ip, time_ns);
    const std::string_view path =
        place ? std::string_view(threads_.objects()[place->object].path) : kKernel;
    const bool core = path.starts_with(kKernel);
    const std::string object(core ? kKernel : path);
    const uint64_t moved = place && core ? moved_by(path.substr(kKernel.size()), *place) : 0;
    const std::string_view symbol = kernel_ ? kernel_->find(ip + moved) : std::string_view();
    if (symbol.empty())
        return nameless(object, core ? ip : place->file_offset, Mode::kKernel);
    return {object, std::string(symbol), true, Mode::kKernel};
}

// The map of the kernel is called after one of its symbols and has that one's address for an
// offset. In a copy of kallsyms of another boot it lies elsewhere.
uint64_t Explainer::moved_by(std::string_view symbol, const Threads::Place &place) const
{
    const auto there = kernel_ ? kernel_->address_of(symbol) : std::nullopt;
    return there ? *there - place.map_offset : 0;
}

Explainer Names::explainer(const Threads &threads)
{
    if (!programs_)
        programs_.emplace(threads, symfs_, reader_);
    return {threads, *programs_, kernel_ ? &*kernel_ : nullptr};
}

Result<std::optional<SymbolTable>> read_kallsyms(const std::string &path)
{
    if (path.empty())
        return std::optional<SymbolTable>();
    // procfs does not say its size.
    std::string text;
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return system_error(path, errno);
    constexpr size_t kMaxBytes = size_t{256} << 20;
    std::vector<char> chunk(65536);
    ssize_t got = 1;
    while (got && text.size() < kMaxBytes) {
        got = ::read(fd.get(), chunk.data(), chunk.size());
        if (got < 0 && errno != EINTR)
            return system_error(path, errno);
        text.append(chunk.data(), got > 0 ? static_cast<size_t>(got) : 0);
    }
    Result<SymbolTable> table = parse_kallsyms(text);
    if (!table)
        return Error{table.error().code, path + ": " + table.error().message};
    return std::optional<SymbolTable>(std::move(*table));
}

}  // namespace pmukit::cli
