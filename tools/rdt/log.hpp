// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reference log: occupancy and traffic of each L3 by RMID, independent of what the registers
// return. The plugin writes it at each mark of the guest and at exit.
//
//   # pmukit rdt log 1
//   unit <bytes>                                  of a node, with sub-NUMA clustering
//   mark <number> <cpu> <rmid> <class>            RMID and class of the CPU that executed it
//   rmid <l3> <rmid> <occupancy> <total> <local>  in bytes; only RMIDs with traffic; with sub-NUMA
//                                                 clustering <l3> is the number of the node
//   cpu <cpu> <rmid> <class> <writes of PQR_ASSOC> <of these, changes of class>
//   end                                           at exit; the same lines follow as after a mark
#pragma once

#include <cstdint>
#include <cstdio>

#include "rdt/machine.hpp"

namespace pmukit::rdt {

class Log {
public:
    // On failure returns false and sets errno.
    bool open(const char *path, const Shape &shape);
    void mark(Machine &machine, uint32_t cpu, uint32_t number);
    // Returns false if any write failed.
    bool end(Machine &machine);

private:
    void print_all(Machine &machine);
    void print_l3(Machine &machine, uint32_t l3);

    SpinLock lock_;
    FILE *file_ = nullptr;
    Tally tallies_[kMaxRmids];
};

}  // namespace pmukit::rdt
