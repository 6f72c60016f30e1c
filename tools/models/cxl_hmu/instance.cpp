// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/instance.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::models::cxl_hmu {

namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr uint64_t kNever_ns = ~uint64_t{0};
// With per-counter epochs, the ages of counters are checked this many times per epoch. So the
// length of an epoch is exact to 1/16.
constexpr uint32_t kTicksPerEpoch = 16;

struct RequestType {
    bool reads;
    bool writes;
    bool tee;
};
// The index is the request type in configuration 0. The bit of a type in the capability has the
// number of the type minus 1.
constexpr RequestType kRequestTypeTable[kRequestTypes + 1] = {
    {false, false, false}, {true, false, false}, {false, true, false}, {true, true, false},
    {true, false, true},   {false, true, true},  {true, true, true},
};

}  // namespace

bool InstanceParams::supports_unit(uint64_t unit_log2) const
{
    return unit_log2 >= kMinUnitLog2 && unit_log2 <= kMaxUnitLog2 &&
           (unit_sizes >> (unit_log2 - kMinUnitLog2) & 1) != 0;
}

unsigned InstanceParams::counter_width(uint64_t unit_log2) const
{
    return supports_unit(unit_log2) ? counter_width_of(counter_width_4k, unit_log2) : 0;
}

Instance::Instance(const InstanceParams &params, std::string name, unsigned message,
                   vfu::Host &host)
    : params_(params),
      name_(std::move(name)),
      message_(message),
      host_(host),
      violations_(host, params.lenient),
      tracker_(params.counters),
      list_(params.hot_list_entries, params.postponed ? params.counters.number : 0),
      bitmap_(params.bitmap_qwords)
{
    leave_enabling();
}

// Registers

const Register *Instance::find(uint64_t offset, unsigned width) const
{
    for (const Register &reg : kRegisters) {
        if (reg.offset == offset && reg.bytes == width)
            return &reg;
    }
    return nullptr;
}

bool Instance::hits_register(uint64_t offset, unsigned width) const
{
    return std::any_of(std::begin(kRegisters), std::end(kRegisters), [&](const Register &reg) {
        return offset < reg.offset + reg.bytes && reg.offset < offset + width;
    });
}

bool Instance::in_hot_list(uint64_t offset) const
{
    return offset >= params_.hot_list_offset() && offset < params_.tables_end();
}

uint64_t Instance::read(uint64_t offset, unsigned width)
{
    guest_reads_++;
    touched();
    if (const std::optional<uint64_t> value = read_quirk(offset, width))
        return *value;
    if (const Register *reg = find(offset, width))
        return register_value(reg->offset);
    const bool reserved = offset < kRegistersEnd && !hits_register(offset, width);
    if (reserved && offset % width == 0)
        return 0;
    if (const std::optional<uint64_t> value = read_tables(offset, width))
        return *value;
    refuse("read", offset, width);
    return kAllOnes;
}

std::optional<uint64_t> Instance::read_tables(uint64_t offset, unsigned width) const
{
    if (offset < params_.bitmap_offset() || offset >= params_.tables_end() || width != 8 ||
        offset % 8 != 0)
        return std::nullopt;
    if (in_hot_list(offset))
        return list_.entry(static_cast<unsigned>((offset - params_.hot_list_offset()) / 8));
    const uint64_t qword = (offset - params_.bitmap_offset()) / 8;
    return qword < bitmap_.size() ? bitmap_[qword] : 0;
}

// Reads as implementations with these quirks do: an entry can be read in halves (list_halves); head
// and tail are one register, whose tail half cannot be read alone (joint_head_tail).
std::optional<uint64_t> Instance::read_quirk(uint64_t offset, unsigned width) const
{
    if (params_.quirks.joint_head_tail && offset == kHead && width == 4)
        return list_.head() | shown_tail() << 16;
    if (params_.quirks.joint_head_tail && offset == kTail)
        return 0;
    if (!params_.quirks.list_halves || width != 4 || offset % 4 != 0 ||
        offset < params_.hot_list_offset())
        return std::nullopt;
    const std::optional<uint64_t> whole = read_tables(offset & ~uint64_t{7}, 8);
    return whole ? std::optional(*whole >> (8 * (offset % 8)) & 0xffffffff) : std::nullopt;
}

