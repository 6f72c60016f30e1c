# SPDX-License-Identifier: GPL-2.0-only
# Included by the Makefile of each selftest folder, like the kernel's lib.mk. The folder sets
#   FOLDER          its name
#   TEST_PROGRAMS   programs that print TAP, each from <name>.c
#   TEST_SCRIPTS    scripts that print TAP
#   OTHER_PROGRAMS  programs that are built and installed in the same folder, but not run as tests
#   SOURCES         C files that are compiled into every program of the folder
#   DEMO_PROGRAMS   programs that the driver's demo runs; without the harness, so that the target "demo" needs no kernel source
#   DEMO_SOURCES    C files that are compiled into every one of DEMO_PROGRAMS, in place of SOURCES
#   LDLIBS          libraries that are linked to every program of the folder
#   TEST_FILES      files that the tests use; copied to the same folder
# The kselftest harness is used from a kernel source tree; this repository has no copy.
.DEFAULT_GOAL := all
top       := $(dir $(realpath $(lastword $(MAKEFILE_LIST))))
CACHE     := $(or $(PMUKIT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pmukit)
KSELFTEST ?= $(firstword $(wildcard $(CACHE)/sources/*/tools/testing/selftests))
OUTPUT    ?= $(top)../build/selftests
override OUTPUT := $(abspath $(OUTPUT))/$(FOLDER)
INSTALL_PATH ?= $(top)../build/kselftest_install
CFLAGS    := -O2 -g -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror $(EXTRA_CFLAGS)
# powerpc's headers define __u64 as unsigned long, unless this macro is defined.
CPPFLAGS  := -D__SANE_USERSPACE_TYPES__ $(addprefix -isystem ,$(KSELFTEST)) -I $(top)lib -I $(top)../include/uapi -I .

programs := $(addprefix $(OUTPUT)/,$(TEST_PROGRAMS) $(OTHER_PROGRAMS))
objects   = $(addprefix $(OUTPUT)/,$(notdir $(1:.c=.o)))
shared   := $(call objects,$(SOURCES))
demos    := $(addprefix $(OUTPUT)/,$(DEMO_PROGRAMS))
headers  := $(wildcard *.h $(top)lib/*.h $(top)../include/uapi/pmukit/*.h)

all: $(programs) demo

demo: $(demos) scripts

# Copies all scripts and files to one folder, as the installation does, so that scripts find each
# other.
scripts:
	@mkdir -p '$(OUTPUT)'
	@$(if $(TEST_SCRIPTS)$(TEST_FILES),cp $(TEST_SCRIPTS) $(TEST_FILES) '$(OUTPUT)')

vpath %.c $(sort $(dir $(SOURCES)))
$(OUTPUT)/%.o: %.c $(headers)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

harness:
	@[ -e '$(KSELFTEST)/kselftest_harness.h' ] || \
		{ echo "selftests: no kselftest_harness.h: say KSELFTEST=<kernel source>/tools/testing/selftests" >&2; exit 2; }
$(addsuffix .o,$(programs)) $(filter-out $(call objects,$(DEMO_SOURCES)),$(shared)): | harness

$(programs): $(shared)
$(demos): $(call objects,$(DEMO_SOURCES))
$(programs) $(demos): %: %.o
	$(CC) -static -o $@ $^ $(LDLIBS)

# Exit code of a program: 0 pass, 4 skip (no device), else failure.
run_tests: all
	@cd '$(OUTPUT)'; PATH="$$PWD:$$PATH"; failed=0; \
	for test in $(TEST_PROGRAMS) $(TEST_SCRIPTS); do \
		echo "# selftests: $(FOLDER): $$test"; code=0; ./$$test || code=$$?; \
		case $$code in \
		0) echo "ok - $(FOLDER): $$test" ;; \
		4) echo "ok - $(FOLDER): $$test # SKIP" ;; \
		*) echo "not ok - $(FOLDER): $$test # exit code $$code"; failed=1 ;; \
		esac; \
	done; exit $$failed

install: all
	install -d '$(INSTALL_PATH)/$(FOLDER)'
	install $(programs) $(demos) $(TEST_SCRIPTS) '$(INSTALL_PATH)/$(FOLDER)'
	$(if $(TEST_FILES),install -m 644 $(TEST_FILES) '$(INSTALL_PATH)/$(FOLDER)')

clean:
	rm -f $(programs) $(demos) $(addsuffix .o,$(programs) $(demos)) $(shared) $(addprefix '$(OUTPUT)'/,$(notdir $(TEST_SCRIPTS) $(TEST_FILES)))

.PHONY: all demo scripts harness run_tests install clean
