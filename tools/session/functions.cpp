// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/functions.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.hpp"
#include "base/text.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;

// Path below $HOME of perf record's copy of a program: /.debug/.build-id/01/23456789
std::string kept_path(Bytes build_id)
{
    const std::string hex = hex_of(build_id);
    return "/.debug/.build-id/" + hex.substr(0, 2) + '/' +
           hex.substr(std::min<size_t>(2, hex.size()));
}

Function nameless(const std::string &object, uint64_t offset, Mode mode)
{
    return {object, fmt::format("{}+{:#x}", base_name(object), offset), false, mode};
}

}  // namespace

std::string_view base_name(std::string_view path)
{
    return path.starts_with('[') ? path : path.substr(path.rfind('/') + 1);
}

namespace {

// Module name as perf prints it: [nf_tables] for
// /lib/modules/6.12/kernel/net/netfilter/nf-tables.ko.xz
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

}  // namespace

Programs::Programs(const Threads &threads, std::string symfs, const perfdata::Reader &reader)
    : threads_(threads), symfs_(std::move(symfs)), reader_(reader)
{
}

// In pipe layout, the build ids arrive late. Until then, this function finds none.
void Programs::read_build_ids()
{
    const std::optional<Bytes> content = reader_.feature(perfdata::kFeatBuildId);
    const auto ids = content ? perfdata::parse_build_ids(*content, reader_.order()) : std::nullopt;
    for (const perfdata::BuildIdRecord &id : ids.value_or(std::vector<perfdata::BuildIdRecord>()))
        build_ids_.try_emplace(std::string(id.path), id.build_id.begin(), id.build_id.end());
}

const ElfSymbols *Programs::symbols(size_t object)
{
    const auto known = opened_.find(object);
    if (known != opened_.end())
        return known->second ? &*known->second : nullptr;
    const std::string &path = threads_.objects()[object].path;
    const std::optional<ElfFile> file = open_file(object);
    std::optional<ElfSymbols> fresh;
    if (file)
        fresh = ElfSymbols::of(*file, symfs_);
    const size_t bytes = fresh ? fresh->bytes() : 0;
    if (fresh && (fresh->has_too_many() || !to_read_.take(bytes))) {
        too_large_.insert(path);
        fresh.reset();
    } else if (!symbols_left_.take(bytes)) {
        opened_.clear();
        symbols_left_ = Budget(limits::kSymbols);
        symbols_left_.take(bytes);
    }
    const auto at = opened_.emplace(object, std::move(fresh)).first;
    return at->second ? &*at->second : nullptr;
}

Inlines *Programs::inlines(size_t object)
{
    size_t bytes = 0;
    for (const auto &[number, known] : inlines_)
        bytes += known && number != object ? known->memory() : 0;
    if (bytes > kMostInlineBytes || inlines_.size() > kMostInlines)
        std::erase_if(inlines_, [object](const auto &known) { return known.first != object; });
    if (const auto known = inlines_.find(object); known != inlines_.end())
        return known->second ? &*known->second : nullptr;
    std::optional<ElfFile> file = open_file(object);
    std::optional<Inlines> fresh;
    if (file)
        fresh.emplace(std::move(*file), symfs_, to_read_);
    const auto at = inlines_.emplace(object, std::move(fresh)).first;
    return at->second ? &*at->second : nullptr;
}

std::string_view Programs::find(const Threads::Place &place)
{
    const ElfSymbols *known = symbols(place.object);
    return known ? known->find(place.file_offset) : std::string_view();
}

const NamedFrames &Programs::frames(const Threads::Place &place)
{
    return kept(place.object, place.file_offset, [&] {
        const std::string &path = threads_.objects()[place.object].path;
        NamedFrames found{valid_utf8(path), {}};
        const ElfSymbols *known = symbols(place.object);
        const auto symbol = known ? known->locate(place.file_offset) : std::nullopt;
        if (!symbol) {
            found.frames.push_back({});
            return found;
        }
        // The name is copied here, as opening another file may evict this program from the cache.
        const NamedFrame function{valid_utf8(demangle_(symbol->name)), symbol->offset, false};
        const auto address = known->address_of(place.file_offset);
        if (Inlines *inlined = inlines(place.object); inlined && address) {
            for (const std::string &name : inlined->at(*address))
                found.frames.push_back({valid_utf8(demangle_(name)), function.offset, true});
            if (inlined->has_too_much())
                too_large_.insert(path);
        }
        found.frames.push_back(function);
        return found;
    });
}

