// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tierd/mover.hpp"

#include <algorithm>
#include <cmath>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::tierd {
namespace {

constexpr unsigned kPageNumberBits = 45;  // of an id; user addresses have up to 57 bits
constexpr uint64_t kPageNumber = (uint64_t{1} << kPageNumberBits) - 1;
constexpr size_t kMostNumaMapsBytes = size_t{256} << 20;
constexpr uint64_t kChecksPerInterval = 65536;  // of residents: about 0.1 s
constexpr uint64_t kFirstBackOff = 4;           // intervals
constexpr uint32_t kMostDoublings = 8;
// Of the fast node, this part stays free for other programs.
constexpr uint64_t kSpareDivisor = 50;

uint64_t serial_of(uint64_t id)
{
    return id >> kPageNumberBits;
}

// Returns a value in bytes of /sys/devices/system/node/nodeN/meminfo: "Node 0 MemFree: 12 kB".
std::optional<uint64_t> bytes_of(std::string_view meminfo, std::string_view name)
{
    const size_t at = meminfo.find(name);
    if (at == meminfo.npos)
        return std::nullopt;
    std::string_view rest = trim(meminfo.substr(at + name.size()));
    const Result<uint64_t> kilobytes = parse_u64(rest.substr(0, rest.find(' ')));
    return kilobytes ? std::optional<uint64_t>(*kilobytes * 1024) : std::nullopt;
}

struct NodeMemory {
    uint64_t total_bytes = 0, free_bytes = 0;
};

std::optional<NodeMemory> memory_of(const std::string &sys_root, uint32_t node)
{
    const Result<std::string> meminfo =
        read_small_file(sys_root + "/devices/system/node/node" + std::to_string(node) + "/meminfo");
    if (!meminfo)
        return std::nullopt;
    return NodeMemory{bytes_of(*meminfo, "MemTotal:").value_or(0),
                      bytes_of(*meminfo, "MemFree:").value_or(0)};
}

Error needs_root(const Error &error, const std::string &what)
{
    if (error.code == Errc::kDenied)
        return Error{error.code, error.message + ": " + what + ", be root"};
    return error;
}

}  // namespace

Result<std::unique_ptr<Mover>> Mover::create(MoverSetup setup, std::unique_ptr<tier::Policy> policy)
{
    Result<PageFlags> flags = PageFlags::open(setup.proc_root + "/kpageflags");
    if (!flags)
        return needs_root(flags.error(), "CAP_SYS_ADMIN is needed");
    Result<topology::MemoryMap> map = topology::MemoryMap::read(setup.sys_root);
    if (!map)
        return map.error();
    const std::string bitmap = setup.sys_root + "/kernel/mm/page_idle/bitmap";
    std::unique_ptr<Mover> mover(
        new Mover(std::move(setup), std::move(policy), std::move(*flags), std::move(*map)));
    if (!mover->setup_.demotes)
        return mover;
    Result<IdlePages> idle = IdlePages::open(bitmap);
    if (!idle && idle.error().code == Errc::kNotFound)
        return Error{Errc::kUnsupported,
                     bitmap +
                         " does not exist (CONFIG_IDLE_PAGE_TRACKING), so cold pages cannot "
                         "be found: give --no-demote"};
    if (!idle)
        return needs_root(idle.error(), "CAP_SYS_ADMIN is needed");
    mover->idle_.emplace(std::move(*idle));
    return mover;
}

Result<Interval> Mover::end_interval(std::vector<tier::HotRange> hot,
                                     std::span<const uint32_t> pids)
{
    number_++;
    Interval interval;
    hot_.clear();
    flags_.forget();
    if (Result<void> found = find_processes(pids); !found)
        return found.error();
    const tier::HeatMap heat(std::move(hot));
    if (Result<void> scanned = scan(heat, interval); !scanned)
        return scanned.error();
    if (Result<void> joined = join_huge_pages(interval); !joined)
        return joined.error();
    drop_unmovable(interval);
    if (Result<void> checked = check_idle(); !checked)
        return checked.error();
    if (Result<void> placed = place(interval); !placed)
        return placed.error();
    return interval;
}

// The processes and their pages

std::string Mover::folder_of(uint32_t pid) const
{
    return setup_.proc_root + "/" + std::to_string(pid);
}

// The node of a page; the slow node if the node is unknown.
uint32_t Mover::node_of(const Page &page) const
{
    return map_.node_of(page.frame * setup_.page_bytes, setup_.page_bytes).value_or(setup_.slow);
}

