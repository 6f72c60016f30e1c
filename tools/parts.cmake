# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# External libraries of the pmukit command. The required ones are checked before anything else; a table of all is printed at the
# end. Columns of a row: name|header|feature|packages of Debian, Fedora/RHEL, openSUSE, Arch. A package may occur twice.
set(pmukit_required
    "CLI11|CLI/CLI.hpp|options of commands|libcli11-dev|cli11-devel|cli11-devel|cli11"
    "fmt|fmt/format.h|text|libfmt-dev|fmt-devel|fmt-devel|fmt"
    "nlohmann-json|nlohmann/json.hpp|JSON|nlohmann-json3-dev|json-devel|nlohmann_json-devel|nlohmann-json"
    "zstd|zstd.h|compressed recordings|libzstd-dev|libzstd-devel|libzstd-devel|zstd"
    "elfutils|elfutils/libdwfl.h|names of functions, calls|libdw-dev|elfutils-devel|libdw-devel|libelf")
set(pmukit_optional
    "libbpf|bpf/libbpf.h|top: live records through BPF|libbpf-dev|libbpf-devel|libbpf-devel|libbpf"
    "libpfm4|perfmon/pfmlib_perf_event.h|record --pfm-events, list --pfm|libpfm4-dev|libpfm-devel|libpfm-devel|libpfm"
    "SQLite|sqlite3.h|export --format sqlite|libsqlite3-dev|sqlite-devel|sqlite3-devel|sqlite"
    "babeltrace2|babeltrace2/babeltrace.h|export --format ctf|libbabeltrace2-dev|libbabeltrace2-devel|babeltrace2-devel|babeltrace2"
    "zlib|zlib.h|small export --format perfetto-trace|zlib1g-dev|zlib-devel|zlib-devel|zlib"
    "Arrow|parquet/arrow/writer.h|export --format parquet|libparquet-dev|parquet-libs-devel|-|arrow")

# Sets these variables from a row: part_name, part_brings, part_found (the folder of the header, or ...-NOTFOUND), and
# part_<distribution>.
macro(pmukit_part row)
  string(REPLACE "|" ";" columns "${row}")
  list(GET columns 0 part_name)
  list(GET columns 1 part_header)
  list(GET columns 2 part_brings)
  list(GET columns 3 part_debian)
  list(GET columns 4 part_fedora)
  list(GET columns 5 part_suse)
  list(GET columns 6 part_arch)
  string(MAKE_C_IDENTIFIER "PMUKIT_PART_${part_name}" part_variable)
  find_path(${part_variable} ${part_header})
  mark_as_advanced(${part_variable})
  set(part_found "${${part_variable}}")
endmacro()

# If a required part is missing, stops and names the packages to install.
function(pmukit_require_parts)
  foreach(row IN LISTS pmukit_required)
    pmukit_part("${row}")
    if(NOT part_found)
      list(APPEND missing ${part_name})
      foreach(distribution debian fedora suse arch)
        list(APPEND ${distribution} ${part_${distribution}})
      endforeach()
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    foreach(distribution debian fedora suse arch)
      list(JOIN ${distribution} " " ${distribution})
    endforeach()
    message(FATAL_ERROR "missing: ${missing}; install\n"
                        "  Debian, Ubuntu: apt install ${debian}\n  Fedora, RHEL:   dnf install ${fedora}\n"
                        "  openSUSE:       zypper install ${suse}\n  Arch:           pacman -S ${arch}\n")
  endif()
endfunction()

function(pmukit_pad text width out)
  string(LENGTH "${text}" length)
  math(EXPR spaces "${width} - ${length}")
  if(spaces GREATER 0)
    string(REPEAT " " ${spaces} padding)
  endif()
  set(${out} "${text}${padding}" PARENT_SCOPE)
endfunction()

function(pmukit_print_part name found brings debian fedora suse arch)
  pmukit_pad("${name}" 14 name)
  pmukit_pad("${found}" 6 found)
  pmukit_pad("${brings}" 33 brings)
  pmukit_pad("${debian}" 20 debian)
  pmukit_pad("${fedora}" 23 fedora)
  pmukit_pad("${suse}" 21 suse)
  message("  ${name}${found}${brings}${debian}${fedora}${suse}${arch}")
endfunction()

function(pmukit_print_parts)
  message("Parts of this build:")
  pmukit_print_part(part found "feature" "Debian, Ubuntu" "Fedora, RHEL" openSUSE Arch)
  foreach(row IN LISTS pmukit_required pmukit_optional)
    pmukit_part("${row}")
    set(found no)
    if(part_found)
      set(found yes)
    endif()
    pmukit_print_part("${part_name}" ${found} "${part_brings}" "${part_debian}" "${part_fedora}" "${part_suse}" "${part_arch}")
  endforeach()
endfunction()