// Returns the message number modulo the number of MSI vectors that the guest has enabled. If the
// guest has enabled none, returns the message number itself.
unsigned Instance::message() const
{
    const unsigned enabled = params_.msi ? params_.msi->msi_enabled_vectors() : 0;
    return enabled != 0 ? message_ % enabled : message_;
}

uint64_t Instance::register_value(uint64_t offset) const
{
    const InstanceParams &p = params_;
    switch (offset) {
        case kCap0:
            return kCap0Message.put(message()) | kCap0OverflowInterrupt.put(p.overflow_interrupt) |
                   kCap0LevelInterrupt.put(p.level_interrupt) |
                   kCap0EpochType.put(p.per_counter_epochs) | kCap0Requests.put(p.requests) |
                   kCap0MaxEpochScale.put(p.epoch_max.scale) |
                   kCap0MaxEpochValue.put(p.epoch_max.value) |
                   kCap0MinEpochScale.put(p.epoch_min.scale) |
                   kCap0MinEpochValue.put(p.epoch_min.value) |
                   kCap0HotListSize.put(p.hot_list_entries);
        case kCap1:
            return kCap1UnitSizes.put(p.unit_sizes) | kCap1Downsampling.put(p.downsampling) |
                   kCap1EpochMode.put(p.epoch_mode) | kCap1AlwaysOnMode.put(p.always_on_mode) |
                   kCap1Randomized.put(p.randomized) | kCap1Overlap.put(p.overlap) |
                   kCap1Postponed.put(p.postponed);
        case kCap2:
            return p.bitmap_offset();
        case kCap3:
            return p.hot_list_offset();
        case kConfig0:
            return config0_;
        case kConfig1:
            return config1_;
        case kConfig2:
            return config2_;
        case kStatus:
            return status();
        case kHead:
            return list_.head();
        case kTail:
            return shown_tail();
        default:
            return 0;  // not in kRegisters
    }
}

uint64_t Instance::status() const
{
    return kStatusEnabled.put(enabled_) | kStatusOperation.put(shown_operation()) |
           kStatusCounterWidth.put(params_.counter_width(unit_log2())) |
           kStatusOverflow.put(overflow_) | kStatusLevel.put(level_);
}

uint64_t Instance::shown_tail() const
{
    return tail_is_garbage_ ? 0xffff : list_.tail();
}

void Instance::write(uint64_t offset, unsigned width, uint64_t value)
{
    guest_writes_++;
    touched();
    if (write_quirk(offset, width, value))
        return;
    if (const Register *reg = find(offset, width)) {
        write_register(*reg, value);
        return;
    }
    const bool in_bitmap = offset >= params_.bitmap_offset() && offset < params_.hot_list_offset();
    if (in_bitmap && width == 8 && offset % 8 == 0)
        write_bitmap((offset - params_.bitmap_offset()) / 8, value);
    else
        refuse("write", offset, width);
}

// With the quirk joint_head_tail, a 2-byte write of the joint register acts as a 4-byte write whose
// upper half is zero.
bool Instance::write_quirk(uint64_t offset, unsigned width, uint64_t value)
{
    if (!params_.quirks.joint_head_tail || (offset != kHead && offset != kTail))
        return false;
    if (offset == kHead && width >= 2) {
        write_head(value & 0xffff);
        if (!locked())
            write_tail(value >> 16 & 0xffff);
    }
    return true;
}

void Instance::write_bitmap(uint64_t qword, uint64_t value)
{
    if (locked()) {
        violate("write-while-enabled", fmt::format("qword {} of the range bitmap, dropped", qword));
        return;
    }
    const uint64_t beyond = value & ~valid_ranges(qword);
    if (beyond != 0)
        violate("bitmap-beyond-capacity",
                fmt::format("bits {:#x} of qword {} of the range bitmap", beyond, qword));
    if (qword < bitmap_.size())
        bitmap_[qword] = params_.lenient ? value : value & ~beyond;
}

