# SPDX-License-Identifier: GPL-2.0-only
# Entry point of the build. `make help` lists the targets, which Documentation/process/building.rst explains.

CACHE   ?= $(or $(PMUKIT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/pmukit)
BUILD   := build
# The slowest guests first, so that they do not run alone at the end.
KERNELS := 6.12-arm64 6.1 6.12 7.2
# Drivers that have guest tests. The demo uses the first one.
DRIVERS := cxl_hmu $(filter-out cxl_hmu,$(patsubst selftests/%/scenarios.cpp,%,$(wildcard selftests/*/scenarios.cpp)))
K       ?=
U       ?=
SEED    ?=
N       ?=
KDIR    ?=
ALL     ?=
BRIEF   ?=
SHARD    ?=
KCSAN   ?=
LATE    ?=
MINUTES ?=
S       ?=
RDT     ?=
DESTDIR ?=
DKMS    ?= pmukit
PREFIX  ?= /usr
BUILT   ?= $(BUILD)/tools
JOBS    ?= $(shell nproc)
export PMUKIT_CACHE := $(CACHE)

# RDT=1: the guest of `make vm` has an emulated processor with RDT. Linux 6.12 does not boot with two CPUs of this kind.
ifneq ($(RDT),)
U := cache_qos
S := rdt_pqos
K := $(or $(K),newest)
$(if $(filter oldstable newest 6.1 7.2,$(K)),,$(error RDT=1 needs K=6.1 or K=7.2, not K=$(K)))
endif

# K=oldstable, stable or newest names the guest of a current Debian suite, so that these names stay when the kernel versions change.
guest-oldstable := 6.1
guest-stable    := 6.12
guest-newest    := 7.2
guests           = $(foreach name,$(1),$(or $(guest-$(name)),$(name)))

run_kernels := $(call guests,$(or $(K),$(KERNELS)))
run_drivers := $(or $(U),$(DRIVERS))
demo_kernel := $(call guests,$(or $(K),6.12))
vmrun       := $(BUILD)/tools/selftests/vm/vmrun --cache $(CACHE) --build $(BUILD)

# Each of these targets needs modules for different kernels. Only one may be named, because make builds a shared prerequisite only once.
own_guests := races soak coverage vm case-studies upstream-patch
for_guests := vmtest mutants corpus $(own_guests)
ifneq ($(filter $(own_guests),$(MAKECMDGOALS)),)
ifneq ($(word 2,$(filter $(for_guests),$(MAKECMDGOALS))),)
$(error $(filter $(for_guests),$(MAKECMDGOALS)): run them one at a time: each builds for different kernels)
endif
endif

# Targets do not run in parallel, because some (check and lint, for example) build in the same folder. Each build uses JOBS
# processes.
.NOTPARALLEL:

.DEFAULT_GOAL := help
.PHONY: help all pmukit command-test setup debug-kernel tools modules modules_install guest check lint mutants vmtest races soak coverage coverage-tools tsan valgrind vm demo test install bench hostile parquet-check metrics-check zsh-check fuzz corpus corpus-words screenshots case-studies components dkms-source dkms-test deb deb-test rpm rpm-test sbom kernel-matrix newest boot-test docs demo-svg new-driver new-driver-test upstream-patch clean

help:
	@echo 'pmukit - PMU drivers, device models and tools'
	@echo
	@echo '  make demo            set up, build, boot a guest with an emulated CXL device, name its hot pages'
	@echo '  make test            set up, build, make check, make vmtest (as CI does)'
	@echo
	@echo '  make check           unit tests, format, dependency and component rules; no guest, no root'
	@echo '  make lint            checkpatch, kernel-doc, sparse, coccinelle, clang-tidy; slower'
	@echo '  make vmtest [U= K=]  selftests in guests; a skip or a kernel warning is a failure (ALL=1: each scenario on each kernel;'
	@echo '                       SHARD=N: one of three shards, which together cover everything;'
	@echo '                       BRIEF=N: for each driver one scenario that is short on a debug kernel)'
	@echo '  make races [MINUTES= U= K= SEED=]  random use of PMUs, alone and while the machine changes, on four kernels; long'
	@echo '  make soak [MINUTES= K=] all drivers active in one guest, one hour: exact counts, no loss, constant memory'
	@echo '  make coverage [U= S=] lines of the drivers that the scenarios of debug-6.12 run (S: only these); long'
	@echo '  make coverage-tools  lines of the parser and the decoders that their unit tests run'
	@echo '  make tsan            unit tests of components with threads, under ThreadSanitizer'
	@echo '  make valgrind        the optimized command on recordings of the encoder, under Valgrind'
	@echo '  make vm [K= U= S=]   an interactive shell in a guest with the devices and modules of a driver (S: of a scenario;'
	@echo '                       RDT=1: with an emulated RDT processor, resctrl, pqos and cache_qos)'
	@echo '  make mutants [U= N=] inserts faults into overlays of the tree, one at a time: the tests must fail (N: only a sample)'
	@echo '  make bench           figures: bench <name> <value> <unit>'
	@echo '  make hostile [S=]    the most expensive recordings, with every command and format: <= 64 MiB, <= 10x benign'
	@echo '  make parquet-check   checks exported Parquet with DuckDB, in a private Debian sid (270 MB to fetch, once)'
	@echo '  make metrics-check   checks exported metrics with promtool'
	@echo '  make zsh-check       checks the completion in zsh'
	@echo '  make fuzz [SECONDS=] the fuzzers, 300 seconds in all by default'
	@echo '  make corpus [K=]     regenerates recordings of stock perf in guests; corpus-words: only the newest perf output for them'
	@echo
	@echo '  make screenshots     pages of pmukit report --html in a browser: two widths, day and night; renews Documentation/pictures'
	@echo '  make case-studies    regenerates Documentation/case-studies from demo guests'
	@echo
	@echo '  make pmukit          only the command and the library, with packages of the distribution: no set-up, no guests'
	@echo '  make setup           packages, QEMU and guest kernels (SETUP=no only prints)'
	@echo '  make tools           userspace, into build/tools'
	@echo '  make modules [K=]    modules for the guest kernels, into build/modules; KDIR=DIR: for that kernel tree'
	@echo '  make modules_install modules of the running kernel (after make modules KDIR=...)'
	@echo '  make guest           programs for guests, into build/guest'
	@echo '  make install         pmukit, headers, documents and, with Sphinx, manual pages (DESTDIR, PREFIX)'
	@echo '  make docs            these pages as HTML and the manual pages, into build/docs'
	@echo '  make demo-svg        regenerates the terminal recording of the README'
	@echo '  make dkms-source     copies the DKMS sources into /usr/src (DESTDIR; DKMS="pmukit pmukit-hisi-ptt pmukit-lab" for all)'
	@echo '  make dkms-test       modules under DKMS in throw-away Debians, over upgrades of the kernel (root, 15 minutes)'
	@echo '  make deb             Debian packages, into build/deb (root); deb-test: checked, installed, used and purged'
	@echo '  make rpm             the packages of packaging/fedora, into build/rpm (root); rpm-test: examined, installed, used and removed'
	@echo '  make command-test [S=]  the command and the library in Debians with only the required packages (root); S: one root'
	@echo '  make sbom            each file with its license and checksum, as SPDX, into build/pmukit.spdx (root)'
	@echo '  make boot-test       boots a Debian with pmukit-dkms in guests: modules that udev loads without and with a CXL device (root)'
	@echo '  make kernel-matrix [K=REGEX]  modules for every kernel of the suites of Debian, and the page of the results (root; hours)'
	@echo '  make newest          kernel-matrix only for the newest kernels of backports, sid and experimental'
	@echo '  make debug-kernel K= a KASAN and lockdep kernel for vmtest K=debug-6.12, debug-7.2 (about 10 minutes, once);'
	@echo '                       KCSAN=1: detects data races; LATE=1: delays removal and release'
	@echo '  make new-driver U=name  creates the components of a new driver, which compile; see Documentation/process/adding-a-driver.rst'
	@echo '  make upstream-patch U=  the driver as a patch against Linux 7.2, built there (root)'
	@echo '  make components [U=] lists every component of every driver with its path'
	@echo '  make clean           removes build/ (the cache stays: $(CACHE))'
	@echo
	@echo '  K: $(KERNELS), or oldstable, stable, newest      U: $(DRIVERS)      V=1: every command'

all: tools modules guest

setup:
	@tools/scripts/setup
	@for k in $(filter %-ppc64el,$(run_kernels)); do tools/scripts/setup guest $$k || exit; done

debug-kernel: setup
	@[ -n "$(K)" ] || { echo 'usage: make debug-kernel K=6.12|7.2, K=6.12 KCSAN=1, K=6.12 LATE=1' >&2; exit 2; }
	@tools/scripts/debug-kernel $(K) $(if $(KCSAN),kcsan) $(if $(LATE),late)

# Userspace

cmake_build = tools/scripts/build-tools $(BUILD)/$(1) $(JOBS) $(2)

pmukit:
	@tools/scripts/build-command $(BUILD)/release $(JOBS)

command-test: tools
	@JOBS=$(JOBS) BUILD=$(BUILD) tools/scripts/command-test $(S)

tools: setup
	@$(call cmake_build,tools,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DPMUKIT_TESTS=OFF)

# Modules

ifdef KDIR
modules:
	@tools/scripts/build-modules --kdir $(KDIR)
else
modules: setup
	@for k in $(run_kernels); do tools/scripts/build-modules $$k || exit; done
endif

modules_install:
	@[ -d $(BUILD)/modules/kdir ] || { echo "modules_install: run 'make modules KDIR=...' first" >&2; exit 2; }
	$(MAKE) -C $$(cat $(BUILD)/modules/kdir/.kdir) M=$(CURDIR)/$(BUILD)/modules/kdir INSTALL_MOD_PATH=$(DESTDIR) modules_install
	install -D -m 644 -t $(DESTDIR)/lib/firmware/pmukit $(BUILD)/modules/kdir/firmware/pmukit/*

dkms-source:
	@set -e; for package in $(DKMS); do \
		tools/scripts/dkms-source $$package $(DESTDIR)/usr/src/$$package-$$(cat VERSION); \
	done
	$(if $(filter pmukit-lab,$(DKMS)),@tools/scripts/build-firmware $(DESTDIR)/lib/firmware/pmukit)

dkms-test:
	@tools/scripts/dkms-test

# Targets for the kernels that apt offers. The page is written even if a build failed.
matrix = tools/scripts/kernel-matrix $(1); status=$$?; tools/scripts/kernel-matrix page >Documentation/kernel-matrix.rst && exit $$status
kernel-matrix: setup
	@$(call matrix,build '$(K)')

newest: setup
	@ONLY_NEWEST=1 ANEW=1 $(call matrix,build '(trixie-backports|sid|experimental) amd64$$')

# Guests

guest: tools
	@tools/scripts/build-guest $(sort $(foreach k,$(run_kernels),$(or $(filter arm64 ppc64el,$(lastword $(subst -, ,$k))),amd64)))

vmtest: tools modules guest
	@tools/scripts/vmtest '$(run_drivers)' '$(run_kernels)' -- $(vmrun) $(if $(ALL),--all) $(if $(SHARD),--shard $(SHARD)) \
		$(if $(BRIEF),--brief $(BRIEF) --seed $(BRIEF) --seconds 20)

races: run_kernels := $(call guests,$(or $(K),6.1 debug-6.12 debug-7.2 kcsan-6.12))
races: tools modules guest
	@tools/scripts/long-run stress '$(or $(MINUTES),10)' '$(run_drivers)' '$(run_kernels)' '$(SEED)' -- $(vmrun)

soak: run_kernels := $(call guests,$(or $(K),6.12))
soak: tools modules guest
	@tools/scripts/long-run soak '$(or $(MINUTES),60)' soak '$(run_kernels)' '$(SEED)' -- $(vmrun)

coverage: run_kernels := $(call guests,$(or $(K),debug-6.12))
coverage: tools guest
	@tools/scripts/coverage '$(run_kernels)' '$(run_drivers)' '$(S)' -- $(BUILD)/tools/selftests/vm/vmrun --cache $(CACHE)

tsan: setup
	@tools/scripts/tsan $(BUILD) $(JOBS)

valgrind: tools
	@tools/scripts/valgrind $(BUILD)/tools

coverage-tools: setup
	@tools/scripts/coverage-tools $(BUILD) $(JOBS)

vm: K := $(demo_kernel)
vm: run_kernels := $(demo_kernel)
vm: tools modules guest
	@$(vmrun) --kernel $(demo_kernel) --driver $(firstword $(run_drivers)) --mode shell $(if $(S),--scenario $(S))

demo:
	@JOBS=$(JOBS) tools/scripts/demo $(demo_kernel) $(firstword $(run_drivers)) $(S)

# Checks

# Unit tests run under AddressSanitizer and UndefinedBehaviorSanitizer. clang compiles them in two thirds of g++'s time, and the
# code then has passed the warnings of both compilers. -no-pie is used because a program with sanitizers has 800000 relocations,
# which take a third of the run time of most tests.
check_options = -DCMAKE_BUILD_TYPE=Debug -DPMUKIT_SANITIZE=address,undefined -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
	-DCMAKE_EXE_LINKER_FLAGS='-fuse-ld=lld -no-pie'
check: setup
	@$(call cmake_build,check,$(check_options))
	@tools/scripts/check $(BUILD)/check

lint: setup
	@tools/scripts/lint-tools
	@$(call cmake_build,check,$(check_options))
	@tools/scripts/lint $(BUILD)/check

mutants: tools modules guest
	@tools/scripts/mutants $(if $(U),--driver $(U)) $(if $(N),--sample $(N)) --guest $(if $(N),1,1000) --seed $(or $(SEED),1) $(if $(AGAIN),--again) \
		$(if $(N),$(BUILD)/check,$(BUILD)/apart) $(check_options) $(if $(N),,-DPMUKIT_COMPONENTS_APART=ON)

test:
	@tools/scripts/test

parquet-check:
	@tools/scripts/parquet-check $(BUILD) $(JOBS)

metrics-check: tools
	@tools/scripts/metrics-check $(BUILD)/tools

zsh-check: tools
	@tools/scripts/zsh-check $(BUILD)/tools/cli/pmukit

bench: tools
	@tools/scripts/bench $(BUILD)/tools

hostile: tools
	@$(BUILD)/tools/bench/hostile $(S)

fuzz: setup
	@tools/scripts/fuzz $(BUILD) $(or $(SECONDS),300)

corpus: tools modules guest
	@tools/scripts/corpus $(BUILD) $(run_kernels)

corpus-words: tools
	@tools/scripts/corpus $(BUILD)

screenshots: tools
	@tools/scripts/screenshots $(BUILD)

case-studies: run_kernels := $(demo_kernel)
case-studies: tools modules guest
	@tools/scripts/case-studies $(BUILD) $(demo_kernel)

components:
	@tools/scripts/components $(U)

new-driver:
	@tools/scripts/new-driver '$(U)'

new-driver-test: setup
	@tools/scripts/new-driver-test

upstream-patch: K := 7.2
upstream-patch: run_kernels := 7.2
upstream-patch: modules
	@tools/scripts/debug-kernel $(K) source
	@for driver in $(run_drivers); do tools/scripts/upstream-patch $$driver $(BUILD)/upstream || exit; done

deb:
	@JOBS=$(JOBS) tools/scripts/deb $(BUILD)/deb

deb-test: deb
	@tools/scripts/deb-test $(BUILD)/deb

rpm:
	@JOBS=$(JOBS) tools/scripts/rpm $(BUILD)/rpm

rpm-test: rpm
	@tools/scripts/rpm-test $(BUILD)/rpm

sbom:
	@tools/scripts/sbom $(BUILD)/pmukit.spdx

boot-test: deb tools
	@tools/scripts/boot-test $(BUILD)/deb

demo-svg: tools
	@tools/scripts/demo-svg $(BUILD)/tools Documentation/demo.svg

docs:
	@tools/scripts/docs $(BUILD)/docs

install:
	DESTDIR=$(DESTDIR) cmake --install $(BUILT) --prefix $(PREFIX)
	@tools/scripts/install-man $(BUILD) $(DESTDIR)$(PREFIX)/share/man

clean:
	rm -rf $(BUILD)
