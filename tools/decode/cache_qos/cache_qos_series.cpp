// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cache_qos/cache_qos_series.hpp"

#include <algorithm>
#include <utility>

#include "base/saturate.hpp"
#include "decode/cache_qos/cache_qos_levels.hpp"

namespace pmukit::decode::cache_qos {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

void merge(Column &to, const Column &from)
{
    if (from.levels && (!to.levels || from.highest > to.highest)) {
        to.highest = from.highest;
        to.highest_ns = from.highest_ns;
    }
    to.last_bytes = from.last_bytes;
    add_to(to.grown, from.grown);
    to.max_bound = std::max(to.max_bound, from.max_bound);
    to.status |= from.status;
    to.levels += from.levels;
}

}  // namespace

struct __attribute__((visibility("hidden"))) Series::State {
    struct Point {
        uint64_t time_ns = 0, bytes = 0;
    };

    void add(const Reading &reading);
    bool continues(const Reading &reading, const Name *named) const;
    void add_value(const Reading &reading);
    static uint64_t rate_of(const Point &from, const Point &to);
    void cover(uint64_t time_ns);
    Column &column_at(uint64_t time_ns);

    std::vector<Column> columns_;
    unsigned width_log2_ = 0;
    Levels levels_;
    std::optional<Name> named_;
    Point last_;
    uint64_t readings_ = 0, first_ns_ = 0, last_ns_ = 0, first_bytes_ = 0;
    uint64_t max_bound_ = 0, max_age_ns_ = 0, generations_ = 0;
    uint32_t status_ = 0, generation_ = 0;
    uint8_t kind_ = 0;
    bool is_count_ = false, has_value_ = false;
};

// Returns the rate per second; 0 if the clock did not advance or the count fell.
uint64_t Series::State::rate_of(const Point &from, const Point &to)
{
    if (to.time_ns <= from.time_ns || to.bytes <= from.bytes)
        return 0;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(to.bytes - from.bytes) *
                                 kNsPerSecond / (to.time_ns - from.time_ns));
}

// Extends the axis to this time; each old column is inside one new column.
void Series::State::cover(uint64_t time_ns)
{
    first_ns_ = has_value_ ? std::min(first_ns_, time_ns) : time_ns;
    last_ns_ = std::max(last_ns_, time_ns);
    unsigned by = 0;
    while ((last_ns_ >> width_log2_ >> by) - (first_ns_ >> width_log2_ >> by) >= kColumns)
        by++;
    if (!by)
        return;
    width_log2_ += by;
    std::vector<Column> wider;
    for (Column &column : columns_) {
        column.number >>= by;
        if (!wider.empty() && wider.back().number == column.number)
            merge(wider.back(), column);
        else
            wider.push_back(column);
    }
    columns_ = std::move(wider);
}

Column &Series::State::column_at(uint64_t time_ns)
{
    cover(time_ns);
    const uint64_t number = time_ns >> width_log2_;
    auto at = std::ranges::lower_bound(columns_, number, {}, &Column::number);
    if (at == columns_.end() || at->number != number) {
        at = columns_.insert(at, Column{});
        at->number = number;
    }
    return *at;
}

bool Series::State::continues(const Reading &reading, const Name *named) const
{
    const bool fell = is_count_ && has_value_ && cache_qos::has_value(reading) &&
                      reading.time_ns > last_.time_ns && reading.bytes < last_.bytes;
    const bool same = !named || !named_ || named->life == named_->life;
    return reading.kind == kind_ && same && !fell;
}

void Series::State::add(const Reading &reading)
{
    is_count_ = reading.event != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
    kind_ = reading.kind;
    generations_ += readings_ && reading.generation != generation_;
    generation_ = reading.generation;
    max_bound_ = std::max(max_bound_, reading.bound);
    max_age_ns_ = std::max(max_age_ns_, reading.age_ns);
    status_ |= reading.status;
    readings_++;
    if (cache_qos::has_value(reading))
        add_value(reading);
}

void Series::State::add_value(const Reading &reading)
{
    const Point point{reading.time_ns, reading.bytes};
    Column column{
        .last_bytes = reading.bytes, .max_bound = reading.bound, .status = reading.status};
    if (!is_count_ || has_value_) {
        column.highest = is_count_ ? rate_of(last_, point) : reading.bytes;
        column.highest_ns = reading.time_ns;
        column.levels = 1;
        column.grown = is_count_ && point.bytes > last_.bytes ? point.bytes - last_.bytes : 0;
        levels_.add(column.highest);
    }
    merge(column_at(reading.time_ns), column);
    if (!has_value_)
        first_bytes_ = reading.bytes;
    has_value_ = true;
    last_ = point;
}

Series::Series() : state_(std::make_unique<State>()) {}
Series::Series(Series &&) noexcept = default;
Series &Series::operator=(Series &&) noexcept = default;
Series::~Series() = default;

void Series::add(const Reading &reading)
{
    state_->add(reading);
}

