// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The subcommands. Each gives the exit status of the program, or an Error that main() says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/command.hpp"
#include "console/exit_status.hpp"
#include "console/output.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {

struct ListOptions {
    bool pfm = false;  // the events that libpfm4 has names for, instead
    bool json = false;
    std::string root = "/";  // where proc and sys are
};

constexpr const char *kHeadersHelp =
    "hisi_ptt: the layout of the headers, where the file does not say it or says it wrong: narrow "
    "as in PCI Express 5.0, wide with segments and tags of 14 bits";

struct DumpOptions {
    std::string input = "perf.data";
    std::string headers = "";  // hisi_ptt: "narrow" or "wide"; empty: as the file says
    bool tlp = false;          // hisi_ptt: one line a TLP, with its meaning
    std::string perf = "7.2";  // hisi_ptt: or "6.12": whose perf report -D to print
};

constexpr const char *kHostHelp =
    "whose topology that is, where the recording is of several hosts, or its host is called "
    "otherwise here";

struct ReportOptions {
    std::string input = "perf.data";
    std::string headers = "";  // as of DumpOptions
    bool json = false;
    size_t top = 32;                     // 0: all
    std::optional<uint64_t> unit_bytes;  // for records that do not say theirs
    std::optional<std::string> source;   // "model": the devices were emulated, the file cannot know
    std::optional<std::string>
        cxl_topology;        // /sys or a saved copy: also host addresses, nodes and tiers
    std::string host;        // whose topology that is; empty: of the one that it is of
    std::string by = "dpa";  // or "hpa", "node": what is ranked
    uint64_t range_bytes = uint64_t{2} << 20;  // hisi_ptt: of the address ranges, a power of two
    bool join = false;  // all drivers together, by host address and time, instead of each alone
    std::string html;   // a page to write, instead of text; empty: none
    // imc: where the programs of the recording are, and the kernel's symbols; empty: /, none
    std::string symfs, kallsyms;
};

struct RecordCommandOptions {
    std::vector<std::string> events;
    std::vector<std::string> pfm_events;  // lists of libpfm4's names
    bool all_cpus = false;
    std::string cpus;
    std::string processes, threads;  // "PID,PID": that run already
    std::string cgroups;             // "NAME,NAME" for one event each, or one for all
    std::string period, frequency;   // of events that do not say; frequency may be "max"
    bool strict_frequency = false;
    bool chains = false;    // by frame pointers
    std::string chains_by;  // "fp", "dwarf[,BYTES]", "lbr"
    bool all_user = false, all_kernel = false;
    bool no_inherit = false, no_build_ids = false, weight = false;
    bool verbose = false, quiet = false, dry_run = false;
    std::string output = "perf.data";
    std::string pages;     // "PAGES[,AUXPAGES]", or sizes
    std::string source;    // "model": the devices are emulated
    std::string interval;  // "SECONDS[,KEEP]": one file after the other
    std::string clock;     // one of clock_words(); empty: perf's own
    std::vector<std::string> command;
    std::optional<int> command_output{};  // a descriptor; none: ours
    std::vector<std::string> cmdline;     // all words of this program
};

struct RecoverOptions {
    std::string input = "perf.data";
    std::string output;  // empty: only say what is there
    bool json = false;
};

struct CutOptions {
    std::string input = "perf.data";
    std::string output = "perf.data.cut";
    std::string time;                 // "FROM,TO" in seconds; empty: all
    std::string cpus, buffers;        // lists such as 0-3,8; empty: all
    std::vector<std::string> events;  // names; empty: all
};

struct InjectOptions {
    std::string input = "perf.data";
    std::string output = "perf.data.inject";
    bool samples = true;       // false: AUX data is only left out
    std::string headers = "";  // as of DumpOptions
};

struct MergeOptions {
    std::vector<std::string> inputs;
    std::string output = "perf.data.merged";
};

struct TuneOptions {
    std::vector<std::string> settings;  // "[PMU/]FILE=VALUE"
    std::string save, restore;          // files; empty: not asked for
    bool json = false;
    std::string sysfs_root = record::kSysfsPmus;
};

struct DiscoverOptions {
    std::string root = "/sys/bus/pci/devices";  // a function's folder, or one with functions in it
    std::string save;                           // folder to write what was read to; empty: none
    bool addresses = false;                     // also where each control and counter is
    bool json = false;
    std::string lockdown_file = "/sys/kernel/security/lockdown";
};

struct TopOptions {
    std::string input;                 // "-": a recording on standard input; empty: of our own
    std::vector<std::string> events;   // to be counted while we look
    std::vector<std::string> command;  // ends with it
    std::vector<std::string> recorder_words;  // options of record, in full
    uint64_t interval_ms = 1000;
    uint64_t iterations = 0;  // 0: until it ends
    size_t top = 16;          // rows of a view, as text; 0: all
    std::string view;         // empty: what there is
    std::string feed = "auto";
    std::string source;  // "model": the devices are emulated
    bool batch = false, once = false, json = false;
};

struct DoctorOptions {
    std::string root = "/";  // where proc and sys are
    bool json = false;
};

Result<int> run_list(const ListOptions &options, Output &out);
Result<int> run_discover(const DiscoverOptions &options, Output &out);
Result<int> run_dump(const DumpOptions &options, Output &out);
Result<int> run_report(const ReportOptions &options, Output &out);
Result<int> run_recover(const RecoverOptions &options, Output &out);
Result<int> run_cut(const CutOptions &options, Output &out);
Result<int> run_inject(const InjectOptions &options, Output &out);
Result<int> run_merge(const MergeOptions &options, Output &out);
Result<int> run_record(const RecordCommandOptions &options, Output &out);
Result<int> run_tune(const TuneOptions &options, Output &out);
Result<int> run_top(const TopOptions &options, Output &out);
Result<int> run_doctor(const DoctorOptions &options, Output &out);

// Commands whose words are in files of their own.
Command add_doctor(CLI::App &app);
Command add_record(CLI::App &app);
Command add_tier(CLI::App &app);
Command add_top(CLI::App &app);

// Of files of their own
Command add_export(CLI::App &app);
Command add_qualify(CLI::App &app);

}  // namespace pmukit::cli
