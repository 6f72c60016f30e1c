// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fuzz targets of the recorder's inputs: event strings, and the sysfs files that describe a PMU.
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/targets.hpp"
#include "record/event_string.hpp"
#include "record/pfm_events.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::fuzz {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(Bytes bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

record::Pmu pmu_of_every_shape()
{
    record::Pmu pmu;
    // This is the name of a real driver's PMU, so that terms are also checked against `caps`.
    pmu.name = "hisi_ptt0_2";
    pmu.format = {{"low", *record::parse_format("config:0-7")},
                  {"split", *record::parse_format("config1:0-3,60-63")},
                  {"whole", *record::parse_format("config4:0-63")},
                  {"flag", *record::parse_format("config2:63")},
                  {"type", *record::parse_format("config3:0-7")},
                  {"direction", *record::parse_format("config3:8-11")}};
    pmu.caps = {{"type", "1 2 4"}, {"direction", "0=0,1,2,3"}, {"max_precise", "2"}};
    pmu.events = {{"alias", "low=3,flag"}, {"loop", "loop"}, {"other", "alias,split=0x1f"}};
    return pmu;
}

// A temporary sysfs folder with one PMU. It is removed with the object.
class Folder {
public:
    Folder()
    {
        std::string pattern = (fs::temp_directory_path() / "pmukit-fuzz.XXXXXX").string();
        hold(::mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
        for (const char *below : {"format", "events", "caps"})
            fs::create_directories(root_ / "pmu" / below);
    }
    ~Folder()
    {
        std::error_code ignored;
        fs::remove_all(root_, ignored);
    }
    void put(const char *path, std::string_view text) const
    {
        std::ofstream(root_ / "pmu" / path).write(text.data(), std::ssize(text));
    }
    std::string root() const { return root_.string(); }

private:
    fs::path root_;
};

}  // namespace

void event_strings(Bytes bytes)
{
    static const record::Pmu pmu = pmu_of_every_shape();
    if (const auto names = record::parse_pfm_list(text_of(bytes)))
        for (const record::PfmName &name : *names)
            hold(text_of(bytes).substr(name.at, name.text.size()) == name.text);
    Result<std::vector<record::EventString>> events = record::parse_event_strings(text_of(bytes));
    if (!events)
        return;
    for (const record::EventString &event : *events) {
        hold(text_of(bytes).find(event.text) != std::string_view::npos);
        for (const record::Term &term : event.terms)
            hold(event.text.compare(term.at, term.name.size(), term.name) == 0);
        (void)record::encode_event(event, pmu);
    }
}

// The input has the contents of the files one after another, separated by NUL.
void sysfs(Bytes bytes)
{
    static const Folder folder;
    constexpr std::array kFiles = {"type",         "cpumask",           "format/a", "format/b",
                                   "events/first", "events/first.unit", "caps/c"};
    std::string_view text = text_of(bytes);
    for (const char *file : kFiles) {
        const std::string_view content = text.substr(0, text.find('\0'));
        folder.put(file, content);
        text.remove_prefix(std::min(content.size() + 1, text.size()));
        if (Result<record::Field> field = record::parse_format(content)) {
            record::ConfigWords words{};
            const unsigned width = field->width();
            hold(width >= 1 && width <= 64);
            const uint64_t most = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
            hold(static_cast<bool>(record::set_field(*field, most, words)));
            hold(width == 64 || !record::set_field(*field, most + 1, words));
        }
    }
    Result<record::Pmu> pmu = record::read_pmu(folder.root(), "pmu");
    if (pmu)
        (void)record::encode_event(
            {"pmu/first,a=1,b/", "pmu", {{"first", {}}, {"a", "1"}, {"b", {}}}, {}}, *pmu);
    (void)record::list_pmus(folder.root());
}

}  // namespace pmukit::fuzz
