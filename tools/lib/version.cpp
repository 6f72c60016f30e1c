// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "lib/version.hpp"

namespace pmukit {

const char *library_version()
{
    return kHeaderVersion;
}

}  // namespace pmukit
