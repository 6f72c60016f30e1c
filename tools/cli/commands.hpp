// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The subcommands. Each returns the exit status of the program, or an Error that main() prints.
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
    bool pfm = false;  // list the events of libpfm4 instead of PMUs
    bool json = false;
    std::string root = "/";  // directory with proc and sys
};

constexpr const char *kHeadersHelp =
    "hisi_ptt: TLP header layout, if the file lacks it or has it wrong: narrow (PCI Express 5.0) "
    "or wide (segments and 14-bit tags)";

struct DumpOptions {
    std::string input = "perf.data";
    std::string headers = "";  // hisi_ptt: "narrow" or "wide"; empty: as recorded
    bool tlp = false;          // hisi_ptt: one decoded TLP per line
    // hisi_ptt: prints like `perf report -D` of this version of perf: "7.2" or "6.12".
    std::string perf = "7.2";
};

constexpr const char *kForceHelp =
    "replace an existing output file that another program wrote (never an input)";
constexpr const char *kHostHelp =
    "host that the topology belongs to, if the recording has several hosts or another host name";

struct ReportOptions {
    std::string input = "perf.data";
    std::string headers = "";  // see DumpOptions
    bool json = false;
    size_t top = 32;                     // rows per table; 0: all
    std::optional<uint64_t> unit_bytes;  // unit size for records that do not have it
    std::optional<std::string> source;  // "model": marks the output as emulated; empty: as recorded
    // Folder with the CXL topology: /sys or a saved copy. If set, the report also has host physical
    // addresses, NUMA nodes and memory tiers.
    std::optional<std::string> cxl_topology;
    std::string host;        // host that cxl_topology describes; empty: the recording's host
    std::string by = "dpa";  // address or node by which counts are ranked: "dpa", "hpa" or "node"
    uint64_t range_bytes = uint64_t{2} << 20;  // hisi_ptt: size of an address range, a power of two
    // Prints one report of all drivers, joined by host address and time, not one for each driver.
    bool join = false;
    std::string html;  // HTML file to write instead of text; empty: prints text
    // For imc: root folder of the recorded programs (empty: /), and file of kernel symbols (empty:
    // none).
    std::string symfs, kallsyms;
    bool force = false;  // for this and the other commands: see begin_output()
};

struct RecordCommandOptions {
    std::vector<std::string> events;
    std::vector<std::string> pfm_events;  // lists of libpfm4 names
    bool all_cpus = false;
    std::string cpus;
    std::string processes, threads;  // running processes or threads: "PID,PID"
    std::string cgroups;             // "NAME,NAME": one per event, or one for all
    std::string period, frequency;   // for events that have neither; frequency may be "max"
    bool strict_frequency = false;
    bool chains = false;    // call chains by frame pointers
    std::string chains_by;  // "fp", "dwarf[,BYTES]", "lbr"
    bool all_user = false, all_kernel = false;
    bool no_inherit = false, no_build_ids = false, weight = false;
    bool data_maps = false, no_buffering = false;
    bool verbose = false, quiet = false, dry_run = false;
    std::string output = "perf.data";
    std::string pages;     // ring and AUX area: "PAGES[,AUXPAGES]", or sizes such as "512K,4M"
    std::string source;    // "model": the devices are emulated
    std::string interval;  // "SECONDS[,KEEP]": a series of files
    std::string clock;     // one of clock_words(); empty: perf's default
    std::vector<std::string> command;
    std::optional<int> command_output{};  // descriptor for the command's output; nullopt: inherited
    std::vector<std::string> cmdline;     // the complete command line
    std::string root = "/";               // for other sources: directory with proc and sys
};

struct RecoverOptions {
    std::string input = "perf.data";
    std::string output;  // empty: only report the state of the input
    bool json = false;
    bool force = false;
};

struct CutOptions {
    std::string input = "perf.data";
    std::string output = "perf.data.cut";
    std::string time;                 // "FROM,TO" in seconds; empty: all
    std::string cpus, buffers;        // lists such as 0-3,8; empty: all
    std::vector<std::string> events;  // event names; empty: all
    bool force = false;
};

struct InjectOptions {
    std::string input = "perf.data";
    std::string output = "perf.data.inject";
    bool samples = true;       // false: removes AUX data without writing samples for it
    std::string headers = "";  // see DumpOptions
    bool force = false;
};

struct MergeOptions {
    std::vector<std::string> inputs;
    std::string output = "perf.data.merged";
    bool force = false;
};

struct TuneOptions {
    std::vector<std::string> settings;  // "[PMU/]FILE=VALUE"
    std::string save, restore;          // file to write, file to read; empty: not requested
    bool json = false;
    std::string sysfs_root = record::kSysfsPmus;
    bool force = false;
};

struct DiscoverOptions {
    std::string root = "/sys/bus/pci/devices";  // folder of one PCI function, or of several
    std::string save;                           // folder for a copy of the data read; empty: none
    bool addresses = false;                     // also print addresses of controls and counters
    bool json = false;
    std::string lockdown_file = "/sys/kernel/security/lockdown";
};

struct TopOptions {
    std::string input;                        // "-": standard input; empty: top opens the events
    std::vector<std::string> events;          // events to count
    std::vector<std::string> command;         // top ends when the command ends
    std::vector<std::string> recorder_words;  // options that top passes to `pmukit record`
    uint64_t interval_ms = 1000;
    uint64_t iterations = 0;  // 0: until the input ends
    size_t top = 16;          // rows per view in text output; 0: all
    std::string view;         // empty: all views with data
    std::string feed = "auto";
    std::string source;  // "model": the devices are emulated
    bool batch = false, once = false, json = false;
};

struct DoctorOptions {
    std::string root = "/";  // directory with proc and sys
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

// Commands whose options are defined in their own files.
Command add_doctor(CLI::App &app);
Command add_record(CLI::App &app);
Command add_tier(CLI::App &app);
Command add_tierd(CLI::App &app);
Command add_top(CLI::App &app);
Command add_what_if(CLI::App &app);

// Defined in export/ and qualify/.
Command add_export(CLI::App &app);
Command add_qualify(CLI::App &app);

}  // namespace pmukit::cli
