// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes PCIe traffic: CPU accesses to the memory of the emulated endpoint 1234:4550, DMA between
 * the endpoint and memory of this program, and messages (MSI). It uses the endpoint's resource
 * files in sysfs, so no driver is involved, and checks the transferred data. It prints the traffic
 * that it made, for comparison with the traced packets. The registers are described in
 * Documentation/devices/hisi_ptt-model.rst.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/const.h>
#include <linux/mempolicy.h>
#include <linux/pci_regs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pci_function.h"

#define EXIT_USAGE		2
#define EXIT_SKIP		4	/* KSFT_SKIP */

#define PCI_SYSFS		"/sys/bus/pci/devices"
#define PAGE_BYTES		4096
#define PAGEMAP_PRESENT		_BITULL(63)
#define PAGEMAP_PFN		((1ULL << 55) - 1)

#define EP_IDENTITY		0x00
#define   EP_IDENTITY_VALUE	0x504d4550
#define EP_ADDRESS_LOW		0x08
#define EP_ADDRESS_HIGH		0x0c
#define EP_OFFSET		0x10
#define EP_LENGTH		0x14
#define EP_COMMAND		0x18
#define   EP_COMMAND_FETCH	0x1
#define   EP_COMMAND_STORE	0x2
#define EP_STATUS		0x1c
#define   EP_STATUS_GOOD	1
#define EP_DOORBELL		0x20

#define STORES_UNDER_WAY	4096
#define MESSAGE_DATA		0x4550

#define NODES			63	/* in a 64-bit mask, whose last bit the kernel ignores */
#define ANY_NODE		(~0UL)

enum setting {
	READS, WRITES, WIDTH, FETCHES, STORES, BYTES, MESSAGES, PAUSE_US, NODE, NR_SETTINGS,
	FUNCTION, TARGET,
};

struct options {
	const char *function;
	const char *target;	/* function that DMA accesses; NULL: memory of this program */
	unsigned long value[NR_SETTINGS];
};

struct endpoint {
	int config;		/* file descriptor */
	volatile __u32 *registers;
	volatile __u8 *memory;
	size_t memory_bytes;
	__u8 *page;		/* page of this program, for DMA and messages */
	__u64 page_address;	/* physical address, because the endpoint has no IOMMU */
};

/* The endpoint's function */

static void name_of(const char *function, char name[PCI_NAME_BYTES])
{
	snprintf(name, PCI_NAME_BYTES, "0000:%s", function);
}

static int open_config(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), PCI_SYSFS "/%s/config", name);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Binds memory that this program maps after the call to the node. */
static int stay_on_node(unsigned long node)
{
	unsigned long mask = 1UL << node % NODES;

	if (node == ANY_NODE)
		return 0;
	if (node >= NODES)
		return -EINVAL;
	return syscall(SYS_set_mempolicy, MPOL_BIND, &mask, sizeof(mask) * 8) ? -errno : 0;
}

static int find_page(struct endpoint *ep)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	__u64 entry = 0;
	off_t at;

	ep->page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	if (pagemap < 0 || ep->page == MAP_FAILED)
		return -errno;
	at = (uintptr_t)ep->page / PAGE_BYTES * sizeof(entry);
	if (pread(pagemap, &entry, sizeof(entry), at) != sizeof(entry))
		entry = 0;
	close(pagemap);
	if (!(entry & PAGEMAP_PRESENT) || !(entry & PAGEMAP_PFN))
		return -EPERM; /* only root can read page frame numbers */
	ep->page_address = (entry & PAGEMAP_PFN) * PAGE_BYTES;
	return 0;
}

