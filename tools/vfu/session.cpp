// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/session.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <ctime>

#include "vfu/bar_memory.hpp"

namespace pmukit::vfu {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// QEMU accepts no answer longer than its own VERSION message, about 200 bytes.
constexpr std::string_view kCapabilities =
    R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":65536,"max_dma_maps":32768}})";
static_assert(wire::kMaxMessageFds == 16 && wire::kMaxTransferBytes == 65536 &&
              DmaMap::kMaxWindows == 32768);

constexpr size_t kMaxVersionBytes = 4096;
constexpr size_t kMaxVectors = 2048;

constexpr uint32_t kKnownFlags = wire::kTypeMask | wire::kNoReply | wire::kError;
constexpr uint32_t kIrqDataFlags = wire::kIrqDataNone | wire::kIrqDataBool | wire::kIrqDataEventfd;
constexpr uint32_t kIrqActionFlags =
    wire::kIrqActionMask | wire::kIrqActionUnmask | wire::kIrqActionTrigger;

constexpr std::string_view kAnswerNotTaken = "the client closed before reading its reply";
constexpr std::string_view kFdsLost =
    "file descriptors of the client were lost: too many at once, or too few allowed here (ulimit "
    "-n); connection closed";

constexpr Verdict kGood{};

constexpr Verdict invalid(const char *reason)
{
    return {std::errc::invalid_argument, reason};
}

constexpr bool in_range(uint64_t offset, size_t width, uint64_t start, uint64_t size_bytes)
{
    return offset >= start && offset - start < size_bytes && width <= size_bytes - (offset - start);
}

constexpr bool overlaps(uint64_t offset, size_t width, uint64_t start, uint64_t size_bytes)
{
    return offset < start + size_bytes && start < offset + width;
}

// Returns the width of the BAR accesses into which a region access of `count` bytes is split: the
// widest that divides the count, so that 3 bytes are three accesses.
constexpr uint32_t piece_of(uint32_t count)
{
    for (const uint32_t width : {8u, 4u, 2u})
        if (count % width == 0)
            return width;
    return 1;
}

// Returns the width of the widest access that is aligned at `offset` and has at most `left` bytes.
constexpr size_t aligned_piece(uint64_t offset, size_t left)
{
    for (const size_t width : {8u, 4u, 2u})
        if (offset % width == 0 && left >= width)
            return width;
    return 1;
}

}  // namespace

// Logging

void LineLimiter::reset_if_new_second(uint64_t now_ns)
{
    if (now_ns / kNsPerSecond == second_)
        return;
    second_ = now_ns / kNsPerSecond;
    lines_ = 0;
}

bool LineLimiter::admit(uint64_t now_ns)
{
    reset_if_new_second(now_ns);
    if (lines_ < kLinesPerSecond) {
        lines_++;
        return true;
    }
    suppressed_++;
    return false;
}

uint64_t LineLimiter::take_suppressed(uint64_t now_ns)
{
    reset_if_new_second(now_ns);
    return lines_ < kLinesPerSecond ? std::exchange(suppressed_, 0) : 0;
}

uint64_t LineLimiter::take_rest()
{
    return std::exchange(suppressed_, 0);
}

// A line that cannot be written to stderr is lost; fmt::print would throw.
void Session::print_line(std::string_view line) const
{
    std::fputs(fmt::format("vfu: {}{}\n", name_, line).c_str(), stderr);
}

void Session::tell_suppressed(uint64_t lines) const
{
    if (lines > 0)
        print_line(fmt::format("log lines suppressed: {}", lines));
}

void Session::log(std::string_view line)
{
    const uint64_t now = now_ns();
    tell_suppressed(limiter_.take_suppressed(now));
    if (limiter_.admit(now))
        print_line(line);
}

// Attaching and detaching a client

Session::Session() : answer_(wire::kMaxMessageBytes) {}

void Session::bind(Device &device)
{
    const std::optional<MsixLayout> &layout = device.config().msix();

    assert(!layout ||
           (!device.bar_memory(layout->table_bar) && !device.bar_memory(layout->pba_bar)));
    device_ = &device;
    msix_ = Msix(layout ? layout->vectors : 0,
                 [this](uint64_t address) { link_.interrupts(address, now_ns()); });
    msi_ = Msi(device.config().msi_vectors(),
               [this](unsigned) { link_.interrupts(config().msi_address(), now_ns()); });
}

