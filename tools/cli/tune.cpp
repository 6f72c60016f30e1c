// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit tune: shows, sets, saves and restores the files in tune/ of pmukit's PMUs. Each value is
// read back after it was set, because the hardware may change it.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "console/temp_file.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

// A file in tune/ of a PMU, such as hisi_ptt0_2/qos_tx_cpl.
struct Knob {
    std::string pmu, name;
    std::string path;
    std::string text() const { return pmu + "/" + name; }
};

// Two files set the same level of a device. pmukit lists and saves the file with the first name,
// and also accepts the second name (Documentation/devices/hisi_ptt.rst). Each pair: second name,
// first name.
constexpr std::pair<std::string_view, std::string_view> kSecondNames[] = {
    {"tx_path_rx_req_alloc_buf_level", "rx_alloc_buf_level"},
    {"tx_path_tx_req_alloc_buf_level", "tx_alloc_buf_level"},
};

// Returns the first name for a second name; an empty text if `name` is not a second name.
std::string_view first_name_of(std::string_view name)
{
    for (const auto &[second, first] : kSecondNames)
        if (name == second)
            return first;
    return {};
}

struct Setting {
    Knob knob;
    uint64_t value;
};

// Files

// Finds all files, each once, under its first name.
Result<std::vector<Knob>> find_knobs(const std::string &root)
{
    auto pmus = record::list_pmus(root);
    if (!pmus)
        return pmus.error();
    std::vector<Knob> knobs;
    for (const auto &[pmu, type] : *pmus) {
        if (!recorder_of_pmu(pmu))
            continue;
        std::error_code failure;
        for (fs::directory_iterator at(root + "/" + pmu + "/tune", failure), end;
             !failure && at != end; at.increment(failure))
            if (at->is_regular_file(failure) &&
                first_name_of(at->path().filename().native()).empty())
                knobs.push_back({pmu, at->path().filename(), at->path()});
    }
    std::ranges::sort(knobs, {}, [](const Knob &knob) { return std::tie(knob.pmu, knob.name); });
    if (knobs.empty())
        return Error{Errc::kNotFound,
                     fmt::format("no PMU in {} can be tuned; load hisi_ptt and check dmesg", root)};
    return knobs;
}

Result<uint64_t> read_knob(const Knob &knob)
{
    const Result<std::string> text = read_small_file(knob.path);
    if (!text)
        return text.error();
    const Result<uint64_t> value = parse_u64(trim(*text));
    if (!value)
        return Error{Errc::kDamaged, knob.path + ": " + value.error().message};
    return *value;
}

Result<void> write_knob(const Setting &setting)
{
    const std::string &path = setting.knob.path;
    const Fd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!fd)
        return system_error(path, errno);
    return write_all(fd.get(), as_bytes(std::to_string(setting.value) + "\n"), path);
}

// Arguments and saved files

struct Wanted {
    std::string pmu;  // empty: every PMU that has the file
    std::string name;
    uint64_t value;
};

// Parses "[PMU/]FILE" and "VALUE".
Result<Wanted> parse_wanted(std::string_view where, std::string_view value)
{
    const size_t slash = where.find('/');
    Wanted wanted;
    if (slash != where.npos)
        wanted.pmu = where.substr(0, slash);
    wanted.name = where.substr(slash == where.npos ? 0 : slash + 1);
    const Result<uint64_t> number = parse_u64(value);
    if (!number)
        return Error{Errc::kUsage, fmt::format("{}: {}", where, number.error().message)};
    wanted.value = *number;
    return wanted;
}

// Returns one setting per matching file. The caller writes only after all arguments were resolved.
Result<std::vector<Setting>> settings_of(const std::vector<Wanted> &all,
                                         const std::vector<Knob> &knobs)
{
    std::vector<Setting> settings;
    for (const Wanted &wanted : all) {
        const size_t before = settings.size();
        for (const Knob &knob : knobs)
            if (knob.name == wanted.name && (wanted.pmu.empty() || knob.pmu == wanted.pmu))
                settings.push_back({knob, wanted.value});
        if (settings.size() == before)
            return Error{Errc::kNotFound,
                         fmt::format("there is no {}{}{} to tune; pmukit tune lists what there is",
                                     wanted.pmu, wanted.pmu.empty() ? "" : "/", wanted.name)};
    }
    return settings;
}

Result<std::vector<Wanted>> parse_words(const std::vector<std::string> &words)
{
    std::vector<Wanted> all;
    for (const std::string &word : words) {
        const size_t equals = word.find('=');
        if (equals == word.npos)
            return Error{
                Errc::kUsage,
                fmt::format("'{}': expected [PMU/]FILE=VALUE, such as qos_tx_cpl=2", word)};
        Result<Wanted> wanted = parse_wanted(std::string_view(word).substr(0, equals),
                                             std::string_view(word).substr(equals + 1));
        if (!wanted)
            return wanted.error();
        all.push_back(*wanted);
    }
    return all;
}

