// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: the four buffers that the device writes to.
 *
 * They are those of the kernel's own driver: coherent memory, 4 MiB each, aligned to their size.
 * They are allocated when an event is opened for the first time and stay until the device leaves,
 * so that the device is told their addresses once.
 *
 * Locking: dma_mutex, process context; in event_init, sometimes inside perf's ctx->mutex. Memory
 * is allocated and ptt->lock taken inside.
 */

#include <linux/align.h>
#include <linux/dma-mapping.h>
#include <linux/pci.h>

#include "hisi_ptt.h"

static void hisi_ptt_buffers_free(struct hisi_ptt *ptt)
{
	struct hisi_ptt_buffer *buffer;

	for (buffer = ptt->buffers; buffer < ptt->buffers + HISI_PTT_NR_BUFFERS; buffer++) {
		if (buffer->memory)
			dma_free_coherent(&ptt->pdev->dev, buffer->memory_bytes, buffer->memory,
					  buffer->memory_dma);
		*buffer = (struct hisi_ptt_buffer) {};
	}
}

static int hisi_ptt_buffer_alloc(struct hisi_ptt *ptt, struct hisi_ptt_buffer *buffer, u32 bytes)
{
	dma_addr_t dma;

	buffer->memory = dma_alloc_coherent(&ptt->pdev->dev, bytes, &dma,
					    GFP_KERNEL | __GFP_NOWARN);
	if (!buffer->memory)
		return -ENOMEM;
	buffer->memory_bytes = bytes;
	buffer->memory_dma = dma;
	buffer->dma = ALIGN(dma, HISI_PTT_BUFFER_BYTES);
	buffer->cpu = buffer->memory + (buffer->dma - dma);
	return 0;
}

/* The page allocator aligns so much memory to its size, the contiguous allocator only to 1 MiB. */
static int hisi_ptt_buffer_alloc_aligned(struct hisi_ptt *ptt, struct hisi_ptt_buffer *buffer)
{
	int ret = hisi_ptt_buffer_alloc(ptt, buffer, HISI_PTT_BUFFER_BYTES);

	if (ret || buffer->dma == buffer->memory_dma)
		return ret;
	dma_free_coherent(&ptt->pdev->dev, buffer->memory_bytes, buffer->memory,
			  buffer->memory_dma);
	return hisi_ptt_buffer_alloc(ptt, buffer, 2 * HISI_PTT_BUFFER_BYTES);
}

static int hisi_ptt_buffers_alloc(struct hisi_ptt *ptt)
{
	int i, ret = 0;

	for (i = 0; i < HISI_PTT_NR_BUFFERS && !ret; i++)
		ret = hisi_ptt_buffer_alloc_aligned(ptt, &ptt->buffers[i]);
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

	if (!ptt->buffers[0].memory)
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
	else if (!ptt->buffers[0].memory)
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
	if (ptt->buffers[0].memory && !ptt->stopped)
		pci_warn(ptt->pdev, "the trace does not stop: its buffers are not freed\n");
	else
		hisi_ptt_buffers_free(ptt);
	mutex_unlock(&ptt->dma_mutex);
}
