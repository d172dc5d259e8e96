/**
 * Worker threads that read a SQLite file, each on its own connection, so that a long statement delays only its own
 * request. A fair queue orders the statements of several clients and their requests. One client never uses all threads
 * for long statements, so that another client need not wait for one of them to end. One thread is reserved for quick
 * statements, which therefore never wait for a long one, even with one processor. Threads start when they are first
 * needed. Sources: SQLite, Write-Ahead Logging; Node.js, Worker threads.
 */
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Row } from '../contract/runner.js'
import { EngineError } from '../contract/engine-error.js'
import { tooLargeError } from '../contract/read-bytes.js'
import { FairQueue } from '../fair-queue.js'
import type { DriverName } from './driver.js'
import { convertSqliteError } from './errors.js'
import { functionsProgram } from './functions.js'

interface ReaderThreadsOptions {
  readonly driver: DriverName
  readonly file: string
  /** Milliseconds to wait for a lock. */
  readonly timeout: number
}

/** A statement that runs in a thread. */
export interface PendingRead {
  readonly rows: Promise<Row[]>
  /** Rejects `rows` with the error, and terminates the thread if it is running the statement. */
  cancel(error: Error): void
}

interface ReadRequest {
  readonly sql: string
  readonly values: readonly unknown[]
  /** Identifies the request: the same object for all of its statements. */
  readonly owner: object
  /** The name of the request's client. */
  readonly client: string | undefined
  /** The maximum bytes of its rows. Default: no limit. */
  readonly maxReadBytes?: number | undefined
  /** The statement ends soon. */
  readonly isQuick: boolean
}

interface Job {
  readonly maxReadBytes: number | undefined
  readonly client: string | undefined
  readonly isQuick: boolean
  readonly sql: string
  readonly values: readonly unknown[]
  readonly resolve: (rows: Row[]) => void
  readonly reject: (error: unknown) => void
  thread?: Thread
}

interface Thread {
  readonly worker: Worker
  /** The job that is running. */
  job: Job | undefined
  /** The thread runs only quick statements. */
  readonly isQuick: boolean
  isReady: boolean
  isEnding: boolean
}

type ThreadMessage =
  { ready: true } | { rows: Row[] } | { isTooLarge: true } | { error: { message: string } }

/** Threads for long statements of one client: one fewer than processors, because the event loop needs one. */
const maxThreadsPerClient = Math.min(4, Math.max(1, availableParallelism() - 1))
/** Threads for long statements. One client leaves one of them to the other clients. */
const maxLongThreads = maxThreadsPerClient + 1

export class ReaderThreads {
  readonly #options: ReaderThreadsOptions
  readonly #threads = new Set<Thread>()
  readonly #quickQueue = new FairQueue<Job>()
  readonly #longQueue = new FairQueue<Job>()
  #isUsable = true
  #isClosed = false

  constructor(options: ReaderThreadsOptions) {
    this.#options = options
  }

  /** False if the runtime cannot start reader threads. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  read({ sql, values, owner, client, maxReadBytes, isQuick }: ReadRequest): PendingRead {
    let job: Job | undefined
    const rows = new Promise<Row[]>((resolve, reject) => {
      // A thread that started now would outlive the database.
      if (this.#isClosed) throw new TypeError('The database is not open.')
      job = { sql, values, client, maxReadBytes, isQuick, resolve, reject }
      const queue = isQuick ? this.#quickQueue : this.#longQueue
      queue.enqueue(owner, job, client)
      this.#startNext(isQuick)
    })
    const pendingJob = job
    return {
      rows,
      cancel: (error) => {
        if (pendingJob !== undefined) this.#cancel(pendingJob, error)
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const error = new EngineError('unavailable', 'The database is closed.')
    for (const job of [...this.#quickQueue.clear(), ...this.#longQueue.clear()]) job.reject(error)
    const threads = [...this.#threads]
    for (const { job } of threads) job?.reject(error)
    await Promise.all(threads.map(terminate))
  }

  /** Starts the next job if a thread of its kind is idle. */
  #startNext(isQuick: boolean): void {
    const queue = isQuick ? this.#quickQueue : this.#longQueue
    if (queue.size === 0) return
    const sameKind = [...this.#threads].filter((one) => one.isQuick === isQuick)
    const idle = sameKind.find((one) => one.job === undefined && !one.isEnding)
    // Terminating threads still count. Otherwise one slow statement could start many threads.
    if (idle === undefined && sameKind.length >= (isQuick ? 1 : maxLongThreads)) return
    const job = queue.dequeue(({ client }) => isQuick || hasShare(client, sameKind))
    if (job === undefined) return
    const thread = idle ?? this.#startThread(isQuick)
    thread.job = job
    job.thread = thread
    thread.worker.ref()
    const { sql, values, maxReadBytes } = job
    thread.worker.postMessage({ sql, values, maxBytes: maxReadBytes ?? Infinity })
  }

