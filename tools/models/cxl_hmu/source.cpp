// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/source.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/number.hpp"
#include "models/cxl_hmu/access_reader.hpp"

namespace pmukit::models::cxl_hmu {

namespace {

constexpr uint64_t kLineBytes = 64;  // an M2S request transfers one cache line
constexpr uint64_t kHotPercent = 90;
constexpr size_t kMaxTraceLines = size_t{1} << 24;

// A line of the access log, within the memory that the largest range bitmap covers.
std::optional<Request> parse_access(std::string_view line)
{
    const std::optional<Request> access = parse_access_line(line);
    return access && access->dpa < kSourceMaxDpa ? access : std::nullopt;
}

}  // namespace

// SplitMix64 (Steele, Lea, Flood 2014), with distributions that are the same everywhere. The
// distributions of the C++ library depend on the implementation.
class Source::Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next()
    {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    // Returns 0 .. limit - 1; limit is at most 2^32.
    uint64_t below(uint64_t limit) { return (next() >> 32) * limit >> 32; }
    bool percent(uint64_t share) { return below(100) < share; }
    // Returns a number in [0, 1).
    double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // Returns a generator; each number has a separate random stream.
    static Random stream(uint64_t seed, uint64_t number)
    {
        return Random(Random(Random(seed).next() ^ number).next());
    }

private:
    uint64_t state_;
};

Source::Source(SourceParams params) : params_(std::move(params)) {}

Result<Source> Source::create(SourceParams params)
{
    Source source(std::move(params));
    if (source.params_.pattern == Pattern::kReplay) {
        if (const Result<void> read = source.read_trace(); !read)
            return read.error();
        return source;
    }
    source.shuffle_units();
    if (source.params_.pattern == Pattern::kZipf)
        source.add_weights();
    return source;
}

Result<void> Source::read_trace()
{
    const Result<MappedFile> file = MappedFile::open(params_.file);
    if (!file)
        return Error{file.error().code, "trace " + file.error().message};
    const Bytes bytes = file->bytes();
    std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    for (size_t number = 1; !text.empty(); number++) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#')
            continue;
        const std::optional<Request> access = parse_access(line);
        if (!access || trace_.size() == kMaxTraceLines)
            return Error{Errc::kDamaged,
                         fmt::format("trace {}:{}: {}", params_.file, number,
                                     access ? "too many lines" : "not R|W 0x<dpa> <width> [T]")};
        trace_.push_back(*access);
    }
    if (trace_.empty())
        return Error{Errc::kDamaged, "trace " + params_.file + ": no access in it"};
    return {};
}

// Spreads hot units over the space, like the pages of a heap (Fisher-Yates shuffle).
void Source::shuffle_units()
{
    Random random(params_.seed);
    order_.resize(params_.units);
    std::iota(order_.begin(), order_.end(), 0u);
    for (size_t left = order_.size(); left > 1; left--)
        std::swap(order_[left - 1], order_[random.below(left)]);
}

void Source::add_weights()
{
    double sum = 0;
    for (uint64_t rank = 1; rank <= params_.units; rank++) {
        sum += std::pow(static_cast<double>(rank), static_cast<double>(params_.skew) / -100);
        weight_to_.push_back(sum);
    }
}

bool Source::ended(uint64_t epoch) const
{
    if (params_.epochs != 0 && epoch >= params_.epochs)
        return true;
    return params_.pattern == Pattern::kReplay && epoch > (trace_.size() - 1) / params_.accesses;
}

std::vector<Request> Source::epoch(uint64_t number) const
{
    std::vector<Request> requests;
    if (ended(number))
        return requests;
    if (params_.pattern == Pattern::kReplay) {
        const auto first = trace_.begin() + static_cast<ptrdiff_t>(number * params_.accesses);
        const auto left = static_cast<uint64_t>(trace_.end() - first);
        requests.assign(first, first + static_cast<ptrdiff_t>(std::min(params_.accesses, left)));
        return requests;
    }
    Random random = Random::stream(params_.seed, number);
    requests.reserve(params_.accesses);
    for (uint64_t access = 0; access < params_.accesses; access++) {
        Request request;
        request.dpa = params_.base + offset(random, number, access);
        request.write = random.percent(params_.writes);
        request.tee = random.percent(params_.tee);
        requests.push_back(request);
    }
    return requests;
}

uint64_t Source::offset(Random &random, uint64_t epoch, uint64_t access) const
{
    const uint64_t lines_of_unit = params_.unit_bytes / kLineBytes;
    if (params_.pattern == Pattern::kSequential) {
        const uint64_t line = epoch * params_.accesses + access;
        return line % (params_.units * lines_of_unit) * kLineBytes;
    }
    const uint64_t start = unit(random, epoch, access) * params_.unit_bytes;
    return start + random.below(lines_of_unit) * kLineBytes;
}

uint64_t Source::unit(Random &random, uint64_t epoch, uint64_t access) const
{
    switch (params_.pattern) {
        case Pattern::kZipf: {
            const double at = random.fraction() * weight_to_.back();
            const auto rank = std::upper_bound(weight_to_.begin(), weight_to_.end() - 1, at);
            return order_[static_cast<size_t>(rank - weight_to_.begin())];
        }
        case Pattern::kPhase: {
            if (!random.percent(kHotPercent))
                break;
            const uint64_t first = epoch / params_.period % params_.units * params_.hot;
            return order_[(first + random.below(params_.hot)) % params_.units];
        }
        case Pattern::kBursts:
            return Random::stream(~params_.seed, epoch * params_.accesses + access / params_.burst)
                .below(params_.units);
        case Pattern::kUniform:
        case Pattern::kSequential:
        case Pattern::kReplay:
            break;
    }
    return random.below(params_.units);
}

}  // namespace pmukit::models::cxl_hmu
