# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# pmukit-model, the server of the device models. Not needed inside a guest.
if(NOT PMUKIT_STATIC)
  find_package(CLI11 REQUIRED)
  add_executable(pmukit-model
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model.cpp
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_build_id.cpp
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_command.cpp
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_cxl_hmu.cpp
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_hisi_ptt.cpp
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_pcie_ep.cpp
    ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_uncore_pmon.cpp)
  pmukit_compile_room(pmukit-model)
  target_link_libraries(pmukit-model PRIVATE pmukit_models pmukit_memtap pmukit_vfu CLI11::CLI11)
  target_link_options(pmukit-model PRIVATE -Wl,--build-id)
  if(PMUKIT_TESTS)
    pmukit_test(cli_pmukit_model_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/pmukit_model_test.cpp)
    target_compile_definitions(cli_pmukit_model_test PRIVATE
      PMUKIT_MODEL_PROGRAM="$<TARGET_FILE:pmukit-model>")
    add_dependencies(cli_pmukit_model_test pmukit-model)
  endif()
endif()