void Session::attach(Fd client)
{
    assert(device_);
    detach();
    channel_.emplace(std::move(client));
    version_agreed_ = false;
    more_ = false;
    reset_function();
    config().power_on();  // resets sticky registers, too
}

void Session::detach()
{
    tell_suppressed(limiter_.take_rest());
    channel_.reset();
    dma_.clear();
    msix_.clear_triggers();
    msi_.clear_triggers();
}

short Session::poll_events() const
{
    return channel_->has_unsent() ? POLLOUT : POLLIN;
}

bool Session::on_ready()
{
    if (channel_->has_unsent())
        return channel_->flush() ? handle_messages() : drop_client(kAnswerNotTaken);
    switch (more_ ? Channel::Fill::kData : channel_->fill()) {
        case Channel::Fill::kData:
        case Channel::Fill::kNothing:
            return handle_messages();
        case Channel::Fill::kFdsLost:
            return drop_client(kFdsLost);
        case Channel::Fill::kClosed:
            break;
    }
    if (channel_->buffered_bytes() > 0)
        return drop_client("the client left in the middle of a message");
    detach();
    return false;
}

bool Session::drop_client(std::string_view reason)
{
    log(reason);
    detach();
    return false;
}

// Handles at most one batch of received messages, and none after an answer that is not sent
// completely.
bool Session::handle_messages()
{
    more_ = true;
    for (unsigned batch = 0; batch < kMessagesPerBatch && !channel_->has_unsent(); batch++) {
        Message message;
        switch (channel_->next(message)) {
            case Channel::Next::kIncomplete:
                more_ = false;
                return true;
            case Channel::Next::kMessage:
                if (handle(message))
                    break;
                return drop_client(kAnswerNotTaken);
            case Channel::Next::kMalformed:
                return drop_client("a message of impossible size; connection closed");
        }
    }
    return true;
}

std::optional<uint64_t> Session::run_device_until_now()
{
    const std::optional<uint64_t> deadline = device_->next_deadline_ns();
    if (!deadline || now_ns() < *deadline)
        return deadline;
    device_->advance(now_ns());
    return device_->next_deadline_ns();
}

// Messages

const std::array<Session::Rule, 14> Session::kRules = {{
    // clang-format off
    {wire::Command::kVersion, "VERSION", sizeof(wire::Version) + 1, kMaxVersionBytes, 0, &Session::on_version},
    {wire::Command::kDmaMap, "DMA_MAP", sizeof(wire::DmaMap), sizeof(wire::DmaMap), 1, &Session::on_dma_map},
    {wire::Command::kDmaUnmap, "DMA_UNMAP", sizeof(wire::DmaUnmap), sizeof(wire::DmaUnmap), 0, &Session::on_dma_unmap},
    // Newer clients may append fields. The answer omits them, as its argsz shows.
    {wire::Command::kGetInfo, "GET_INFO", sizeof(wire::DeviceInfo), 2 * sizeof(wire::DeviceInfo), 0, &Session::on_get_info},
    {wire::Command::kGetRegionInfo, "GET_REGION_INFO", sizeof(wire::RegionInfo), sizeof(wire::RegionInfo), 0, &Session::on_get_region_info},
    {wire::Command::kGetRegionIoFds, "GET_REGION_IO_FDS", 0, wire::kMaxMessageBytes, 0, nullptr},
    {wire::Command::kGetIrqInfo, "GET_IRQ_INFO", sizeof(wire::IrqInfo), sizeof(wire::IrqInfo), 0, &Session::on_get_irq_info},
    {wire::Command::kSetIrqs, "SET_IRQS", sizeof(wire::IrqSet), sizeof(wire::IrqSet) + kMaxVectors, wire::kMaxMessageFds, &Session::on_set_irqs},
    {wire::Command::kRegionRead, "REGION_READ", sizeof(wire::RegionAccess), sizeof(wire::RegionAccess), 0, &Session::on_region_read},
    {wire::Command::kRegionWrite, "REGION_WRITE", sizeof(wire::RegionAccess) + 1, sizeof(wire::RegionAccess) + wire::kMaxTransferBytes, 0, &Session::on_region_write},
    {wire::Command::kDmaRead, "DMA_READ", 0, wire::kMaxMessageBytes, 0, nullptr},
    {wire::Command::kDmaWrite, "DMA_WRITE", 0, wire::kMaxMessageBytes, 0, nullptr},
    {wire::Command::kReset, "RESET", 0, 0, 0, &Session::on_reset},
    {wire::Command::kDirtyPages, "DIRTY_PAGES", 0, wire::kMaxMessageBytes, 0, nullptr},
    // clang-format on
}};

