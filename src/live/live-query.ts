/**
 * One question and all who listen to it: it is asked again when a table changes that it read, at most once in `pace`, and
 * not more often than leaves half of the time to others. What differs is told once for all.
 */
import { randomBytes } from 'node:crypto'
import { HttpError } from '../errors/http-error.js'
import { noteReads, ReadsByDatabase } from '../records/table-reads.js'
import type { LiveAnswers, LiveQuestion } from './live-queries.js'
import type { LiveListener, LiveMessage } from './live-listener.js'

/** Of this process: versions of an earlier one, or of another, do not follow. */
const serverLife = randomBytes(6).toString('base64url')
let answersMade = 0

/** Listeners that are told in one turn of the event loop: each is a write to a socket, and others wait for the turn. */
const slice = 10
/** Milliseconds after which a run is given up, and until a failed one is tried again, at first and at most. */
const [longestRun, firstRetry, lastRetry] = [30_000, 1000, 30_000]

interface Waiting {
  /** How many runs had begun when it came. */
  readonly cameAfter: number
  readonly listener: LiveListener
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What several callers share goes by the current request: each of them is to be asked for alone. */
export class AsksRequest extends Error {}

export class LiveAnswer {
  readonly key: string
  readonly #question: LiveQuestion
  readonly #home: LiveAnswers
  /** No other answer has it, so that a version of one is never taken for a version of another. */
  readonly #life = `${serverLife}${(answersMade++).toString(36)}`
  /** Those who have had a first message. */
  readonly #listeners = new Set<LiveListener>()
  #newcomers: Waiting[] = []
  #version = 0
  #runs = 0
  #text: string | undefined
  #isRunning = false
  /** Something has changed since the last run began. */
  #isDue = true
  #isInLine = false
  #began = -Infinity
  #took = 0
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(question: LiveQuestion, key: string, home: LiveAnswers) {
    this.key = key
    this.#question = question
    this.#home = home
  }

