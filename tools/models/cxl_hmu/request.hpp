// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One M2S request as the device sees it.
#pragma once

#include <cstdint>

namespace pmukit::models::cxl_hmu {

struct Request {
    uint64_t dpa = 0;
    bool write = false;
    bool tee = false;
};

}  // namespace pmukit::models::cxl_hmu
