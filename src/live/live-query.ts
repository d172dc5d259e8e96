/**
 * One question and all who listen to it: it is asked again when a table changes that it read, at most once in `pace`, and
 * not more often than leaves half of the time to others. What differs is told once for all.
 */
import { randomBytes } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import { noteReads, ReadsByDatabase } from '../records/table-reads.js'
import type { LiveQueries, LiveQueryDefinition } from './live-queries.js'
import type { LiveListener, LiveMessage } from './live-listener.js'

/** Of this process: versions of an earlier one, or of another, do not follow. */
const processId = randomBytes(6).toString('base64url')
let queriesCreated = 0

/** Listeners that are told in one turn of the event loop: each is a write to a socket, and others wait for the turn. */
const listenersPerSlice = 10
/** Milliseconds after which a run is given up, and until a failed one is tried again, at first and at most. */
const [runTimeout, firstRetry, lastRetry] = [30_000, 1000, 30_000]

interface PendingListener {
  /** How many runs had begun when it came. */
  readonly runsBefore: number
  readonly listener: LiveListener
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What several callers share goes by the current request: each of them is to be asked for alone. */
export class DependsOnRequest extends Error {}

export class LiveQuery {
  readonly key: string
  readonly #definition: LiveQueryDefinition
  readonly #queries: LiveQueries
  /** No other answer has it, so that a version of one is never taken for a version of another. */
  readonly #instanceId = `${processId}${(queriesCreated++).toString(36)}`
  /** Those who have had a first message. */
  readonly #listeners = new Set<LiveListener>()
  #pending: PendingListener[] = []
  #version = 0
  #runs = 0
  #text: string | undefined
  #isRunning = false
  /** Something has changed since the last run began. */
  #isDue = true
  #isQueued = false
  #startedAt = -Infinity
  #lastDuration = 0
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(definition: LiveQueryDefinition, key: string, queries: LiveQueries) {
    this.key = key
    this.#definition = definition
    this.#queries = queries
  }

