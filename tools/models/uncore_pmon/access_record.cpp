// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/access_record.hpp"

#include <fmt/core.h>

#include <utility>

namespace pmukit::models::uncore_pmon {

namespace {

constexpr char kind_of(bool write)
{
    return write ? 'W' : 'R';
}

}  // namespace

Result<AccessRecord> AccessRecord::create(const std::string &path)
{
    Result<LineFile> file = LineFile::create("access log", path);
    if (!file)
        return file.error();
    AccessRecord record;
    record.file_ = std::move(file).value();
    record.file_.append("# pmukit uncore log 1\n");
    return record;
}

void AccessRecord::ddr(uint64_t now_ns, bool write, uint64_t offset, unsigned width, unsigned imc)
{
    ++(write ? tally_.ddr_writes : tally_.ddr_reads);
    if (file_.is_open())
        file_.append(
            fmt::format("{} ddr {} {:#x} {} imc={}\n", now_ns, kind_of(write), offset, width, imc));
}

void AccessRecord::cxl(const vfu::Packet &request)
{
    const bool write = request.kind == vfu::PacketKind::kMemoryWrite;
    ++(write ? tally_.cxl_writes : tally_.cxl_reads);
    if (file_.is_open())
        file_.append(fmt::format("{} cxl {} {:#x} {} port={:02x}:{:02x}.{:x}\n", request.time_ns,
                                 kind_of(write), request.address, request.bytes,
                                 request.root_port >> 8, request.root_port >> 3 & 0x1f,
                                 request.root_port & 7));
}

void AccessRecord::reg(uint64_t now_ns, bool write, const RegisterAccess &access)
{
    ++(write ? tally_.register_writes : tally_.register_reads);
    tally_.all_ones += access.ones;
    if (file_.is_open())
        file_.append(fmt::format("{} reg {} {}.{} {:#x} {} {:#x}{}\n", now_ns, kind_of(write),
                                 access.type, access.id, access.offset, access.width, access.value,
                                 access.ones ? " ones" : ""));
}

void AccessRecord::global(uint64_t now_ns, bool write, uint64_t value)
{
    if (file_.is_open())
        file_.append(fmt::format("{} global {} {:#x}\n", now_ns, kind_of(write), value));
}

}  // namespace pmukit::models::uncore_pmon
