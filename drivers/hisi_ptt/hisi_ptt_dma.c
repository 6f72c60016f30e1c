// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: the four DMA buffers.
 *
 * The layout is that of the in-tree driver: coherent memory, 4 MiB each, aligned to the size. The
 * first event that is opened allocates the buffers, and remove frees them. So their addresses are
 * written to the device only once, and again after a reset.
 *
 * Locking: dma_mutex, in process context; event_init may take it under perf's ctx->mutex. Memory
 * is allocated and ptt->lock is taken under dma_mutex.
 */

#include <linux/align.h>
#include <linux/dma-mapping.h>
#include <linux/pci.h>

#include "hisi_ptt.h"

/* Maximum number of fillers; an allocation that needs more fails with -ENOMEM */
#define HISI_PTT_MAX_FILLERS		16

/**
 * struct hisi_ptt_filler - memory that occupies the unaligned start of a free area
 * @cpu: kernel address; NULL: not allocated
 * @dma: DMA address
 * @bytes: length
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
 * The page allocator aligns 4 MiB to their size. The contiguous allocator (CMA) of arm64 aligns
 * only to 1 MiB and returns the first free area that is long enough. A filler then occupies the
 * area up to the next 4 MiB boundary, until all four buffers are allocated.
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
 * hisi_ptt_dma_program - write addresses and size of the buffers to the device
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
 * hisi_ptt_dma_open - allocate the buffers for an event that is being opened, if needed
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
 * hisi_ptt_dma_leave - free the buffers
 * @ptt: a dead device
 *
 * Buffers that the device may still write to are leaked.
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
