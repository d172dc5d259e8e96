/**
 * The calls of one brief statement. The first goes at once; those that come while it is on its way wait for its answer, and
 * then go together as one statement. Under no load nothing waits.
 */

import type { Row, Runner, Engine, Statement } from '../../contract/engine.js'
import { EngineFault } from '../../contract/engine-error.js'
import { isThenable, type MaybePromise } from '../../../core/maybe-promise.js'
import { boundOf, mayShare } from '../../contract/statement.js'
import { isOfAll } from '../errors.js'
import { askJoined, writeJoined, type JoinedStatement } from './batched-statement.js'

/** One answer for all calls that ask the same. Nobody can change what others have: rows are frozen, or each gets its own. */

/** Text that stands for these values and for no others. */
export function keyOfValues(values: readonly unknown[]): string {
  let key = ''
  for (const value of values) key += `${keyOf(value)},`
  return key
}

function keyOf(value: unknown): string {
  // Of JSON, NaN is null.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${keyOfValues(value)}]`
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`
  return JSON.stringify(value)
}

/**
 * Gives them the same rows, frozen, where these hold nothing that could be changed; by that others know an answer which
 * several have. Else the first has the rows, and each other a copy.
 */
function answerAll(calls: readonly WaitingCall[], rows: readonly Row[]): void {
  const [first] = calls
  if (first === undefined) return
  if (calls.length === 1) {
    first.answer(rows)
    return
  }
  const isFixed = rows.every((row) => row.every(isPrimitive))
  if (isFixed) for (const row of rows) Object.freeze(row)
  const answers = isFixed ? undefined : calls.map(() => rows.map((row) => row.map(copyOf)))
  if (isFixed) Object.freeze(rows)
  for (const [index, call] of calls.entries()) call.answer(answers?.[index] ?? rows)
}

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function copyOf(value: unknown): unknown {
  if (isPrimitive(value)) return value
  return Buffer.isBuffer(value) ? Buffer.from(value) : structuredClone(value)
}

/** A call that waits for others of its statement, and then is on its way together with some. */

/** Who calls: a request, or the program itself. */
export interface Caller {
  /** Runs a statement for this caller alone. */
  readonly runner: Runner
  /** True for a request, which may leave before its answer is there. */
  readonly mayLeave: boolean
  /** It has left. */
  readonly isGone: boolean
}

/** Calls that are on their way together. */
interface Group {
  readonly calls: readonly WaitingCall[]
  /** The same, those beside each other that have one answer. */
  readonly alike: readonly (readonly WaitingCall[])[]
  /** How many somebody waits for. */
  left: number
  /** Ends the statement on the server; absent where nobody may leave. */
  end: (() => void) | undefined
}

export class WaitingCall {
  readonly values: readonly unknown[]
  readonly caller: Caller
  /** It was answered, or nobody waits for it any more. */
  isOver = false
  group: Group | undefined
  readonly #resolve: (rows: readonly Row[]) => void
  readonly #reject: (error: unknown) => void

  constructor(
    values: readonly unknown[],
    caller: Caller,
    resolve: (rows: readonly Row[]) => void,
    reject: (error: unknown) => void,
  ) {
    this.values = values
    this.caller = caller
    this.#resolve = resolve
    this.#reject = reject
  }

  answer(rows: readonly Row[]): void {
    if (this.isOver) return
    this.isOver = true
    this.#resolve(rows)
  }

  refuse(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.#reject(error)
  }

  /** Does not wait any longer where the caller has gone. What others wait for goes on. */
  look(): void {
    if (this.isOver || !this.caller.isGone) return
    this.refuse(noLongerAsked())
    const { group } = this
    if (group === undefined) return
    group.left--
    if (group.left === 0) group.end?.()
  }
}

function noLongerAsked(): EngineFault {
  return new EngineFault('other', 'The request was answered, or its client has gone.')
}

/** Values in one statement, lists by their length; or rows that it may answer. */
const mostValues = 500
/** Rows of a call that goes together with others. */
const mostShared = 50
/** Calls that are worth a statement of their own beside the one on its way. */
const many = 100
/** Groups that failed where each of their calls did not. */
const mostFailures = 3

export class CallQueue {
  readonly #statement: Statement
  readonly #engine: Engine
  /** Statements that may be on their way at once. */
  readonly #most: number
  #waiting: WaitingCall[] = []
  readonly #groups = new Set<Group>()
  #underWay = 0
  /** Nothing has gone since somebody looked. */
  #isSlow = false
  /** `same`: of calls that all have the same values, which need no other statement. */
  #joined: JoinedStatement | 'unknown' | 'asked' | 'never' | 'same'
  readonly #onIdle: (() => void) | undefined
  #failures = 0
  readonly #onAnswer = (): void => {
    this.#underWay--
    if (this.#underWay > 0) return
    if (this.#waiting.length > 0) this.#send()
    else this.#onIdle?.()
  }

  /** @param onIdle of calls that all have the same values: called when none is left */
  constructor(statement: Statement, engine: Engine, most: number, onIdle?: () => void) {
    this.#statement = statement
    this.#engine = engine
    this.#most = most
    this.#onIdle = onIdle
    this.#joined = onIdle === undefined ? 'unknown' : 'same'
  }

  /** A call may go by itself; it is then to be followed. */
  get isFree(): boolean {
    return this.#underWay === 0 || this.#joined === 'never'
  }

  /** Others wait for this call, which has gone by itself. */
  follow<T>(answer: MaybePromise<T>): MaybePromise<T> {
    this.#underWay++
    this.#isSlow = false
    if (isThenable(answer)) answer.then(this.#onAnswer, this.#onAnswer)
    else this.#onAnswer()
    return answer
  }

  wait(call: WaitingCall): void {
    this.#waiting.push(call)
    if (this.#waiting.length >= many && this.#underWay < this.#most) this.#send()
  }

  /**
   * Sends those who wait for a call that takes long, since it may stand in a line of its own, and lets those go whose
   * callers have left.
   *
   * @returns whether somebody waits
   */
  look(): boolean {
    for (const call of this.#waiting) call.look()
    for (const { calls } of this.#groups) for (const call of calls) call.look()
    if (this.#isSlow && this.#underWay < this.#most) this.#send()
    else this.#isSlow = true
    return this.#waiting.length > 0 || this.#groups.size > 0
  }

  #send(): void {
    this.#isSlow = false
    const joined = this.#joined
    if (typeof joined !== 'object' && joined !== 'same') {
      if (joined === 'unknown' && this.#waiting.length > 1) this.#ask()
      for (const call of this.#waiting.splice(0)) this.#sendAlone(call)
      return
    }
    const alike = this.#take()
    const [first] = alike[0] ?? []
    if (first !== undefined && alike.length === 1 && alike[0]?.length === 1) this.#sendAlone(first)
    else if (first !== undefined) this.#sendTogether(alike, joined)
    if (this.#waiting.length >= many && this.#underWay < this.#most) this.#send()
  }

  /** As many of the waiting as go into one statement, without those whose caller has left: those that ask the same beside each other. */
  #take(): WaitingCall[][] {
    const alike = new Map<unknown, WaitingCall[]>()
    let size = 0
    let count = 0
    for (const call of this.#waiting) {
      const key = this.#keyOf(call)
      const same = alike.get(key)
      if (same === undefined) size += sizeOf(this.#statement, call.values)
      if (size > mostValues && alike.size > 0) break
      count++
      if (call.isOver) continue
      if (same === undefined) alike.set(key, [call])
      else same.push(call)
    }
    this.#waiting.splice(0, count)
    return [...alike.values()]
  }

  /** The same for calls that may have one answer. */
  #keyOf(call: WaitingCall): unknown {
    if (this.#joined === 'same') return 'same'
    return mayShare(this.#statement) ? keyOfValues(call.values) : call
  }

  #sendAlone(call: WaitingCall): void {
    if (!call.isOver) void this.follow(this.#runAlone(call))
  }

  /** @returns whether it was answered */
  async #runAlone(call: WaitingCall): Promise<boolean> {
    try {
      call.answer(await call.caller.runner.run(this.#statement, call.values, 'rows'))
      return true
    } catch (error) {
      call.refuse(error)
      return false
    }
  }

  #sendTogether(alike: readonly WaitingCall[][], joined: JoinedStatement | 'same'): void {
    const calls = alike.flat()
    const group: Group = { calls, alike, left: calls.length, end: undefined }
    for (const call of calls) call.group = group
    this.#groups.add(group)
    this.#underWay++
    void this.#runTogether(group, joined)
  }

  async #runTogether(group: Group, joined: JoinedStatement | 'same'): Promise<void> {
    const { alike } = group
    const [first] = alike
    const isOne = alike.length === 1
    let rows: readonly Row[]
    try {
      const runner = this.#runnerOf(group)
      const values = alike.map(([call]) => call?.values ?? [])
      rows =
        isOne || joined === 'same'
          ? await runner.run(this.#statement, values[0] ?? [], 'rows')
          : await runner.run(joined.statement, joined.toLists(values), 'rows')
    } catch (error) {
      // Those that wait go first: what has failed may take its time.
      this.#groups.delete(group)
      this.#onAnswer()
      await this.#fail(group, error)
      return
    }
    this.#groups.delete(group)
    this.#onAnswer()
    if (isOne) answerAll(first ?? [], rows)
    else distribute(rows, alike)
  }

  /** One request's own share of the connections where all calls are its; else one that ends when all have left. */
  #runnerOf(group: Group): Runner {
    const [first] = group.calls
    if (first !== undefined && group.calls.every(({ caller }) => caller === first.caller))
      return first.caller.runner
    const mayEnd = group.calls.every(({ caller }) => caller.mayLeave)
    if (!mayEnd || this.#engine.clientReads === undefined) return this.#engine
    return this.#engine.clientReads({
      onFinished: (end) => {
        group.end = end
      },
    })
  }

  /**
   * An error of one call is not the others': each is tried by itself, unless it is one of all: it took its time, or the
   * server is gone, or a statement that was theirs all alike would fail as often as it is asked.
   */
  async #fail({ calls, alike }: Group, error: unknown): Promise<void> {
    const waiting = calls.filter(({ isOver }) => !isOver)
    if (waiting.length === 0) return
    if (isOfAll(error) || alike.length === 1) {
      for (const call of waiting) call.refuse(error)
      return
    }
    for (const call of waiting) call.group = undefined
    const answered = await Promise.all(waiting.map((call) => this.#runAlone(call)))
    if (!answered.every(Boolean)) return
    this.#failures++
    if (this.#failures >= mostFailures) this.#joined = 'never'
  }

  #ask(): void {
    this.#joined = 'asked'
    void askJoined(this.#statement, this.#engine, writeJoined).then((joined) => {
      this.#joined = joined
    })
  }
}

/** By how much a call adds to a statement. */
function sizeOf(statement: Statement, values: readonly unknown[]): number {
  if (statement.together === 'page') return boundOf(statement, values)
  let size = 0
  for (const value of values) size += Array.isArray(value) ? value.length : 1
  return size
}

/** True where a call is as much as many. */
export function isLarge(statement: Statement, values: readonly unknown[]): boolean {
  return statement.together === 'page' && boundOf(statement, values) > mostShared
}

/** Each call's rows in their order; the place of the call is the last value of each. */
function distribute(rows: readonly Row[], alike: Group['alike']): void {
  const answers: Row[][] = alike.map(() => [])
  for (const row of rows as unknown[][]) answers[Number(row.pop()) - 1]?.push(row)
  for (const [index, calls] of alike.entries()) answerAll(calls, answers[index] ?? [])
}
