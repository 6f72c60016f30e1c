// SPDX-License-Identifier: GPL-2.0-only
/*
 * imc_engine: chips. A chip's microcode polls its control block at the interval that the block's
 * speed word selects, and while its status is RUNNING adds to the counters in the chip's HOMER
 * (Documentation/devices/imc_engine-model.rst). A timer takes the place of the microcode.
 */

#include <linux/gfp.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <pmukit/imc_backend.h>

#include "imc_engine.h"

/*
 * Poll interval of the control block while the microcode is paused; the speed word is ignored then
 */
#define IMC_ENGINE_NEST_PAUSED_NS	64000000ULL

/**
 * struct imc_engine_chip - a chip and its microcode
 * @id: ID of the chip
 * @homer: memory of the chip, IMC_ENGINE_HOMER_BYTES
 * @timer: timer of the microcode
 * @lock: protects all members below; interrupts off
 * @status: run status
 * @posted: facts at the last post
 * @reference: increments of each counter since load
 * @rounds: number of posts
 * @node: entry in imc_engine_all_chips
 */
struct imc_engine_chip {
	u32 id;
	void *homer;
	struct hrtimer timer;
	raw_spinlock_t lock;
	u64 status;
	struct imc_engine_nest_facts posted;
	u64 reference[IMC_ENGINE_NR_NEST_SLOTS];
	u64 rounds;
	struct list_head node;
};

/* All chips; the list does not change once the module is loaded. */
static LIST_HEAD(imc_engine_all_chips);

/* Pages that each CPU allocated and freed */
static DEFINE_PER_CPU(struct imc_engine_nest_facts, imc_engine_cpu_pages);

/* Called by the page allocator's probes, in any context. */
void imc_engine_pages(enum imc_engine_nest_fact fact, unsigned int order)
{
	this_cpu_add(imc_engine_cpu_pages.value[fact], 1ULL << order);
}

/* Memory */

static __be64 *imc_engine_control(const struct imc_engine_chip *chip, u32 offset)
{
	return chip->homer + IMC_ENGINE_HOMER_CONTROL + offset;
}

static u64 imc_engine_control_read(const struct imc_engine_chip *chip, u32 offset)
{
	return be64_to_cpu(READ_ONCE(*imc_engine_control(chip, offset)));
}

static void imc_engine_control_write(const struct imc_engine_chip *chip, u32 offset, u64 value)
{
	WRITE_ONCE(*imc_engine_control(chip, offset), cpu_to_be64(value));
}

/* Microcode; under the chip's lock */

static void imc_engine_nest_gather(const struct imc_engine_chip *chip,
				   struct imc_engine_nest_facts *facts)
{
	unsigned int cpu, i;

	*facts = (struct imc_engine_nest_facts){};
	for_each_possible_cpu(cpu) {
		if (!imc_engine_thread_of(cpu)->core || imc_engine_thread_of(cpu)->chip != chip->id)
			continue;
		for (i = 0; i < IMC_ENGINE_NEST_NS; i++)
			facts->value[i] +=
				READ_ONCE(per_cpu_ptr(&imc_engine_cpu_pages, cpu)->value[i]);
	}
	facts->value[IMC_ENGINE_NEST_NS] = ktime_get_mono_fast_ns();
}

static void imc_engine_nest_post(struct imc_engine_chip *chip)
{
	struct imc_engine_nest_facts facts;
	const struct imc_engine_nest_slot *slot;
	__be64 *counter;
	unsigned int i;
	u64 delta;

	imc_engine_nest_gather(chip, &facts);
	for (i = 0; i < IMC_ENGINE_NR_NEST_SLOTS; i++) {
		slot = &imc_engine_nest_slots[i];
		delta = imc_engine_nest_delta(slot, PAGE_SIZE, &chip->posted, &facts);
		counter = chip->homer + IMC_ENGINE_HOMER_COUNTERS + slot->offset;
		WRITE_ONCE(*counter, cpu_to_be64(be64_to_cpu(READ_ONCE(*counter)) + delta));
		chip->reference[i] += delta;
	}
	chip->posted = facts;
	chip->rounds++;
}

static void imc_engine_nest_clear(struct imc_engine_chip *chip)
{
	unsigned int i;

	for (i = 0; i < IMC_ENGINE_NR_NEST_SLOTS; i++)
		memset(chip->homer + IMC_ENGINE_HOMER_COUNTERS + imc_engine_nest_slots[i].offset,
		       0, sizeof(u64));
	imc_engine_control_write(chip, IMC_ENGINE_CB_COMMAND, IMC_ENGINE_COMMAND_NOP);
}

/* Polls the control block once. */
static void imc_engine_nest_step(struct imc_engine_chip *chip)
{
	u64 command = imc_engine_control_read(chip, IMC_ENGINE_CB_COMMAND);
	u64 before = chip->status;

	if (before == IMC_ENGINE_STATUS_RUNNING)
		imc_engine_nest_post(chip);
	chip->status = imc_engine_nest_status(before, command);
	if (command == IMC_ENGINE_COMMAND_CLEAR)
		imc_engine_nest_clear(chip);
	if (chip->status == IMC_ENGINE_STATUS_RUNNING && before != chip->status)
		imc_engine_nest_gather(chip, &chip->posted);
	imc_engine_control_write(chip, IMC_ENGINE_CB_RUN_STATUS, chip->status);
}

static enum hrtimer_restart imc_engine_nest_timer(struct hrtimer *timer)
{
	struct imc_engine_chip *chip = container_of(timer, struct imc_engine_chip, timer);
	unsigned long flags;
	u64 interval_ns;