static int open_endpoint(struct endpoint *ep, const char *function)
{
	char name[PCI_NAME_BYTES];
	size_t bytes;
	int err;

	name_of(function, name);
	ep->config = open_config(name);
	if (ep->config < 0)
		return ep->config;
	err = pci_command(name, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	if (err)
		return err;
	ep->registers = pci_map(name, 0, &bytes);
	ep->memory = pci_map(name, 2, &ep->memory_bytes);
	if (!ep->registers || !ep->memory)
		return -ENODEV;
	if (ep->registers[EP_IDENTITY / 4] != EP_IDENTITY_VALUE)
		return -ENODEV;
	return find_page(ep);
}

/* Traffic */

static void pause_between(const struct options *opt)
{
	if (opt->value[PAUSE_US])
		usleep(opt->value[PAUSE_US]);
}

/*
 * Waits until all stores have arrived. Stores are posted: the CPU does not wait for them, but a
 * later load completes only once they have arrived. A load that takes too long times out and
 * returns all ones, in the emulator as at a real root port. So at most STORES_UNDER_WAY stores are
 * in flight, too few for a timeout.
 */
static int await_stores(const struct endpoint *ep)
{
	if (ep->registers[EP_IDENTITY / 4] == EP_IDENTITY_VALUE)
		return 0;
	fprintf(stderr, "pcie_load: the load behind the stores was not answered\n");
	return -ETIMEDOUT;
}

static int store_all(const struct options *opt, const struct endpoint *ep)
{
	unsigned long width = opt->value[WIDTH], places = ep->memory_bytes / width;
	int err = 0;

	for (unsigned long i = 0; !err && i < opt->value[WRITES]; i++) {
		pci_store(ep->memory + i % places * width, width, i);
		pause_between(opt);
		if ((i + 1) % STORES_UNDER_WAY == 0)
			err = await_stores(ep);
	}
	return err ? err : await_stores(ep);
}

/* Makes the loads. Each place must have the last value that this program has written to it. */
static int load_all(const struct options *opt, const struct endpoint *ep)
{
	unsigned long width = opt->value[WIDTH], places = ep->memory_bytes / width;
	unsigned long writes = opt->value[WRITES];
	__u64 mask = width == 8 ? ~0ULL : (1ULL << 8 * width) - 1;

	for (unsigned long i = 0; i < opt->value[READS]; i++) {
		unsigned long place = i % places;
		__u64 got = pci_load(ep->memory + place * width, width), last;

		last = place < writes ? place + (writes - 1 - place) / places * places : got;
		if (got != (last & mask)) {
			fprintf(stderr, "pcie_load: place %lu has %#llx, not %#llx\n", place, got,
				last & mask);
			return -EIO;
		}
		pause_between(opt);
	}
	return 0;
}

static int access_memory(const struct options *opt, struct endpoint *ep)
{
	int err = store_all(opt, ep);

	return err ? err : load_all(opt, ep);
}

static int transfer(const struct options *opt, struct endpoint *ep, __u64 address,
		    __u32 command)
{
	ep->registers[EP_ADDRESS_LOW / 4] = (__u32)address;
	ep->registers[EP_ADDRESS_HIGH / 4] = address >> 32;
	ep->registers[EP_OFFSET / 4] = 0;
	ep->registers[EP_LENGTH / 4] = opt->value[BYTES];
	ep->registers[EP_COMMAND / 4] = command;
	pause_between(opt);
	return ep->registers[EP_STATUS / 4] == EP_STATUS_GOOD ? 0 : -EIO;
}

/* Makes the DMA transfers. In a store the endpoint writes the data that it has fetched last. */
static int run_dma(const struct options *opt, struct endpoint *ep)
{
	int err = 0;

	for (unsigned long i = 0; !err && i < opt->value[FETCHES]; i++) {
		memset(ep->page, i + 1, PAGE_BYTES);
		err = transfer(opt, ep, ep->page_address, EP_COMMAND_FETCH);
	}
	for (unsigned long i = 0; !err && i < opt->value[STORES]; i++) {
		memset(ep->page, 0xee, PAGE_BYTES);
		err = transfer(opt, ep, ep->page_address, EP_COMMAND_STORE);
		if (!err && opt->value[FETCHES] &&
		    *(volatile __u8 *)(ep->page + opt->value[BYTES] - 1) !=
			    (__u8)opt->value[FETCHES])
			err = -EIO;
		if (!err && opt->value[BYTES] < PAGE_BYTES && ep->page[opt->value[BYTES]] != 0xee)
			err = -EIO;
	}
	return err;
}

/* Enables the memory of another endpoint and finds its address. */
static int find_target(const char *function, __u64 *address)
{
	char name[PCI_NAME_BYTES];
	__u32 low, high;
	int fd, err;

	name_of(function, name);
	fd = open_config(name);
	if (fd < 0)
		return fd;
	err = pci_command(name, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	if (!err && (pread(fd, &low, 4, PCI_BASE_ADDRESS_2) != 4 ||
		     pread(fd, &high, 4, PCI_BASE_ADDRESS_3) != 4))
		err = -EIO;
	close(fd);
	if (!err)
		*address = (low & PCI_BASE_ADDRESS_MEM_MASK & 0xffffffff) | (__u64)high << 32;
	return err;
}

static int run_dma_to_target(const struct options *opt, struct endpoint *ep)
{
	__u64 address;
	int err = find_target(opt->target, &address);

	for (unsigned long i = 0; !err && i < opt->value[FETCHES]; i++)
		err = transfer(opt, ep, address, EP_COMMAND_FETCH);
	for (unsigned long i = 0; !err && i < opt->value[STORES]; i++)
		err = transfer(opt, ep, address, EP_COMMAND_STORE);
	return err;
}

static int find_msi(const struct endpoint *ep)
{
	__u8 at = 0, capability[2] = {};

	if (pread(ep->config, &at, 1, PCI_CAPABILITY_LIST) != 1)
		return -EIO;
	for (int limit = 48; at >= 0x40 && limit > 0; limit--) {
		if (pread(ep->config, capability, sizeof(capability), at) != sizeof(capability))
			return -EIO;
		if (capability[0] == PCI_CAP_ID_MSI)
			return at;
		at = capability[1];
	}
	return -ENOENT;
}

/*
 * Sets the address of messages. A message is a memory write; here it goes to ordinary memory of
 * this program, which can see that it arrives.
 */
static int aim_messages(const struct endpoint *ep, int msi, int on)
{
	__u32 address[2] = { (__u32)ep->page_address, ep->page_address >> 32 };
	__u16 data = MESSAGE_DATA, flags;

	if (pwrite(ep->config, &address[0], 4, msi + PCI_MSI_ADDRESS_LO) != 4 ||
	    pwrite(ep->config, &address[1], 4, msi + PCI_MSI_ADDRESS_HI) != 4 ||
	    pwrite(ep->config, &data, 2, msi + PCI_MSI_DATA_64) != 2 ||
	    pread(ep->config, &flags, 2, msi + PCI_MSI_FLAGS) != 2)
		return -EIO;
	flags = on ? flags | PCI_MSI_FLAGS_ENABLE : flags & ~PCI_MSI_FLAGS_ENABLE;
	return pwrite(ep->config, &flags, 2, msi + PCI_MSI_FLAGS) == 2 ? 0 : -EIO;
}

static int await_message(struct endpoint *ep)
{
	for (int i = 0; i < 2000; i++) {
		if (*(volatile __u32 *)ep->page == MESSAGE_DATA)
			return 0;
		usleep(1000);
	}
	return -ETIMEDOUT;
}

static int send_messages(const struct options *opt, struct endpoint *ep)
{
	int msi = opt->value[MESSAGES] ? find_msi(ep) : 0;
	int err = msi < 0 ? msi : 0;

	if (!opt->value[MESSAGES] || err)
		return err;
	err = aim_messages(ep, msi, 1);
	for (unsigned long i = 0; !err && i < opt->value[MESSAGES]; i++) {
		*(volatile __u32 *)ep->page = 0;
		ep->registers[EP_DOORBELL / 4] = 1;
		err = await_message(ep);
	}
	aim_messages(ep, msi, 0);
	return err;
}

static int run(const struct options *opt, struct endpoint *ep)
{
	int err = access_memory(opt, ep);

	if (!err)
		err = opt->target ? run_dma_to_target(opt, ep) : run_dma(opt, ep);
	if (!err)
		err = send_messages(opt, ep);
	if (err)
		return err;
	printf("pcie_load: function=%s reads=%lu writes=%lu width=%lu ", opt->function,
	       opt->value[READS], opt->value[WRITES], opt->value[WIDTH]);
	printf("fetches=%lu stores=%lu bytes=%lu messages=%lu\n", opt->value[FETCHES],
	       opt->value[STORES], opt->value[BYTES], opt->value[MESSAGES]);
	return 0;
}

static void print_error(void)
{
	fprintf(stderr,
		"usage: pcie_load [--function BUS:DEVICE.FUNCTION] [--writes N] [--reads N]\n"
		"                 [--width 1|2|4|8] [--fetches N] [--stores N] [--bytes N]\n"
		"                 [--target BUS:DEVICE.FUNCTION] [--messages N] [--pause-us N]\n"
		"                 [--node N]\n"
		"  --fetches N, --stores N  DMA from and to memory, --bytes (1 to 4096) each\n"
		"  --target FUNCTION        DMA from and to the memory of another endpoint\n"
		"  --messages N             each is sent by a doorbell and awaited\n"
		"  --pause-us N             after each access and transfer\n"
		"  --node N                 the memory of DMA is on that NUMA node\n");
	exit(EXIT_USAGE);
}

static unsigned long number(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		print_error();
	return value;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "reads", required_argument, NULL, READS },
		{ "writes", required_argument, NULL, WRITES },
		{ "width", required_argument, NULL, WIDTH },
		{ "fetches", required_argument, NULL, FETCHES },
		{ "stores", required_argument, NULL, STORES },
		{ "bytes", required_argument, NULL, BYTES },
		{ "messages", required_argument, NULL, MESSAGES },
		{ "pause-us", required_argument, NULL, PAUSE_US },
		{ "node", required_argument, NULL, NODE },
		{ "function", required_argument, NULL, FUNCTION },
		{ "target", required_argument, NULL, TARGET },
		{ },
	};
	struct options opt = {
		.function = "01:00.0",
		.value = { [WIDTH] = 8, [BYTES] = 256, [NODE] = ANY_NODE },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == FUNCTION)
			opt.function = optarg;
		else if (option == TARGET)
			opt.target = optarg;
		else if (option < NR_SETTINGS)
			opt.value[option] = number(optarg);
		else
			print_error();
	}
	if (optind != argc || opt.value[BYTES] < 1 || opt.value[BYTES] > PAGE_BYTES ||
	    opt.value[WIDTH] > 8 || __builtin_popcountl(opt.value[WIDTH]) != 1)
		print_error();
	return opt;
}

int main(int argc, char **argv)
{
	struct options opt = parse(argc, argv);
	struct endpoint ep = {};
	int err = stay_on_node(opt.value[NODE]);

	if (!err)
		err = open_endpoint(&ep, opt.function);

	if (err == -ENOENT || err == -ENODEV) {
		fprintf(stderr, "pcie_load: %s is no endpoint 1234:4550\n", opt.function);
		return EXIT_SKIP;
	}
	if (!err)
		err = run(&opt, &ep);
	if (err)
		fprintf(stderr, "pcie_load: %s: %s\n", opt.function, strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