// Commands are numbered from one without gaps, in the order of the table.
const Session::Rule *Session::rule_for(uint16_t command)
{
    return command >= 1 && command <= kRules.size() ? &kRules[command - 1u] : nullptr;
}

Verdict Session::check(const wire::Header &header, const Message &message, const Rule *rule) const
{
    if ((header.flags & wire::kTypeMask) != wire::kTypeRequest)
        return invalid("neither request nor reply");
    if (header.flags & ~kKnownFlags)
        return invalid("unknown flags");
    if (header.flags & wire::kError)
        return invalid("a request with the error flag");
    if (!rule)
        return {std::errc::function_not_supported, "unknown command"};
    if (!rule->handler)
        return {std::errc::not_supported, "not offered"};
    if (message.body.size() < rule->min_body_bytes)
        return invalid("too short");
    if (message.body.size() > rule->max_body_bytes)
        return invalid("too long");
    if (message.fds.size() > rule->max_fds)
        return invalid("too many file descriptors");
    if (version_agreed_ == (rule->command == wire::Command::kVersion))
        return invalid(version_agreed_ ? "a second VERSION" : "no VERSION yet");
    return kGood;
}

// Returns false if the answer cannot be sent, because the client is gone.
bool Session::handle(const Message &message)
{
    const wire::Header &header = message.header;
    const Rule *rule = rule_for(header.command);

    // The server sends no requests, so every reply is unsolicited. Answering it could loop forever.
    if ((header.flags & wire::kTypeMask) == wire::kTypeReply) {
        log(fmt::format("dropped an unsolicited reply, command {} id {}", header.command,
                        header.id));
        return true;
    }

    Verdict verdict = check(header, message, rule);
    Answer body{std::span(answer_).subspan(sizeof(wire::Header))};
    if (verdict.ok())
        verdict = (this->*rule->handler)(message, body);
    if (!verdict.ok())
        log(fmt::format("refused {} (command {} id {}): {}, errno {}",
                        rule ? rule->name : "message", header.command, header.id, verdict.reason,
                        static_cast<int>(verdict.error)));
    return answer(header, verdict, body);
}

bool Session::answer(const wire::Header &request, const Verdict &verdict, const Answer &body)
{
    if (request.flags & wire::kNoReply)
        return true;

    const bool good = verdict.ok();
    const size_t size_bytes = sizeof(wire::Header) + (good ? body.size_bytes : 0);
    wire::Header header{};
    header.id = request.id;
    header.command = request.command;
    header.size_bytes = static_cast<uint32_t>(size_bytes);
    header.flags = good ? wire::kTypeReply : wire::kTypeReply | wire::kError;
    header.error = static_cast<uint32_t>(verdict.error);
    wire::put(answer_.data(), header);
    return channel_->send(Bytes(answer_).first(size_bytes), good ? body.fd : -1);
}

Verdict Session::on_version(const Message &message, Answer &answer)
{
    const auto version = wire::get<wire::Version>(message.body);

    if (version->major != 0)
        return {std::errc::not_supported, "only major version 0 is supported"};
    if (message.body.back() != std::byte{0})
        return invalid("capabilities do not end with NUL");

    // The server uses none of the client's optional capabilities, so it does not parse them.
    answer.put(wire::Version{0, 0});
    std::ranges::copy(std::as_bytes(std::span(kCapabilities)),
                      answer.body.begin() + sizeof(wire::Version));
    answer.size_bytes += kCapabilities.size();
    answer.body[answer.size_bytes++] = std::byte{0};
    version_agreed_ = true;
    return kGood;
}

Verdict Session::on_get_info(const Message &message, Answer &answer)
{
    if (wire::get<wire::DeviceInfo>(message.body)->argsz < sizeof(wire::DeviceInfo))
        return invalid("argsz too small");
    answer.put(wire::DeviceInfo{sizeof(wire::DeviceInfo), wire::kDeviceResets | wire::kDeviceIsPci,
                                wire::kRegions, wire::kIrqs});
    return kGood;
}

