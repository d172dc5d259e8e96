/**
 * Threads that read a SQLite file on connections of their own, so that a long statement delays only its own request.
 * Requests are served in turns (statement-turns.ts). One thread is kept for statements that surely end soon: they wait for no
 * long one, on one processor too. Threads start when they are first needed.
 * Sources: SQLite, Write-Ahead Logging; Node.js, Worker threads.
 */
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { functionsProgram } from './functions.js'
import type { Row } from '../contract/engine.js'
import { EngineFault } from '../contract/engine-fault.js'
import { StatementTurns } from '../statement-turns.js'
import type { DriverName } from './driver.js'
import { toSqliteFault } from './errors.js'

export interface ReadersOptions {
  readonly driver: DriverName
  readonly file: string
  /** Milliseconds to wait for a lock. */
  readonly timeout: number
}

/** A statement that runs in a thread. */
export interface PendingRead {
  readonly rows: Promise<Row[]>
  /** Rejects it with the fault, because nobody needs the answer; a thread that is running it is ended. */
  cancel(fault: Error): void
}

/** What is to be read, and for whom. */
export interface Asked {
  readonly sql: string
  readonly values: readonly unknown[]
  /** The request, the same object for all of its statements. */
  readonly owner: object
  /** It surely ends soon. */
  readonly isQuick: boolean
}

interface Job {
  readonly isQuick: boolean
  readonly sql: string
  readonly values: readonly unknown[]
  readonly resolve: (rows: Row[]) => void
  readonly reject: (error: unknown) => void
  thread?: Thread
}

interface Thread {
  readonly worker: Worker
  /** The job that it is running. */
  job: Job | undefined
  /** It takes only what surely ends soon. */
  readonly isQuick: boolean
  isReady: boolean
  isEnding: boolean
}

type Message = { ready: true } | { rows: Row[] } | { error: { message: string } }

/** For long statements: one less than the machine's processors, because the event loop needs one. */
const mostThreads = Math.min(4, Math.max(1, availableParallelism() - 1))

export class Readers {
  readonly #options: ReadersOptions
  readonly #threads = new Set<Thread>()
  readonly #quick = new StatementTurns<Job>()
  readonly #long = new StatementTurns<Job>()
  #isUsable = true
  #isClosed = false

  constructor(options: ReadersOptions) {
    this.#options = options
  }

