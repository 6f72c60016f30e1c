// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For hash tables by AUX stream. This header is not installed.
#pragma once

#include <cstddef>

#include "base/hash.hpp"
#include "perfdata/aux.hpp"

namespace pmukit::perfdata {

class AuxStreamHash {
public:
    size_t operator()(const AuxStream &stream) const
    {
        return hash_(hash_(stream.event) ^ ring_of(stream));
    }

private:
    SaltedHash hash_;
};

}  // namespace pmukit::perfdata
