// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Saves the state of signals and the limit of open files that this program has inherited, and
// restores them for the programs that it starts.
#pragma once

namespace pmukit::cli {

// Call at the beginning of main(), before any change.
void note_inherited();

// Call in a child, between fork and exec, or before the program ends by a signal. Makes only system
// calls.
void restore_inherited();

// Raises RLIMIT_NOFILE to its hard limit, because one descriptor per event and CPU soon exceeds the
// usual soft limit of 1024.
void allow_more_files();

}  // namespace pmukit::cli
