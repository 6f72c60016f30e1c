// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Nothing: what it is compiled with, the headers that tests share, is read once for all of them
// (tools/CMakeLists.txt).
