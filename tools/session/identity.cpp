// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/identity.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <vector>

#include "base/file.hpp"
#include "perfdata/format.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kEdgeBytes = uint64_t{64} << 10;  // bytes at both ends that are read completely
constexpr uint64_t kBlockBytes = 512;                // bytes of each block between them
constexpr uint64_t kMostBlocks = 16384;

// Drivers whose records have the times of one clock, whatever clock the event has.
struct OwnClock {
    std::string_view driver;
    uint32_t id;
};
constexpr OwnClock kOwnClocks[] = {{"cache_qos", CLOCK_MONOTONIC}};  // include/uapi/pmukit

// FNV-1a, 64 bits (draft-eastlake-fnv).
class Fnv1a {
public:
    void add(Bytes bytes)
    {
        constexpr uint64_t kPrime = 0x100000001b3;
        for (const std::byte byte : bytes)
            hash_ = (hash_ ^ std::to_integer<uint64_t>(byte)) * kPrime;
    }
    uint64_t hash() const { return hash_; }

private:
    uint64_t hash_ = 0xcbf29ce484222325;
};

// Returns false if the bytes cannot be read.
bool add_range(const Fd &file, uint64_t offset, uint64_t bytes, Fnv1a &to)
{
    std::array<std::byte, kEdgeBytes> buffer;
    while (bytes != 0) {
        const ssize_t got = ::pread(file.get(), buffer.data(), std::min(bytes, kEdgeBytes),
                                    static_cast<off_t>(offset));
        if (got <= 0)
            return false;
        to.add({buffer.data(), static_cast<size_t>(got)});
        offset += static_cast<uint64_t>(got);
        bytes -= static_cast<uint64_t>(got);
    }
    return true;
}

bool add_file(const std::string &path, Fnv1a &to)
{
    const Result<Fd> file = open_for_reading(path);
    struct stat status {};
    if (!file || ::fstat(file->get(), &status) != 0)
        return false;
    const uint64_t size = static_cast<uint64_t>(status.st_size);
    const uint64_t first = std::min(size, kEdgeBytes);
    const uint64_t last = std::max(first, size - first);
    const uint64_t each = kEdgeBytes * (size / (kEdgeBytes * kMostBlocks) + 1);
    std::array<std::byte, sizeof size> size_bytes;
    store(size_bytes.data(), size, std::endian::little);
    to.add(size_bytes);
    bool good = add_range(*file, 0, first, to);
    for (uint64_t at = first; at < last; at += each)
        good = good && add_range(*file, at, std::min(kBlockBytes, last - at), to);
    return good && add_range(*file, last, size - last, to);
}

}  // namespace

std::optional<std::string> recording_id(const Recording &recording)
{
    if (can_be_read_once_only(recording.path()))
        return std::nullopt;
    Fnv1a hash;
    std::vector<std::string> files = recording.reader().later_parts();
    files.insert(files.begin(), recording.reader().part());
    for (const std::string &file : files)
        if (!add_file(file, hash))
            return std::nullopt;
    return fmt::format("{:016x}", hash.hash());
}

std::map<std::string, std::string, std::less<>> boot_ids(const Recording &recording)
{
    const perfdata::Reader &reader = recording.reader();
    const std::optional<Bytes> content = reader.feature(perfdata::kFeatPmuCaps);
    const auto pmus = content ? perfdata::parse_pmu_caps(*content, reader.order()) : std::nullopt;
    std::map<std::string, std::string, std::less<>> boots;
    for (const perfdata::PmuCaps &pmu : pmus.value_or(std::vector<perfdata::PmuCaps>()))
        for (const auto &[name, value] : pmu.caps)
            if (name == perfdata::kBootCap &&
                !boots.try_emplace(std::string(pmu.pmu), value).second)
                boots.find(pmu.pmu)->second.clear();
    return boots;
}

std::optional<perfdata::ClockData> clock_data(const Recording &recording)
{
    const perfdata::Reader &reader = recording.reader();
    const std::optional<Bytes> content = reader.feature(perfdata::kFeatClockData);
    return content ? perfdata::parse_clock_data(*content, reader.order()) : std::nullopt;
}

std::optional<perfdata::ClockData> clock_data(const Recording &recording, size_t event)
{
    const std::vector<perfdata::Event> &events = recording.reader().events();
    const std::optional<perfdata::ClockData> clock = clock_data(recording);
    if (!clock || event >= events.size())
        return std::nullopt;
    const perfdata::Attr &attr = events[event].attr;
    if (!attr.use_clockid || static_cast<uint32_t>(attr.clock_id) != clock->clock_id)
        return std::nullopt;
    const Driver *driver = recording.driver(event);
    const bool uses_other = driver && std::ranges::any_of(kOwnClocks, [&](const OwnClock &own) {
                                return own.driver == driver->name && own.id != clock->clock_id;
                            });
    return uses_other ? std::nullopt : clock;
}

std::optional<uint64_t> wall_time(const perfdata::ClockData &clock, uint64_t time_ns)
{
    uint64_t wall_ns = 0;
    const bool beyond =
        time_ns >= clock.clock_ns
            ? __builtin_add_overflow(clock.wall_ns, time_ns - clock.clock_ns, &wall_ns)
            : __builtin_sub_overflow(clock.wall_ns, clock.clock_ns - time_ns, &wall_ns);
    return beyond ? std::nullopt : std::optional(wall_ns);
}

}  // namespace pmukit::cli
