// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "disk_log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "base/number.hpp"

namespace pmukit::power_cut {
namespace {

constexpr size_t kSectorBytes = 512, kBlockBytes = 4096;
constexpr uint64_t kMagic = 0x6a736677736872, kVersion = 1;
constexpr size_t kMagicAt = 0, kVersionAt = 8, kRequestsAt = 16, kSectorBytesAt = 24;
constexpr size_t kSectorAt = 0, kSectorsAt = 8, kFlagsAt = 16;
constexpr uint64_t kFlush = 1 << 0, kDiscard = 1 << 2;
constexpr std::string_view kMark = "power-cut mark ";

Error damaged(std::string what)
{
    return Error{Errc::kDamaged, std::move(what)};
}

}  // namespace

Result<std::vector<Request>> parse_log(Bytes log)
{
    if (log.size() < kSectorBytes || load_le<uint64_t>(&log[kMagicAt]) != kMagic ||
        load_le<uint64_t>(&log[kVersionAt]) != kVersion ||
        load_le<uint32_t>(&log[kSectorBytesAt]) != kSectorBytes)
        return damaged("not a log of version 1 with sectors of 512 bytes");
    const uint64_t count = load_le<uint64_t>(&log[kRequestsAt]);
    std::vector<Request> requests;
    size_t at = kSectorBytes;
    while (requests.size() < count) {
        if (log.size() - at < kSectorBytes)
            return damaged(
                fmt::format("the log ends before request {} of {}", requests.size(), count));
        const uint64_t sector = load_le<uint64_t>(&log[at + kSectorAt]);
        const uint64_t sectors = load_le<uint64_t>(&log[at + kSectorsAt]);
        const uint64_t flags = load_le<uint64_t>(&log[at + kFlagsAt]);
        at += kSectorBytes;
        const uint64_t data = flags & kDiscard ? 0 : sectors;
        if (data > (log.size() - at) / kSectorBytes || sector > UINT64_MAX / kSectorBytes)
            return damaged(fmt::format("request {} exceeds the log", requests.size()));
        requests.push_back(
            {sector * kSectorBytes, log.subspan(at, data * kSectorBytes), (flags & kFlush) != 0});
        at += data * kSectorBytes;
    }
    return requests;
}

Cut make_cut(std::span<const Request> requests, size_t first, uint64_t seed)
{
    std::mt19937_64 random(seed);
    Cut cut;
    cut.requests = first + 1 + random() % (requests.size() - first);
    const auto before = requests.first(cut.requests);
    const auto flush = std::find_if(before.rbegin(), before.rend(),
                                    [](const Request &request) { return request.is_flush; });
    cut.flushed = static_cast<size_t>(before.rend() - flush);
    cut.fate = static_cast<Fate>(random() % 3);
    cut.seed = random();
    return cut;
}

Result<size_t> apply(std::span<const Request> requests, const Cut &cut, std::span<std::byte> image)
{
    std::mt19937_64 random(cut.seed);
    size_t lost = 0;
    for (size_t i = 0; i < cut.requests; i++) {
        const Request &request = requests[i];
        if (request.offset > image.size() || request.data.size() > image.size() - request.offset)
            return damaged(fmt::format("request {} exceeds the disk", i));
        for (size_t at = 0; at < request.data.size(); at += kBlockBytes) {
            const Bytes block =
                request.data.subspan(at, std::min(kBlockBytes, request.data.size() - at));
            const bool kept = i < cut.flushed || cut.fate == Fate::kKept ||
                              (cut.fate == Fate::kSomeBlocks && random() % 2 == 0);
            if (kept)
                std::ranges::copy(block, &image[request.offset + at]);
            lost += !kept;
        }
    }
    return lost;
}

std::optional<uint64_t> mark_of(const Request &request)
{
    const std::string_view text(reinterpret_cast<const char *>(request.data.data()),
                                std::min(request.data.size(), kSectorBytes));
    const size_t end = text.find('\n');
    if (!text.starts_with(kMark) || end == text.npos)
        return std::nullopt;
    const Result<uint64_t> number = parse_u64(text.substr(kMark.size(), end - kMark.size()));
    return number ? std::optional(*number) : std::nullopt;
}

}  // namespace pmukit::power_cut
