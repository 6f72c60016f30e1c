// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/synthesize.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.hpp"
#include "base/notes.hpp"
#include "base/number.hpp"
#include "perfdata/packer.hpp"
#include "record/perf_event.hpp"

namespace pmukit::record {
namespace {

namespace fs = std::filesystem;
using perfdata::Packer;

constexpr uint32_t kOfTheKernel = UINT32_MAX;  // pid of the kernel's mmap records, whose tid is 0

// Text to numbers

template <typename T>
bool take_hex(std::string_view text, T &value)
{
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return failure == std::errc() && end == text.data() + text.size();
}

// Takes the first word of a text. The text then begins after the blanks that follow the word.
std::string_view take_word(std::string_view &text)
{
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    return word;
}

std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view text,
                                                                    char separator)
{
    const size_t at = text.find(separator);
    if (at == std::string_view::npos)
        return std::nullopt;
    return std::pair(text.substr(0, at), text.substr(at + 1));
}

// Returns the number that follows a key in /proc/PID/status.
std::optional<uint32_t> number_in(const std::string &status_path, std::string_view key)
{
    std::ifstream status(status_path);
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key)) {
            const Result<uint64_t> number = parse_u64(trim(line.substr(key.size())));
            if (number && *number <= INT32_MAX)
                return static_cast<uint32_t>(*number);
        }
    return std::nullopt;
}

// The range of the kernel's code. As in perf, symbols mark its ends.
struct KernelText {
    std::string first_name;
    uint64_t begin = 0, end = 0;
};

std::optional<KernelText> kernel_text(const std::string &kallsyms_path)
{
    KernelText text;
    std::ifstream kallsyms(kallsyms_path);
    for (std::string line; text.end == 0 && std::getline(kallsyms, line);) {
        std::string_view rest = line;
        uint64_t address = 0;
        const std::string_view digits = take_word(rest), kind = take_word(rest);
        if (!take_hex(digits, address) || kind.empty())
            continue;
        if (rest == "_text" || (rest == "_stext" && text.first_name.empty())) {
            text.first_name = rest;
            text.begin = address;
        } else if (rest == "_etext") {
            text.end = address;
        }
    }
    if (text.begin == 0 || text.end <= text.begin)
        return std::nullopt;
    return text;
}

// Records

// Appends a text with its NUL, padded to whole 64-bit words.
void put_text(Packer &record, std::string_view text)
{
    record.put(as_bytes(text)).pad_to((record.bytes().size() / 8 + 1) * 8);
}

// Returns the whole record. nullopt: a text is too long for a record.
std::optional<std::vector<std::byte>> finished(uint32_t type, uint16_t misc, const Packer &body)
{
    const size_t bytes = perfdata::kRecordHeaderBytes + body.bytes().size() + kTrailerBytes;
    if (bytes > UINT16_MAX)
        return std::nullopt;
    Packer record;
    record.record_header(type, misc, bytes).put(Bytes(body.bytes())).pad_to(bytes);
    return record.take();
}

std::optional<std::vector<std::byte>> mmap2_record(uint32_t pid, const MapsLine &map)
{
    constexpr uint64_t kInodeGeneration = 0;  // procfs does not show it
    const uint32_t protection = (map.readable ? PROT_READ : 0U) | (map.writable ? PROT_WRITE : 0U) |
                                (map.executable ? PROT_EXEC : 0U);
    Packer body;
    body.put(pid).put(pid).put(map.begin).put(map.end - map.begin).put(map.file_offset);
    body.put(map.major).put(map.minor).put(map.inode).put(kInodeGeneration);
    body.put(protection).put(static_cast<uint32_t>(map.shared ? MAP_SHARED : MAP_PRIVATE));
    put_text(body, map.path.empty() ? "//anon" : map.path);
    const int data = map.executable ? 0 : PERF_RECORD_MISC_MMAP_DATA;
    return finished(PERF_RECORD_MMAP2, static_cast<uint16_t>(PERF_RECORD_MISC_USER | data), body);
}