  /** False if the runtime cannot start such threads. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  read({ sql, values, owner, isQuick }: Asked): PendingRead {
    let job: Job | undefined
    const rows = new Promise<Row[]>((resolve, reject) => {
      // A thread that began now would outlive the database.
      if (this.#isClosed) throw new TypeError('The database is not open.')
      job = { sql, values, isQuick, resolve, reject }
      const turns = isQuick ? this.#quick : this.#long
      turns.add(owner, job)
      this.#next(isQuick)
    })
    const asked = job
    return {
      rows,
      cancel: (fault) => {
        if (asked !== undefined) this.#cancel(asked, fault)
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const fault = new EngineFault('unavailable', 'The database is closed.')
    for (const job of [...this.#quick.clear(), ...this.#long.clear()]) job.reject(fault)
    const threads = [...this.#threads]
    for (const { job } of threads) job?.reject(fault)
    await Promise.all(threads.map(({ worker }) => worker.terminate()))
  }

  /** Gives the next job to an idle thread of its kind. */
  #next(isQuick: boolean): void {
    const turns = isQuick ? this.#quick : this.#long
    if (turns.size === 0) return
    const thread = this.#idle(isQuick)
    const job = thread && turns.next()
    if (thread === undefined || job === undefined) return
    thread.job = job
    job.thread = thread
    thread.worker.ref()
    thread.worker.postMessage({ sql: job.sql, values: job.values })
  }

  /** Threads that are being ended still count: otherwise one slow statement could start many. */
  #idle(isQuick: boolean): Thread | undefined {
    const alike = [...this.#threads].filter((one) => one.isQuick === isQuick)
    const idle = alike.find((one) => one.job === undefined && !one.isEnding)
    const most = isQuick ? 1 : mostThreads
    return idle ?? (alike.length < most ? this.#start(isQuick) : undefined)
  }

  #start(isQuick: boolean): Thread {
    const { driver, file, timeout } = this.#options
    const library =
      driver === 'better-sqlite3' ? createRequire(import.meta.url).resolve(driver) : undefined
    const worker = new Worker(readerProgram, {
      eval: true,
      workerData: { driver, library, file, timeout },
    })
    const thread: Thread = { worker, job: undefined, isQuick, isReady: false, isEnding: false }
    this.#threads.add(thread)
    worker.on('message', (message: Message) => {
      this.#heed(thread, message)
    })
    worker.on('error', (error) => {
      if (!thread.isReady) this.#isUsable = false
      thread.job?.reject(new EngineFault('unavailable', 'A reader thread failed.', error))
    })
    worker.on('exit', () => {
      this.#threads.delete(thread)
      this.#next(isQuick)
    })
    return thread
  }

  #heed(thread: Thread, message: Message): void {
    if ('ready' in message) {
      thread.isReady = true
      return
    }
    const { job } = thread
    thread.job = undefined
    thread.worker.unref()
    if ('rows' in message) job?.resolve(message.rows)
    else job?.reject(toSqliteFault(Object.assign(new Error(), message.error)))
    this.#next(thread.isQuick)
  }

  #cancel(job: Job, fault: Error): void {
    const turns = job.isQuick ? this.#quick : this.#long
    turns.drop(job)
    job.reject(fault)
    const { thread } = job
    if (thread?.job !== job) return
    thread.isEnding = true
    void thread.worker.terminate()
  }
}

/**
 * The program of a reader thread: opens the file read-only, and runs one statement after the other. It is text, so that
 * no compiler, bundler or test runner has to ship a file where a thread would find it.
 */

const readerProgram = `
const { parentPort, workerData } = require('node:worker_threads')
const { driver, library, file, timeout } = workerData
const numbers = (row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value))

const open = {
  'better-sqlite3': () => new (require(library))(file, { readonly: true, timeout }),
  'node:sqlite': () => new (require('node:sqlite').DatabaseSync)(file, { readOnly: true, timeout }),
  'bun:sqlite': () => new (require('bun:sqlite').Database)(file, { readonly: true }),
}
const prepare = {
  'better-sqlite3': (sql) => {
    const statement = database.prepare(sql).raw()
    return (values) => statement.all(values)
  },
  'node:sqlite': (sql) => {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    return (values) => {
      try {
        return statement.all(...values)
      } catch (error) {
        if (error.code !== 'ERR_OUT_OF_RANGE') throw error
        statement.setReadBigInts(true)
        try {
          return statement.all(...values).map(numbers)
        } finally {
          statement.setReadBigInts(false)
        }
      }
    }
  },
  'bun:sqlite': (sql) => {
    const statement = database.prepare(sql)
    return (values) => statement.values(...values)
  },
}

const database = open[driver]()
database.exec('pragma case_sensitive_like = ON')
database.exec('pragma busy_timeout = ' + timeout)
for (const [name, run] of Object.entries(${functionsProgram})) {
  database.function(name, { deterministic: true }, run)
}
const prepared = new Map()
parentPort.on('message', ({ sql, values }) => {
  try {
    let run = prepared.get(sql)
    if (run === undefined) {
      if (prepared.size >= 100) prepared.clear()
      prepared.set(sql, (run = prepare[driver](sql)))
    }
    parentPort.postMessage({ rows: run(values) })
  } catch ({ name, code, errcode, message }) {
    parentPort.postMessage({ error: { name, code, errcode, message } })
  }
})
parentPort.postMessage({ ready: true })
`
