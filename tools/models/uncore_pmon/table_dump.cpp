// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/table_dump.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint16_t kCommand = 0x04;
constexpr uint32_t kCommandMemory = 1u << 1;
constexpr uint16_t kBar0 = 0x10;

struct BarPlace {
    unsigned bar;
    uint64_t address;
};
// The tables' BARs follow the BAR of the units.
constexpr BarPlace kUnits = {kUnitBar, 0xc8800000};
constexpr uint64_t kTablesAt = 0xc9000000;
constexpr BarPlace kDdr = {kDdrBar, 0x200000000000};

void place(vfu::ConfigSpace &config, const BarPlace &where)
{
    const std::optional<vfu::BarInfo> bar = config.bar(where.bar);
    if (!bar)
        return;
    const auto offset = static_cast<uint16_t>(kBar0 + 4 * where.bar);
    config.write(offset, 4, static_cast<uint32_t>(where.address));
    if (bar->kind != vfu::BarKind::kMemory32)
        config.write(offset + 4, 4, static_cast<uint32_t>(where.address >> 32));
}

Result<void> write_file(const std::string &path, Bytes bytes)
{
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file)
        return system_error(path, errno);
    return write_all(file.get(), bytes, path);
}

std::vector<std::byte> bytes_of_table(UncorePmonModel &model, unsigned bar)
{
    std::vector<std::byte> bytes(model.config().bar(bar)->size_bytes);
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t))
        store_le<uint64_t>(&bytes[at], model.bar_read(bar, at, sizeof(uint64_t)));
    return bytes;
}

}  // namespace

Result<void> dump_table(UncorePmonModel &model, const std::string &folder)
{
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
        return system_error(folder, errno);
    vfu::ConfigSpace &config = model.config();
    place(config, kUnits);
    place(config, kDdr);
    uint64_t at = kTablesAt;
    for (const unsigned bar : {model.first_bar(), model.second_bar()}) {
        place(config, {bar, at});
        at += config.bar(bar)->size_bytes;
    }
    config.write(kCommand, 2, kCommandMemory);

    std::vector<std::byte> space(vfu::kConfigSpaceBytes);
    config.read(0, space);
    if (Result<void> written = write_file(folder + "/config", space); !written)
        return written;
    for (const unsigned bar : {model.first_bar(), model.second_bar()})
        if (Result<void> written =
                write_file(fmt::format("{}/resource{}", folder, bar), bytes_of_table(model, bar));
            !written)
            return written;
    return {};
}

}  // namespace pmukit::models::uncore_pmon
