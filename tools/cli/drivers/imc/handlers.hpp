// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Command handlers for imc, registered in driver.cpp.
#pragma once

#include <memory>

#include "cli/driver_handlers.hpp"
#include "cli/export/driver_export.hpp"

namespace pmukit::cli {

// recording and out must outlive the handlers. Error: the options are invalid.
std::unique_ptr<DriverDump> make_imc_dump(const Recording &recording, const DumpOptions &options,
                                          Output &out);
ReportResult make_imc_report(const Recording &recording, const ReportOptions &options);
std::unique_ptr<DriverInject> make_imc_inject(const Recording &recording, RawSink &sink);
std::unique_ptr<DriverExport> make_imc_export(RowsOut &out);

}  // namespace pmukit::cli