// Parses lines of "PMU/FILE VALUE"; # begins a comment.
Result<std::vector<Wanted>> parse_saved(const std::string &path)
{
    const Result<std::string> text = read_file(path, 65536, Readable::kPipeAlso);
    if (!text)
        return text.error();
    std::vector<Wanted> all;
    size_t number = 0;
    for (std::string_view line : split(*text, '\n')) {
        number++;
        line = trim(line.substr(0, line.find('#')));
        if (line.empty())
            continue;
        const size_t blank = line.find(' ');
        Result<Wanted> wanted = blank == line.npos
                                    ? Error{Errc::kDamaged, "expected PMU/FILE VALUE"}
                                    : parse_wanted(line.substr(0, blank), trim(line.substr(blank)));
        if (!wanted || wanted->pmu.empty())
            return Error{Errc::kDamaged,
                         fmt::format("{}:{}: {}", path, number,
                                     wanted ? "the PMU is missing" : wanted.error().message)};
        all.push_back(*wanted);
    }
    return all;
}

// Replaces second names by first names. The last setting of a file takes effect. Settings by second
// name are therefore moved to the front, so that a value saved under the first name has priority.
void use_first_names(std::vector<Wanted> &all)
{
    const auto is_second = [](const Wanted &wanted) { return !first_name_of(wanted.name).empty(); };
    std::stable_partition(all.begin(), all.end(), is_second);
    for (Wanted &wanted : all)
        if (const std::string_view first = first_name_of(wanted.name); !first.empty())
            wanted.name = first;
}

// Actions

// Writes the settings. Returns false if a value was not set as requested; each such value is
// reported.
bool apply(const std::vector<Setting> &settings)
{
    bool good = true;
    for (const Setting &setting : settings) {
        const Result<void> written = write_knob(setting);
        const Result<uint64_t> now =
            written ? read_knob(setting.knob) : Result<uint64_t>(written.error());
        if (!now)
            warn(now.error().message);
        else if (*now != setting.value)
            warn(fmt::format("{}: requested {}, the hardware has {}", setting.knob.text(),
                             setting.value, *now));
        good = good && now && *now == setting.value;
    }
    return good;
}

bool show(const std::vector<Knob> &knobs, bool as_json, Output &out)
{
    nlohmann::ordered_json pmus = nlohmann::ordered_json::object();
    bool good = true;
    std::string last;
    for (const Knob &knob : knobs) {
        const Result<uint64_t> value = read_knob(knob);
        if (!value)
            warn(value.error().message);
        good = good && value;
        nlohmann::ordered_json &member = pmus[knob.pmu][knob.name];
        member = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
        if (as_json)
            continue;
        if (knob.pmu != last)
            out.print("{}\n", knob.pmu);
        last = knob.pmu;
        out.print("  {:<20} {}\n", knob.name, value ? std::to_string(*value) : "?");
    }
    if (as_json)
        print_json({{"pmus", pmus}}, out);
    return good;
}

constexpr std::string_view kSavedFront = "# pmukit tune: restore with pmukit tune --restore\n";

bool is_saved(std::string_view front)
{
    return front.starts_with(kSavedFront);
}

Result<void> save(const std::vector<Knob> &knobs, const std::string &path)
{
    std::string text(kSavedFront);
    for (const Knob &knob : knobs) {
        const Result<uint64_t> value = read_knob(knob);
        if (!value)
            return value.error();
        text += fmt::format("{} {}\n", knob.text(), *value);
    }
    return write_new_file(path, as_bytes(text));
}

}  // namespace

Result<int> run_tune(const TuneOptions &options, Output &out)
{
    const bool sets = !options.settings.empty();
    if (int{sets} + !options.save.empty() + !options.restore.empty() > 1)
        return Error{Errc::kUsage, "settings, --save and --restore cannot be combined"};
    Result<std::vector<Wanted>> wanted =
        options.restore.empty() ? parse_words(options.settings) : parse_saved(options.restore);
    if (!wanted)
        return wanted.error();
    if (Result<void> begun =
            begin_output(options.save, {}, {"a file of tune --save", is_saved}, options.force);
        !begun)
        return begun.error();
    Result<std::vector<Knob>> knobs = find_knobs(options.sysfs_root);
    if (!knobs)
        return knobs.error();
    if (!options.save.empty()) {
        if (Result<void> saved = save(*knobs, options.save); !saved)
            return saved.error();
        return kExitGood;
    }
    use_first_names(*wanted);
    Result<std::vector<Setting>> settings = settings_of(*wanted, *knobs);
    if (!settings)
        return settings.error();
    const bool applied = apply(*settings);
    const bool shown = show(*knobs, options.json, out);
    return applied && shown ? kExitGood : kExitFailed;
}

}  // namespace pmukit::cli
