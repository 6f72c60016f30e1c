// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/process_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::tier {

namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kExclusive = uint64_t{1} << 56;
constexpr uint64_t kFrame = (uint64_t{1} << 55) - 1;
constexpr size_t kEntriesAtOnce = 8192;
constexpr size_t kMaxMapsBytes = size_t{256} << 20;

// Reads until the end, because the maps file of a process with many mappings does not fit into one
// read.
Result<std::string> read_maps(const std::string &path)
{
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return system_error(path, errno);
    std::string text;
    char chunk[16384];
    while (text.size() < kMaxMapsBytes) {
        const ssize_t got = ::read(file.get(), chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(path, errno);
        if (got == 0)
            return text;
        text.append(chunk, static_cast<size_t>(got));
    }
    return Error{Errc::kUnsupported, path + ": too many mappings"};
}

// Parses the first word of a line "start-end rwxp offset device inode   name".
Result<Mapping> parse_range(std::string_view range)
{
    const std::vector<std::string_view> ends = split(range, '-');
    if (ends.size() == 2) {
        const Result<uint64_t> start = parse_u64("0x" + std::string(ends[0]));
        const Result<uint64_t> end = parse_u64("0x" + std::string(ends[1]));
        if (start && end && *start < *end)
            return Mapping{*start, *end};
    }
    return wrong_text(Errc::kDamaged, range, "is not the range of a mapping");
}

bool can_hold_pages(std::string_view line, std::string_view access)
{
    if (access.starts_with("---"))
        return false;
    const size_t name = line.rfind(' ');
    // The mappings [vdso], [vvar] and [vsyscall] belong to the kernel.
    return !line.substr(name + 1).starts_with("[v");
}

// Reads whole entries of pagemap. Returns fewer than requested if the process has removed the
// mapping.
Result<size_t> read_entries(int file, uint64_t first, std::vector<uint64_t> &entries,
                            const std::string &path)
{
    const ssize_t got = ::pread(file, entries.data(), entries.size() * sizeof entries[0],
                                static_cast<off_t>(first * sizeof entries[0]));
    if (got < 0)
        return system_error(path, errno);
    return static_cast<size_t>(got) / sizeof entries[0];
}

class Walk {
public:
    Walk(std::string path, uint64_t page_bytes, const VisitPage &visit)
        : path_(std::move(path)), page_bytes_(page_bytes), visit_(visit)
    {
    }

    Result<void> open()
    {
        file_ = Fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        return file_ ? Result<void>() : system_error(path_, errno);
    }
    Result<void> mapping(const Mapping &mapping)
    {
        if (mapping.end - mapping.start > kVastBytes) {
            counts_.vast_mappings++;
            return {};
        }
        const uint64_t last = mapping.end / page_bytes_;
        for (uint64_t page = mapping.start / page_bytes_; page < last;) {
            std::vector<uint64_t> entries(std::min<uint64_t>(kEntriesAtOnce, last - page));
            const Result<size_t> got = read_entries(file_.get(), page, entries, path_);
            if (!got)
                return got.error();
            if (*got == 0)
                return {};
            for (size_t i = 0; i < *got; i++)
                if (Result<void> good = entry(entries[i], (page + i) * page_bytes_); !good)
                    return good;
            page += *got;
        }
        return {};
    }
    const PageCounts &counts() const { return counts_; }

private:
    Result<void> entry(uint64_t entry, uint64_t address)
    {
        counts_.swapped += (entry & kSwapped) != 0;
        if (!(entry & kPresent))
            return {};
        counts_.present++;
        const uint64_t frame = entry & kFrame;
        if (frame == 0)  // the frame is hidden: no process has frame 0
            return Error{Errc::kDenied,
                         path_ + " hides where pages are: CAP_SYS_ADMIN is needed, be root"};
        if (entry & kExclusive)
            visit_(address, frame * page_bytes_);
        else
            counts_.shared++;
        return {};
    }

    std::string path_;
    uint64_t page_bytes_;
    const VisitPage &visit_;
    Fd file_;
    PageCounts counts_;
};

}  // namespace

Result<HeldProcess> HeldProcess::open(const std::string &proc_dir)
{
    Fd folder(::open(proc_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder)
        return system_error(proc_dir, errno);
    return HeldProcess(std::move(folder));
}

bool HeldProcess::is_there() const
{
    return ::faccessat(folder_.get(), "maps", F_OK, 0) == 0;
}

Result<std::vector<Mapping>> parse_maps(std::string_view text)
{
    std::vector<Mapping> mappings;
    for (std::string_view line : split(text, '\n')) {
        if (line.empty())
            continue;
        const std::vector<std::string_view> words = split(line, ' ');
        if (words.size() < 5)
            return wrong_text(Errc::kDamaged, line, "is not a line of maps");
        const Result<Mapping> mapping = parse_range(words[0]);
        if (!mapping)
            return mapping.error();
        if (can_hold_pages(line, words[1]))
            mappings.push_back(*mapping);
    }
    return mappings;
}

Result<PageCounts> walk_pages(const std::string &proc_dir, uint64_t page_bytes,
                              const VisitPage &visit)
{
    const Result<std::string> text = read_maps(proc_dir + "/maps");
    if (!text)
        return text.error();
    const Result<std::vector<Mapping>> mappings = parse_maps(*text);
    if (!mappings)
        return Error{mappings.error().code, proc_dir + "/maps: " + mappings.error().message};
    Walk walk(proc_dir + "/pagemap", page_bytes, visit);
    if (Result<void> opened = walk.open(); !opened)
        return opened.error();
    for (const Mapping &mapping : *mappings)
        if (Result<void> walked = walk.mapping(mapping); !walked)
            return walked.error();
    return walk.counts();
}

}  // namespace pmukit::tier
