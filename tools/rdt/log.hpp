// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reference: what is in each L3 by RMID, and what was moved, whatever registers show. Written
// at each mark of the guest and at the end.
//
//   # pmukit rdt log 1
//   unit <bytes>
//   mark <number> <cpu> <rmid> <class>            the registers of the CPU that made it
//   rmid <l3> <rmid> <occupancy> <total> <local>  in bytes; those that ever moved anything
//   cpu <cpu> <rmid> <class> <writes of PQR_ASSOC> <of these, changes of class>
//   end                                           in place of a mark; the same lines follow
#pragma once

#include <cstdint>
#include <cstdio>

#include "rdt/machine.hpp"

namespace pmukit::rdt {

class Log {
public:
    // False: errno says why.
    bool open(const char *path, const Shape &shape);
    void mark(Machine &machine, uint32_t cpu, uint32_t number);
    // False: not all of it was written.
    bool end(Machine &machine);

private:
    void print_all(Machine &machine);
    void print_l3(Machine &machine, uint32_t l3);

    SpinLock lock_;
    FILE *file_ = nullptr;
    Tally tallies_[kMaxRmids];
};

}  // namespace pmukit::rdt