Verdict Session::on_reset(const Message &, Answer &)
{
    reset_function();
    return kGood;
}

// DMA windows and eventfds belong to the client and survive a reset: after a function-level reset
// QEMU does not send them again.
void Session::reset_function()
{
    config().reset();
    msix_.reset();
    msi_.reset();
    device_->reset();
}

// DMA

Verdict Session::on_dma_map(const Message &message, Answer &)
{
    const auto request = wire::get<wire::DmaMap>(message.body);

    if (request->argsz < sizeof(wire::DmaMap))
        return invalid("argsz too small");
    if (request->flags & ~(wire::kDmaReadable | wire::kDmaWritable))
        return invalid("unknown flags");
    const DmaMap::Access access{(request->flags & wire::kDmaReadable) != 0,
                                (request->flags & wire::kDmaWritable) != 0};
    const int memory = message.fds.empty() ? -1 : message.fds[0].get();
    return {dma_.map({request->address, request->size_bytes}, access, memory, request->offset),
            "the window cannot be mapped"};
}

Verdict Session::on_dma_unmap(const Message &message, Answer &answer)
{
    auto request = *wire::get<wire::DmaUnmap>(message.body);

    if (request.argsz < sizeof(wire::DmaUnmap))
        return invalid("argsz too small");
    if (request.flags & ~wire::kUnmapAll)
        return {std::errc::not_supported, "unknown flags"};
    if (request.flags & wire::kUnmapAll) {
        if (request.address != 0 || request.size_bytes != 0)
            return invalid("a range with unmap-all");
        dma_.clear();
    } else {
        const DmaMap::Unmapped done = dma_.unmap({request.address, request.size_bytes});
        if (done.error != std::errc{})
            return {done.error, "the range is empty, wraps or cuts a window"};
        request.size_bytes = done.size_bytes;
    }
    answer.put(request);
    return kGood;
}

bool Session::dma_read(uint64_t address, std::span<std::byte> into)
{
    if (!device_ || !config().bus_master_enabled()) {
        log(fmt::format("DMA read of {:#x} while not bus master", address));
        return false;
    }
    const bool good = dma_.read(address, into);
    if (!good && read_peer(address, into))
        return true;
    link_.dma_reads(address, into.size(), good, packet_limits(), now_ns());
    if (good)
        return true;
    log(fmt::format("DMA read of {} bytes at {:#x}: not mapped, or not shared memory", into.size(),
                    address));
    return false;
}

bool Session::dma_write(uint64_t address, Bytes from)
{
    if (!device_ || !config().bus_master_enabled()) {
        log(fmt::format("DMA write to {:#x} while not bus master", address));
        return false;
    }
    const bool good = dma_.write(address, from);
    if (!good && write_peer(address, from))
        return true;
    link_.dma_writes(address, from.size(), packet_limits(), now_ns());
    if (good)
        return true;
    log(fmt::format(
        "DMA write of {} bytes at {:#x}: not mapped, not writable, or not shared memory",
        from.size(), address));
    return false;
}

// DMA between functions

// Returns the BAR of this function that contains the range.
std::optional<Session::PeerRange> Session::claim(uint64_t address, size_t size_bytes)
{
    if (!device_ || !attached() || !link_.has_place() || !config().memory_enabled())
        return std::nullopt;
    for (unsigned bar = 0; bar < kBars; bar++) {
        const uint64_t base = config().bar_address(bar);
        if (base != 0 && in_range(address, size_bytes, base, region_bytes(bar)))
            return PeerRange{this, bar, address - base};
    }
    return std::nullopt;
}

// A function accessed by a peer does no peer DMA meanwhile: two DMA engines aimed at each other's
// registers would recurse forever.
Session::PeerRange Session::find_peer(uint64_t address, size_t size_bytes) const
{
    if (!peers_ || !link_.has_place() || asked_by_peer_)
        return {};
    for (Session *other : *peers_) {
        if (other == this)
            continue;
        if (const std::optional<PeerRange> range = other->claim(address, size_bytes))
            return *range;
    }
    return {};
}

