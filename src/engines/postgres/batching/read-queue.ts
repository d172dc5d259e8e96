/**
 * The calls of one brief statement. The first goes at once; those that come while it is on its way wait for its answer, and
 * then go together as one statement. Under no load nothing waits.
 */

import type { Row, Runner, Engine, Statement } from '../../contract/engine.js'
import { EngineError } from '../../contract/engine-error.js'
import { isThenable, type MaybePromise } from '../../../core/maybe-promise.js'
import { boundOf, mayShare } from '../../contract/statement.js'
import { affectsAllCalls } from '../errors.js'
import { prepareBatch, writeBatchedRead, type BatchedStatement } from './batched-statement.js'

/** One answer for all calls that ask the same. Nobody can change what others have: rows are frozen, or each gets its own. */

/** Text that stands for these values and for no others. */
export function keyOfValues(values: readonly unknown[]): string {
  let key = ''
  for (const value of values) key += `${textOf(value)},`
  return key
}

function textOf(value: unknown): string {
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
function resolveAll(calls: readonly WaitingCall[], rows: readonly Row[]): void {
  const [first] = calls
  if (first === undefined) return
  if (calls.length === 1) {
    first.resolve(rows)
    return
  }
  const isImmutable = rows.every((row) => row.every(isPrimitive))
  if (isImmutable) for (const row of rows) Object.freeze(row)
  const answers = isImmutable ? undefined : calls.map(() => rows.map((row) => row.map(copyOf)))
  if (isImmutable) Object.freeze(rows)
  for (const [index, call] of calls.entries()) call.resolve(answers?.[index] ?? rows)
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
  readonly mayDisconnect: boolean
  /** It has left. */
  readonly isDisconnected: boolean
}

/** Calls that are on their way together. */
interface CallGroup {
  readonly calls: readonly WaitingCall[]
  /** The same, those beside each other that have one answer. */
  readonly callsByValues: readonly (readonly WaitingCall[])[]
  /** How many somebody waits for. */
  waitingCount: number
  /** Ends the statement on the server; absent where nobody may leave. */
  end: (() => void) | undefined
}

export class WaitingCall {
  readonly values: readonly unknown[]
  readonly caller: Caller
  /** It was answered, or nobody waits for it any more. */
  isOver = false
  group: CallGroup | undefined
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

  resolve(rows: readonly Row[]): void {
    if (this.isOver) return
    this.isOver = true
    this.#resolve(rows)
  }

  reject(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.#reject(error)
  }

  /** Does not wait any longer where the caller has gone. What others wait for goes on. */
  checkCaller(): void {
    if (this.isOver || !this.caller.isDisconnected) return
    this.reject(callerLeftError())
    const { group } = this
    if (group === undefined) return
    group.waitingCount--
    if (group.waitingCount === 0) group.end?.()
  }
}

function callerLeftError(): EngineError {
  return new EngineError('other', 'The request was answered, or its client has gone.')
}

/** Values in one statement, lists by their length; or rows that it may answer. */
const maxBatchValues = 500
/** Rows of a call that goes together with others. */
const maxPageRows = 50
/** Calls that are worth a statement of their own beside the one on its way. */
const largeBacklog = 100
/** Groups that failed where each of their calls did not. */
const maxGroupFailures = 3

export class ReadQueue {
  readonly #statement: Statement
  readonly #engine: Engine
  /** Statements that may be on their way at once. */
  readonly #maxInFlight: number
  #waiting: WaitingCall[] = []
  readonly #groups = new Set<CallGroup>()
  #inFlight = 0
  /** Nothing has gone since somebody looked. */
  #isSlow = false
  /** `same`: of calls that all have the same values, which need no other statement. */
  #batched: BatchedStatement | 'unknown' | 'asked' | 'never' | 'same'
  readonly #onIdle: (() => void) | undefined
  #failures = 0
  readonly #onResult = (): void => {
    this.#inFlight--
    if (this.#inFlight > 0) return
    if (this.#waiting.length > 0) this.#send()
    else this.#onIdle?.()
  }

  /** @param onIdle of calls that all have the same values: called when none is left */
  constructor(statement: Statement, engine: Engine, maxInFlight: number, onIdle?: () => void) {
    this.#statement = statement
    this.#engine = engine
    this.#maxInFlight = maxInFlight
    this.#onIdle = onIdle
    this.#batched = onIdle === undefined ? 'unknown' : 'same'
  }

  /** A call may go by itself; it is then to be followed. */
  get canRunAlone(): boolean {
    return this.#inFlight === 0 || this.#batched === 'never'
  }

  /** Others wait for this call, which has gone by itself. */
  track<T>(answer: MaybePromise<T>): MaybePromise<T> {
    this.#inFlight++
    this.#isSlow = false
    if (isThenable(answer)) answer.then(this.#onResult, this.#onResult)
    else this.#onResult()
    return answer
  }

  wait(call: WaitingCall): void {
    this.#waiting.push(call)
    if (this.#waiting.length >= largeBacklog && this.#inFlight < this.#maxInFlight) this.#send()
  }

  /**
   * Sends those who wait for a call that takes long, since it may stand in a line of its own, and lets those go whose
   * callers have left.
   *
   * @returns whether somebody waits
   */
  check(): boolean {
    for (const call of this.#waiting) call.checkCaller()
    for (const { calls } of this.#groups) for (const call of calls) call.checkCaller()
    if (this.#isSlow && this.#inFlight < this.#maxInFlight) this.#send()
    else this.#isSlow = true
    return this.#waiting.length > 0 || this.#groups.size > 0
  }

  #send(): void {
    this.#isSlow = false
    const batched = this.#batched
    if (typeof batched !== 'object' && batched !== 'same') {
      if (batched === 'unknown' && this.#waiting.length > 1) this.#prepare()
      for (const call of this.#waiting.splice(0)) this.#sendAlone(call)
      return
    }
    const callsByValues = this.#take()
    const [first] = callsByValues[0] ?? []
    if (first !== undefined && callsByValues.length === 1 && callsByValues[0]?.length === 1)
      this.#sendAlone(first)
    else if (first !== undefined) this.#sendTogether(callsByValues, batched)
    if (this.#waiting.length >= largeBacklog && this.#inFlight < this.#maxInFlight) this.#send()
  }

  /** As many of the waiting as go into one statement, without those whose caller has left: those that ask the same beside each other. */
  #take(): WaitingCall[][] {
    const callsByValues = new Map<unknown, WaitingCall[]>()
    let size = 0
    let count = 0
    for (const call of this.#waiting) {
      const key = this.#keyOf(call)
      const same = callsByValues.get(key)
      if (same === undefined) size += sizeOf(this.#statement, call.values)
      if (size > maxBatchValues && callsByValues.size > 0) break
      count++
      if (call.isOver) continue
      if (same === undefined) callsByValues.set(key, [call])
      else same.push(call)
    }
    this.#waiting.splice(0, count)
    return [...callsByValues.values()]
  }

  /** The same for calls that may have one answer. */
  #keyOf(call: WaitingCall): unknown {
    if (this.#batched === 'same') return 'same'
    return mayShare(this.#statement) ? keyOfValues(call.values) : call
  }

  #sendAlone(call: WaitingCall): void {
    if (!call.isOver) void this.track(this.#runAlone(call))
  }

  /** @returns whether it was answered */
  async #runAlone(call: WaitingCall): Promise<boolean> {
    try {
      call.resolve(await call.caller.runner.run(this.#statement, call.values, 'rows'))
      return true
    } catch (error) {
      call.reject(error)
      return false
    }
  }

  #sendTogether(callsByValues: readonly WaitingCall[][], batched: BatchedStatement | 'same'): void {
    const calls = callsByValues.flat()
    const group: CallGroup = {
      calls,
      callsByValues,
      waitingCount: calls.length,
      end: undefined,
    }
    for (const call of calls) call.group = group
    this.#groups.add(group)
    this.#inFlight++
    void this.#runTogether(group, batched)
  }

  async #runTogether(group: CallGroup, batched: BatchedStatement | 'same'): Promise<void> {
    const { callsByValues } = group
    const [first] = callsByValues
    const isOne = callsByValues.length === 1
    let rows: readonly Row[]
    try {
      const runner = this.#runnerOf(group)
      const values = callsByValues.map(([call]) => call?.values ?? [])
      rows =
        isOne || batched === 'same'
          ? await runner.run(this.#statement, values[0] ?? [], 'rows')
          : await runner.run(batched.statement, batched.toLists(values), 'rows')
    } catch (error) {
      // Those that wait go first: what has failed may take its time.
      this.#groups.delete(group)
      this.#onResult()
      await this.#fail(group, error)
      return
    }
    this.#groups.delete(group)
    this.#onResult()
    if (isOne) resolveAll(first ?? [], rows)
    else distribute(rows, callsByValues)
  }

  /** One request's own share of the connections where all calls are its; else one that ends when all have left. */
  #runnerOf(group: CallGroup): Runner {
    const [first] = group.calls
    if (first !== undefined && group.calls.every(({ caller }) => caller === first.caller))
      return first.caller.runner
    const mayEnd = group.calls.every(({ caller }) => caller.mayDisconnect)
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
  async #fail({ calls, callsByValues }: CallGroup, error: unknown): Promise<void> {
    const waiting = calls.filter(({ isOver }) => !isOver)
    if (waiting.length === 0) return
    if (affectsAllCalls(error) || callsByValues.length === 1) {
      for (const call of waiting) call.reject(error)
      return
    }
    for (const call of waiting) call.group = undefined
    const answered = await Promise.all(waiting.map((call) => this.#runAlone(call)))
    if (!answered.every(Boolean)) return
    this.#failures++
    if (this.#failures >= maxGroupFailures) this.#batched = 'never'
  }

  #prepare(): void {
    this.#batched = 'asked'
    void prepareBatch(this.#statement, this.#engine, writeBatchedRead).then((batched) => {
      this.#batched = batched
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
  return statement.together === 'page' && boundOf(statement, values) > maxPageRows
}

/** Each call's rows in their order; the place of the call is the last value of each. */
function distribute(rows: readonly Row[], callsByValues: CallGroup['callsByValues']): void {
  const answers: Row[][] = callsByValues.map(() => [])
  for (const row of rows as unknown[][]) answers[Number(row.pop()) - 1]?.push(row)
  for (const [index, calls] of callsByValues.entries()) resolveAll(calls, answers[index] ?? [])
}