  #startThread(isQuick: boolean): Thread {
    const { driver, file, timeout } = this.#options
    const library =
      driver === 'better-sqlite3' ? createRequire(import.meta.url).resolve(driver) : undefined
    const worker = new Worker(readerProgram, {
      eval: true,
      workerData: { driver, library, file, timeout },
    })
    const thread: Thread = { worker, job: undefined, isQuick, isReady: false, isEnding: false }
    this.#threads.add(thread)
    worker.on('message', (message: ThreadMessage) => {
      this.#handleMessage(thread, message)
    })
    worker.on('error', (error) => {
      if (!thread.isReady) this.#isUsable = false
      thread.job?.reject(new EngineError('unavailable', 'A reader thread failed.', error))
    })
    worker.on('exit', () => {
      this.#threads.delete(thread)
      this.#startNext(isQuick)
    })
    return thread
  }

  #handleMessage(thread: Thread, message: ThreadMessage): void {
    if ('ready' in message) {
      thread.isReady = true
      return
    }
    const { job } = thread
    thread.job = undefined
    // The last result of a thread may arrive while it ends, and the process must still wait for its end.
    if (!thread.isEnding) thread.worker.unref()
    if ('rows' in message) job?.resolve(message.rows)
    else if ('isTooLarge' in message) job?.reject(tooLargeError())
    else job?.reject(convertSqliteError(Object.assign(new Error(), message.error)))
    this.#startNext(thread.isQuick)
  }

  #cancel(job: Job, error: Error): void {
    const queue = job.isQuick ? this.#quickQueue : this.#longQueue
    queue.remove(job)
    job.reject(error)
    const { thread } = job
    if (thread?.job !== job) return
    void terminate(thread)
  }
}

/** An idle thread does not keep the process alive, and a process that ended would not wait for the end of the thread. */
function terminate(thread: Thread): Promise<number> {
  thread.isEnding = true
  thread.worker.ref()
  return thread.worker.terminate()
}

/** Whether a client may use another one of the threads. */
function hasShare(client: string | undefined, threads: readonly Thread[]): boolean {
  const used = threads.filter(({ job }) => job !== undefined && job.client === client)
  return used.length < maxThreadsPerClient
}

/**
 * The program of a reader thread: opens the file read-only and runs one statement after the other. The program is text,
 * so that no bundler or test runner has to ship a file for the thread.
 */
const readerProgram = `
const { parentPort, workerData } = require('node:worker_threads')
const { driver, library, file, timeout } = workerData
const numbers = (row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value))
const tooLarge = {}
// Ends a read when its rows have too many bytes.
const collect = (rows, maxBytes) => {
  const collected = []
  let bytes = 0
  for (const row of rows) {
    for (const value of row) {
      if (typeof value === 'string') bytes += value.length
      else if (value instanceof Uint8Array) bytes += value.byteLength
    }
    if (bytes > maxBytes) throw tooLarge
    collected.push(row)
  }
  return collected
}

const open = {
  'better-sqlite3': () => new (require(library))(file, { readonly: true, timeout }),
  'node:sqlite': () => new (require('node:sqlite').DatabaseSync)(file, { readOnly: true, timeout }),
  'bun:sqlite': () => new (require('bun:sqlite').Database)(file, { readonly: true }),
}
const prepare = {
  'better-sqlite3': (sql) => {
    const statement = database.prepare(sql).raw()
    return (values, maxBytes) => collect(statement.iterate(values), maxBytes)
  },
  'node:sqlite': (sql) => {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    // Deno's iterator ends at an error of the statement as if there were no more rows.
    const read = 'Deno' in globalThis ? 'all' : 'iterate'
    return (values, maxBytes) => {
      try {
        return collect(statement[read](...values), maxBytes)
      } catch (error) {
        if (error.code !== 'ERR_OUT_OF_RANGE') throw error
        statement.setReadBigInts(true)
        try {
          return collect(statement[read](...values), maxBytes).map(numbers)
        } finally {
          statement.setReadBigInts(false)
        }
      }
    }
  },
  'bun:sqlite': (sql) => {
    const statement = database.prepare(sql)
    // Its iterator returns objects, in which columns of the same name are one.
    return (values, maxBytes) => collect(statement.values(...values), maxBytes)
  },
}

const database = open[driver]()
database.exec('pragma case_sensitive_like = ON')
database.exec('pragma busy_timeout = ' + timeout)
for (const [name, run] of Object.entries(${functionsProgram})) {
  database.function(name, { deterministic: true }, run)
}
const prepared = new Map()
parentPort.on('message', ({ sql, values, maxBytes }) => {
  try {
    let run = prepared.get(sql)
    if (run === undefined) {
      if (prepared.size >= 100) prepared.clear()
      prepared.set(sql, (run = prepare[driver](sql)))
    }
    parentPort.postMessage({ rows: run(values, maxBytes) })
  } catch (error) {
    const { name, code, errcode, message } = error
    parentPort.postMessage(error === tooLarge ? { isTooLarge: true } : { error: { name, code, errcode, message } })
  }
})
parentPort.postMessage({ ready: true })
`
