// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Folds a reading into the sums immediately, as the sampler does if no other reading is in
// progress.
#pragma once

extern "C" {
#include "cache_qos/cache_qos_core.h"
}

namespace pmukit::driver_tests {

inline void fold_reading(cache_qos *cq, u16 domain, u32 rmid, const cache_qos_sample &sample,
                         u64 now_ns)
{
    const cache_qos_request request = {.rmid = rmid,
                                       .counted = rmid,
                                       .events = 0,
                                       .folded = cq->domains[domain].cells[rmid].folded,
                                       .sample = sample};
    cache_qos_fold(cq, domain, &request, now_ns, true);
    cache_qos_collect(cq, domain);
}

inline u32 end_limbo(cache_qos *cq, u64 now_ns)
{
    return cache_qos_limbo_pass(cq, 0, cq->hw.nr_rmid, now_ns);
}

}  // namespace pmukit::driver_tests
