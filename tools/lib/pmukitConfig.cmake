# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# find_package(pmukit) defines pmukit::pmukit (shared) and pmukit::pmukit_static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/pmukitTargets.cmake)
