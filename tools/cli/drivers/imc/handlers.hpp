// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the commands do with data of imc; driver.cpp tells them.
#pragma once

#include <memory>

#include "cli/driver_handlers.hpp"
#include "cli/export/driver_export.hpp"

namespace pmukit::cli {

// The recording and the output outlive what is made. Error: the options make no sense.
std::unique_ptr<DriverDump> make_imc_dump(const Recording &recording, const DumpOptions &options,
                                          Output &out);
ReportResult make_imc_report(const Recording &recording, const ReportOptions &options);
std::unique_ptr<DriverInject> make_imc_inject(const Recording &recording, RawSink &sink);
std::unique_ptr<DriverExport> make_imc_export(RowsOut &out);

}  // namespace pmukit::cli
