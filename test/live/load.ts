/**
 * Load tests of live queries: many listeners of few queries while rows are written, a restart of the server, readers that
 * stop reading, clients that come and go, and the same audience with polling. On loopback, with the server in its own process.
 *
 * `npm run live-load [-- <listeners> <answers> <seconds>]` prints a table; needs as many open files as listeners.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Listener, percentile, LoadServer, until } from './load-client.js'

const [listeners = 10_000, answers = 500, seconds = 10] = process.argv.slice(2).map(Number)
const writesASecond = 100
const lines: [label: string, value: string][] = []

async function writeFor(server: LoadServer, milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds
  const pending: Promise<void>[] = []
  let count = 0
  for (; performance.now() < end; count++) {
    pending.push(server.write(count % answers, 'x'))
    await wait(1000 / writesASecond)
  }
  await Promise.all(pending)
  return count
}

const folder = await mkdtemp(join(tmpdir(), 'live-load-'))
const server = new LoadServer(`sqlite:${join(folder, 'storm.db')}`)
await server.start()
try {
  const delays: number[] = []
  const all = Array.from(
    { length: listeners },
    (_, index) => new Listener(server, index % answers, (delay) => delays.push(delay)),
  )
  const empty = await server.usage()
  const startedAt = performance.now()
  for (const [index, one] of all.entries()) {
    one.open()
    if (index % 50 === 49) await wait(5)
  }
  await until(() => all.every(({ hasFirst }) => hasFirst), 120_000)
  const open = await server.usage()
  lines.push(
    [
      `${listeners} listeners of ${answers} answers open`,
      `${Math.round(performance.now() - startedAt)} ms`,
    ],
    ['database questions for that', String(open.runs)],
    ['memory a listener', `${((open.rss - empty.rss) / listeners / 1024).toFixed(1)} KiB`],
  )

  const written = await writeFor(server, seconds * 1000)
  await wait(1500)
  const busy = await server.usage()
  lines.push(
    [`${written} writes in ${seconds} s: messages`, String(delays.length)],
    ['from write to client, median', `${percentile(delays, 0.5)} ms`],
    ['from write to client, p99', `${percentile(delays, 0.99)} ms`],
    ['runs', String(busy.runs - open.runs)],
    ['processor time a second', `${((busy.cpu - open.cpu) / seconds).toFixed(2)} s`],
    ['memory', `${Math.round(busy.rss / 2 ** 20)} MiB`],
  )

  await server.kill()
  const restarted = performance.now()
  await server.start()
  await until(() => all.every(({ hasFirst }) => hasFirst), 120_000)
  const afterRestart = await server.usage()
  lines.push(
    [
      'after a restart all are notified again within',
      `${Math.round(performance.now() - restarted)} ms`,
    ],
    ['database questions for that', String(afterRestart.runs)],
  )

  const stalled = Array.from({ length: 100 }, () => new Listener(server, 0, () => undefined))
  for (const one of stalled) one.open()
  await until(() => stalled.every(({ hasFirst }) => hasFirst), 30_000)
  for (const one of stalled) one.pause()
  const before = await server.usage()
  const text = 'y'.repeat(100_000)
  for (let count = 0; count < 60; count++) {
    await server.write(0, text)
    await wait(120)
  }
  const after = await server.usage()
  lines.push(
    [
      '100 stalled readers of 6 MB: memory more',
      `${Math.round((after.rss - before.rss) / 2 ** 20)} MiB`,
    ],
    ['of them ended', String(before.listeners - after.listeners)],
  )
  for (const one of [...stalled, ...all]) one.leave()
  await wait(1000)

  const calm = await server.usage()
  for (let count = 0; count < 1000; count++) {
    const one = new Listener(server, count % answers, () => undefined)
    one.open()
    await until(() => one.hasFirst, 10_000)
    one.leave()
  }
  await wait(1000)
  const afterwards = await server.usage()
  lines.push(
    ['1,000 times opened and dropped: listeners left', String(afterwards.listeners)],
    ['memory more', `${Math.round((afterwards.rss - calm.rss) / 2 ** 20)} MiB`],
  )

  const polls = 2000
  const idle = await server.usage()
  for (let count = 0; count < polls; count++) {
    const path = `/messages?room=${count % answers}&orderBy=-id&limit=20&count=none`
    await (await fetch(`${server.url}${path}`)).arrayBuffer()
  }
  const polled = await server.usage()
  const each = (polled.cpu - idle.cpu) / polls
  lines.push(
    ['a poll: processor time', `${(each * 1e6).toFixed(0)} µs`],
    [
      `${listeners} that poll every second: processor time a second`,
      `${(each * listeners).toFixed(2)} s`,
    ],
  )
} finally {
  await server.kill()
  await rm(folder, { recursive: true })
}
const width = Math.max(...lines.map(([label]) => label.length))
for (const [label, found] of lines) console.log(`| ${label.padEnd(width)} | ${found.padStart(9)} |`)
process.exit(0)
