// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What this program inherits from its caller and changes for itself: some signals, and how many
// files may be open. A program that it starts gets them as they were.
#pragma once

namespace pmukit::cli {

// At the beginning of main(), before any of it is changed.
void note_inherited();

// In a child, between fork and exec. Only system calls.
void restore_inherited();

// As many open files as this user may have (RLIMIT_NOFILE): a descriptor for each event on each CPU
// is soon more than the usual 1024.
void allow_more_files();

}  // namespace pmukit::cli
