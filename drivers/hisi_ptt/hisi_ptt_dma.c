// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: the four buffers that the device writes to.
 *
 * They are those of the kernel's own driver: coherent memory, 4 MiB each, aligned to their size.
 * They are allocated when an event is opened for the first time and stay until the device leaves,
 * so that their addresses are written to the device only then and after a reset.
 *
 * Locking: dma_mutex, process context; in event_init, sometimes inside perf's ctx->mutex. Memory
 * is allocated and ptt->lock taken inside.
 */

#include <linux/align.h>
#include <linux/dma-mapping.h>
#include <linux/pci.h>

#include "hisi_ptt.h"

/* Gaps before aligned addresses that are filled before the allocation fails with -ENOMEM */
#define HISI_PTT_MAX_FILLERS		16

/**
 * struct hisi_ptt_filler - memory that keeps others from the beginning of a gap
 * @cpu: NULL: there is none
 * @dma: its address for the device
 * @bytes: its length
 */
struct hisi_ptt_filler {
	void *cpu;
	dma_addr_t dma;
	u32 bytes;
};

static void *hisi_ptt_coherent_alloc(struct hisi_ptt *ptt, u32 bytes, dma_addr_t *dma)
{
	return dma_alloc_coherent(&ptt->pdev->dev, bytes, dma, GFP_KERNEL | __GFP_NOWARN);
}

static void hisi_ptt_buffer_free(struct hisi_ptt *ptt, struct hisi_ptt_buffer *buffer)
{
	if (buffer->cpu)
		dma_free_coherent(&ptt->pdev->dev, HISI_PTT_BUFFER_BYTES, buffer->cpu, buffer->dma);
	*buffer = (struct hisi_ptt_buffer) {};
}

static void hisi_ptt_buffers_free(struct hisi_ptt *ptt)
{
	int i;

	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++)
		hisi_ptt_buffer_free(ptt, &ptt->buffers[i]);
}

/*
 * The page allocator aligns so much memory to its size, the contiguous allocator of arm64 only to
 * 1 MiB, and takes the first gap that is long enough: what lies there before the next boundary is
 * filled, until all four buffers are there.
 */
static int hisi_ptt_buffer_alloc(struct hisi_ptt *ptt, struct hisi_ptt_buffer *buffer,
				 struct hisi_ptt_filler *fillers, u32 *nr_fillers)
{
	struct hisi_ptt_filler *filler;

	for (;;) {
		buffer->cpu = hisi_ptt_coherent_alloc(ptt, HISI_PTT_BUFFER_BYTES, &buffer->dma);
		if (!buffer->cpu)
			return -ENOMEM;
		if (IS_ALIGNED(buffer->dma, HISI_PTT_BUFFER_BYTES))
			return 0;
		if (*nr_fillers == HISI_PTT_MAX_FILLERS)
			return -ENOMEM;
		filler = &fillers[(*nr_fillers)++];
		filler->bytes = ALIGN(buffer->dma, HISI_PTT_BUFFER_BYTES) - buffer->dma;
		hisi_ptt_buffer_free(ptt, buffer);
		filler->cpu = hisi_ptt_coherent_alloc(ptt, filler->bytes, &filler->dma);
	}
}

static int hisi_ptt_buffers_alloc(struct hisi_ptt *ptt)
{
	struct hisi_ptt_filler fillers[HISI_PTT_MAX_FILLERS] = {};
	u32 nr_fillers = 0, i;
	int ret = 0;

	for (i = 0; i < HISI_PTT_NR_BUFFERS && !ret; i++)
		ret = hisi_ptt_buffer_alloc(ptt, &ptt->buffers[i], fillers, &nr_fillers);
	for (i = 0; i < nr_fillers; i++)
		if (fillers[i].cpu)
			dma_free_coherent(&ptt->pdev->dev, fillers[i].bytes, fillers[i].cpu,
					  fillers[i].dma);
	if (ret)
		hisi_ptt_buffers_free(ptt);
	return ret;
}

/**
 * hisi_ptt_dma_program - tell the device where its buffers are
 * @ptt: a device that is not dead and does not trace
 */
void hisi_ptt_dma_program(struct hisi_ptt *ptt)
{
	u32 at, i;

	lockdep_assert_held(&ptt->lock);

	if (!ptt->buffers[0].cpu)
		return;
	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++) {
		at = i * HISI_PTT_TRACE_ADDR_STRIDE;
		hisi_ptt_write(ptt, HISI_PTT_TRACE_ADDR_BASE_LO + at,
			       lower_32_bits(ptt->buffers[i].dma));
		hisi_ptt_write(ptt, HISI_PTT_TRACE_ADDR_BASE_HI + at,
			       upper_32_bits(ptt->buffers[i].dma));
	}
	hisi_ptt_write(ptt, HISI_PTT_TRACE_ADDR_SIZE, HISI_PTT_BUFFER_BYTES);
}

/**
 * hisi_ptt_dma_open - see that there are buffers for an event that is being opened
 * @ptt: the device
 *
 * Return: 0, -ENODEV, -ENOMEM.
 */
int hisi_ptt_dma_open(struct hisi_ptt *ptt)
{
	int ret = 0;

	mutex_lock(&ptt->dma_mutex);
	if (ptt->dma_gone)
		ret = -ENODEV;
	else if (!ptt->buffers[0].cpu)
		ret = hisi_ptt_buffers_alloc(ptt);
	else
		goto unlock;

	if (ret == -ENOMEM)
		pr_warn_ratelimited("%s: no memory for four buffers of %u bytes in one piece each\n",
				    ptt->pp.name, HISI_PTT_BUFFER_BYTES);
	raw_spin_lock_irq(&ptt->lock);
	if (!ret && !ptt->dead)
		hisi_ptt_dma_program(ptt);
	raw_spin_unlock_irq(&ptt->lock);
unlock:
	mutex_unlock(&ptt->dma_mutex);
	return ret;
}

/**
 * hisi_ptt_dma_leave - give the buffers back
 * @ptt: a dead device
 *
 * Memory that a device may still write to cannot be used for anything else.
 */
void hisi_ptt_dma_leave(struct hisi_ptt *ptt)
{
	mutex_lock(&ptt->dma_mutex);
	ptt->dma_gone = true;
	if (ptt->buffers[0].cpu && !ptt->stopped)
		pci_warn(ptt->pdev, "the trace does not stop: its buffers are not freed\n");
	else
		hisi_ptt_buffers_free(ptt);
	mutex_unlock(&ptt->dma_mutex);
}