bool Series::continues(const Reading &reading, const Name *named) const
{
    return state_->continues(reading, named);
}

void Series::call(const Name &named)
{
    state_->named_ = named;
}

const std::optional<Name> &Series::named() const
{
    return state_->named_;
}

bool Series::is_count() const
{
    return state_->is_count_;
}

uint8_t Series::kind() const
{
    return state_->kind_;
}

uint64_t Series::readings() const
{
    return state_->readings_;
}

bool Series::has_value() const
{
    return state_->has_value_;
}

uint64_t Series::first_ns() const
{
    return state_->first_ns_;
}

uint64_t Series::last_ns() const
{
    return state_->last_ns_;
}

const std::vector<Column> &Series::columns() const
{
    return state_->columns_;
}

unsigned Series::width_log2() const
{
    return state_->width_log2_;
}

std::vector<uint64_t> Series::highest() const
{
    std::vector<uint64_t> highest;
    for (const Column &column : columns())
        if (column.levels)
            highest.push_back(column.highest);
    return highest;
}

Summary Series::summary() const
{
    return state_->levels_.summary();
}

uint64_t Series::last_bytes() const
{
    return state_->last_.bytes;
}

uint64_t Series::grown() const
{
    return last_bytes() < state_->first_bytes_ ? 0 : last_bytes() - state_->first_bytes_;
}

uint64_t Series::max_bound() const
{
    return state_->max_bound_;
}

uint64_t Series::max_age_ns() const
{
    return state_->max_age_ns_;
}

uint32_t Series::status() const
{
    return state_->status_;
}

uint64_t Series::generations() const
{
    return state_->generations_;
}

size_t Series::bytes() const
{
    return sizeof *this + sizeof *state_ + columns().capacity() * sizeof(Column) +
           state_->levels_.bytes() + (named() ? named()->text.capacity() : 0);
}

std::string monitor_name(const SeriesKey &key)
{
    return key.life ? std::to_string(key.monitor) + "#" + std::to_string(key.life + 1)
                    : std::to_string(key.monitor);
}

struct __attribute__((visibility("hidden"))) SeriesTable::State {
    explicit State(std::shared_ptr<Budget> left) : left_(std::move(left)), names_(left_) {}

    bool add(const Reading &reading);
    bool put(const SeriesKey &key, const Reading &reading, const Name *named);

    std::shared_ptr<Budget> left_;
    std::map<SeriesKey, Series> all_;
    Names names_;
    bool has_names_ = false;
};

bool SeriesTable::State::put(const SeriesKey &key, const Reading &reading, const Name *named)
{
    // One reading makes a series use at most this much more memory.
    constexpr size_t kMostBytes = size_t{32} << 10;
    if (!left_->take(kMostBytes))
        return false;
    const auto [at, fresh] = all_.try_emplace(key);
    Series &series = at->second;
    const size_t before = fresh ? 0 : series.bytes() + kNodeBytes;
    if (named && named->kind == reading.kind) {
        series.call(*named);
        has_names_ = true;
    }
    series.add(reading);
    left_->give_back(kMostBytes + before - series.bytes() - kNodeBytes);
    return true;
}

bool SeriesTable::State::add(const Reading &reading)
{
    const Name *named = names_.find(reading.monitor, reading.domain);
    SeriesKey key{reading.monitor, reading.domain, reading.event, UINT32_MAX};
    const auto after = all_.upper_bound(key);
    key.life = 0;
    if (after != all_.begin()) {
        auto &[newest, series] = *std::prev(after);
        const bool known = newest.monitor == key.monitor && newest.domain == key.domain &&
                           newest.event == key.event;
        if (known && series.continues(reading, named))
            return put(newest, reading, named);
        key.life = known ? newest.life + 1 : 0;
    }
    return put(key, reading, named);
}

SeriesTable::SeriesTable(std::shared_ptr<Budget> left)
    : state_(std::make_unique<State>(std::move(left)))
{
}
SeriesTable::SeriesTable(SeriesTable &&) noexcept = default;
SeriesTable &SeriesTable::operator=(SeriesTable &&) noexcept = default;
SeriesTable::~SeriesTable() = default;

void SeriesTable::name(const NamePart &part)
{
    state_->names_.note(part);
}

bool SeriesTable::add(const Reading &reading)
{
    return state_->add(reading);
}

bool SeriesTable::has_names() const
{
    return state_->has_names_;
}

const std::map<SeriesKey, Series> &SeriesTable::all() const
{
    return state_->all_;
}

uint64_t SeriesTable::grown(uint32_t monitor, uint16_t domain, uint8_t event) const
{
    uint64_t grown = 0;
    for (auto at = state_->all_.lower_bound({monitor, domain, event, 0}); at != state_->all_.end();
         ++at) {
        if (at->first.monitor != monitor || at->first.domain != domain || at->first.event != event)
            break;
        add_to(grown, at->second.grown());
    }
    return grown;
}

}  // namespace pmukit::decode::cache_qos