bool Session::read_peer(uint64_t address, std::span<std::byte> into)
{
    const auto [peer, bar, offset] = find_peer(address, into.size());
    if (!peer)
        return false;
    link_.peer_reads(address, into.size(), packet_limits(), peer->link_,
                     peer->packet_limits().payload_bytes, now_ns());
    peer->asked_by_peer_ = true;
    peer->device_->advance(now_ns());
    for (size_t done = 0; done < into.size();) {
        const size_t piece = aligned_piece(offset + done, into.size() - done);
        peer->read_bar(bar, offset + done, into.subspan(done, piece));
        done += piece;
    }
    peer->asked_by_peer_ = false;
    return true;
}

bool Session::write_peer(uint64_t address, Bytes from)
{
    const auto [peer, bar, offset] = find_peer(address, from.size());
    if (!peer)
        return false;
    link_.peer_writes(address, from.size(), packet_limits(), peer->link_, now_ns());
    peer->asked_by_peer_ = true;
    peer->device_->advance(now_ns());
    for (size_t done = 0; done < from.size();) {
        const size_t piece = aligned_piece(offset + done, from.size() - done);
        peer->write_bar(bar, offset + done, from.subspan(done, piece));
        done += piece;
    }
    peer->asked_by_peer_ = false;
    return true;
}

PacketLimits Session::packet_limits() const
{
    return {config().max_payload_bytes(), config().max_read_request_bytes()};
}

uint64_t Session::now_ns() const
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// Regions

uint64_t Session::region_bytes(uint32_t region) const
{
    if (region == wire::kRegionConfig)
        return kConfigSpaceBytes;
    const std::optional<BarInfo> bar = config().bar(region);
    return bar ? bar->size_bytes : 0;
}

Verdict Session::on_get_region_info(const Message &message, Answer &answer)
{
    auto info = *wire::get<wire::RegionInfo>(message.body);

    if (info.argsz < sizeof info)
        return invalid("argsz too small");
    if (info.index >= wire::kRegions)
        return invalid("no such region");
    info.argsz = sizeof info;
    info.size_bytes = region_bytes(info.index);
    info.flags = info.size_bytes ? wire::kRegionReadable | wire::kRegionWritable : 0;
    if (const BarMemory *memory = device_->bar_memory(info.index)) {
        info.flags |= wire::kRegionMappable;
        answer.fd = memory->fd();
    }
    info.capability_offset = 0;
    info.offset = 0;
    answer.put(info);
    return kGood;
}

// Checks every access of the guest before the device or the configuration space sees it.
Verdict Session::check_access(const wire::RegionAccess &access) const
{
    if (access.region >= wire::kRegions)
        return invalid("no such region");
    if (access.count == 0)
        return invalid("a zero-length access");
    if (access.count > wire::kMaxTransferBytes)
        return invalid("more than max_data_xfer_size");
    const uint64_t size_bytes = region_bytes(access.region);
    if (size_bytes == 0)
        return invalid("the region is empty");
    if (access.offset >= size_bytes)
        return invalid("past the end of the region");
    if (access.count > size_bytes - access.offset)
        return invalid("across the end of the region");
    return kGood;
}

LinkProtocol Session::protocol_of(unsigned bar) const
{
    return device_->is_cxl_mem(bar) ? LinkProtocol::kCxlMem : LinkProtocol::kIo;
}

Verdict Session::on_region_read(const Message &message, Answer &answer)
{
    const auto access = *wire::get<wire::RegionAccess>(message.body);

    if (const Verdict verdict = check_access(access); !verdict.ok())
        return verdict;
    answer.put(access);
    const std::span<std::byte> into = answer.body.subspan(answer.size_bytes, access.count);
    answer.size_bytes += access.count;
    device_->advance(now_ns());
    if (access.region == wire::kRegionConfig) {
        const auto request = link_.cpu_reads_config(access.offset, access.count, now_ns());
        config().read(access.offset, into);
        link_.complete(request, now_ns());
        return kGood;
    }

    const uint64_t base = config().bar_address(access.region);
    const uint32_t piece = piece_of(access.count);
    for (uint32_t done = 0; done < access.count; done += piece) {
        const uint64_t offset = access.offset + done;
        const auto request =
            link_.cpu_reads(base + offset, piece, now_ns(), protocol_of(access.region));
        read_bar(access.region, offset, into.subspan(done, piece));
        link_.complete(request, now_ns());
    }
    return kGood;
}

