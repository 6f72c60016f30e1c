// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/log.hpp"

#include <cinttypes>

namespace pmukit::rdt {

bool Log::open(const char *path, const Shape &shape)
{
    FILE *file = std::fopen(path, "w");
    if (!file)
        return false;
    file_ = file;
    std::fprintf(file_, "# pmukit rdt log 1\nunit %" PRIu32 "\n", unit_of_node(shape));
    return true;
}

void Log::mark(Machine &machine, uint32_t cpu, uint32_t number)
{
    const Holding holding(lock_);
    const Association carried = machine.association(cpu);
    std::fprintf(file_, "mark %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", number, cpu,
                 carried.rmid, carried.clos);
    print_all(machine);
    std::fflush(file_);
}

bool Log::end(Machine &machine)
{
    const Holding holding(lock_);
    std::fprintf(file_, "end\n");
    print_all(machine);
    const bool good = !std::ferror(file_);
    return std::fclose(file_) == 0 && good;
}

void Log::print_all(Machine &machine)
{
    for (uint32_t l3 = 0; l3 < l3s_of(machine.shape()); l3++)
        print_l3(machine, l3);
    for (uint32_t cpu = 0; cpu < machine.shape().cpus; cpu++) {
        const Association carried = machine.association(cpu);
        std::fprintf(file_, "cpu %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
                     cpu, carried.rmid, carried.clos, machine.writes_of_pqr(cpu),
                     machine.class_changes(cpu));
    }
}

void Log::print_l3(Machine &machine, uint32_t l3)
{
    const Shape &shape = machine.shape();
    const uint32_t rmids = rmids_of_node(shape);
    machine.copy_tallies(l3, tallies_);
    for (uint32_t i = 0; i < rmids * shape.nodes; i++) {
        const Tally &tally = tallies_[i];
        const uint64_t total = tally.local + tally.remote;
        if (total)
            std::fprintf(file_,
                         "rmid %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                         l3 * shape.nodes + i / rmids, i % rmids, tally.lines * kLineBytes,
                         total * kLineBytes, tally.local * kLineBytes);
    }
}

}  // namespace pmukit::rdt
