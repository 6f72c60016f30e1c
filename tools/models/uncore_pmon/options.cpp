// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/number.hpp"
#include "models/uncore_pmon/unit_types.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint64_t kMinDdr = 4096;
constexpr uint64_t kMaxDdr = uint64_t{1} << 30;
constexpr unsigned kMinWidth = 24;
constexpr unsigned kMaxWidth = 64;
constexpr uint64_t kMaxBelowWrap = (uint64_t{1} << kMinWidth) - 1;
constexpr unsigned kMaxOnesEvery = 1'000'000;
constexpr unsigned kMaxTableBar = 1;  // the next BARs are the units and the DDR range

struct Bound {
    const char *option;
    uint64_t value;
    uint64_t min;
    uint64_t max;
};

Error usage(std::string message)
{
    return Error{Errc::kUsage, std::move(message)};
}

std::optional<uint16_t> parse_id(std::string_view text)
{
    const Result<uint64_t> number = parse_u64(text);
    if (!number || *number > kUnitId.limit())
        return std::nullopt;
    return static_cast<uint16_t>(*number);
}

// Checks the ids of one type, which has `units` units.
Result<void> check_ids(const UnitIds &ids, unsigned units)
{
    if (ids.ids.size() != units)
        return usage(fmt::format("--unit-ids {}: {} ids, but there are {} such units",
                                 ids.type->name, ids.ids.size(), units));
    std::vector<uint16_t> sorted = ids.ids;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end())
        return usage(fmt::format("--unit-ids {}: an id is there twice", ids.type->name));
    return {};
}

Result<void> check_named_units(const Options &options)
{
    for (const UnitIds &ids : options.ids)
        if (Result<void> checked = check_ids(ids, options.units_of(*ids.type)); !checked)
            return checked;
    for (const UnitName &name : options.all_ones) {
        bool found = false;
        for (unsigned nth = 0; nth < options.units_of(*name.type) && !found; nth++)
            found = options.id_of(*name.type, nth) == name.id;
        if (!found)
            return usage(
                fmt::format("--all-ones {}.{}: there is no such unit", name.type->name, name.id));
    }
    return {};
}

Result<void> check_tables(const Options &options)
{
    const std::array<unsigned, kMaxTables> units = options.units();
    for (unsigned i = 0; i < options.tables; i++)
        if (units[i] == 0)
            return usage(options.tables == 1
                             ? std::string("--imc 0: there must be some unit")
                             : fmt::format("--tables {}: there is no unit for table {}",
                                           options.tables, i + 1));
    const unsigned most = std::ranges::max(units);
    if (options.max_units != 0 &&
        (options.max_units < most || options.max_units > kGlobalMaxUnits.limit()))
        return usage(fmt::format("--max-units {}: must be {} (the units there are) to {}",
                                 options.max_units, most, kGlobalMaxUnits.limit()));
    if (options.table_64bit && options.table_bar != 0)
        return usage("--table-64bit: takes BAR 0 and 1, so it goes with --table-bar 0 only");
    return {};
}

}  // namespace

Result<UnitIds> parse_unit_ids(std::string_view text)
{
    const size_t equals = text.find('=');
    UnitIds parsed{find_type(text.substr(0, equals)), {}};
    if (!parsed.type || equals == text.npos)
        return wrong_text(Errc::kUsage, text, "is not a type and its ids, as cxlcm=2,4,6");
    for (const std::string_view id : split(text.substr(equals + 1), ',')) {
        const std::optional<uint16_t> number = parse_id(id);
        if (!number)
            return wrong_text(Errc::kUsage, text, "is not a type and its ids, as cxlcm=2,4,6");
        parsed.ids.push_back(*number);
    }
    return parsed;
}

Result<UnitName> parse_unit_name(std::string_view text)
{
    const size_t dot = text.find('.');
    const UnitType *const type = find_type(text.substr(0, dot));
    const std::optional<uint16_t> id =
        dot == text.npos ? std::nullopt : parse_id(text.substr(dot + 1));
    if (!type || !id)
        return wrong_text(Errc::kUsage, text, "is not a unit, as b2cxl.0");
    return UnitName{type, *id};
}

unsigned Options::units_of(const UnitType &type) const
{
    if (&type == &kImc)
        return imcs;
    return &type == &kUnknown ? unknown : static_cast<unsigned>(root_ports.size());
}

uint16_t Options::id_of(const UnitType &type, unsigned nth) const
{
    const auto named = std::ranges::find(ids, &type, &UnitIds::type);
    return named == ids.end() ? static_cast<uint16_t>(nth) : named->ids[nth];
}

Result<void> check(const Options &options)
{
    const Bound bounds[] = {
        {"--imc", options.imcs, 0, kMaxImcs},
        {"--ddr", options.ddr_bytes, kMinDdr, kMaxDdr},
        {"--serves: number of root ports", options.root_ports.size(), 0, kMaxPorts},
        {"--unknown", options.unknown, 0, kMaxUnknown},
        {"--msr-units", options.msr_units, 0, kMaxListed},
        {"--pci-units", options.pci_units, 0, kMaxListed},
        {"--width", options.box.width, kMinWidth, kMaxWidth},
        {"--below-wrap", options.box.below_wrap, 0, kMaxBelowWrap},
        {"--tables", options.tables, 1, kMaxTables},
        {"--ones-every", options.ones_every, 1, kMaxOnesEvery},
        {"--stride", options.stride, kEntryWords, kGlobalStride.limit()},
        {"--table-bar", options.table_bar, 0, kMaxTableBar},
    };
    for (const Bound &bound : bounds) {
        if (bound.value < bound.min || bound.value > bound.max)
            return usage(fmt::format("{} {}: must be {} to {}", bound.option, bound.value,
                                     bound.min, bound.max));
    }
    if (!std::has_single_bit(options.ddr_bytes))
        return usage(fmt::format("--ddr {}: must be a power of two", options.ddr_bytes));
    if (Result<void> tables = check_tables(options); !tables)
        return tables;
    if (Result<void> named = check_named_units(options); !named)
        return named;
    if (options.fault && options.imcs < 2)
        return usage(fmt::format("--fault {}: wants --imc 2 or more", options.fault->name));
    return {};
}

}  // namespace pmukit::models::uncore_pmon
