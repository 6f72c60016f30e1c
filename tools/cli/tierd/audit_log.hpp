// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The audit log of `pmukit tierd`: a file with one JSON object per decision about a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "console/output.hpp"
#include "tierd/mover.hpp"

namespace pmukit::cli {

// Appends to a file. A line is written by flush() at the latest.
class AuditLog {
public:
    // Error: the file exists and is not an audit log.
    static Result<std::unique_ptr<AuditLog>> open(const std::string &path, bool dry_run,
                                                  uint64_t page_bytes);

    void add(uint64_t time_ns, const tierd::PageMove &move);
    void add(uint64_t time_ns, const tierd::PageStay &stay, uint32_t fast);
    Result<void> flush() { return out_.finish(); }

private:
    AuditLog(Fd file, const std::string &path, bool dry_run, uint64_t page_bytes)
        : file_(std::move(file)),
          out_(file_.get(), path),
          dry_run_(dry_run),
          page_bytes_(page_bytes)
    {
    }

    Fd file_;
    Output out_;
    bool dry_run_;
    uint64_t page_bytes_;
};

// Prints in words each decision of the log about the page at this address. Error kNotFound: the log
// has none.
Result<int> explain_page(const std::string &path, uint64_t address, std::optional<uint32_t> process,
                         Output &out);

}  // namespace pmukit::cli