// Returns the map record of the kernel or a module: MMAP2 if there is a build id, otherwise MMAP.
std::optional<std::vector<std::byte>> kernel_record(uint64_t begin, uint64_t bytes, uint64_t offset,
                                                    std::string_view name, Bytes build_id)
{
    constexpr size_t kMaxBuildIdBytes = 20;
    Packer body;
    body.put(kOfTheKernel).put(uint32_t{0}).put(begin).put(bytes).put(offset);
    if (build_id.empty() || build_id.size() > kMaxBuildIdBytes) {
        put_text(body, name);
        return finished(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, body);
    }
    const size_t id_at = body.bytes().size();
    body.put(static_cast<uint32_t>(build_id.size()))
        .put(build_id)
        .pad_to(id_at + sizeof(uint32_t) + kMaxBuildIdBytes);
    body.put(uint32_t{PROT_READ | PROT_EXEC}).put(uint32_t{MAP_PRIVATE});
    put_text(body, name);
    return finished(PERF_RECORD_MMAP2, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_MMAP_BUILD_ID,
                    body);
}

// Returns the fork record of a thread that already exists. The process may run another program than
// its parent, so the flag FORK_EXEC keeps readers from copying the parent's maps.
std::optional<std::vector<std::byte>> fork_record(uint32_t pid, uint32_t tid, uint32_t parent)
{
    const uint32_t starter = tid == pid ? parent : pid;
    Packer body;
    body.put(pid).put(starter).put(tid).put(starter).put(uint64_t{0});
    return finished(PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, body);
}

std::optional<std::vector<std::byte>> comm_record(uint32_t pid, uint32_t tid, std::string_view name)
{
    Packer body;
    body.put(pid).put(tid);
    put_text(body, name);
    return finished(PERF_RECORD_COMM, 0, body);
}

}  // namespace

std::optional<MapsLine> parse_maps_line(std::string_view line)
{
    MapsLine map;
    const auto range = halves(take_word(line), '-');
    const std::string_view rights = take_word(line), offset = take_word(line);
    const auto device = halves(take_word(line), ':');
    const Result<uint64_t> inode = parse_u64(take_word(line));
    if (!range || !device || !inode || rights.size() != 4 || !take_hex(range->first, map.begin) ||
        !take_hex(range->second, map.end) || map.end <= map.begin ||
        !take_hex(offset, map.file_offset) || !take_hex(device->first, map.major) ||
        !take_hex(device->second, map.minor))
        return std::nullopt;
    map.readable = rights[0] == 'r';
    map.writable = rights[1] == 'w';
    map.executable = rights[2] == 'x';
    map.shared = rights[3] == 's';
    map.inode = *inode;
    map.path = line;
    return map;
}

Result<void> Synthesizer::be_patient()
{
    constexpr auto kMost = std::chrono::milliseconds(2);
    const auto now = std::chrono::steady_clock::now();
    if (!meanwhile_ || now - looked_ < kMost)
        return {};
    Result<void> done = meanwhile_();
    looked_ = std::chrono::steady_clock::now();
    return done;
}

// Returns the numbers that are names of directories (processes or threads), sorted. The kernel
// takes half a second to list ten thousand threads, so the function calls meanwhile_.
Result<std::vector<uint32_t>> Synthesizer::numbers_in(const std::string &folder)
{
    std::vector<uint32_t> numbers;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), none; !failure && entry != none;
         entry.increment(failure)) {
        const Result<uint64_t> number = parse_u64(entry->path().filename().string());
        if (number && *number <= INT32_MAX)
            numbers.push_back(static_cast<uint32_t>(*number));
        if (Result<void> waited = be_patient(); !waited)
            return waited.error();
    }
    std::ranges::sort(numbers);
    return numbers;
}

Result<void> Synthesizer::give(const std::optional<std::vector<std::byte>> &record)
{
    Result<void> given = record ? sink_.records(*record) : Result<void>();
    return given ? be_patient() : given;
}

