// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit discover: prints the discovery tables of Intel's uncore, read through sysfs without a
// module, or from a saved folder. It only reads, and does not access counters.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/pci_config.hpp"
#include "cli/commands.hpp"
#include "console/temp_file.hpp"
#include "decode/uncore_pmon/uncore_pmon_decode.hpp"
#include "export/folder.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;
namespace uncore = decode::uncore_pmon;

// A function with a discovery table, and the data read from it.
struct Function {
    std::string name;  // 0000:7f:00.3, or the name of the saved folder
    std::string path;
    uncore::Place place{};
    std::string config;            // configuration space
    std::vector<std::byte> bytes;  // start of the BAR, up to the end of the table
    uint64_t bar_bytes = 0;
};

// Reading

bool is_locked_down(const std::string &lockdown_file)
{
    const Result<std::string> state = read_small_file(lockdown_file);
    return state && state->find("[none]") == std::string::npos &&
           state->find('[') != std::string::npos;
}

Error why_not(const std::string &path, int error, const DiscoverOptions &options)
{
    if (error == EPERM || error == EACCES) {
        if (is_locked_down(options.lockdown_file))
            return Error{Errc::kDenied, path +
                                            ": kernel lockdown forbids to read device memory; "
                                            "boot with lockdown=none to read the table"};
        return Error{Errc::kDenied, path + ": only root may read device memory"};
    }
    if (error == EINVAL)
        return Error{
            Errc::kBusy,
            path + ": a driver has claimed this memory; unload it, or boot with iomem=relaxed"};
    return system_error(path, error);
}

