// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/functions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;

constexpr std::string_view kVdso = "[vdso]";

// The vDSO of the running kernel, which each process has in its memory.
std::optional<ElfFile> own_vdso()
{
    constexpr size_t kMostMaps_bytes = size_t{16} << 20;
    const Result<std::string> maps = read_file("/proc/self/maps", kMostMaps_bytes);
    if (!maps)
        return std::nullopt;
    for (const std::string_view line : split(*maps, '\n')) {
        uint64_t begin = 0, end = 0;
        if (!line.ends_with(kVdso) ||
            std::sscanf(line.data(), "%" SCNx64 "-%" SCNx64, &begin, &end) != 2)
            continue;
        Result<ElfFile> file =
            ElfFile::of({reinterpret_cast<const std::byte *>(begin), end - begin});
        return file ? std::optional(std::move(*file)) : std::nullopt;
    }
    return std::nullopt;
}

Function nameless(const std::string &object, uint64_t offset, Mode mode)
{
    return {object, fmt::format("{}+{:#x}", shortened(base_name(object), kMostRowName), offset),
            false, mode};
}

}  // namespace

std::string_view base_name(std::string_view path)
{
    if (path.starts_with('['))
        return path;
    // Faster than rfind(), as the path may be long.
    const void *const slash = ::memrchr(path.data(), '/', path.size());
    return slash ? path.substr(static_cast<size_t>(static_cast<const char *>(slash) - path.data()) +
                               1)
                 : path;
}

Programs::Programs(const Threads &threads, std::string symfs, const perfdata::Reader &reader,
                   KernelSymbols *kernel)
    : threads_(threads), symfs_(std::move(symfs)), build_ids_(reader), kernel_(kernel)
{
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
        fresh = ElfSymbols::of(*file, symfs_, &debuginfod_);
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
        fresh.emplace(std::move(*file), symfs_, to_read_, &debuginfod_);
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
        NamedFrames found{std::string(threads_.objects()[place.object].shown()), {}};
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

// perf record writes the build id of the vDSO. In other recordings the kernel has to be the running
// one, as the vDSO is a part of the kernel.
bool Programs::is_own_vdso(const ElfFile &own, Bytes build_id) const
{
    if (build_id.empty())
        return kernel_ && kernel_->is_running(threads_);
    return !own.build_id().empty() && same_build(build_id, own.build_id());
}

std::optional<ElfFile> Programs::open_file(size_t number)
{
    const Threads::Object &object = threads_.objects()[number];
    const Bytes build_id =
        object.build_id.empty() ? build_ids_.find(object.path) : Bytes(object.build_id);
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
    if (object.path == kVdso)
        if (std::optional<ElfFile> own = own_vdso(); own && is_own_vdso(*own, build_id))
            return own;
    if (is_file)
        if (Result<ElfFile> sent = ElfFile::open_program(debuginfod_, build_id))
            return std::move(*sent);
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
    const NamedFrames &found = user_frames(*place, ip);
    const std::string &symbol = found.frames.back().symbol;
    const std::string &path = threads_.objects()[place->object].path;
    return symbol.empty() ? nameless(path, place->file_offset, mode)
                          : Function{path, symbol, true, mode};
}

const NamedFrames &Explainer::frames_at(uint32_t pid, Mode mode, uint64_t ip, uint64_t time_ns,
                                        bool in_kernel)
{
    static const NamedFrames kUnknown{{}, {{}}};
    if (mode != Mode::kKernel && mode != Mode::kUser)
        return kUnknown;
    const auto place =
        threads_.find(mode == Mode::kKernel ? Threads::kKernel : pid, ip, time_ns, in_kernel);
    if (mode == Mode::kUser)
        return place ? user_frames(*place, ip) : kUnknown;
    // Cache kernel addresses under object numbers that no program has.
    const size_t object = SIZE_MAX - (place ? place->object + 1 : 0);
    return programs_.kept(object, ip, [&] { return kernel_frames(place, ip); });
}

// A 32-bit process has another vDSO, at an address below 4 GiB, of the same name.
const NamedFrames &Explainer::user_frames(const Threads::Place &place, uint64_t ip)
{
    static const NamedFrames kOf32Bit{std::string(kVdso), {{}}};
    const bool is_of_32_bit = ip <= UINT32_MAX && threads_.objects()[place.object].path == kVdso;
    return is_of_32_bit ? kOf32Bit : programs_.frames(place);
}

NamedFrames Explainer::kernel_frames(const std::optional<Threads::Place> &place, uint64_t ip) const
{
    const std::string_view path =
        place ? std::string_view(threads_.objects()[place->object].path) : kKernelObject;
    const bool core = path.starts_with(kKernelObject);
    const auto symbol = kernel_.locate(threads_, place, ip);
    NamedFrames found{
        core ? std::string(kKernelObject) : shortened(valid_utf8(module_name(path)), kMostPath),
        {{}}};
    if (symbol)
        found.frames[0] = {valid_utf8(symbol->name), symbol->offset, false};
    return found;
}

Function Explainer::kernel_function(uint64_t ip, uint64_t time_ns)
{
    const auto place = threads_.find(Threads::kKernel, ip, time_ns);
    const std::string_view path =
        place ? std::string_view(threads_.objects()[place->object].path) : kKernelObject;
    const bool core = path.starts_with(kKernelObject);
    const std::string object(core ? kKernelObject : path);
    const auto symbol = kernel_.locate(threads_, place, ip);
    if (!symbol)
        return nameless(object, core ? ip : place->file_offset, Mode::kKernel);
    return {object, std::string(symbol->name), true, Mode::kKernel};
}

Programs &Names::programs(const Threads &threads)
{
    if (!programs_)
        programs_.emplace(threads, symfs_, reader_, &kernel_);
    return *programs_;
}

void Names::count(Mode mode, const NamedFrames &frame, uint64_t samples)
{
    const bool is_nameless = frame.frames.back().symbol.empty();
    counts_.all += samples;
    counts_.nameless += is_nameless ? samples : 0;
    counts_.nameless_kernel += is_nameless && mode == Mode::kKernel ? samples : 0;
}

Explainer Names::explainer(const Threads &threads)
{
    return {threads, programs(threads), kernel_};
}

std::vector<std::string> Names::changed_warnings(const std::string &recording) const
{
    std::vector<std::string> warnings;
    for (const std::string &path : changed())
        warnings.push_back(fmt::format(
            "{}: {}: not the build that was recorded; its symbols are not used", recording, path));
    return warnings;
}

}  // namespace pmukit::cli