// Returns the valid bits of a qword of the bitmap: one bit per 256 MiB of the device.
uint64_t Instance::valid_ranges(size_t qword) const
{
    const uint64_t ranges =
        params_.capacity_bytes == 0
            ? bitmap_.size() * 64
            : (params_.capacity_bytes + (uint64_t{1} << kRangeLog2) - 1) >> kRangeLog2;
    if (ranges <= qword * 64)
        return 0;
    const uint64_t here = ranges - qword * 64;
    return here >= 64 ? kAllOnes : (uint64_t{1} << here) - 1;
}

void Instance::write_register(const Register &reg, uint64_t value)
{
    const uint64_t writable =
        (locked() ? reg.writable_enabled : reg.writable) | reg.write_one_clears;
    const uint64_t old = register_value(reg.offset);
    if ((value & reg.reserved) != 0)
        violate("reserved-bits", fmt::format("{} is written as {:#x}", reg.name, value));
    if (writable == 0 && value != old)
        violate(locked() ? "write-while-enabled" : "read-only",
                fmt::format("{} is read only{}: written as {:#x}, dropped", reg.name,
                            locked() ? " while enabled" : "", value));
    if (writable == 0)
        return;
    // If a write clears the enable bit, it may have any value in locked bits.
    const bool ends = reg.offset == kConfig0 && kConfig0Enable.get(value) == 0;
    if (reg.write_one_clears == 0 && !ends && ((value ^ old) & reg.writable & ~writable) != 0)
        violate("write-while-enabled",
                fmt::format("write to locked bits of {}: {:#x} to {:#x}; change dropped", reg.name,
                            old, value));
    value = (value & writable) | (old & ~writable);

    switch (reg.offset) {
        case kConfig0:
            return write_config0(value);
        case kConfig1:
            return write_config1(value);
        case kConfig2:
            config2_ = value;
            return;
        case kStatus:
            return write_status(value);
        case kHead:
            return write_head(value);
        case kTail:
            return write_tail(value);
    }
}

// A write of request type 0 is valid. Tracking needs another type: why_not_enable() checks that.
void Instance::check_config0(uint64_t value)
{
    if (kConfig0Requests.get(value) > kRequestTypes)
        violate("reserved-value", fmt::format("configuration 0 is written as {:#x}: no such "
                                              "requests to track",
                                              value));
}

void Instance::write_config0(uint64_t value)
{
    check_config0(value);
    if (!params_.overflow_interrupt)
        value &= ~kConfig0OverflowInterrupt.mask();
    if (!params_.level_interrupt)
        value &= ~kConfig0LevelInterrupt.mask();
    if (!params_.randomized)
        value &= ~kConfig0Randomized.mask();

    const uint64_t control = kConfig0Enable.mask() | kConfig0ResetCounters.mask();
    if (shown_operation() != kOperationNone && ((value ^ config0_) & control) != 0) {
        log("control bits written while an operation is in progress, dropped");
        value = (value & ~control) | (config0_ & control);
    }
    config0_ = value;
    if (operation_ == kOperationNone)
        next_operation(host_.now_ns());
}

// Returns why a value of configuration 1 is invalid, regardless of other registers; nullptr: it is
// valid.
const char *Instance::wrong_config1(uint64_t value) const
{
    const EpochLength epoch{kConfig1EpochScale.get(value), kConfig1EpochValue.get(value)};
    const uint64_t wanted = kConfig1Mode.get(value);
    if (!params_.supports_unit(kConfig1UnitSize.get(value)))
        return "unit size not supported";
    if ((params_.downsampling >> kConfig1Downsampling.get(value) & 1) == 0)
        return "downsampling factor not supported";
    if (!(wanted == kModeEpoch && params_.epoch_mode) &&
        !(wanted == kModeAlwaysOn && params_.always_on_mode))
        return "reporting mode not supported";
    if (!params_.has_epochs())
        return nullptr;
    if (epoch.ns() == 0)
        return "epoch out of range: its scale is reserved, or its value 0";
    if (epoch.ns() < params_.epoch_min.ns() || epoch.ns() > params_.epoch_max.ns())
        return "epoch out of range";
    return nullptr;
}