// Reads the first bytes of a BAR, or of a file with its contents. Device memory is read in 32-bit
// words: other access sizes may return wrong data.
Result<std::vector<std::byte>> read_memory(int fd, size_t bytes, const std::string &path,
                                           const DiscoverOptions &options)
{
    std::vector<std::byte> copy(bytes / 4 * 4);
    if (copy.empty())
        return copy;
    void *at = ::mmap(nullptr, copy.size(), PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return why_not(path, errno, options);
    const volatile uint32_t *words = static_cast<const volatile uint32_t *>(at);
    for (size_t i = 0; i < copy.size() / 4; i++) {
        const uint32_t word = words[i];
        std::memcpy(copy.data() + i * 4, &word, sizeof word);
    }
    ::munmap(at, copy.size());
    return copy;
}

// Reads as much of the BAR as the table needs, at most the whole BAR.
Result<void> read_table(Function &function, const DiscoverOptions &options)
{
    const std::string path = fmt::format("{}/resource{}", function.path, function.place.bir);
    const Result<Fd> opened = open_for_reading(path);
    if (!opened)
        return opened.error().code == Errc::kDenied ? why_not(path, EACCES, options)
                                                    : opened.error();
    const Fd &fd = *opened;
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        return system_error(path, errno);
    function.bar_bytes = static_cast<uint64_t>(status.st_size);

    size_t wanted = uncore::kGlobalBytes;
    for (int round = 0; round < 2; round++) {
        Result<std::vector<std::byte>> bytes =
            read_memory(fd.get(), std::min<size_t>(wanted, function.bar_bytes), path, options);
        if (!bytes)
            return bytes.error();
        function.bytes = std::move(*bytes);
        const Result<uncore::Global> global =
            uncore::parse_global(function.bytes, function.bar_bytes);
        if (!global)
            break;  // the table is invalid; parsing it again later reports the error
        wanted = global->bytes();
    }
    return {};
}

struct Found {
    std::vector<Function> functions;
    // The config space of a function has only the 64 bytes that an unprivileged user can read.
    bool cut_short = false;
    bool good = true;  // false: an error was already reported
};

// Reads a function. If this fails, prints a warning and returns false.
bool read_function(const std::string &path, const std::string &config,
                   const Result<std::optional<uncore::Place>> &place,
                   const DiscoverOptions &options, Found &found)
{
    Function function = {fs::path(path).filename().string(), path, {}, config, {}, 0};
    if (place)
        function.place = **place;
    const Result<void> read =
        place ? read_table(function, options)
              : Result<void>(Error{place.error().code, path + ": " + place.error().message});
    if (!read) {
        warn(read.error().message);
        return false;
    }
    found.functions.push_back(std::move(function));
    return true;
}

// True if sysfs shows another vendor than Intel. A saved copy may lack the file: false.
bool is_another_vendors(const std::string &path)
{
    const Result<std::string> text = read_small_file(path + "/vendor");
    const Result<uint64_t> vendor = parse_u64(text ? trim(*text) : "");
    return vendor && *vendor != uncore::kIntel;
}

void look_at(const std::string &path, const DiscoverOptions &options, Found &found)
{
    if (is_another_vendors(path))
        return;
    const Result<std::string> config = PciConfigReader::read(path + "/config");
    if (!config) {
        warn(config.error().message);
        found.good = false;
        return;
    }
    const Bytes bytes = as_bytes(*config);
    Result<std::optional<uncore::Place>> place = uncore::find_table(bytes);
    if (place && !*place)
        found.cut_short |= uncore::is_cut_short(bytes) && bytes.size() < 256;
    while (!place || *place) {
        found.good = read_function(path, *config, place, options, found) && found.good;
        if (!place)
            return;
        place = uncore::next_table(bytes, **place);
    }
}

// options.root is the folder of one function, or of several, like /sys/bus/pci/devices.
Result<Found> find_functions(const DiscoverOptions &options)
{
    Found found;
    const std::string root = fs::path(options.root + "/").parent_path().string();
    std::error_code failure;
    if (fs::exists(root + "/config", failure)) {
        look_at(root, options, found);
    } else {
        std::vector<std::string> paths;
        std::error_code unseen;  // an entry that cannot be read is not a function
        for (fs::directory_iterator at(root, failure), end; !failure && at != end;
             at.increment(failure))
            if (fs::exists(at->path() / "config", unseen))
                paths.push_back(at->path().string());
        if (failure)
            return Error{Errc::kNotFound, root + ": " + failure.message()};
        std::ranges::sort(paths);
        for (const std::string &path : paths)
            look_at(path, options, found);
    }
    if (!found.functions.empty() || !found.good)
        return found;
    if (found.cut_short)
        return Error{Errc::kDenied, root + ": only root may read the capabilities of a function"};
    return Error{Errc::kNotFound,
                 fmt::format("{}: no function of Intel's has a discovery table", root)};
}

// Saving

Result<void> put_file(const exporter::Folder &folder, const std::string &name, Bytes content)
{
    Result<perfdata::NewFile> file =
        perfdata::NewFile::create_shown(folder.part() + "/" + name, folder.path() + "/" + name);
    if (!file)
        return file.error();
    const Result<void> done = file->put(content);
    return done ? file->finish() : done;
}

// prefix: empty, or a folder in `folder` with a final slash.
Result<void> save_function(const Function &function, const exporter::Folder &folder,
                           const std::string &prefix)
{
    if (Result<void> put = put_file(folder, prefix + "config", as_bytes(function.config)); !put)
        return put;
    if (const Result<std::string> text = read_small_file(function.path + "/resource"); text)
        if (Result<void> put = put_file(folder, prefix + "resource", as_bytes(*text)); !put)
            return put;
    return put_file(folder, fmt::format("{}resource{}", prefix, function.place.bir),
                    function.bytes);
}

// Saves one function in the folder, or each of several functions in a folder of its own.
Result<void> save(const std::vector<Function> &functions, const std::string &dir)
{
    const exporter::ForUserAlone made;
    remove_when_killed(exporter::Folder::name_of(dir));
    Result<exporter::Folder> folder = exporter::Folder::create(dir);
    if (!folder)
        return folder.error();
    for (const Function &function : functions) {
        const std::string prefix = functions.size() == 1 ? "" : function.name + "/";
        std::error_code failure;
        if (!prefix.empty())
            fs::create_directory(folder->part() + "/" + prefix, failure);
        if (failure)
            return system_error(folder->path() + "/" + prefix, failure.value());
        if (Result<void> saved = save_function(function, *folder, prefix); !saved)
            return saved;
    }
    return folder->finish();
}

// Output

void print_unit(const uncore::Unit &unit, bool addresses, Output &out)
{
    const std::string place =
        unit.access == uncore::Access::kPci ? uncore::pci_text(unit.box_control) : std::string("-");
    out.print(
        "    unit PMU  of type {} ID {} box ctrl: {:#x} ({}) with access type {} width {} "
        "numRegs {} ctrlOffset {} ctrOffset {}\n",
        unit.type, unit.id, unit.box_control, place, uncore::name_of(unit.access), unit.width_bits,
        unit.counters, unit.control_offset, unit.counter_offset);
    for (unsigned i = 0; addresses && i < unit.counters; i++)
        out.print("        counter {}: control {:#x} count {:#x}\n", i,
                  uncore::control_address(unit, i), uncore::counter_address(unit, i));
}

void print_table(const uncore::Table &table, bool addresses, Output &out)
{
    std::map<uint16_t, std::vector<uncore::Unit>> types;
    for (const uncore::Unit &unit : table.units)
        types[unit.type].push_back(unit);
    for (const auto &[type, units] : types) {
        out.print("PMU type {} ({} boxes)\n", type, units.size());
        for (const uncore::Unit &unit : units)
            print_unit(unit, addresses, out);
    }
}

nlohmann::ordered_json json_of(const uncore::Unit &unit)
{
    nlohmann::ordered_json controls = nlohmann::ordered_json::array(), counters = controls;
    for (unsigned i = 0; i < unit.counters; i++) {
        controls.push_back(uncore::control_address(unit, i));
        counters.push_back(uncore::counter_address(unit, i));
    }
    return {{"entry", unit.entry},
            {"type", unit.type},
            {"id", unit.id},
            {"pmu", uncore::pmu_name(unit)},
            {"access", uncore::name_of(unit.access)},
            {"box_control", unit.box_control},
            {"width_bits", unit.width_bits},
            {"control_offset", unit.control_offset},
            {"counter_offset", unit.counter_offset},
            {"status_offset", unit.status_offset},
            {"controls", controls},
            {"counters", counters}};
}

nlohmann::ordered_json json_of(const Function &function, const uncore::Table &table)
{
    nlohmann::ordered_json units = nlohmann::ordered_json::array(), refused = units;
    for (const uncore::Unit &unit : table.units)
        units.push_back(json_of(unit));
    for (const uncore::Refused &entry : table.refused)
        refused.push_back({{"entry", entry.entry}, {"why", entry.why}});
    return {{"function", function.name},
            {"device", fmt::format("{:04x}:{:04x}", function.place.vendor, function.place.device)},
            {"bar", function.place.bir},
            {"bar_bytes", function.bar_bytes},
            {"stride_words", table.global.stride_words},
            {"max_units", table.global.max_units},
            {"global_control", table.global.control},
            {"units", units},
            {"refused", refused}};
}

// Prints the tables. If part of a table is invalid, prints a warning and returns false.
bool show(const std::vector<Function> &functions, const DiscoverOptions &options, Output &out)
{
    nlohmann::ordered_json shown = nlohmann::ordered_json::array();
    bool good = true;
    for (const Function &function : functions) {
        const Result<uncore::Table> table = uncore::parse_table(function.bytes, function.bar_bytes);
        if (!table) {
            warn(function.name + ": " + table.error().message);
            good = false;
            continue;
        }
        for (const uncore::Refused &entry : table->refused)
            warn(fmt::format("{}: entry {}: {}", function.name, entry.entry, entry.why));
        good = good && table->refused.empty();
        if (options.json) {
            shown.push_back(json_of(function, *table));
            continue;
        }
        if (functions.size() > 1)
            out.print("{}\n", function.name);
        print_table(*table, options.addresses, out);
    }
    if (options.json)
        print_json({{"functions", shown}}, out);
    return good;
}

}  // namespace

Result<int> run_discover(const DiscoverOptions &options, Output &out)
{
    const Result<Found> found = find_functions(options);
    if (!found)
        return found.error();
    if (!options.save.empty())
        if (Result<void> saved = save(found->functions, options.save); !saved)
            return saved.error();
    const bool shown = show(found->functions, options, out);
    return shown && found->good ? kExitGood : kExitFailed;
}

}  // namespace pmukit::cli
