// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// libpfm4 has its own perf_event.h, so this file must not include linux/perf_event.h.
#include "record/pfm_events.hpp"

#include <perfmon/pfmlib_perf_event.h>

#include "base/suggest.hpp"

namespace pmukit::record {
namespace {

// Keeps libpfm4 initialized as long as an instance of this class exists.
class Library {
public:
    Library() : status_(::pfm_initialize()) {}
    ~Library()
    {
        if (status_ == PFM_SUCCESS)
            ::pfm_terminate();
    }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;

    Result<void> ready() const
    {
        if (status_ == PFM_SUCCESS)
            return {};
        return Error{Errc::kEnvironment, std::string("libpfm4: ") + ::pfm_strerror(status_)};
    }

private:
    pfm_err_t status_;
};

// libpfm4 requires that the caller sets the member `size` of each structure that it fills.

template <typename Info>
Info sized()
{
    Info info{};
    info.size = sizeof info;
    return info;
}

std::vector<pfm_pmu_info_t> present_pmus()
{
    std::vector<pfm_pmu_info_t> pmus;
    for (int id = PFM_PMU_NONE; id < PFM_PMU_MAX; id++) {
        pfm_pmu_info_t pmu = sized<pfm_pmu_info_t>();
        if (::pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &pmu) == PFM_SUCCESS && pmu.is_present)
            pmus.push_back(pmu);
    }
    return pmus;
}

// Calls the function `one` with index and info of each event of a PMU.
template <typename One>
void for_each_event(const pfm_pmu_info_t &pmu, One one)
{
    for (int at = pmu.first_event; at != -1; at = ::pfm_get_event_next(at)) {
        pfm_event_info_t event = sized<pfm_event_info_t>();
        if (::pfm_get_event_info(at, PFM_OS_PERF_EVENT_EXT, &event) == PFM_SUCCESS)
            one(at, event);
    }
}

// Calls the function `one` with each unit mask of an event.
template <typename One>
void for_each_umask(int at, const pfm_event_info_t &event, One one)
{
    for (int i = 0; i < event.nattrs; i++) {
        pfm_event_attr_info_t umask = sized<pfm_event_attr_info_t>();
        if (::pfm_get_event_attr_info(at, i, PFM_OS_PERF_EVENT_EXT, &umask) == PFM_SUCCESS &&
            umask.type == PFM_ATTR_UMASK)
            one(umask);
    }
}

std::string text_of(const char *text)
{
    return text ? text : "";
}

// Encoding

// Removes the unit masks and modifiers from a name: returns "pmu::EVENT" for "pmu::EVENT:umask".
std::string_view event_part(std::string_view name)
{
    const size_t pmu = name.find("::");
    const size_t from = pmu == name.npos ? 0 : pmu + 2;
    return name.substr(0, std::min(name.find_first_of(":.", from), name.size()));
}

std::string upper(std::string_view text)
{
    std::string result(text);
    for (char &c : result)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return result;
}

std::string near_event(std::string_view name)
{
    std::vector<std::string> names;
    for (const pfm_pmu_info_t &pmu : present_pmus())
        for_each_event(pmu,
                       [&](int, const pfm_event_info_t &event) { names.push_back(event.name); });
    const std::string_view event = event_part(name);
    const size_t pmu = event.find("::");
    return did_you_mean(upper(pmu == event.npos ? event : event.substr(pmu + 2)), names);
}

std::string umasks_of(std::string_view name)
{
    const int at = ::pfm_find_event(std::string(event_part(name)).c_str());
    pfm_event_info_t event = sized<pfm_event_info_t>();
    std::string all;
    if (at >= 0 && ::pfm_get_event_info(at, PFM_OS_PERF_EVENT_EXT, &event) == PFM_SUCCESS)
        for_each_umask(at, event, [&all](const pfm_event_attr_info_t &umask) {
            all.append(all.empty() ? "; unit masks: " : ", ").append(umask.name);
        });
    return all;
}

Error refusal(const PfmName &name, int status)
{
    std::string message = "--pfm-events '" + name.text + "': character " +
                          std::to_string(name.at + 1) + ": " + ::pfm_strerror(status);
    if (status == PFM_ERR_NOTFOUND)
        message += near_event(name.text) + "; `pmukit list --pfm` shows what there is";
    if (status == PFM_ERR_UMASK || status == PFM_ERR_ATTR)
        message += umasks_of(name.text);
    return Error{Errc::kUsage, message, name.at};
}

EventSettings settings_of(const perf_event_attr &attr)
{
    EventSettings settings;
    settings.words = {attr.config, attr.config1, attr.config2};
    Modifiers &modifiers = settings.modifiers;
    modifiers.exclude_user = attr.exclude_user;
    modifiers.exclude_kernel = attr.exclude_kernel;
    modifiers.exclude_hv = attr.exclude_hv;
    modifiers.exclude_guest = attr.exclude_guest;
    modifiers.exclude_host = attr.exclude_host;
    modifiers.usual_sides = !attr.exclude_guest && !attr.exclude_host;
    modifiers.precise = attr.precise_ip;
    modifiers.pinned = attr.pinned;
    modifiers.exclusive = attr.exclusive;
    if (attr.sample_period && attr.freq)
        settings.frequency_hz = attr.sample_freq;
    else if (attr.sample_period)
        settings.period = attr.sample_period;
    return settings;
}

Result<CodedEvent> encode_name(const PfmName &name)
{
    perf_event_attr attr{};
    attr.size = sizeof attr;
    pfm_perf_encode_arg_t wanted = sized<pfm_perf_encode_arg_t>();
    wanted.attr = &attr;
    const int status = ::pfm_get_os_event_encoding(name.text.c_str(), PFM_PLM0 | PFM_PLM3,
                                                   PFM_OS_PERF_EVENT_EXT, &wanted);
    if (status != PFM_SUCCESS)
        return refusal(name, status);
    return CodedEvent{name.text, attr.type, settings_of(attr), name.leader};
}

}  // namespace

Result<std::vector<CodedEvent>> encode_pfm_list(std::string_view list)
{
    const Result<std::vector<PfmName>> names = parse_pfm_list(list);
    if (!names)
        return names.error();
    const Library library;
    if (Result<void> ready = library.ready(); !ready)
        return ready.error();
    std::vector<CodedEvent> events;
    for (const PfmName &name : *names) {
        Result<CodedEvent> event = encode_name(name);
        if (!event)
            return event.error();
        events.push_back(std::move(*event));
    }
    return events;
}

Result<std::vector<PfmListed>> list_pfm_events()
{
    const Library library;
    if (Result<void> ready = library.ready(); !ready)
        return ready.error();
    std::vector<PfmListed> all;
    for (const pfm_pmu_info_t &pmu : present_pmus())
        for_each_event(pmu, [&](int at, const pfm_event_info_t &event) {
            const std::string name = text_of(pmu.name) + "::" + text_of(event.name);
            const size_t before = all.size();
            for_each_umask(at, event, [&](const pfm_event_attr_info_t &umask) {
                all.push_back({name + ":" + text_of(umask.name),
                               text_of(event.desc) + ": " + text_of(umask.desc)});
            });
            if (all.size() == before)
                all.push_back({name, text_of(event.desc)});
        });
    return all;
}

}  // namespace pmukit::record
