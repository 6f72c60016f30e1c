// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/cxl_hmu/hot_lists.hpp"

#include <fmt/core.h>

#include "base/number.hpp"
#include "cli/drivers.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::cli {
namespace {

bool is_ours(const Stream &stream)
{
    return stream.driver == driver_of_name("cxl_hmu")->recorded;
}

}  // namespace

std::optional<uint64_t> known_power(std::optional<unsigned> log2)
{
    return log2 && *log2 < 64 ? std::optional(uint64_t{1} << *log2) : std::nullopt;
}

std::optional<unsigned> asked_unit_log2(const Recording &recording, size_t event)
{
    constexpr std::string_view kTerm = "hotness_granual";
    const std::vector<perfdata::Event> &events = recording.reader().events();
    if (event >= events.size())
        return std::nullopt;
    const std::string named = std::string(kTerm) + "=";
    const std::string &name = events[event].name;
    uint64_t asked = 0;
    if (const size_t at = name.find(named); at != name.npos) {
        const std::string value = name.substr(at + named.size());
        const Result<uint64_t> number = parse_u64(value.substr(0, value.find_first_of(",/")));
        asked = number ? *number : 0;
    } else {
        const std::span<const Term> terms = driver_of_name("cxl_hmu")->terms;
        asked = std::ranges::find(terms, kTerm, &Term::name)->of(events[event].attr);
    }
    return asked != 0 && asked < 64 ? std::optional(static_cast<unsigned>(asked)) : std::nullopt;
}

std::string left_out_text(const decode::cxl_hmu::HotList &list)
{
    const decode::cxl_hmu::LeftOut &left_out = list.left_out();
    if (!left_out.units)
        return {};
    if (list.totals().always_on)
        return fmt::format(
            "more than {} units: {} times a cold unit was dropped, with {} epochs in all; a listed "
            "unit may lack up to {} epochs",
            decode::cxl_hmu::HotList::kMostUnits, left_out.units, left_out.epochs,
            left_out.most_short_epochs);
    return fmt::format(
        "more than {} units: {} times a cold unit was dropped, with {} accesses and {} epochs in "
        "all; a listed unit may lack up to {} accesses and {} epochs",
        decode::cxl_hmu::HotList::kMostUnits, left_out.units, left_out.accesses, left_out.epochs,
        left_out.most_short_accesses, left_out.most_short_epochs);
}

decode::cxl_hmu::HotList &HotLists::list(size_t event)
{
    const auto [at, is_new] =
        lists_.try_emplace(event, asked_unit_log2(*recording_, event), most_units_);
    if (is_new && on_list_)
        on_list_(event, at->second);
    return at->second;
}

void HotLists::aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t)
{
    if (is_ours(stream))
        streams_.begin_at(stream, offset, list(stream.event));
}

void HotLists::aux(const Stream &stream, Bytes data)
{
    if (auto *decoder = streams_.find(stream))
        decoder->data(data);
}

void HotLists::aux_loss(const Stream &stream, uint64_t, uint64_t bytes)
{
    streams_.loss(stream, bytes);
}

void HotLists::sample(const Stream &stream, uint64_t, Bytes words)
{
    if (!is_ours(stream))
        return;
    decode::cxl_hmu::StreamDecoder decoder(list(stream.event));
    decoder.start(0);
    decoder.data(words);
    decoder.end();
}

void HotLists::finish()
{
    streams_.end();
}

}  // namespace pmukit::cli