// Updates the processes: those that ended or are no longer wanted are forgotten. A process with the
// pid of an ended one is another process.
Result<void> Mover::find_processes(std::span<const uint32_t> pids)
{
    std::erase_if(processes_, [&](const auto &process) {
        return !process.second.held.is_there() ||
               !std::ranges::binary_search(pids, process.second.pid);
    });
    std::vector<uint32_t> known;
    for (auto &[serial, process] : processes_) {
        process.policies.reset();
        known.push_back(process.pid);
    }
    std::ranges::sort(known);
    for (const uint32_t pid : pids) {
        if (std::ranges::binary_search(known, pid))
            continue;
        Result<tier::HeldProcess> held = tier::HeldProcess::open(folder_of(pid));
        if (held)
            processes_.emplace(next_serial_++, Process{pid, std::move(*held)});
        else if (held.error().code != Errc::kNotFound)
            return held.error();
    }
    return {};
}

Result<void> Mover::scan(const tier::HeatMap &heat, Interval &interval)
{
    before_ = std::move(residents_);
    residents_ = {};
    for (const auto &[serial, process] : processes_) {
        const uint64_t base = serial << kPageNumberBits;
        const Result<tier::PageCounts> counts = tier::walk_pages(
            folder_of(process.pid), setup_.page_bytes, [&](uint64_t address, uint64_t hpa) {
                visit(base | (address / setup_.page_bytes & kPageNumber), hpa, heat, interval);
            });
        if (!counts && process.held.is_there())
            return counts.error().code == Errc::kDenied
                       ? needs_root(counts.error(), "CAP_SYS_PTRACE is needed")
                       : counts.error();
        interval.processes += counts ? 1 : 0;
    }
    interval.budget_pages = tier::pages_of(setup_.budget, interval.pages);
    if (const auto memory = memory_of(setup_.sys_root, setup_.fast))
        interval.budget_pages =
            std::min(interval.budget_pages,
                     memory->total_bytes / setup_.page_bytes * setup_.fast_percent / 100);
    return {};
}

void Mover::visit(uint64_t id, uint64_t hpa, const tier::HeatMap &heat, Interval &interval)
{
    const uint64_t frame = hpa / setup_.page_bytes;
    interval.pages++;
    if (map_.node_of(hpa, setup_.page_bytes) == setup_.fast) {
        interval.fast_pages++;
        if (residents_.size() >= limits::kFastPages / (kNodeBytes + sizeof(Resident)))
            return;
        const auto known = before_.find(id);
        const bool same = known != before_.end() && known->second.frame == frame;
        residents_[id] = {frame, same ? known->second.accessed : number_};
        return;
    }
    const double page_heat = heat.of(hpa, setup_.page_bytes);
    if (page_heat <= 0)
        return;
    if (hot_.size() < limits::kHotPages / sizeof(Page))
        hot_.push_back({id, frame, 1, page_heat});
    else
        interval.left_out++;
}

// Replaces the pages of a huge page by its first page, with their heat.
Result<void> Mover::join_huge_pages(Interval &interval)
{
    std::ranges::sort(hot_, {}, &Page::frame);
    size_t used = 0;
    for (const Page &page : hot_) {
        const Result<Folio> folio = flags_.folio_of(page.frame);
        if (!folio)
            return folio.error();
        const uint64_t offset = page.frame - folio->first_frame;
        const bool is_new = used == 0 || hot_[used - 1].frame != folio->first_frame;
        interval.hot += is_new;
        const Page whole{page.id - std::min(offset, page.id & kPageNumber), folio->first_frame,
                         folio->pages, page.heat};
        if (folio->stays) {
            if (is_new)
                stays(whole, Stay::kLocked, interval.stay);
            continue;
        }
        if (is_new)
            hot_[used++] = whole;
        else
            hot_[used - 1].heat += page.heat;
    }
    hot_.resize(used);
    return {};
}

bool Mover::allows(uint64_t id, uint32_t node)
{
    const auto at = processes_.find(serial_of(id));
    if (at == processes_.end())
        return false;
    Process &process = at->second;
    if (!process.policies) {
        const Result<std::string> text =
            read_file(folder_of(process.pid) + "/numa_maps", kMostNumaMapsBytes);
        process.policies.emplace(text ? *text : std::string());
    }
    return process.policies->allows((id & kPageNumber) * setup_.page_bytes, node);
}