  /** Resolves once its first message is there, where it needs one. */
  add(listener: LiveListener): Promise<void> {
    const { form } = this.#definition
    listener.closing = (status) => form.closed(status)
    return new Promise((resolve, reject) => {
      this.#pending.push({ runsBefore: this.#runs, listener, resolve, reject })
      listener.onEnd(resolve)
      if (this.#isDue || this.#isRunning) this.#scheduleSoon()
      else this.#sendInitial()
    })
  }

  remove(listener: LiveListener): void {
    this.#listeners.delete(listener)
    this.#pending = this.#pending.filter((one) => one.listener !== listener)
    if (this.#listeners.size + this.#pending.length === 0) this.#end()
  }

  /** It is not known yet what it reads this time. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Something was written that it has read. */
  changed(): void {
    if (this.#isOver) return
    this.#isDue = true
    this.#schedule(this.#failures > 0 ? this.#retryDelay() : this.#delayBeforeRun())
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#queries.forget(this)
  }

  /** Milliseconds until it may run. */
  #delayBeforeRun(): number {
    const { pace } = this.#queries.parts.options
    return Math.max(0, this.#startedAt + Math.max(pace, 2 * this.#lastDuration) - performance.now())
  }

  #retryDelay(): number {
    return Math.min(lastRetry, firstRetry * 2 ** (this.#failures - 1))
  }

  #schedule(delay: number): void {
    if (this.#isRunning || this.#isQueued || this.#isOver) return
    if (delay <= 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#isQueued = true
      this.#queries.outside(() => {
        this.#queries.runs.add(() => this.#run())
      })
      return
    }
    if (this.#timer !== undefined) return
    this.#timer = this.#queries.outside(() =>
      setTimeout(() => {
        this.#timer = undefined
        this.#schedule(0)
      }, delay).unref(),
    )
  }

  /** Somebody waits for it: what failed is tried again at once. */
  #scheduleSoon(): void {
    if (this.#failures > 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
    this.#schedule(this.#hasResult() ? this.#delayBeforeRun() : 0)
  }

  async #run(): Promise<void> {
    this.#isQueued = false
    const caller = this.#caller()
    if (this.#isOver || caller === undefined) return
    this.#isRunning = true
    this.#isDue = false
    this.#startedAt = performance.now()
    this.#queries.counts.runs++
    const run = ++this.#runs
    const reads = new ReadsByDatabase()
    try {
      const text = await this.#runWithTimeout(caller, reads)
      this.#lastDuration = performance.now() - this.#startedAt
      // What was written between the run and now to a table that is followed from now on is not known.
      if (await this.#queries.tables.follow(this, reads, this.#startedAt)) this.#isDue = true
      else {
        await this.#publish(text)
        // Those who came since it began may have come because they see less.
        this.#sendInitial(({ runsBefore }) => runsBefore < run)
      }
      this.#failures = 0
    } catch (error) {
      this.#lastDuration = performance.now() - this.#startedAt
      this.#fail(error, caller)
    }
    this.#isRunning = false
    this.#scheduleNext()
  }

  #scheduleNext(): void {
    if (this.#isOver) return
    if (this.#isDue)
      this.#schedule(
        this.#failures > 0 ? this.#retryDelay() : this.#hasResult() ? this.#delayBeforeRun() : 0,
      )
    else if (this.#hasResult()) this.#sendInitial()
  }

  /** Its caller asks for all. */
  #caller(): LiveListener | undefined {
    const now = this.#queries.parts.clock.now()
    for (const listener of [...this.#listeners, ...this.#pending.map((one) => one.listener)]) {
      if (listener.isOver) continue
      if (!listener.closeIfOver(now)) return listener
    }
    return undefined
  }

  async #runWithTimeout(caller: LiveListener, reads: ReadsByDatabase): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new HttpError(503, 'The request took too long.'))
      }, runTimeout).unref()
    })
    try {
      const text = await noteReads(reads, () => Promise.race([this.#runFor(caller), timeout]))
      if (this.#definition.depth !== 'all' && reads.asksRequest) throw new DependsOnRequest()
      return text
    } catch (error) {
      // Looked at first: what cannot be, such as a revoked proxy, throws an error here that can. What was there and is not any
      // more may be there again.
      const wasDeleted = error instanceof HttpError && error.status === 404 && this.#hasResult()
      if (!wasDeleted) throw error
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  #runFor(caller: LiveListener): Promise<string | undefined> {
    const { request } = caller.caller
    const { inRequest } = this.#queries.parts
    const isAlone = this.#definition.depth === 'all' && request !== undefined
    return this.#definition.run(caller, (work) =>
      isAlone && inRequest !== undefined ? inRequest(request, work) : work(),
    )
  }

  #hasResult(): boolean {
    return this.#version > 0
  }

  async #publish(text: string | undefined): Promise<void> {
    if (!this.#hasResult()) {
      this.#version = 1
      this.#text = text
      return
    }
    if (text === this.#text) return
    const version = ++this.#version
    const told = this.#definition.form.change(this.#text, text, version)
    this.#text = text
    if (this.#listeners.size > 0) await this.#send({ kind: 'data', id: this.#id(), text: told })
  }

  async #send(message: LiveMessage): Promise<void> {
    const now = this.#queries.parts.clock.now()
    let told = 0
    for (const listener of [...this.#listeners]) {
      if (told > 0 && told % listenersPerSlice === 0)
        await new Promise((resolve) => setImmediate(resolve))
      if (!listener.closeIfOver(now)) listener.send(message)
      told++
    }
    this.#queries.counts.messages += told
  }

  #id(): string {
    return `${this.#instanceId}:${this.#version}`
  }

  /** Those who have come meanwhile get the answer as it is now, but for those who have it. */
  #sendInitial(isRecipient: (one: PendingListener) => boolean = () => true): void {
    const { form } = this.#definition
    const recipients = this.#pending.filter(isRecipient)
    this.#pending = this.#pending.filter((one) => !recipients.includes(one))
    const messages = new Map<boolean, LiveMessage>()
    const id = this.#id()
    for (const { listener, resolve } of recipients) {
      const { lastId } = listener.caller
      this.#listeners.add(listener)
      if (lastId !== id) {
        const isLost = lastId !== undefined
        const message = messages.get(isLost) ?? {
          kind: 'data',
          id,
          text: form.complete(this.#text, this.#version, isLost),
        }
        messages.set(isLost, message)
        listener.send(message)
        this.#queries.counts.messages++
      }
      resolve()
    }
  }

  #fail(error: unknown, caller: LiveListener): void {
    // Its reads end with its request; another asks.
    if (caller.isOver) {
      this.#isDue = true
      return
    }
    const isSplit = error instanceof DependsOnRequest
    if (isSplit) this.#queries.splitByRequest(this.#definition)
    const status = error instanceof HttpError ? error.status : 500
    for (const { listener, reject } of this.#pending.splice(0)) {
      reject(error)
      listener.end()
    }
    if (isSplit) {
      // Their clients come again.
      for (const listener of [...this.#listeners]) listener.end()
      return
    }
    if (status < 500) {
      for (const listener of [...this.#listeners]) listener.close(status)
      return
    }
    if (this.#listeners.size === 0) return
    this.#failures++
    this.#isDue = true
    if (this.#failures === 1)
      this.#queries.parts.log.warn(
        { err: error },
        'a live answer cannot be made; it is tried again',
      )
  }
}