Verdict Session::on_region_write(const Message &message, Answer &answer)
{
    const auto access = *wire::get<wire::RegionAccess>(message.body);
    const Bytes from = message.body.subspan(sizeof access);

    if (const Verdict verdict = check_access(access); !verdict.ok())
        return verdict;
    if (from.size() != access.count)
        return invalid("count and message size disagree");
    answer.put(access);
    device_->advance(now_ns());
    if (access.region == wire::kRegionConfig) {
        const auto request = link_.cpu_writes_config(access.offset, access.count, now_ns());
        write_config(access.offset, from);
        link_.complete(request, now_ns());
        return kGood;
    }

    const uint64_t base = config().bar_address(access.region);
    const uint32_t piece = piece_of(access.count);
    for (uint32_t done = 0; done < access.count; done += piece) {
        const uint64_t offset = access.offset + done;
        link_.cpu_writes(base + offset, piece, now_ns(), protocol_of(access.region));
        write_bar(access.region, offset, from.subspan(done, piece));
    }
    return kGood;
}

void Session::write_config(uint64_t offset, Bytes from)
{
    if (config().write(offset, from).function_reset)
        reset_function();
    update_interrupts();
}

Session::Owner Session::owner_of(unsigned bar, uint64_t offset, size_t width) const
{
    const std::optional<MsixLayout> &msix = config().msix();
    if (!msix || (bar != msix->table_bar && bar != msix->pba_bar))
        return Owner::kDevice;

    struct Range {
        unsigned bar;
        uint64_t start;
        uint64_t size_bytes;
        Owner owner;
    };
    const Range ranges[] = {
        {msix->table_bar, msix->table_offset, msix->table_bytes(), Owner::kMsixTable},
        {msix->pba_bar, msix->pba_offset, msix->pba_bytes(), Owner::kMsixPending}};
    for (const Range &range : ranges) {
        if (bar != range.bar || !overlaps(offset, width, range.start, range.size_bytes))
            continue;
        return in_range(offset, width, range.start, range.size_bytes) ? range.owner
                                                                      : Owner::kSeveral;
    }
    return Owner::kDevice;
}

// `into` has 1, 2, 4 or 8 bytes.
void Session::read_bar(unsigned bar, uint64_t offset, std::span<std::byte> into)
{
    switch (owner_of(bar, offset, into.size())) {
        case Owner::kMsixTable:
            return msix_.read_table(offset - config().msix()->table_offset, into);
        case Owner::kMsixPending:
            return msix_.read_pending(offset - config().msix()->pba_offset, into);
        case Owner::kSeveral:
            for (size_t i = 0; i < into.size(); i++)
                read_bar(bar, offset + i, into.subspan(i, 1));
            return;
        case Owner::kDevice:
            break;
    }
    if (const BarMemory *memory = device_->bar_memory(bar)) {
        std::ranges::copy(memory->bytes().subspan(offset, into.size()), into.begin());
        return;
    }
    const auto width = static_cast<unsigned>(into.size());
    std::array<std::byte, 8> value;
    store_le(value.data(), asked_by_peer_ ? device_->peer_read(bar, offset, width)
                                          : device_->bar_read(bar, offset, width));
    std::copy_n(value.begin(), into.size(), into.begin());
}

void Session::write_bar(unsigned bar, uint64_t offset, Bytes from)
{
    switch (owner_of(bar, offset, from.size())) {
        case Owner::kMsixTable:
            return msix_.write_table(offset - config().msix()->table_offset, from);
        case Owner::kMsixPending:
            return;  // the pending bits are read-only
        case Owner::kSeveral:
            for (size_t i = 0; i < from.size(); i++)
                write_bar(bar, offset + i, from.subspan(i, 1));
            return;
        case Owner::kDevice:
            break;
    }
    if (const BarMemory *memory = device_->bar_memory(bar)) {
        std::ranges::copy(from, memory->bytes().subspan(offset).begin());
        return;
    }
    const auto width = static_cast<unsigned>(from.size());
    std::array<std::byte, 8> bytes{};
    std::ranges::copy(from, bytes.begin());
    const auto value = load_le<uint64_t>(bytes.data());
    if (asked_by_peer_)
        device_->peer_write(bar, offset, width, value);
    else
        device_->bar_write(bar, offset, width, value);
}

// Interrupts

uint32_t Session::irq_count(uint32_t index) const
{
    switch (index) {
        case wire::kIrqMsi:
            return msi_.vectors();
        case wire::kIrqMsix:
            return msix_.vectors();
        default:
            return 0;
    }
}

