// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/cache_qos/resctrl_recorder.hpp"

#include <linux/perf_event.h>
#include <pmukit/cache_qos.h>
#include <time.h>

#include <algorithm>
#include <iterator>

#include "base/counted.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/drivers/cache_qos/missing.hpp"
#include "cli/qualify/machine.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
#include "session/recording.hpp"

namespace pmukit::cli::resctrl {
namespace {

constexpr uint64_t kNamePasses = 8;  // after its first two, a group's tasks are read every so often

uint64_t monotonic_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t name_word(std::string_view text)
{
    std::byte bytes[sizeof(uint64_t)]{};
    std::ranges::copy(as_bytes(text.substr(0, sizeof bytes)), bytes);
    return load_le<uint64_t>(bytes);
}

// Returns "PATH (MEMBERS)", cut to the length of a name in records. Of a path that is too long, the
// end is kept.
std::string name_of(const Group &group, const std::string &members)
{
    constexpr size_t kMost = PMUKIT_CACHE_QOS_NAME_PARTS * PMUKIT_CACHE_QOS_NAME_PART_BYTES;
    if (group.path.size() > kMost)
        return group.path.substr(group.path.size() - kMost);
    const std::string name = members.empty() ? group.path : group.path + " (" + members + ")";
    return name.substr(0, kMost);
}

using Listing = std::map<Group::Key, const Group *>;

Listing listing_of(const std::vector<Group> &groups)
{
    Listing listing;
    for (const Group &group : groups)
        listing.emplace(group.key, &group);
    return listing;
}

}  // namespace

void Counter::read(const Value &value, uint64_t pass, bool unsettled)
{
    const bool follows = pass_ != 0 && pass_ + 1 == pass;
    came_or_went_ = pass_ != 0 && valued_ != value.has_number();
    valued_ = value.has_number();
    pass_ = pass;
    counted_ = counted_ && follows && !value.is_interrupted();
    gap_ = gap_ || value.is_interrupted();
    if (!valued_)
        return;
    const bool fell = known_ && value.bytes < last_;
    if (!known_)
        sum_ = value.bytes;
    else if (counted_ && !unsettled && !fell && !fell_)
        sum_ += value.bytes - last_;
    else
        gap_ = true;
    last_ = value.bytes;
    fell_ = fell;
    known_ = counted_ = true;
}

void Snapshots::put(std::initializer_list<uint64_t> words)
{
    for (const uint64_t word : words) {
        bytes_.resize(bytes_.size() + sizeof word);
        store_le(bytes_.data() + bytes_.size() - sizeof word, word);
    }
}

void Snapshots::put_front()
{
    for (const Domain &domain : domains_)
        put({PMUKIT_CACHE_QOS_MARK, sequence_++,
             uint64_t{PMUKIT_CACHE_QOS_VERSION} << PMUKIT_CACHE_QOS_FORMAT_VERSION_SHIFT |
                 uint64_t{PMUKIT_CACHE_QOS_RECORD_BYTES} << PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT |
                 uint64_t{numbers_.at(domain.id)} << PMUKIT_CACHE_QOS_FORMAT_DOMAIN_SHIFT |
                 uint64_t{PMUKIT_CACHE_QOS_BACKEND_RESCTRL}
                     << PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT,
             /* scale */ 1, begun_ns_,
             std::min<uint64_t>(tree_.rmids(), UINT32_MAX) |
                 uint64_t{64} << PMUKIT_CACHE_QOS_HARDWARE_WIDTH_SHIFT,
             domain.cache_bytes, /* lost */ 0});
}

void Snapshots::put_name(const Monitor &monitor, uint32_t life, std::string_view text)
{
    constexpr size_t kPartBytes = PMUKIT_CACHE_QOS_NAME_PART_BYTES, kWordBytes = sizeof(uint64_t);
    const size_t parts = std::max<size_t>(1, (text.size() + kPartBytes - 1) / kPartBytes);
    text = text.substr(0, parts * kPartBytes);
    for (const Domain &domain : domains_)
        for (size_t part = 0; part < parts; part++) {
            const std::string_view rest = text.substr(std::min(text.size(), part * kPartBytes));
            const auto word = [&](size_t i) {
                return name_word(rest.substr(std::min(rest.size(), i * kWordBytes)));
            };
            put({PMUKIT_CACHE_QOS_NAME_MARK, sequence_++,
                 monitor.number |
                     uint64_t{numbers_.at(domain.id)} << PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT |
                     uint64_t{PMUKIT_CACHE_QOS_KIND_GROUP} << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
                 /* id */ 0,
                 life | part << PMUKIT_CACHE_QOS_LIFE_PART_SHIFT |
                     parts << PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT,
                 word(0), word(1), word(2)});
        }
}

void Snapshots::put_names(Monitor &monitor, const Group &group, bool all)
{
    const bool due = monitor.passes < 2 || monitor.passes % kNamePasses == 0;
    monitor.passes++;
    const bool moved = monitor.path != group.path;
    std::string name = monitor.name;
    if (due || moved || all)
        name = name_of(group, tree_.members(group));
    if (all || name != monitor.name)
        put_name(monitor, monitor.life, name);
    monitor.path = group.path;
    monitor.name = std::move(name);
}

// A name of the next life, without text, ends a monitor. Above the limit, the ended monitors are
// forgotten: their paths then get new numbers.
void Snapshots::end_monitor(const Monitor &monitor)
{
    constexpr size_t kMostEnded = 65536;
    put_name(monitor, monitor.life + 1, "");
    if (ended_.size() >= kMostEnded)
        ended_.clear();
    ended_[monitor.path] = {monitor.number, monitor.life};
}

void Snapshots::note_groups(const std::vector<Group> &groups)
{
    const Listing listing = listing_of(groups);
    std::erase_if(monitors_, [&](const auto &known) {
        const bool is_gone = !listing.contains(known.first);
        if (is_gone)
            end_monitor(known.second);
        removed_ += is_gone;
        return is_gone;
    });
    for (const Group &group : groups) {
        if (monitors_.contains(group.key))
            continue;
        Monitor &monitor = monitors_[group.key];
        monitor.path = group.path;
        if (const auto earlier = ended_.find(group.path); earlier != ended_.end()) {
            monitor.number = earlier->second.first;
            monitor.life = earlier->second.second + 1;
            ended_.erase(earlier);
        } else {
            monitor.number = next_number_++;
        }
    }
}

void Snapshots::note_domains(std::vector<Domain> domains)
{
    if (domains == domains_)
        return;
    front_due_ = true;
    domains_ = std::move(domains);
    std::set<uint32_t> used;
    for (const auto &[id, number] : numbers_)
        used.insert(number);
    for (const Domain &domain : domains_) {
        if (numbers_.contains(domain.id))
            continue;
        uint32_t number = domain.id;
        if (number > UINT16_MAX || used.contains(number))
            for (number = 0; used.contains(number) ||
                             std::ranges::find(domains_, number, &Domain::id) != domains_.end();)
                number++;
        used.insert(number);
        numbers_[domain.id] = static_cast<uint16_t>(number);
    }
}

std::set<Group::Key> Snapshots::unsettled(const std::vector<Group> &from,
                                          const std::vector<Group> &to) const
{
    const Listing before = listing_of(from), after = listing_of(to);
    // Groups by key, because a path may have another group afterwards.
    const auto control_of = [](const std::vector<Group> &groups, const Group &group) {
        const auto control = std::ranges::find(groups, group.control, &Group::path);
        return control == groups.end() ? Group::Key{} : control->key;
    };
    std::set<Group::Key> changed;
    for (const auto &[key, group] : before) {
        if (group->control.empty())
            continue;
        const Group::Key old = control_of(from, *group);
        const auto now = after.find(key);
        const Group::Key control = now == after.end() ? Group::Key{} : control_of(to, *now->second);
        if (control != old) {
            changed.insert(old);
            changed.insert(control);
        }
    }
    return changed;
}

void Snapshots::count(const Value &value)
{
    unavailable_ += value.kind == Value::Kind::kUnavailable;
    unassigned_ += value.kind == Value::Kind::kUnassigned;
    gone_ += value.kind == Value::Kind::kGone;
    errors_ += value.kind == Value::Kind::kError;
}

void Snapshots::put_reading(const Read &read, const Monitor &monitor, const Counter &counter)
{
    const bool is_count = read.event != PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
    const bool valued = read.value.has_number();
    uint64_t status = is_count && counter.has_gap() ? PMUKIT_CACHE_QOS_S_GAP : 0;
    if (!valued)
        status |=
            read.value.has_failed() ? PMUKIT_CACHE_QOS_S_ERROR : PMUKIT_CACHE_QOS_S_UNAVAILABLE;
    const uint64_t bytes = !valued ? 0 : is_count ? counter.sum() : read.value.bytes;
    put({read.time_ns, sequence_++,
         monitor.number |
             uint64_t{numbers_.at(read.domain->id)} << PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT |
             uint64_t{read.event} << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT |
             uint64_t{PMUKIT_CACHE_QOS_KIND_GROUP} << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
         status << PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT, read.value.bytes, bytes, /* bound */ 0,
         /* age */ 0});
}

std::vector<Snapshots::Read> Snapshots::read_all(const std::vector<Group> &groups,
                                                 const std::vector<Domain> &domains) const
{
    std::vector<Read> reads;
    for (const Group &group : groups)
        for (const Domain &domain : domains)
            for (const uint8_t event : domain.events) {
                const uint64_t time_ns = monotonic_ns();
                reads.push_back(
                    {&group, &domain, event, tree_.read(group, domain, event), time_ns});
            }
    return reads;
}

// `changed`: control groups whose sums may have changed without being counted.
void Snapshots::put_readings(std::vector<Read> reads, const std::set<Group::Key> &changed)
{
    // Monitoring groups first: a value that comes or goes changes the sum of their control group.
    std::stable_partition(reads.begin(), reads.end(),
                          [](const Read &read) { return !read.group->control.empty(); });
    std::set<std::tuple<std::string, uint32_t, uint8_t>> came_or_went;  // by control group
    for (const Read &read : reads) {
        Monitor &monitor = monitors_.at(read.group->key);
        Counter &counter = monitor.counters[{read.domain->id, read.event}];
        counter.read(read.value, passes_,
                     changed.contains(read.group->key) ||
                         came_or_went.contains({read.group->path, read.domain->id, read.event}));
        if (!read.group->control.empty() && counter.came_or_went())
            came_or_went.emplace(read.group->control, read.domain->id, read.event);
        count(read.value);
        put_reading(read, monitor, counter);
    }
}

std::vector<Domain> Snapshots::vanished(const std::vector<Domain> &now) const
{
    std::vector<Domain> gone;
    for (Domain domain : domains_) {
        if (const auto still = std::ranges::find(now, domain.id, &Domain::id); still != now.end())
            std::erase_if(domain.events, [&](uint8_t event) {
                return std::ranges::find(still->events, event) != still->events.end();
            });
        if (!domain.events.empty())
            gone.push_back(std::move(domain));
    }
    return gone;
}

// The records after which resctrl is gone. A file that begins here has headers and the name, too.
std::vector<std::byte> Snapshots::end_all()
{
    unmounted_ = true;
    const auto root =
        std::ranges::find(monitors_, "/", [](const auto &known) { return known.second.path; });
    if (root == monitors_.end())
        return {};
    if (front_due_) {
        put_front();
        put_name(root->second, root->second.life, root->second.name);
    }
    end_monitor(root->second);
    return std::move(bytes_);
}

// The groups are listed before and after the reads: a path that has another group afterwards may
// have been read from either. Files that were there in the last pass are read once more, so that
// the failed reads show that they vanished.
std::vector<std::byte> Snapshots::pass(uint64_t time_ns, bool last)
{
    bytes_.clear();
    const std::vector<Group> before = tree_.groups();
    const std::vector<Domain> domains = tree_.domains(), gone = vanished(domains);
    std::vector<Read> reads = read_all(before, domains);
    std::ranges::move(read_all(before, gone), std::back_inserter(reads));
    std::vector<Group> after = tree_.groups();
    if (before.empty() || after.empty())
        return end_all();
    note_domains(domains);
    std::set<Group::Key> changed = unsettled(groups_, before);
    changed.merge(unsettled_);
    unsettled_ = unsettled(before, after);
    changed.insert(unsettled_.begin(), unsettled_.end());

    const bool front = front_due_ || last || passes_ % PMUKIT_CACHE_QOS_HEADER_PASSES == 0;
    front_due_ = false;
    if (passes_++ == 0)
        begun_ns_ = time_ns;
    if (front)
        put_front();
    note_groups(after);
    for (const Group &group : after)
        put_names(monitors_.at(group.key), group, front);
    const Listing there = listing_of(after);
    std::erase_if(reads, [&](const Read &read) {
        const auto group = there.find(read.group->key);
        return group == there.end() || group->second->path != read.group->path;
    });
    put_readings(std::move(reads), changed);
    groups_ = std::move(after);
    return std::move(bytes_);
}

// The recorder

namespace {

class Recorder final : public SourceRecorder {
public:
    // `emulated`: the processor is emulated, so the values are those of a model.
    Recorder(std::string text, Tree tree, std::chrono::milliseconds interval, bool emulated)
        : text_(std::move(text)),
          snapshots_(std::move(tree)),
          interval_(interval),
          emulated_(emulated)
    {
    }