void Instance::write_config1(uint64_t value)
{
    if (const char *wrong = wrong_config1(value)) {
        violate("reserved-value",
                fmt::format("configuration 1 is written as {:#x}: {}", value, wrong));
        if (!params_.lenient)
            return;
    }
    const uint64_t wanted = kConfig1Mode.get(value);
    const bool supported = (wanted == kModeEpoch && params_.epoch_mode) ||
                           (wanted == kModeAlwaysOn && params_.always_on_mode);
    if (!supported)
        value = (value & ~kConfig1Mode.mask()) | (config1_ & kConfig1Mode.mask());
    if (kConfig1UnitSize.get(value) != unit_log2())
        tracker_.free_counters();
    config1_ = value;
}

void Instance::write_status(uint64_t value)
{
    if (params_.quirks.sticky_status)
        return announce_again(value);
    if (kStatusOverflow.get(value) != 0)
        overflow_ = false;
    if (kStatusLevel.get(value) != 0)
        level_ = false;
    check_level();
}

// With the quirk sticky_status, software cannot clear a status bit. A write that would clear the
// bit raises the interrupt of the bit again, because the cause persists.
void Instance::announce_again(uint64_t value)
{
    const bool overflow = overflow_ && kStatusOverflow.get(value) != 0 &&
                          kConfig0OverflowInterrupt.get(config0_) != 0;
    const bool level =
        level_ && kStatusLevel.get(value) != 0 && kConfig0LevelInterrupt.get(config0_) != 0;
    if (enabled_ && (overflow || level))
        host_.raise(message_);
}

void Instance::write_head(uint64_t value)
{
    const unsigned used_before = list_.used();
    const unsigned head_before = list_.head();
    if (!list_.set_head(static_cast<unsigned>(value))) {
        violate("head", fmt::format("head {} is outside the hot list of {} entries; dropped", value,
                                    list_.size()));
        return;
    }
    if ((list_.head() + list_.size() - head_before) % list_.size() > used_before)
        violate("head", fmt::format("head goes from {} to {}, past the tail", head_before, value));
    log_accesses("head", used_before >= list_.used() ? used_before - list_.used() : 0);
    insert_outstanding();
    check_level();
}

void Instance::write_tail(uint64_t value)
{
    if (!list_.set_tail(static_cast<unsigned>(value)))
        violate("tail", fmt::format("tail {} is outside the hot list of {} entries; dropped", value,
                                    list_.size()));
}

// Operations

bool Instance::locked() const
{
    return enabled_ || operation_ == kOperationEnabling;
}

bool Instance::hides_operation() const
{
    return params_.quirks.late_status_ns != 0 &&
           (operation_ == kOperationEnabling || operation_ == kOperationDisabling);
}

void Instance::next_operation(uint64_t now_ns)
{
    const bool enable_wanted = kConfig0Enable.get(config0_) != 0;
    if (kConfig0ResetCounters.get(config0_) != 0)
        begin(kOperationResetting, now_ns);
    else if (enable_wanted != enabled_)
        begin(enable_wanted ? kOperationEnabling : kOperationDisabling, now_ns);
}

void Instance::begin(uint64_t operation, uint64_t now_ns)
{
    operation_ = operation;
    const uint64_t takes_ns =
        hides_operation() ? params_.quirks.late_status_ns : params_.operation_ns;
    operation_done_ns_ = now_ns + takes_ns;
    if (takes_ns == 0)
        finish_operation();
}

void Instance::finish_operation()
{
    const uint64_t finished = operation_;
    const bool hidden = hides_operation();
    operation_ = kOperationNone;
    if (hidden)
        return finish_hidden();
    switch (finished) {
        case kOperationEnabling:
            return enable();
        case kOperationDisabling:
            return disable();
        case kOperationResetting:
            return finish_reset();
    }
}