Verdict Session::on_get_irq_info(const Message &message, Answer &answer)
{
    auto info = *wire::get<wire::IrqInfo>(message.body);

    if (info.argsz < sizeof info)
        return invalid("argsz too small");
    if (info.index >= wire::kIrqs)
        return invalid("no such interrupt index");
    info.argsz = sizeof info;
    info.count = irq_count(info.index);
    info.flags = info.count ? wire::kIrqTakesEventfd : 0;
    answer.put(info);
    return kGood;
}

Verdict Session::check_irqs(const wire::IrqSet &set, const Message &message) const
{
    const size_t data_bytes = message.body.size() - sizeof set;
    const uint32_t data = set.flags & kIrqDataFlags;
    const uint32_t action = set.flags & kIrqActionFlags;

    if (set.argsz < sizeof set)
        return invalid("argsz too small");
    if (set.flags & ~(kIrqDataFlags | kIrqActionFlags))
        return invalid("unknown flags");
    if (!std::has_single_bit(data))
        return invalid("not exactly one kind of data");
    if (!std::has_single_bit(action))
        return invalid("not exactly one action");
    if (action != wire::kIrqActionTrigger)
        return {std::errc::not_supported, "masking was not offered"};
    if (set.index >= wire::kIrqs)
        return invalid("no such interrupt index");
    const uint32_t vectors = irq_count(set.index);
    if (set.start > vectors || set.count > vectors - set.start)
        return invalid("no such vector");
    if (data_bytes != (data == wire::kIrqDataBool ? set.count : 0))
        return invalid("data and count disagree");
    if (!message.fds.empty() && (data != wire::kIrqDataEventfd || message.fds.size() != set.count))
        return invalid("file descriptors and count disagree");
    for (const Fd &fd : message.fds)
        if (!is_eventfd(fd.get()))
            return invalid("a file descriptor that is not an eventfd");
    return kGood;
}

// VFIO_DEVICE_SET_IRQS of <linux/vfio.h>: eventfd data sets the vectors' eventfds, or removes them
// if the message has none. Other data triggers vectors; without data and with count 0 it removes
// all eventfds.
Verdict Session::on_set_irqs(const Message &message, Answer &)
{
    const auto set = *wire::get<wire::IrqSet>(message.body);
    const Bytes bools = message.body.subspan(sizeof set);

    if (const Verdict verdict = check_irqs(set, message); !verdict.ok())
        return verdict;

    if (set.flags & wire::kIrqDataEventfd) {
        for (uint32_t i = 0; i < set.count; i++)
            set_trigger(set.index, set.start + i,
                        message.fds.empty() ? Fd() : std::move(message.fds[i]));
    } else if (set.flags & wire::kIrqDataBool) {
        for (uint32_t i = 0; i < set.count; i++)
            if (bools[i] != std::byte{0})
                raise(set.start + i);
    } else if (set.count > 0) {
        for (uint32_t i = 0; i < set.count; i++)
            raise(set.start + i);
    } else {
        for (uint32_t vector = 0; vector < irq_count(set.index); vector++)
            set_trigger(set.index, vector, Fd());
    }
    return kGood;
}

void Session::set_trigger(uint32_t index, uint32_t vector, Fd eventfd)
{
    if (index == wire::kIrqMsix)
        msix_.set_trigger(vector, std::move(eventfd));
    else
        msi_.set_trigger(vector, std::move(eventfd));
    config().set_msi_pending(msi_.pending());
}

void Session::raise(unsigned vector)
{
    if (!device_) {
        log(fmt::format("interrupt vector {} before the device is attached", vector));
        return;
    }
    update_interrupts();
    if (config().msi_enabled_vectors() > 0)
        msi_.raise(vector);
    else if (vector < msix_.vectors())
        msix_.raise(vector);
    else if (vector >= msi_.vectors())
        log(fmt::format("interrupt vector {} does not exist", vector));
    config().set_msi_pending(msi_.pending());
}

// A message-signaled interrupt is a memory write, so it needs bus mastering.
void Session::update_interrupts()
{
    const bool bus_master = config().bus_master_enabled();

    msix_.set_function_open(config().msix_enabled() && !config().msix_function_masked() &&
                            bus_master);
    msi_.set_state({config().msi_enabled_vectors(), config().msi_masked(), bus_master});
    config().set_msi_pending(msi_.pending());
}

}  // namespace pmukit::vfu
