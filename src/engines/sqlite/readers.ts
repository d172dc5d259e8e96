/**
 * Threads that read a SQLite file on connections of their own, so that a long statement delays only its own request.
 * They start when they are first needed. Sources: SQLite, Write-Ahead Logging; Node.js, Worker threads.
 */
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { EngineFault, type Row } from '../contract/engine.js'
import type { DriverName } from './driver.js'
import { toSqliteFault } from './faults.js'
import { readerProgram } from './reader-program.js'

export interface ReadersOptions {
  readonly driver: DriverName
  readonly file: string
  /** Milliseconds to wait for a lock. */
  readonly timeout: number
}

/** A statement that runs in a thread. */
export interface Reading {
  readonly rows: Promise<Row[]>
  /** Rejects it with the fault, because nobody needs the answer; a thread that is running it is ended. */
  cancel(fault: Error): void
}

interface Job {
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
  isReady: boolean
  isEnding: boolean
}

type Message = { ready: true } | { rows: Row[] } | { error: { message: string } }

/** One less than the machine's processors, because the event loop needs one. */
const mostThreads = Math.min(4, Math.max(1, availableParallelism() - 1))

export class Readers {
  readonly #options: ReadersOptions
  /** Threads that are being ended still count: otherwise one slow statement could start many. */
  readonly #threads = new Set<Thread>()
  readonly #waiting: Job[] = []
  #isUsable = true

  constructor(options: ReadersOptions) {
    this.#options = options
  }

  /** False if the runtime cannot start such threads. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  read(sql: string, values: readonly unknown[]): Reading {
    let job: Job | undefined
    const rows = new Promise<Row[]>((resolve, reject) => {
      job = { sql, values, resolve, reject }
      this.#waiting.push(job)
      this.#next()
    })
    const asked = job as unknown as Job
    return {
      rows,
      cancel: (fault) => {
        this.#cancel(asked, fault)
      },
    }
  }

  async close(): Promise<void> {
    const fault = new EngineFault('unavailable', 'The database is closed.')
    for (const job of this.#waiting.splice(0)) job.reject(fault)
    const threads = [...this.#threads]
    for (const { job } of threads) job?.reject(fault)
    await Promise.all(threads.map(({ worker }) => worker.terminate()))
  }

  /** Gives the next job to an idle thread. */
  #next(): void {
    if (this.#waiting.length === 0) return
    let thread = [...this.#threads].find((one) => one.job === undefined && !one.isEnding)
    if (thread === undefined && this.#threads.size < mostThreads) thread = this.#start()
    if (thread === undefined) return
    const job = this.#waiting.shift() as Job
    thread.job = job
    job.thread = thread
    thread.worker.ref()
    thread.worker.postMessage({ sql: job.sql, values: job.values })
  }

  #start(): Thread {
    const { driver, file, timeout } = this.#options
    const library =
      driver === 'better-sqlite3' ? createRequire(import.meta.url).resolve(driver) : undefined
    const worker = new Worker(readerProgram, {
      eval: true,
      workerData: { driver, library, file, timeout },
    })
    const thread: Thread = { worker, job: undefined, isReady: false, isEnding: false }
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
      this.#next()
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
    this.#next()
  }

  #cancel(job: Job, fault: Error): void {
    const place = this.#waiting.indexOf(job)
    if (place !== -1) this.#waiting.splice(place, 1)
    job.reject(fault)
    const { thread } = job
    if (thread?.job !== job) return
    thread.isEnding = true
    void thread.worker.terminate()
  }
}