Bytes Programs::build_id_of(const Threads::Object &object) const
{
    const auto known = build_ids_.find(object.path);
    return object.build_id.empty() && known != build_ids_.end() ? Bytes(known->second)
                                                                : Bytes(object.build_id);
}

std::optional<ElfFile> Programs::open_file(size_t number)
{
    if (build_ids_.empty())
        read_build_ids();
    const Threads::Object &object = threads_.objects()[number];
    const Bytes build_id = build_id_of(object);
    // The kernel's own names: "//anon" for memory without a file, "//toolong" for a long path.
    const bool is_file = object.path.starts_with('/') && !object.path.starts_with("//");
    Result<ElfFile> file = is_file ? ElfFile::open(symfs_, object.path)
                                   : Error{Errc::kUnsupported, object.path + ": no file"};
    if (file && same_build(build_id, file->build_id()))
        return std::move(*file);
    const char *const home = std::getenv("HOME");
    if (home && symfs_.empty() && !build_id.empty()) {
        const char *const name = is_file ? "/elf" : "/vdso";
        Result<ElfFile> kept = ElfFile::open("", home + kept_path(build_id) + name);
        if (kept && same_build(build_id, kept->build_id()))
            return std::move(*kept);
    }
    if (file && changed_paths_.insert(object.path).second)
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
    const NamedFrames &found = programs_.frames(*place);
    const std::string &symbol = found.frames.back().symbol;
    const std::string &path = threads_.objects()[place->object].path;
    return symbol.empty() ? nameless(path, place->file_offset, mode)
                          : Function{path, symbol, true, mode};
}

const NamedFrames &Explainer::frames_at(uint32_t pid, Mode mode, uint64_t ip, uint64_t time_ns)
{
    static const NamedFrames kUnknown{{}, {{}}};
    if (mode != Mode::kKernel && mode != Mode::kUser)
        return kUnknown;
    const auto place = threads_.find(mode == Mode::kKernel ? Threads::kKernel : pid, ip, time_ns);
    if (mode == Mode::kUser)
        return place ? programs_.frames(*place) : kUnknown;
    // Cache kernel addresses under object numbers that no program has.
    const size_t object = SIZE_MAX - (place ? place->object + 1 : 0);
    return programs_.kept(object, ip, [&] { return kernel_frames(place, ip); });
}

NamedFrames Explainer::kernel_frames(const std::optional<Threads::Place> &place, uint64_t ip) const
{
    constexpr std::string_view kKernel = "[kernel.kallsyms]";
    const std::string_view path =
        place ? std::string_view(threads_.objects()[place->object].path) : kKernel;
    const bool core = path.starts_with(kKernel);
    const uint64_t moved = place && core ? moved_by(path.substr(kKernel.size()), *place) : 0;
    const auto symbol = kernel_ ? kernel_->locate(ip + moved) : std::nullopt;
    NamedFrames found{core ? std::string(kKernel) : valid_utf8(module_name(path)), {{}}};
    if (symbol)
        found.frames[0] = {valid_utf8(symbol->name), symbol->offset, false};
    return found;
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

// The map of the kernel is named after a symbol of the kernel, whose address is the file offset of
// the map. Returns the distance to the address of this symbol in kallsyms, which may be from
// another boot.
uint64_t Explainer::moved_by(std::string_view symbol, const Threads::Place &place) const
{
    const auto there = kernel_ ? kernel_->address_of(symbol) : std::nullopt;
    return there ? *there - place.map_offset : 0;
}

Programs &Names::programs(const Threads &threads)
{
    if (!programs_)
        programs_.emplace(threads, symfs_, reader_);
    return *programs_;
}

Explainer Names::explainer(const Threads &threads)
{
    return {threads, programs(threads), kernel_ ? &*kernel_ : nullptr};
}

Result<std::optional<SymbolTable>> read_kallsyms(const std::string &path)
{
    if (path.empty())
        return std::optional<SymbolTable>();
    // Files in procfs have size 0.
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