	raw_spin_lock_irqsave(&chip->lock, flags);
	imc_engine_nest_step(chip);
	interval_ns = imc_engine_nest_interval_ns(imc_engine_control_read(chip,
									  IMC_ENGINE_CB_SPEED));
	if (chip->status != IMC_ENGINE_STATUS_RUNNING)
		interval_ns = IMC_ENGINE_NEST_PAUSED_NS;
	/* If a command has restarted the timer meanwhile, do not change it. */
	if (!hrtimer_is_queued(timer))
		hrtimer_forward_now(timer, ns_to_ktime(interval_ns));
	raw_spin_unlock_irqrestore(&chip->lock, flags);
	return HRTIMER_RESTART;
}

/* Interface */

static struct imc_engine_chip *imc_engine_chip_by_id(u32 id)
{
	struct imc_engine_chip *chip;

	list_for_each_entry(chip, &imc_engine_all_chips, node)
		if (chip->id == id)
			return chip;
	return NULL;
}

int imc_engine_chip_of(unsigned int cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) || !imc_engine_thread_of(cpu)->core)
		return -ENODEV;
	if (!imc_engine_chip_by_id(imc_engine_thread_of(cpu)->chip))
		return -ENODEV;	/* the chip had no online CPU when the module was loaded */
	return imc_engine_thread_of(cpu)->chip;
}

unsigned int imc_engine_chips(struct pmukit_imc_chip *chips, unsigned int max)
{
	struct imc_engine_chip *chip;
	unsigned int nr = 0;

	list_for_each_entry(chip, &imc_engine_all_chips, node) {
		if (nr < max)
			chips[nr] = (struct pmukit_imc_chip) {
				.chip_id = chip->id,
				.homer = virt_to_phys(chip->homer),
				.bytes = IMC_ENGINE_HOMER_BYTES,
			};
		nr++;
	}
	return nr;
}

/* Writes the command, as firmware does, and makes the microcode poll at once. */
int imc_engine_nest_command(unsigned int cpu, u64 command)
{
	int id = imc_engine_chip_of(cpu);
	struct imc_engine_chip *chip;
	unsigned long flags;

	if (id < 0)
		return -EINVAL;
	chip = imc_engine_chip_by_id(id);
	raw_spin_lock_irqsave(&chip->lock, flags);
	imc_engine_control_write(chip, IMC_ENGINE_CB_COMMAND, command);
	imc_engine_nest_step(chip);
	/* The timer may be armed with the long interval of the paused state: fire it now. */
	if (command == IMC_ENGINE_COMMAND_RESUME)
		hrtimer_start(&chip->timer, 0, HRTIMER_MODE_REL_HARD);
	raw_spin_unlock_irqrestore(&chip->lock, flags);
	return 0;
}

/* Reads the reference counters of the index-th chip. Returns false if that chip does not exist. */
bool imc_engine_chip_read(unsigned int index, struct imc_engine_chip_reference *reference)
{
	struct imc_engine_chip *chip;
	unsigned long flags;

	list_for_each_entry(chip, &imc_engine_all_chips, node) {
		if (index--)
			continue;
		raw_spin_lock_irqsave(&chip->lock, flags);
		reference->id = chip->id;
		reference->status = chip->status;
		reference->speed = imc_engine_control_read(chip, IMC_ENGINE_CB_SPEED);
		reference->rounds = chip->rounds;
		memcpy(reference->slots, chip->reference, sizeof(reference->slots));
		raw_spin_unlock_irqrestore(&chip->lock, flags);
		return true;
	}
	return false;
}

/* Load and unload */

static int imc_engine_chip_add(u32 id)
{
	struct imc_engine_chip *chip = kzalloc_obj(*chip);

	if (!chip)
		return -ENOMEM;
	chip->homer = alloc_pages_exact(IMC_ENGINE_HOMER_BYTES, GFP_KERNEL | __GFP_ZERO);
	if (!chip->homer) {
		kfree(chip);
		return -ENOMEM;
	}
	chip->id = id;
	chip->status = IMC_ENGINE_STATUS_PAUSED;
	raw_spin_lock_init(&chip->lock);
	hrtimer_setup(&chip->timer, imc_engine_nest_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	imc_engine_control_write(chip, IMC_ENGINE_CB_RUN_STATUS, chip->status);
	imc_engine_control_write(chip, IMC_ENGINE_CB_SPEED, IMC_ENGINE_SPEED_1MS);
	imc_engine_control_write(chip, IMC_ENGINE_CB_AVAILABILITY,
				 IMC_ENGINE_UNIT_POWERBUS0 | IMC_ENGINE_UNIT_MCS0 |
				 IMC_ENGINE_UNIT_MCS1);
	list_add_tail(&chip->node, &imc_engine_all_chips);
	hrtimer_start(&chip->timer, ns_to_ktime(IMC_ENGINE_NEST_PAUSED_NS),
		      HRTIMER_MODE_REL_HARD);
	return 0;
}

/* Adds the chips of the CPUs that have been online. */
int imc_engine_nest_prepare(void)
{
	unsigned int cpu;
	int err;

	for_each_possible_cpu(cpu) {
		if (!imc_engine_thread_of(cpu)->core ||
		    imc_engine_chip_by_id(imc_engine_thread_of(cpu)->chip))
			continue;
		err = imc_engine_chip_add(imc_engine_thread_of(cpu)->chip);
		if (err) {
			imc_engine_nest_finish();
			return err;
		}
	}
	return 0;
}

void imc_engine_nest_finish(void)
{
	struct imc_engine_chip *chip, *next;

	list_for_each_entry_safe(chip, next, &imc_engine_all_chips, node) {
		hrtimer_cancel(&chip->timer);
		list_del(&chip->node);
		free_pages_exact(chip->homer, IMC_ENGINE_HOMER_BYTES);
		kfree(chip);
	}
}
