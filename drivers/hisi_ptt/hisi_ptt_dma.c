// SPDX-License-Identifier: GPL-2.0-only
/*
 * hisi_ptt: memory the device writes to.
 *
 * Buffers of our own come in two sizes: small ones while an event is open, large ones beside an
 * AUX area. The AUX area itself is mapped for the device when each of its quarters is adjacent
 * memory; it then takes the place of the buffers.
 *
 * perf may keep an AUX area, and an event, longer than the device is there. What is allocated or
 * mapped for the device belongs to the device and is given back when it leaves; only the list of
 * the pages stays with perf.
 *
 * Locking: dma_mutex, process context; inside perf's mmap_mutex and, in event_init, sometimes its
 * ctx->mutex. Only memory is allocated inside.
 */

#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "hisi_ptt.h"

/* Buffers of our own */

static void hisi_ptt_buffers_free(struct hisi_ptt *ptt, struct hisi_ptt_buffers *buffers)
{
	int i;

	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++) {
		if (buffers->cpu[i])
			dma_free_coherent(&ptt->pdev->dev, buffers->bytes, buffers->cpu[i],
					  buffers->dma[i]);
	}
	*buffers = (struct hisi_ptt_buffers) {};
}

static int hisi_ptt_buffers_alloc(struct hisi_ptt *ptt, struct hisi_ptt_buffers *buffers, u32 bytes)
{
	int i;

	buffers->bytes = bytes;
	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++) {
		buffers->cpu[i] = dma_alloc_coherent(&ptt->pdev->dev, bytes, &buffers->dma[i],
						     GFP_KERNEL | __GFP_NOWARN);
		if (!buffers->cpu[i])
			goto free_buffers;
	}
	return 0;

free_buffers:
	hisi_ptt_buffers_free(ptt, buffers);
	return -ENOMEM;
}

/* Smaller buffers only make overruns likelier. */
static int hisi_ptt_buffers_alloc_most(struct hisi_ptt *ptt, struct hisi_ptt_buffers *buffers,
				       u32 bytes)
{
	while (hisi_ptt_buffers_alloc(ptt, buffers, bytes)) {
		bytes /= 2;
		if (bytes < HISI_PTT_BUFFER_BYTES_MIN)
			return -ENOMEM;
	}
	return 0;
}

/* Large buffers for an AUX area; without them, or while a run uses others, those there are do. */
static void hisi_ptt_buffers_fit(struct hisi_ptt *ptt, u32 bytes)
{
	struct hisi_ptt_buffers old, new = {};

	if (ptt->large.bytes >= bytes)
		return;
	if (hisi_ptt_buffers_alloc_most(ptt, &new, bytes))
		return;

	raw_spin_lock_irq(&ptt->lock);
	if (new.bytes <= ptt->large.bytes ||
	    (ptt->state != HISI_PTT_OFF && ptt->buffers == &ptt->large)) {
		old = new;
	} else {
		old = ptt->large;
		ptt->large = new;
	}
	raw_spin_unlock_irq(&ptt->lock);
	hisi_ptt_buffers_free(ptt, &old);
}

/**
 * hisi_ptt_dma_open - memory for an event that is being opened
 * @ptt: the device
 *
 * An event that is refused later has users beside it for a moment, as has one that closes.
 *
 * Return: 0, -ENODEV, -ENOMEM.
 */
int hisi_ptt_dma_open(struct hisi_ptt *ptt)
{
	int ret = 0;

	mutex_lock(&ptt->dma_mutex);
	if (ptt->dma_gone)
		ret = -ENODEV;
	else if (!ptt->small.bytes)
		ret = hisi_ptt_buffers_alloc_most(ptt, &ptt->small, HISI_PTT_SAMPLE_BUFFER_BYTES);
	if (!ret)
		ptt->dma_users++;
	mutex_unlock(&ptt->dma_mutex);
	return ret;
}

/**
 * hisi_ptt_dma_close - the event is gone, with the last one its memory
 * @ptt: the device
 */
void hisi_ptt_dma_close(struct hisi_ptt *ptt)
{
	mutex_lock(&ptt->dma_mutex);
	if (!--ptt->dma_users) {
		hisi_ptt_buffers_free(ptt, &ptt->small);
		hisi_ptt_buffers_free(ptt, &ptt->large);
	}
	mutex_unlock(&ptt->dma_mutex);
}

/* AUX areas */

static void hisi_ptt_aux_unmap(struct hisi_ptt *ptt, struct hisi_ptt_aux *aux, int nr_quarters)
{
	while (nr_quarters--)
		dma_unmap_single(&ptt->pdev->dev, aux->dma[nr_quarters], aux->quarter_bytes,
				 DMA_FROM_DEVICE);
	aux->quarter_bytes = 0;
}

/*
 * Map the area if the device can write to it: four quarters, each of adjacent pages, without a
 * bounce buffer or cache maintenance between the device and the reader.
 */
