// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Command handlers for hisi_ptt, registered in driver.cpp.
#pragma once

#include <memory>

#include "cli/driver_handlers.hpp"
#include "cli/export/driver_export.hpp"
#include "cli/top/live_driver.hpp"

namespace pmukit::cli {

// recording and out must outlive the handlers. Error: the options are invalid.
std::unique_ptr<DriverDump> make_hisi_ptt_dump(const Recording &recording,
                                               const DumpOptions &options, Output &out);
ReportResult make_hisi_ptt_report(const Recording &recording, const ReportOptions &options);
std::unique_ptr<DriverInject> make_hisi_ptt_inject(const Recording &recording, RawSink &sink);
std::unique_ptr<DriverExport> make_hisi_ptt_export(RowsOut &out);
std::unique_ptr<LiveDriver> make_hisi_ptt_live(PmuNames names);

}  // namespace pmukit::cli
