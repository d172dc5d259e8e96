/**
 * Storms over live answers: many listeners of few answers while rows are written, a restart of the server, readers that do not
 * read, clients that come and go, and the same audience as pollers. On loopback, with the server in a process of its own.
 *
 * `npm run live-storm [-- <listeners> <answers> <seconds>]` prints a table; needs as many open files as listeners.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect as connectTcp, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const [listeners = 10_000, answers = 500, seconds = 10] = process.argv.slice(2).map(Number)
const writesASecond = 100
const key = 'k'.repeat(32)
const lines: [what: string, found: string][] = []

interface Usage {
  readonly rss: number
  readonly cpu: number
  readonly runs: number
  readonly messages: number
  readonly listeners: number
}

class Server {
  readonly #database: string
  #child: ChildProcess | undefined
  url = ''
  port = 0

  constructor(database: string) {
    this.#database = database
  }

  async start(): Promise<void> {
    const args = ['--import', 'tsx', join(import.meta.dirname, 'storm-server.ts')]
    const env = { ...process.env, TSX_TSCONFIG_PATH: join(import.meta.dirname, '../tsconfig.json') }
    const child = spawn(process.execPath, [...args, this.#database, String(this.port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env,
    })
    this.#child = child
    this.url = await new Promise((resolve) =>
      child.stdout.setEncoding('utf8').once('data', (text: string) => {
        resolve(text.trim())
      }),
    )
    this.port = Number(new URL(this.url).port)
  }

  async usage(): Promise<Usage> {
    return (await (await fetch(`${this.url}/usage`)).json()) as Usage
  }

  async write(room: number, text: string): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ room, text, at: Date.now() })
    const response = await fetch(`${this.url}/messages`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    if (response.status !== 201) throw new Error(`A write was answered ${response.status}.`)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const gone = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await gone
  }
}

/** Follows one list; as little of a client as will do. */
class Listener {
  hasFirst = false
  readonly #server: Server
  readonly #room: number
  readonly #told: (delay: number) => void
  #socket: Socket | undefined
  #isLeaving = false
  #attempt = 0

  constructor(server: Server, room: number, told: (delay: number) => void) {
    this.#server = server
    this.#room = room
    this.#told = told
  }

  open(): void {
    const socket = connectTcp(this.#server.port, '127.0.0.1')
    this.#socket = socket
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.hasFirst = false
      // Backoff with jitter, as the client's.
      if (!this.#isLeaving)
        setTimeout(
          () => {
            this.open()
          },
          Math.random() * Math.min(5000, 500 * 2 ** this.#attempt++),
        )
    })
    socket.write(
      `GET /messages?room=${this.#room}&orderBy=-id&limit=20 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`,
    )
    socket.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('"data":[')) {
        this.hasFirst = true
        this.#attempt = 0
      }
      if (!text.includes('"set":[')) return
      const now = Date.now()
      for (const [, at] of text.matchAll(/"at":(\d+)/g)) this.#told(now - Number(at))
    })
  }

  pause(): void {
    this.#socket?.pause()
  }

  leave(): void {
    this.#isLeaving = true
    this.#socket?.destroy()
  }
}

async function until(isSo: () => boolean, patience: number): Promise<number> {
  const began = performance.now()
  while (!isSo()) {
    if (performance.now() - began > patience) throw new Error('It took too long.')
    await wait(50)
  }
  return performance.now() - began
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

async function writeFor(server: Server, milliseconds: number): Promise<number> {
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

const folder = await mkdtemp(join(tmpdir(), 'live-storm-'))
const server = new Server(`sqlite:${join(folder, 'storm.db')}`)
await server.start()
try {
  const delays: number[] = []
  const all = Array.from(
    { length: listeners },
    (_, index) => new Listener(server, index % answers, (delay) => delays.push(delay)),
  )
  const empty = await server.usage()
  const began = performance.now()
  for (const [index, one] of all.entries()) {
    one.open()
    if (index % 50 === 49) await wait(5)
  }
  await until(() => all.every(({ hasFirst }) => hasFirst), 120_000)
  const open = await server.usage()
  lines.push(
    [
      `${listeners} listeners of ${answers} answers open`,
      `${Math.round(performance.now() - began)} ms`,
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
  const again = await server.usage()
  lines.push(
    [
      'after a restart all are told again within',
      `${Math.round(performance.now() - restarted)} ms`,
    ],
    ['database questions for that', String(again.runs)],
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
  const left = await server.usage()
  lines.push(
    ['1,000 times opened and dropped: listeners left', String(left.listeners)],
    ['memory more', `${Math.round((left.rss - calm.rss) / 2 ** 20)} MiB`],
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
const width = Math.max(...lines.map(([what]) => what.length))
for (const [what, found] of lines) console.log(`| ${what.padEnd(width)} | ${found.padStart(9)} |`)
process.exit(0)