static void hisi_ptt_aux_map(struct hisi_ptt *ptt, struct hisi_ptt_aux *aux)
{
	struct device *dev = &ptt->pdev->dev;
	u32 pages = aux->ring.nr_pages / HISI_PTT_NR_BUFFERS;
	u32 bytes = pages << PAGE_SHIFT;
	int i;

	if (!pages || bytes > min_t(u64, HISI_PTT_BUFFER_BYTES_MAX, dma_max_mapping_size(dev)))
		return;
	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++) {
		if (!pmukit_aux_ring_adjacent(&aux->ring, i * pages, pages))
			return;
	}

	aux->quarter_bytes = bytes;
	for (i = 0; i < HISI_PTT_NR_BUFFERS; i++) {
		aux->dma[i] = dma_map_single(dev, aux->ring.pages[i * pages], bytes,
					     DMA_FROM_DEVICE);
		if (dma_mapping_error(dev, aux->dma[i]))
			goto unmap;
		if (dma_need_sync(dev, aux->dma[i])) {
			i++;
			goto unmap;
		}
	}
	return;

unmap:
	hisi_ptt_aux_unmap(ptt, aux, i);
}

/**
 * hisi_ptt_setup_aux - the setup_aux callback
 * @event: the event
 * @pages: the pages perf allocated
 * @nr_pages: how many, a power of two
 * @overwrite: the reader wants the newest data to replace the oldest
 *
 * Overwriting is refused: the device cannot say where its oldest entry is.
 *
 * Return: what free_aux gets, NULL to refuse the area.
 */
void *hisi_ptt_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct hisi_ptt *ptt = to_hisi_ptt(to_pmukit_pmu(event->pmu));
	u64 bytes = (u64)nr_pages << PAGE_SHIFT;
	struct hisi_ptt_aux *aux;

	if (overwrite || bytes < HISI_PTT_AUX_BYTES_MIN) {
		pr_debug("%s: the AUX area must not be overwritten and not be below %u bytes\n",
			 ptt->pp.name, HISI_PTT_AUX_BYTES_MIN);
		return NULL;
	}

	aux = kvzalloc(struct_size(aux, ring.pages, nr_pages), GFP_KERNEL);
	if (!aux)
		return NULL;
	pmukit_aux_ring_fill(&aux->ring, pages, nr_pages);
	aux->ptt = ptt;

	mutex_lock(&ptt->dma_mutex);
	if (ptt->dma_gone)
		goto unlock;
	hisi_ptt_buffers_fit(ptt, hisi_ptt_buffer_bytes(bytes));
	hisi_ptt_aux_map(ptt, aux);
	list_add_tail(&aux->node, &ptt->aux_areas);
	mutex_unlock(&ptt->dma_mutex);

	pmukit_aux_enter(&aux->entry, &aux->ring, event);
	/* A kernel that revokes events lets go of PMU and module before the area is unmapped. */
	pmukit_pmu_get(&ptt->pp);
	__module_get(THIS_MODULE);
	return &aux->ring;

unlock:
	mutex_unlock(&ptt->dma_mutex);
	kvfree(aux);
	return NULL;
}

/**
 * hisi_ptt_free_aux - the free_aux callback
 * @ring: what hisi_ptt_setup_aux() returned
 *
 * perf calls this from process context. It has stopped the event before, unless the area was
 * unmapped through one of another PMU (Linux 6.1) or while the event was being redirected.
 */
void hisi_ptt_free_aux(void *ring)
{
	struct hisi_ptt_aux *aux = container_of(ring, struct hisi_ptt_aux, ring);
	struct hisi_ptt *ptt = aux->ptt;

	pmukit_aux_leave(&aux->entry);
	hisi_ptt_leave_aux(ptt, aux);
	mutex_lock(&ptt->dma_mutex);
	list_del(&aux->node);
	if (aux->quarter_bytes)
		hisi_ptt_aux_unmap(ptt, aux, HISI_PTT_NR_BUFFERS);
	mutex_unlock(&ptt->dma_mutex);

	kvfree(aux);
	pmukit_pmu_put(&ptt->pp);
	/* The module's exit waits until this function has returned. */
	module_put(THIS_MODULE);
}

/**
 * hisi_ptt_dma_leave - give everything back
 * @ptt: a dead device that does not write any more
 */
void hisi_ptt_dma_leave(struct hisi_ptt *ptt)
{
	struct hisi_ptt_aux *aux;

	mutex_lock(&ptt->dma_mutex);
	ptt->dma_gone = true;
	list_for_each_entry(aux, &ptt->aux_areas, node) {
		if (aux->quarter_bytes)
			hisi_ptt_aux_unmap(ptt, aux, HISI_PTT_NR_BUFFERS);
	}
	hisi_ptt_buffers_free(ptt, &ptt->small);
	hisi_ptt_buffers_free(ptt, &ptt->large);
	mutex_unlock(&ptt->dma_mutex);
}