// Ends an operation that the status did not show (quirk late_status_ns). Software did not see an
// operation in progress, so it may have changed the enable bit since. The current value of the bit
// applies.
void Instance::finish_hidden()
{
    const bool enable_wanted = kConfig0Enable.get(config0_) != 0;
    if (enable_wanted && !enabled_)
        enable();
    if (!enable_wanted && enabled_)
        disable();
    if (kConfig0ResetCounters.get(config0_) != 0)
        begin(kOperationResetting, operation_done_ns_);
}

void Instance::finish_reset()
{
    tracker_.free_counters();
    config0_ &= ~kConfig0ResetCounters.mask();
    if (params_.quirks.reset_empties_list) {
        drop_outstanding();
        list_.reset();
    }
    // The write that requested the reset may also have set the enable bit.
    next_operation(operation_done_ns_);
}

void Instance::enable()
{
    if (const char *reason = why_not_enable()) {
        violate("enable-refused", fmt::format("enable refused: {}", reason));
        return;
    }
    enabled_ = true;
    tracker_.start(tracker_settings());
    tick_ns_ = params_.has_epochs() ? epoch().ns() / ticks_per_epoch() : kNever_ns;
    tick_start_ns_ = operation_done_ns_;
    epoch_ = source_epoch_ = 0;
    epoch_requests_ = 0;
    tail_is_garbage_ = false;
    log_accesses("enabled", 0);
    if (params_.logs)
        params_.logs->enabled(name_);
    check_level();
}

void Instance::disable()
{
    enabled_ = false;
    drop_outstanding();
    log_accesses("disabled", 0);
}

const char *Instance::why_not_enable() const
{
    const uint64_t type = kConfig0Requests.get(config0_);
    if (type == 0 || type > kRequestTypes || (params_.requests >> (type - 1) & 1) == 0)
        return "requests to track not supported";
    if (const char *wrong = wrong_config1(config1_))
        return wrong;
    if (threshold() >> params_.counter_width(unit_log2()) != 0)
        return "hotness threshold does not fit the counter";
    if (!unit_fits_ranges())
        return "a unit is larger than its range";
    if (!params_.overlap && overlaps_sibling())
        return "another instance tracks these addresses";
    return nullptr;
}

// A unit larger than 256 MiB covers several bits of the bitmap. Either all or none of these bits
// must be set.
bool Instance::unit_fits_ranges() const
{
    if (unit_log2() <= kRangeLog2)
        return true;
    // The number of bits is at most 8 and divides 64.
    const unsigned bits = 1u << (unit_log2() - kRangeLog2);
    const uint64_t group = (uint64_t{1} << bits) - 1;
    for (uint64_t qword : bitmap_) {
        for (unsigned at = 0; at < 64; at += bits) {
            const uint64_t part = qword >> at & group;
            if (part != 0 && part != group)
                return false;
        }
    }
    return true;
}

bool Instance::overlaps_sibling() const
{
    return std::any_of(siblings_.begin(), siblings_.end(), [this](const Instance *other) {
        if (!other->enabled_)
            return false;
        const size_t common = std::min(bitmap_.size(), other->bitmap_.size());
        for (size_t i = 0; i < common; i++) {
            if ((bitmap_[i] & other->bitmap_[i]) != 0)
                return true;
        }
        return false;
    });
}

TrackerSettings Instance::tracker_settings() const
{
    return {.unit_log2 = unit_log2(),
            .downsampling_log2 = static_cast<unsigned>(kConfig1Downsampling.get(config1_)),
            .randomized = kConfig0Randomized.get(config0_) != 0,
            .always_on = mode() == kModeAlwaysOn,
            .threshold = static_cast<uint32_t>(threshold()),
            .counter_width = params_.counter_width(unit_log2()),
            .ticks_per_epoch = ticks_per_epoch(),
            .seed = params_.seed};
}

EpochLength Instance::epoch() const
{
    return {kConfig1EpochScale.get(config1_), kConfig1EpochValue.get(config1_)};
}

// Requests