    perfdata::WriterEvent event() const override;
    uint32_t type() const override { return kType; }
    perfdata::HostInfo::Caps caps() const override;
    std::string target() const override
    {
        return fmt::format("{} groups of resctrl on {}", snapshots_.tree().groups().size(),
                           snapshots_.tree().mounted_on());
    }
    std::chrono::milliseconds interval() const override { return interval_; }
    void begin_file() override { snapshots_.begin(); }
    Result<bool> pass(record::RecordSink &sink, bool last) override;
    std::vector<std::string> remarks() const override;

private:
    static constexpr uint64_t kId = 1;

    std::string text_;
    Snapshots snapshots_;
    std::chrono::milliseconds interval_;
    bool emulated_;
    uint64_t offset_ = 0;
};

perfdata::WriterEvent Recorder::event() const
{
    constexpr uint32_t kAttrBytes = 128;
    constexpr auto kOrder = std::endian::native;
    perfdata::WriterEvent event{std::vector<std::byte>(kAttrBytes), {kId}, text_};
    std::byte *attr = event.attr.data();
    const auto bit = [](unsigned number) {
        return uint64_t{1} << (kOrder == std::endian::little ? number : 63 - number);
    };
    store<uint32_t>(attr + perfdata::kAttrType, kType, kOrder);
    store<uint32_t>(attr + perfdata::kAttrSize, kAttrBytes, kOrder);
    store<uint64_t>(attr + perfdata::kAttrSampleType, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
                    kOrder);
    store<uint64_t>(attr + perfdata::kAttrFlags,
                    bit(perfdata::kAttrFlagSampleIdAll) | bit(perfdata::kAttrFlagUseClockId),
                    kOrder);
    store<uint32_t>(attr + perfdata::kAttrClockId, CLOCK_MONOTONIC, kOrder);
    return event;
}

perfdata::HostInfo::Caps Recorder::caps() const
{
    perfdata::HostInfo::Caps caps = {{"mounted_on", snapshots_.tree().mounted_on()}};
    if (const std::string mode = snapshots_.tree().assign_mode(); !mode.empty())
        caps.emplace_back("mbm_assign_mode", mode);
    if (emulated_)
        caps.emplace_back(kSourceCap, kSourceModel);
    return caps;
}

Result<bool> Recorder::pass(record::RecordSink &sink, bool last)
{
    const uint64_t time_ns = monotonic_ns();
    const std::vector<std::byte> bytes = snapshots_.pass(time_ns, last);
    if (bytes.empty())
        return !snapshots_.is_unmounted();
    perfdata::Packer body;
    body.put(offset_).put(uint64_t{bytes.size()}).put(/* flags */ uint64_t{0});
    body.put(time_ns).put(kId);
    const size_t size = perfdata::kRecordHeaderBytes + body.bytes().size();
    perfdata::Packer record;
    record.record_header(PERF_RECORD_AUX, 0, size).put(Bytes(body.bytes()));
    if (Result<void> put = sink.records(record.bytes()); !put)
        return put.error();
    if (Result<void> put = sink.aux({kId, offset_, /* ring */ 0, /* cpu */ -1, {bytes, {}}}); !put)
        return put.error();
    offset_ += bytes.size();
    if (Result<void> done = sink.round(); !done)
        return done.error();
    return !snapshots_.is_unmounted();
}

std::vector<std::string> Recorder::remarks() const
{
    std::vector<std::string> remarks = {kMeaning};
    for (const auto &[id, number] : snapshots_.numbers())
        if (id != number)
            remarks.push_back(fmt::format("L3 {} is L3 {} in the recording", id, number));
    for (const auto &[count, text] :
         {std::pair(snapshots_.unavailable(), "Unavailable: the hardware had no value"),
          {snapshots_.unassigned(), "Unassigned: the group has no bandwidth counter"},
          {snapshots_.gone(), "the file was not there (L3 offline?)"},
          {snapshots_.errors(), "Error"}})
        if (count)
            remarks.push_back(fmt::format("{} readings without a value: {}", count, text));
    if (snapshots_.removed())
        remarks.push_back(counted(snapshots_.removed(),
                                  kMissing[static_cast<size_t>(Missing::kRemoved)].sentence));
    return remarks;
}

Result<std::chrono::milliseconds> interval_of(const record::EventString &event)
{
    constexpr uint64_t kUsual = 1000, kLeast = 10, kMost = 3600'000;
    uint64_t interval_ms = kUsual;
    for (const record::Term &term : event.terms) {
        if (term.name == "interval_ms") {
            const Result<uint64_t> given = parse_u64(term.value.value_or(""));
            if (!given || *given < kLeast || *given > kMost)
                return Error{Errc::kUsage, fmt::format("event '{}': interval_ms is {} to {}",
                                                       event.text, kLeast, kMost)};
            interval_ms = *given;
        } else if (!term.name.empty()) {
            return Error{Errc::kUsage, fmt::format("event '{}': no term '{}'; resctrl has "
                                                   "interval_ms=N",
                                                   event.text, term.name)};
        }
    }
    return std::chrono::milliseconds(interval_ms);
}

}  // namespace

Result<std::unique_ptr<SourceRecorder>> open_recorder(const record::EventString &event,
                                                      const Host &host)
{
    const Result<std::chrono::milliseconds> interval = interval_of(event);
    if (!interval)
        return interval.error();
    Result<Tree> tree = Tree::open(host);
    if (!tree)
        return tree.error();
    std::unique_ptr<SourceRecorder> recorder = std::make_unique<Recorder>(
        event.text, std::move(*tree), *interval, qualify::Machine(host).is_emulated());
    return recorder;
}

}  // namespace pmukit::cli::resctrl
