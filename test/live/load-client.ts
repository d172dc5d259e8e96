/** Starts the server of `load.ts` and `busy-table.ts` in its own process, with clients that listen to it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const key = 'k'.repeat(32)

export interface Usage {
  readonly rss: number
  readonly cpu: number
  readonly runs: number
  readonly messages: number
  readonly listeners: number
}

export class LoadServer {
  readonly #database: string
  #child: ChildProcess | undefined
  url = ''
  port = 0

  constructor(database: string) {
    this.#database = database
  }

  async start(): Promise<void> {
    const args = ['--import', 'tsx', join(import.meta.dirname, 'load-server.ts')]
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

  async change(id: number, values: object): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify(values)
    const response = await fetch(`${this.url}/messages/${id}`, { method: 'PATCH', headers, body })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`A change was answered ${response.status}.`)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const closed = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await closed
  }
}

/** A minimal client that listens to one list. */
export class Listener {
  hasFirst = false
  readonly #server: LoadServer
  readonly #room: number
  readonly #onMessage: (delay: number) => void
  #socket: Socket | undefined
  #isLeaving = false
  #attempt = 0

  constructor(server: LoadServer, room: number, onMessage: (delay: number) => void) {
    this.#server = server
    this.#room = room
    this.#onMessage = onMessage
  }

  open(): void {
    const socket = connectTcp(this.#server.port, '127.0.0.1')
    this.#socket = socket
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.hasFirst = false
      // Backoff with jitter, like the client library.
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
      for (const [, at] of text.matchAll(/"at":(\d+)/g)) this.#onMessage(now - Number(at))
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

export async function until(isSo: () => boolean, timeout: number): Promise<number> {
  const startedAt = performance.now()
  while (!isSo()) {
    if (performance.now() - startedAt > timeout) throw new Error('It took too long.')
    await wait(50)
  }
  return performance.now() - startedAt
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
