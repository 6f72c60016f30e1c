# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Sources of `pmukit qualify`, which is part of pmukit_cli.
set(qualify_files bundle.cpp check.cpp event.cpp machine.cpp pci.cpp qualify.cpp tar.cpp)
set(qualify_tables cache_qos.cpp cxl_hmu.cpp hisi_ptt.cpp imc.cpp uncore_pmon.cpp)
list(TRANSFORM qualify_files PREPEND qualify/)
list(TRANSFORM qualify_tables PREPEND qualify/)
target_sources(pmukit_cli PRIVATE ${qualify_files} ${qualify_tables})
if(NOT PMUKIT_COMPONENTS_APART)
  pmukit_compile_together(pmukit_cli qualify ${qualify_files})
endif()
