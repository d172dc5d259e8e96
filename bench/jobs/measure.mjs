/**
 * Measures a queue of jobs: adding one by one, ten at a time and in batches of 1,000, running empty jobs 1, 4 and 24 at a time, and
 * the time from the result of `add` to the start. Processor time is measured for the program, not for a server. Prints JSON lines.
 */

function tell(what, amount, began, processor) {
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(processor)
  const processorMicroseconds = Number(((user + system) / amount).toFixed(1))
  const line = { what, perSecond: Math.round(amount / seconds), processorMicroseconds }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function timed(what, amount, work) {
  const [began, processor] = [performance.now(), process.cpuUsage()]
  await work()
  tell(what, amount, began, processor)
}

/**
 * @param queue `add()`; `addThousand()`; `clear()` removes all jobs; `work(concurrency, ran)` calls `ran` for each job and resolves
 * with what stops it; `close()`
 * @param count jobs for each number, in thousands
 */
export async function measure(queue, count) {
  const times = async (most, work) => {
    for (let index = 0; index < most; index++) await work()
  }
  await times(200, queue.add)
  await timed('added one by one', count, () => times(count, queue.add))
  await timed('added by ten clients', count, () =>
    Promise.all(Array.from({ length: 10 }, () => times(count / 10, queue.add))),
  )
  await queue.addThousand()
  await timed('added by 1,000', count, () => times(count / 1000, queue.addThousand))
  await queue.clear()
  for (const concurrency of [1, 4, 24]) await running(queue, concurrency, count)
  await latency(queue)
  await queue.close()
}

/** From the first run to the last. */
async function running(queue, concurrency, count) {
  for (let index = 0; index < count / 1000; index++) await queue.addThousand()
  let [ran, began, processor, done] = [0]
  const over = new Promise((resolve) => {
    done = resolve
  })
  const stop = await queue.work(concurrency, () => {
    if (ran === 0) [began, processor] = [performance.now(), process.cpuUsage()]
    if (++ran < count) return
    tell(`run, ${concurrency} at a time`, count, began, processor)
    done()
  })
  await over
  await stop()
  await queue.clear()
}

/** One at a time. */
async function latency(queue, count = queue.fewer ?? 300) {
  let started = 0
  let done = () => {}
  const stop = await queue.work(10, () => {
    started = performance.now()
    done()
  })
  const waits = []
  for (let index = 0; index < count + 20; index++) {
    const over = new Promise((resolve) => {
      done = resolve
    })
    await queue.add()
    const added = performance.now()
    await over
    // The first ones warm up.
    if (index >= 20) waits.push(Math.max(0, started - added))
  }
  await stop()
  process.stdout.write(`${JSON.stringify({ what: 'from add to start', ...percentiles(waits) })}\n`)
}

/** Milliseconds. */
export function percentiles(waits) {
  const sorted = waits.toSorted((one, other) => one - other)
  const at = (part) => Number(sorted[Math.floor(sorted.length * part)].toFixed(2))
  return { p50: at(0.5), p99: at(0.99) }
}