void Instance::request(const Request &request)
{
    requests_++;
    epoch_requests_++;
    tail_is_garbage_ = false;
    if (enabled_ && wants(request))
        tracker_.request(request.dpa,
                         [this](uint64_t unit, uint32_t count) { report(unit, count); });
}

bool Instance::wants(const Request &request) const
{
    const RequestType &type = kRequestTypeTable[kConfig0Requests.get(config0_)];
    if (!(request.write ? type.writes : type.reads) || (request.tee && !type.tee))
        return false;
    const uint64_t range = request.dpa >> kRangeLog2;
    return range / 64 < bitmap_.size() && (bitmap_[range / 64] >> (range % 64) & 1) != 0;
}

// Time

// While a disable is in progress, the current epoch can still end.
std::optional<uint64_t> Instance::next_deadline_ns() const
{
    const std::optional<uint64_t> epoch = epoch_deadline_ns();
    if (operation_ == kOperationNone || left_enabling_)
        return epoch;
    return epoch ? std::min(*epoch, operation_done_ns_) : operation_done_ns_;
}

std::optional<uint64_t> Instance::epoch_deadline_ns() const
{
    const bool awaits_epoch =
        tracker_.used() != 0 || source_goes_on() || params_.quirks.garbage_tail;
    if (enabled_ && awaits_epoch && tick_ns_ != kNever_ns)
        return tick_start_ns_ + tick_ns_;
    return std::nullopt;
}

void Instance::advance(uint64_t now_ns)
{
    // If an epoch ends before an operation completes, the epoch is reported. If it ends later,
    // counters that the operation has freed are not reported.
    while (operation_ != kOperationNone && now_ns >= operation_done_ns_) {
        if (enabled_)
            end_epochs(operation_done_ns_);
        finish_operation();
    }
    if (enabled_)
        end_epochs(now_ns);
}

uint32_t Instance::ticks_per_epoch() const
{
    return params_.per_counter_epochs ? kTicksPerEpoch : 1;
}

bool Instance::source_goes_on() const
{
    return params_.source != nullptr && !params_.source->ended(source_epoch_);
}

// Several epochs end at once if the host was too busy to call this in time. Then the source makes
// its requests only for the first of them. So the source lags behind, but none of its epochs is
// skipped.
void Instance::end_epochs(uint64_t now_ns)
{
    if (tick_ns_ == kNever_ns || now_ns < tick_start_ns_ + tick_ns_)
        return;
    uint64_t passed = (now_ns - tick_start_ns_) / tick_ns_;
    const uint32_t to_end = ticks_per_epoch() - tracker_.ticks() % ticks_per_epoch();
    if (source_goes_on() && passed >= to_end) {
        pass_ticks(to_end - 1);
        passed -= to_end - 1;
        offer_source();
    }
    pass_ticks(passed);
    tail_is_garbage_ = params_.quirks.garbage_tail && epoch_requests_ == 0;
    epoch_requests_ = 0;
    if (params_.source == nullptr)
        epoch_ = tracker_.ticks() / ticks_per_epoch();
}

void Instance::offer_source()
{
    if (list_.size() - 1 - list_.used() < params_.source->room())
        return;
    epoch_ = source_epoch_++;
    if (params_.logs)
        params_.logs->source_epoch(name_, epoch_);
    for (const Request &made : params_.source->epoch(epoch_)) {
        if (params_.logs)
            params_.logs->source_access(made);
        request(made);
    }
}

void Instance::pass_ticks(uint64_t ticks)
{
    tick_start_ns_ += ticks * tick_ns_;
    tracker_.pass_ticks(ticks, [this](uint64_t unit, uint32_t count) { report(unit, count); });
}

// The hot list

void Instance::report(uint64_t unit, uint32_t count)
{
    const unsigned width = params_.counter_width(unit_log2());
    const uint64_t entry = unit << width | count;
    const HotList::Put put = list_.put(entry);
    stored_ += put == HotList::Put::kStored;
    dropped_ += put == HotList::Put::kDiscarded;
    if (put != HotList::Put::kPostponed)
        log_entry(entry, put == HotList::Put::kDiscarded);
    if (put != HotList::Put::kStored || (params_.quirks.overflow_when_full && list_.full()))
        set_overflow();
    check_level();
}

