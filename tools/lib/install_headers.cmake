# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Installs the library's headers from directory `from` to directory `to` below the prefix. Where a header includes another one, the
# path gets the prefix pmukit/. lib/pmukit.hpp, which includes all headers, is installed as <pmukit/pmukit.hpp>.
foreach(header ${headers})
  file(READ ${from}/${header} content)
  string(REGEX REPLACE "#include \"(base|perfdata|decode|lib)/" "#include \"pmukit/\\1/" content "${content}")
  string(REPLACE "lib/pmukit.hpp" "pmukit.hpp" header ${header})
  set(path ${CMAKE_INSTALL_PREFIX}/${to}/${header})
  message(STATUS "Installing: $ENV{DESTDIR}${path}")
  file(WRITE $ENV{DESTDIR}${path} "${content}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${path})
endforeach()