// Writes the kernel's record. /proc/kallsyms has about a hundred thousand lines, so it is read only
// once.
Result<void> Synthesizer::kernel()
{
    if (!kernel_) {
        const std::optional<KernelText> text = kernel_text(root_ + "/proc/kallsyms");
        if (!text)
            return {};
        const Result<std::string> notes = read_small_file(root_ + "/sys/kernel/notes");
        const Bytes build_id = notes ? build_id_of_notes(as_bytes(*notes)) : Bytes();
        kernel_ = kernel_record(text->begin, text->end - text->begin, text->begin,
                                "[kernel.kallsyms]" + text->first_name, build_id);
    }
    if (Result<void> given = give(kernel_); !given)
        return given;
    return modules();
}

// Writes a record for each module. /proc/modules has lines "name bytes users others state address".
Result<void> Synthesizer::modules()
{
    std::ifstream modules(root_ + "/proc/modules");
    for (std::string line; std::getline(modules, line);) {
        std::istringstream words(line);
        std::string name, users, others, state, address;
        uint64_t bytes = 0;
        if (!(words >> name >> bytes >> users >> others >> state >> address))
            continue;
        const Result<uint64_t> begin = parse_u64(address);
        if (!begin || *begin == 0)
            continue;
        const auto record = kernel_record(*begin, bytes, 0, "[" + name + "]", {});
        if (Result<void> given = give(record); !given)
            return given;
    }
    return {};
}

Result<void> Synthesizer::processes()
{
    const Result<std::vector<uint32_t>> pids = numbers_in(root_ + "/proc");
    if (!pids)
        return pids.error();
    for (uint32_t pid : *pids)
        if (Result<void> given = process(pid); !given)
            return given;
    return {};
}

Result<void> Synthesizer::process_of(uint32_t tid)
{
    const std::string status = root_ + "/proc/" + std::to_string(tid) + "/status";
    return process(number_in(status, "Tgid:").value_or(tid));
}

Result<void> Synthesizer::process(uint32_t pid)
{
    const std::optional<uint32_t> parent =
        number_in(root_ + "/proc/" + std::to_string(pid) + "/status", "PPid:");
    if (!parent)
        return {};
    if (Result<void> given = threads(pid, *parent); !given)
        return given;
    return maps(pid);
}

Result<void> Synthesizer::threads(uint32_t pid, uint32_t parent)
{
    const std::string folder = root_ + "/proc/" + std::to_string(pid) + "/task";
    const Result<std::vector<uint32_t>> tids = numbers_in(folder);
    if (!tids)
        return tids.error();
    for (uint32_t tid : *tids) {
        const std::optional<std::vector<std::byte>> name = named(pid, tid);
        for (const auto &record : {name ? fork_record(pid, tid, parent) : std::nullopt, name})
            if (Result<void> given = give(record); !given)
                return given;
    }
    return {};
}

// Returns the comm record of a thread; nullopt: the thread has ended.
std::optional<std::vector<std::byte>> Synthesizer::named(uint32_t pid, uint32_t tid) const
{
    const Result<std::string> name = read_small_file(root_ + "/proc/" + std::to_string(pid) +
                                                     "/task/" + std::to_string(tid) + "/comm");
    return name ? comm_record(pid, tid, trim(*name)) : std::nullopt;
}

Result<void> Synthesizer::name_of(uint32_t pid, uint32_t tid)
{
    return give(named(pid, tid));
}

Result<void> Synthesizer::maps(uint32_t pid)
{
    std::ifstream maps(root_ + "/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        const std::optional<MapsLine> map = parse_maps_line(line);
        if (Result<void> waited = be_patient(); !waited)
            return waited;
        if (!map || !(map->executable || (data_maps_ && map->readable)))
            continue;
        if (Result<void> given = give(mmap2_record(pid, *map)); !given)
            return given;
    }
    return {};
}

}  // namespace pmukit::record