void Mover::stays(const Page &page, Stay reason, uint64_t &count)
{
    count++;
    History &history = history_.at(page.id, number_);
    if (history.stay == reason)
        return;
    history.stay = reason;
    setup_.report_stay({processes_.at(serial_of(page.id)).pid,
                        (page.id & kPageNumber) * setup_.page_bytes, page.pages, node_of(page),
                        static_cast<uint64_t>(std::llround(page.heat)), reason});
}

void Mover::drop_unmovable(Interval &interval)
{
    std::erase_if(hot_, [&](const Page &page) {
        const bool is_early = history_.at(page.id, number_).not_before > number_;
        if (is_early) {
            stays(page, Stay::kBackOff, interval.backing_off);
            return true;
        }
        const bool allowed = allows(page.id, setup_.fast);
        if (!allowed)
            stays(page, Stay::kForbidden, interval.not_allowed);
        return !allowed;
    });
}

// Checks a part of the residents; each of them every few intervals.
Result<void> Mover::check_idle()
{
    if (!idle_)
        return {};
    const uint64_t parts = residents_.size() / kChecksPerInterval + 1;
    std::vector<uint64_t> frames;
    std::vector<Resident *> checked;
    for (auto &[id, resident] : residents_) {
        if (mixed(id) % parts != number_ % parts)
            continue;
        frames.push_back(resident.frame);
        checked.push_back(&resident);
    }
    const Result<std::vector<bool>> idle = idle_->check(frames);
    if (!idle)
        return idle.error();
    for (size_t i = 0; i < checked.size(); i++)
        if (!(*idle)[i])
            checked[i]->accessed = number_;
    return {};
}

// The decision

// The residents that may be demoted, the longest idle first.
class Mover::Coldest final : public tier::ColdestFirst {
public:
    explicit Coldest(Mover &mover) : mover_(mover) {}

    std::optional<tier::FastPage> next() override
    {
        if (!mover_.idle_)
            return std::nullopt;
        if (!sorted_)
            sort();
        while (next_ < order_.size()) {
            const auto &[accessed, id] = order_[next_++];
            const uint64_t frame = mover_.residents_.at(id).frame;
            const Result<Folio> folio = mover_.flags_.folio_of(frame);
            if (!folio || folio->stays || folio->first_frame != frame ||
                !mover_.allows(id, mover_.setup_.slow))
                continue;
            taken_.push_back({id, frame, folio->pages, 0});
            return tier::FastPage{id, mover_.number_ - accessed};
        }
        return std::nullopt;
    }
    // The pages that next() returned.
    const std::vector<Page> &taken() const { return taken_; }

private:
    void sort()
    {
        sorted_ = true;
        for (const auto &[id, resident] : mover_.residents_)
            order_.emplace_back(resident.accessed, id);
        std::ranges::sort(order_);
    }

    Mover &mover_;
    bool sorted_ = false;
    size_t next_ = 0;
    std::vector<std::pair<uint64_t, uint64_t>> order_;  // last access, id
    std::vector<Page> taken_;
};

uint64_t Mover::free_pages(const Interval &interval) const
{
    const uint64_t used = std::min(interval.fast_pages, interval.budget_pages);
    const uint64_t within_budget = interval.budget_pages - used;
    const auto memory = memory_of(setup_.sys_root, setup_.fast);
    if (!memory)
        return within_budget;
    const uint64_t free = memory->free_bytes, spare = memory->total_bytes / kSpareDivisor;
    return std::min(within_budget, (free - std::min(free, spare)) / setup_.page_bytes);
}

// places_are_used: the policy had no place left for another page.
void Mover::note_not_chosen(std::vector<uint64_t> chosen, bool places_are_used, Interval &interval)
{
    std::ranges::sort(chosen);
    for (const Page &page : hot_) {
        if (std::ranges::binary_search(chosen, page.id))
            continue;
        if (places_are_used)
            stays(page, Stay::kNoRoom, interval.no_room);
        else
            stays(page, Stay::kNotChosen, interval.not_chosen);
    }
}

// Returns the hot pages with these ids, in this order.
std::vector<Mover::Page> Mover::pages_of(const std::vector<uint64_t> &promote)
{
    std::ranges::sort(hot_, {}, &Page::id);
    std::vector<Page> pages;
    for (const uint64_t id : promote) {
        const auto at = std::ranges::lower_bound(hot_, id, {}, &Page::id);
        if (at != hot_.end() && at->id == id)
            pages.push_back(*at);
    }
    return pages;
}

