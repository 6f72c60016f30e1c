// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The syntax of format files: Documentation/ABI/testing/sysfs-bus-event_source-devices-format of
// Linux.
#include "record/sysfs_pmu.hpp"

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/suggest.hpp"

namespace pmukit::record {
namespace {

constexpr std::array<std::string_view, kConfigWords> kWordNames = {"config", "config1", "config2",
                                                                   "config3", "config4"};

std::optional<Field::Bits> parse_bits(std::string_view text)
{
    size_t dash = text.find('-');
    Result<uint64_t> first = parse_u64(text.substr(0, dash));
    Result<uint64_t> last = dash == text.npos ? first : parse_u64(text.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 63)
        return std::nullopt;
    return Field::Bits{static_cast<unsigned>(*first), static_cast<unsigned>(*last)};
}

// Returns the files of a directory: name -> trimmed text. A missing directory counts as empty.
Result<std::map<std::string, std::string>> read_folder(const std::string &folder)
{
    std::map<std::string, std::string> files;
    std::error_code failure;
    std::filesystem::directory_iterator at(folder, failure), end;
    for (; !failure && at != end; at.increment(failure)) {
        if (!at->is_regular_file(failure))
            continue;
        Result<std::string> text = read_small_file(at->path());
        if (!text)
            return text.error();
        files[at->path().filename()] = std::string(trim(*text));
    }
    return files;
}

// Returns false for further files of an alias, such as NAME.unit and NAME.scale, which are not
// events.
bool is_event_file(const std::string &name)
{
    constexpr std::string_view kSuffixes[] = {".unit", ".scale", ".per-pkg", ".snapshot"};
    return std::ranges::none_of(
        kSuffixes, [&name](std::string_view suffix) { return name.ends_with(suffix); });
}

Result<uint32_t> read_type(const std::string &folder)
{
    Result<std::string> text = read_small_file(folder + "/type");
    if (!text)
        return text.error();
    Result<uint64_t> type = parse_u64(trim(*text));
    if (!type || *type > UINT32_MAX)
        return Error{Errc::kDamaged, folder + "/type: not a PMU type"};
    return static_cast<uint32_t>(*type);
}

std::string near_pmu(const std::string &root, const std::string &name)
{
    std::vector<std::string> names;
    if (const auto pmus = list_pmus(root))
        for (const auto &[known, type] : *pmus)
            names.push_back(known);
    return did_you_mean(name, names);
}

}  // namespace

unsigned Field::width() const
{
    unsigned total = 0;
    for (const Bits &part : bits)
        total += part.last - part.first + 1;
    return total;
}

Result<Field> parse_format(std::string_view text)
{
    const Error bad = wrong_text(Errc::kDamaged, text, "is not a format such as config1:0-31");
    size_t colon = text.find(':');
    if (colon == text.npos)
        return bad;
    auto word = std::ranges::find(kWordNames, text.substr(0, colon));
    if (word == kWordNames.end())
        return bad;
    Field field{static_cast<size_t>(word - kWordNames.begin()), {}};
    for (std::string_view part : split(text.substr(colon + 1), ',')) {
        std::optional<Field::Bits> bits = parse_bits(part);
        if (!bits)
            return bad;
        field.bits.push_back(*bits);
    }
    if (field.bits.empty() || field.width() > 64)
        return bad;
    return field;
}

Result<void> set_field(const Field &field, uint64_t value, ConfigWords &words)
{
    unsigned width = field.width();
    if (width < 64 && value >> width)
        return Error{Errc::kUsage, "does not fit in " + std::to_string(width) + " bits (0.." +
                                       std::to_string((uint64_t{1} << width) - 1) + ")"};
    for (const Field::Bits &part : field.bits) {
        unsigned count = part.last - part.first + 1;
        uint64_t mask = count == 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
        uint64_t &word = words[field.word];
        word = (word & ~(mask << part.first)) | (value & mask) << part.first;
        value = count == 64 ? 0 : value >> count;
    }
    return {};
}

uint64_t get_field(const Field &field, const ConfigWords &words)
{
    uint64_t value = 0;
    unsigned at = 0;
    for (const Field::Bits &part : field.bits) {
        const unsigned count = part.last - part.first + 1;
        const uint64_t mask = count == 64 ? UINT64_MAX : (uint64_t{1} << count) - 1;
        value |= (words[field.word] >> part.first & mask) << at;
        at += count;
    }
    return value;
}

Result<Pmu> read_pmu(const std::string &root, const std::string &name)
{
    const std::string folder = root + "/" + name;
    Result<uint32_t> type = read_type(folder);
    if (!type && type.error().code == Errc::kNotFound)
        return Error{Errc::kNotFound,
                     "there is no PMU " + name + " in " + root + near_pmu(root, name)};
    if (!type)
        return type.error();
    Pmu pmu{name, *type, {}, {}, {}, {}};

    auto formats = read_folder(folder + "/format");
    auto events = read_folder(folder + "/events");
    auto caps = read_folder(folder + "/caps");
    for (const auto *read : {&formats, &events, &caps})
        if (!*read)
            return read->error();
    for (const auto &[term, text] : *formats) {
        Result<Field> field = parse_format(text);
        if (!field) {
            std::string where = folder;
            where.append("/format/").append(term).append(": ");
            return Error{Errc::kDamaged, where + field.error().message};
        }
        pmu.format[term] = *field;
    }
    std::erase_if(*events, [](const auto &event) { return !is_event_file(event.first); });
    pmu.events = std::move(*events);
    pmu.caps = std::move(*caps);

    for (const auto &[file, list] : {std::pair("/cpumask", &pmu.cpumask), {"/cpus", &pmu.cpus}})
        if (Result<std::string> text = read_small_file(folder + file)) {
            Result<std::vector<int>> cpus = parse_cpulist(*text);
            if (!cpus)
                return Error{Errc::kDamaged, folder + file + ": " + cpus.error().message};
            *list = *cpus;
        }
    return pmu;
}

Result<std::vector<std::pair<std::string, uint32_t>>> list_pmus(const std::string &root)
{
    std::vector<std::pair<std::string, uint32_t>> pmus;
    std::error_code failure;
    std::filesystem::directory_iterator at(root, failure), end;
    if (failure)
        return Error{Errc::kNotFound, root + ": " + failure.message()};
    for (; at != end; at.increment(failure)) {
        // A PMU that disappears during the listing is left out; this is not an error.
        if (Result<uint32_t> type = read_type(at->path()))
            pmus.emplace_back(at->path().filename(), *type);
        if (failure)
            break;
    }
    std::ranges::sort(pmus);
    return pmus;
}

}  // namespace pmukit::record
