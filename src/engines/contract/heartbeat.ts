/**
 * Starts a thread that repeats statements, also while the event loop of this process is blocked. The program of the
 * thread is text, so that compilers, bundlers and test runners need not ship a file for it. It defines `open`, which
 * returns `{ run(sql, values), close() }` or a promise of it.
 */

import { Worker } from 'node:worker_threads'
import type { Row } from './runner.js'

export interface HeartbeatOptions {
  /** Run one after the other at each beat, each in its own transaction. */
  readonly statements: readonly { readonly sql: string; readonly values: readonly unknown[] }[]
  /** Milliseconds between two beats. */
  readonly every: number
  /** Receives the rows of each statement after a beat. Never called after `stop`. */
  readonly onRows: (rows: readonly (readonly Row[])[]) => void
  /** Receives the error of a failed beat. The next beat tries again. */
  readonly onError: (error: Error) => void
}

export interface Heartbeat {
  stop(): Promise<void>
}

/** A message of the thread. */
type HeartbeatMessage =
  { readonly rows: readonly (readonly Row[])[] } | { readonly error: { readonly message: string } }

const beats = `
const { parentPort, workerData: { statements, every } } = require('node:worker_threads')
let connection
const beat = async () => {
  const startedAt = Date.now()
  try {
    connection ??= await open()
    const rows = []
    for (const { sql, values } of statements) rows.push(await connection.run(sql, values))
    parentPort.postMessage({ rows })
  } catch ({ message }) {
    parentPort.postMessage({ error: { message } })
    const broken = connection
    connection = undefined
    try { await broken?.close() } catch {}
    // Tries again soon, because leases that the statements renew may expire.
    setTimeout(beat, Math.min(every, 1000))
    return
  }
  setTimeout(beat, Math.max(0, every - (Date.now() - startedAt)))
}
setTimeout(beat, every)
`

/** @param program JavaScript that defines `open` and uses `workerData` */
export function startHeartbeat(
  program: string,
  data: object,
  { statements, every, onRows, onError }: HeartbeatOptions,
): Heartbeat {
  const worker = new Worker(program + beats, {
    eval: true,
    workerData: { ...data, statements, every },
  })
  let isStopped = false
  worker.unref()
  worker.on('message', (message: HeartbeatMessage) => {
    if (isStopped) return
    if ('rows' in message) onRows(message.rows)
    else onError(new Error(message.error.message))
  })
  worker.on('error', onError)
  return {
    stop: async () => {
      isStopped = true
      await worker.terminate()
    },
  }
}