Result<void> Mover::place(Interval &interval)
{
    std::vector<tier::HotPage> hot;
    for (const Page &page : hot_)
        hot.push_back({page.id, static_cast<uint64_t>(std::llround(std::max(page.heat, 1.0)))});
    std::ranges::sort(hot, [](const tier::HotPage &a, const tier::HotPage &b) {
        return std::pair(b.heat, a.id) < std::pair(a.heat, b.id);
    });
    Coldest coldest(*this);
    const uint64_t free = free_pages(interval);
    const tier::Moves moves =
        policy_->decide({.number = number_, .hot = hot, .free_pages = free, .coldest = coldest});

    note_not_chosen(moves.promote, moves.promote.size() >= free + moves.demote.size(), interval);

    // The policy counts huge pages as single pages, and does not know the limit of moves. Pages are
    // demoted only for a promotion that is made. A huge page that does not fit is left out.
    uint64_t left = setup_.most_moves, room = free;
    std::vector<Page> demote, promote;
    auto next = coldest.taken().begin();
    const auto end = next + static_cast<ptrdiff_t>(moves.demote.size());
    for (const Page &page : pages_of(moves.promote)) {
        uint64_t freed = 0;
        auto last = next;
        while (room + freed < page.pages && last != end)
            freed += last++->pages;
        if (room + freed < page.pages || left < page.pages + freed) {
            stays(page, Stay::kNoRoom, interval.no_room);
            continue;
        }
        demote.insert(demote.end(), next, last);
        next = last;
        room += freed - page.pages;
        left -= freed + page.pages;
        promote.push_back(page);
    }
    if (Result<void> moved = move(demote, false, interval); !moved)
        return moved;
    // Pages that could not be demoted leave no room.
    room = free + interval.demoted.moved;
    size_t fit = 0;
    for (; fit < promote.size() && promote[fit].pages <= room; fit++)
        room -= promote[fit].pages;
    for (const Page &page : std::span(promote).subspan(fit))
        stays(page, Stay::kNoRoom, interval.no_room);
    return move(std::span(promote).first(fit), true, interval);
}

// The moves

void Mover::note(const Page &page, bool is_promotion, tier::Fate fate, Interval &interval)
{
    tier::Moved &moved = is_promotion ? interval.promoted : interval.demoted;
    moved.*fate += page.pages;
    history_.at(page.id, number_).stay.reset();
    if (!is_promotion || fate != &tier::Moved::moved) {
        History &history = history_.at(page.id, number_);
        history.not_before = number_ + (kFirstBackOff << std::min(history.times, kMostDoublings));
        history.times++;
    }
}

void Mover::report(const Page &page, bool is_promotion, tier::Fate fate)
{
    setup_.report({processes_.at(serial_of(page.id)).pid,
                   (page.id & kPageNumber) * setup_.page_bytes, page.pages, node_of(page),
                   is_promotion ? setup_.fast : setup_.slow, is_promotion,
                   static_cast<uint64_t>(std::llround(page.heat)), fate});
}

// Moves the pages of one process after the other.
Result<void> Mover::move(std::span<const Page> pages, bool is_promotion, Interval &interval)
{
    std::map<uint64_t, std::vector<Page>> by_process;
    for (const Page &page : pages)
        by_process[serial_of(page.id)].push_back(page);
    for (const auto &[serial, some] : by_process) {
        const Process &process = processes_.at(serial);
        std::vector<tier::Move> moves;
        for (const Page &page : some)
            moves.push_back({(page.id & kPageNumber) * setup_.page_bytes, page.heat});
        tier::Moved moved;
        std::vector<tier::Fate> fates;
        Result<void> done;
        if (setup_.dry_run)
            fates.assign(moves.size(), &tier::Moved::moved);
        else
            done = tier::move_to(static_cast<pid_t>(process.pid), process.held, moves,
                                 is_promotion ? setup_.fast : setup_.slow, moved, setup_.move_pages,
                                 &fates);
        if (!done && done.error().code != Errc::kNotFound &&
            done.error().code != Errc::kUnsupported)
            return done;
        // An ended or refused process keeps the other pages where they are.
        const bool is_refused = !done && done.error().code == Errc::kUnsupported;
        const size_t answered = fates.size();
        interval.refused_processes += is_refused;
        if (is_refused)
            fates.resize(some.size(), &tier::Moved::busy);
        for (size_t i = 0; i < fates.size(); i++) {
            note(some[i], is_promotion, fates[i], interval);
            if (is_promotion && i >= answered)
                stays(some[i], Stay::kCpuset, interval.refused_pages);
            else
                report(some[i], is_promotion, fates[i]);
        }
    }
    return {};
}

}  // namespace pmukit::tierd