  /** Resolves once its first message is there, where it needs one. */
  add(listener: LiveListener): Promise<void> {
    const { form } = this.#question
    listener.closing = (status) => form.closed(status)
    return new Promise((resolve, reject) => {
      this.#newcomers.push({ cameAfter: this.#runs, listener, resolve, reject })
      listener.onEnd(resolve)
      if (this.#isDue || this.#isRunning) this.#hurry()
      else this.#welcome()
    })
  }

  remove(listener: LiveListener): void {
    this.#listeners.delete(listener)
    this.#newcomers = this.#newcomers.filter((one) => one.listener !== listener)
    if (this.#listeners.size + this.#newcomers.length === 0) this.#end()
  }

  /** It is not known yet what it reads this time. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Something was written that it has read. */
  changed(): void {
    if (this.#isOver) return
    this.#isDue = true
    this.#plan(this.#failures > 0 ? this.#pause() : this.#gap())
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#home.forget(this)
  }

  /** Milliseconds until it may run. */
  #gap(): number {
    const { pace } = this.#home.parts.options
    return Math.max(0, this.#began + Math.max(pace, 2 * this.#took) - performance.now())
  }

  #pause(): number {
    return Math.min(lastRetry, firstRetry * 2 ** (this.#failures - 1))
  }

  #plan(within: number): void {
    if (this.#isRunning || this.#isInLine || this.#isOver) return
    if (within <= 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#isInLine = true
      this.#home.outside(() => {
        this.#home.runs.add(() => this.#run())
      })
      return
    }
    if (this.#timer !== undefined) return
    this.#timer = this.#home.outside(() =>
      setTimeout(() => {
        this.#timer = undefined
        this.#plan(0)
      }, within).unref(),
    )
  }

  /** Somebody waits for it: what failed is tried again at once. */
  #hurry(): void {
    if (this.#failures > 0) {
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
    this.#plan(this.#hasTold() ? this.#gap() : 0)
  }

  async #run(): Promise<void> {
    this.#isInLine = false
    const asker = this.#asker()
    if (this.#isOver || asker === undefined) return
    this.#isRunning = true
    this.#isDue = false
    this.#began = performance.now()
    this.#home.counts.runs++
    const run = ++this.#runs
    const reads = new ReadsByDatabase()
    try {
      const text = await this.#ask(asker, reads)
      this.#took = performance.now() - this.#began
      // What was written between the run and now to a table that is followed from now on is not known.
      if (await this.#home.tables.follow(this, reads, this.#began)) this.#isDue = true
      else {
        await this.#tell(text)
        // Those who came since it began may have come because they see less.
        this.#welcome(({ cameAfter }) => cameAfter < run)
      }
      this.#failures = 0
    } catch (error) {
      this.#took = performance.now() - this.#began
      this.#fail(error, asker)
    }
    this.#isRunning = false
    this.#goOn()
  }

  #goOn(): void {
    if (this.#isOver) return
    if (this.#isDue)
      this.#plan(this.#failures > 0 ? this.#pause() : this.#hasTold() ? this.#gap() : 0)
    else if (this.#hasTold()) this.#welcome()
  }

  /** Its caller asks for all. */
  #asker(): LiveListener | undefined {
    const now = this.#home.parts.clock.now()
    for (const listener of [...this.#listeners, ...this.#newcomers.map((one) => one.listener)]) {
      if (listener.isOver) continue
      if (!listener.closeIfOver(now)) return listener
    }
    return undefined
  }

  async #ask(asker: LiveListener, reads: ReadsByDatabase): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new HttpError(503, 'The request took too long.'))
      }, longestRun).unref()
    })
    try {
      const text = await noteReads(reads, () => Promise.race([this.#askFor(asker), late]))
      if (this.#question.depth !== 'all' && reads.asksRequest) throw new AsksRequest()
      return text
    } catch (error) {
      // Looked at first: what cannot be, such as a revoked proxy, throws an error here that can. What was there and is not any
      // more may be there again.
      const isGone = error instanceof HttpError && error.status === 404 && this.#hasTold()
      if (!isGone) throw error
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  #askFor(asker: LiveListener): Promise<string | undefined> {
    const { request } = asker.caller
    const { inRequest } = this.#home.parts
    const isAlone = this.#question.depth === 'all' && request !== undefined
    return this.#question.run(asker, (work) =>
      isAlone && inRequest !== undefined ? inRequest(request, work) : work(),
    )
  }

  #hasTold(): boolean {
    return this.#version > 0
  }

  async #tell(text: string | undefined): Promise<void> {
    if (!this.#hasTold()) {
      this.#version = 1
      this.#text = text
      return
    }
    if (text === this.#text) return
    const version = ++this.#version
    const told = this.#question.form.change(this.#text, text, version)
    this.#text = text
    if (this.#listeners.size > 0) await this.#send({ kind: 'data', id: this.#id(), text: told })
  }

  async #send(message: LiveMessage): Promise<void> {
    const now = this.#home.parts.clock.now()
    let told = 0
    for (const listener of [...this.#listeners]) {
      if (told > 0 && told % slice === 0) await new Promise((resolve) => setImmediate(resolve))
      if (!listener.closeIfOver(now)) listener.tell(message)
      told++
    }
    this.#home.counts.messages += told
  }

  #id(): string {
    return `${this.#life}:${this.#version}`
  }

  /** Those who have come meanwhile get the answer as it is now, but for those who have it. */
  #welcome(isMeant: (one: Waiting) => boolean = () => true): void {
    const { form } = this.#question
    const meant = this.#newcomers.filter(isMeant)
    this.#newcomers = this.#newcomers.filter((one) => !meant.includes(one))
    const whole = new Map<boolean, LiveMessage>()
    const id = this.#id()
    for (const { listener, resolve } of meant) {
      const { lastId } = listener.caller
      this.#listeners.add(listener)
      if (lastId !== id) {
        const isLost = lastId !== undefined
        const message = whole.get(isLost) ?? {
          kind: 'data',
          id,
          text: form.whole(this.#text, this.#version, isLost),
        }
        whole.set(isLost, message)
        listener.tell(message)
        this.#home.counts.messages++
      }
      resolve()
    }
  }

  #fail(error: unknown, asker: LiveListener): void {
    // Its reads end with its request; another asks.
    if (asker.isOver) {
      this.#isDue = true
      return
    }
    const isSplit = error instanceof AsksRequest
    if (isSplit) this.#home.splitByRequest(this.#question)
    const status = error instanceof HttpError ? error.status : 500
    for (const { listener, reject } of this.#newcomers.splice(0)) {
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
      this.#home.parts.log.warn({ err: error }, 'a live answer cannot be made; it is tried again')
  }
}