void Instance::insert_outstanding()
{
    const unsigned first = list_.tail();
    const unsigned inserted = list_.insert_outstanding();
    stored_ += inserted;
    for (unsigned i = 0; i < inserted; i++)
        log_entry(list_.entry((first + i) % list_.size()));
}

void Instance::drop_outstanding()
{
    for (unsigned i = 0; i < list_.outstanding(); i++)
        log_entry(list_.outstanding_entry(i), true);
    dropped_ += list_.drop_outstanding();
}

void Instance::check_level()
{
    const uint64_t notify_at = kConfig2Notification.get(config2_);
    if (!enabled_ || level_ || notify_at == 0 || notify_at > list_.size() ||
        list_.used() < notify_at + params_.quirks.level_above)
        return;
    level_ = true;
    if (kConfig0LevelInterrupt.get(config0_) != 0)
        host_.raise(message_);
}

void Instance::set_overflow()
{
    if (overflow_)
        return;
    overflow_ = true;
    if (kConfig0OverflowInterrupt.get(config0_) != 0)
        host_.raise(message_);
}

void Instance::reset()
{
    tracker_.free_counters();
    drop_outstanding();
    list_.reset();
    std::fill(bitmap_.begin(), bitmap_.end(), 0);
    config0_ = config1_ = config2_ = 0;
    enabled_ = overflow_ = level_ = false;
    operation_ = kOperationNone;
    requests_ = 0;
    tail_is_garbage_ = false;
    leave_enabling();
}

// Sets the state that a previous kernel left if it set the enable bit and did not wait until the
// instance was enabled: a valid configuration, and enabling in progress. The duration of the
// enabling counts from the guest's first access.
void Instance::leave_enabling()
{
    left_enabling_ = params_.left_enabling_ns != 0;
    if (!left_enabling_)
        return;
    unsigned unit = kMinUnitLog2, requests = 1, factor = 0;
    while (!params_.supports_unit(unit))
        unit++;
    while ((params_.requests >> (requests - 1) & 1) == 0)
        requests++;
    while ((params_.downsampling >> factor & 1) == 0)
        factor++;
    config0_ = kConfig0Requests.put(requests) | kConfig0Enable.put(1) | kConfig0Threshold.put(1);
    config1_ = kConfig1UnitSize.put(unit) | kConfig1Downsampling.put(factor) |
               kConfig1Mode.put(params_.epoch_mode ? kModeEpoch : kModeAlwaysOn) |
               kConfig1EpochScale.put(params_.epoch_max.scale) |
               kConfig1EpochValue.put(params_.epoch_max.value);
    operation_ = kOperationEnabling;
    operation_done_ns_ = kNever_ns;
}

void Instance::touched()
{
    if (!left_enabling_)
        return;
    left_enabling_ = false;
    operation_done_ns_ = host_.now_ns() + params_.left_enabling_ns;
}

void Instance::log_entry(uint64_t entry, bool dropped)
{
    if (params_.logs)
        params_.logs->entry(name_, epoch_, entry, dropped);
}

void Instance::log_accesses(std::string_view event, unsigned entries)
{
    if (params_.logs)
        params_.logs->accesses(name_, event, entries, guest_reads_, guest_writes_);
    guest_reads_ = guest_writes_ = 0;
}

void Instance::refuse(std::string_view what, uint64_t offset, unsigned width)
{
    violate("wrong-access",
            fmt::format("{} of {} bytes at {:#x}: no register of that width, ignored", what, width,
                        offset));
}

void Instance::violate(std::string_view rule, std::string_view detail)
{
    if (params_.lenient)
        log(detail);
    violations_.add(rule, fmt::format("{}: {}", name_, detail));
}

void Instance::log(std::string_view line)
{
    host_.log(fmt::format("{}: {}", name_, line));
}

}  // namespace pmukit::models::cxl_hmu
