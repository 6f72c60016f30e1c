// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Empty: it is compiled to precompile the headers that all tests share (tools/CMakeLists.txt).
