/**
 * The queue of one brief read. The first call is sent immediately. Calls that arrive while it runs wait for its result,
 * and are then sent together as one statement. Without load, no call waits.
 */

import type { Row, Runner, Engine, Statement } from '../../contract/engine.js'
import { isThenable, type MaybePromise } from '../../../core/maybe-promise.js'
import { boundOf, mayShare } from '../../contract/statement.js'
import { affectsAllCalls, isOtherServerLost, requestEndedError } from '../errors.js'
import { prepareBatch, writeBatchedRead, type BatchedStatement } from './batched-statement.js'

/** A text that identifies a list of values. */
export function keyOfValues(values: readonly unknown[]): string {
  let key = ''
  for (const value of values) key += `${textOf(value)},`
  return key
}

function textOf(value: unknown): string {
  // In JSON, NaN would be null.
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${keyOfValues(value)}]`
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`
  return JSON.stringify(value)
}

/**
 * Resolves calls that share a result: with the same frozen rows, if the rows contain no mutable values. Otherwise the
 * first call gets the rows, and each other call a copy.
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

/** The caller: a request, or the program itself. */
export interface ReadCaller {
  /** Runs a statement for this caller alone. */
  readonly runner: Runner
  /** Whether it is a request whose client may disconnect. */
  readonly mayDisconnect: boolean
  /** Whether the client has disconnected. */
  readonly isDisconnected: boolean
}

/** A batch of running calls. */
interface CallGroup {
  readonly calls: readonly WaitingCall[]
  /** The calls, grouped by equal values. */
  readonly callsByValues: readonly (readonly WaitingCall[])[]
  /** The number of calls whose callers still wait. */
  waitingCount: number
  /** Cancels the statement on the server. Undefined if no client can disconnect. */
  end: (() => void) | undefined
}

export class WaitingCall {
  readonly values: readonly unknown[]
  readonly caller: ReadCaller
  /** It has a result, or its caller no longer waits. */
  isOver = false
  group: CallGroup | undefined
  readonly #resolve: (rows: readonly Row[]) => void
  readonly #reject: (error: unknown) => void

  constructor(
    values: readonly unknown[],
    caller: ReadCaller,
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

  /** Ends the wait if the client has disconnected. The statement continues for other callers. */
  checkCaller(): void {
    if (this.isOver || !this.caller.isDisconnected) return
    this.reject(requestEndedError())
    const { group } = this
    if (group === undefined) return
    group.waitingCount--
    if (group.waitingCount === 0) group.end?.()
  }
}

/** The maximum number of values in a batch (lists count by their length), and of rows in its result. */
const maxBatchValues = 500
/** The maximum number of result rows of a call that is batched. */
const maxPageRows = 50
/** With so many waiting calls, another batch is sent while one is running, unless fewer fill one. */
const largeBacklog = 100
/** After so many batches that failed although their calls succeed separately, the statement is no longer batched. */
const maxGroupFailures = 3

export class ReadQueue {
  readonly #statement: Statement
  readonly #engine: Engine
  /** The maximum number of running statements. */
  readonly #maxInFlight: number
  #waiting: WaitingCall[] = []
  readonly #groups = new Set<CallGroup>()
  #inFlight = 0
  /** No call has been sent since the last check. */
  #isSlow = false
  /** `same`: all calls have equal values, so that no batched statement is needed. */
  #batched: BatchedStatement | 'unknown' | 'preparing' | 'never' | 'same'
  readonly #onIdle: (() => void) | undefined
  #failures = 0
  readonly #onResult = (): void => {
    this.#inFlight--
    if (this.#inFlight > 0) return
    if (this.#waiting.length > 0) this.#send()
    else this.#onIdle?.()
  }

  /** @param onIdle for calls with equal values: called when no call is left */
  constructor(statement: Statement, engine: Engine, maxInFlight: number, onIdle?: () => void) {
    this.#statement = statement
    this.#engine = engine
    this.#maxInFlight = maxInFlight
    this.#onIdle = onIdle
    this.#batched = onIdle === undefined ? 'unknown' : 'same'
  }

  /** Whether a call may run directly. The caller must pass its result to `track`. */
  get canRunAlone(): boolean {
    return this.#inFlight === 0 || this.#batched === 'never'
  }

  /** Registers a call that runs directly, so that later calls wait for it. */
  track<T>(answer: MaybePromise<T>): MaybePromise<T> {
    this.#inFlight++
    this.#isSlow = false
    if (isThenable(answer)) answer.then(this.#onResult, this.#onResult)
    else this.#onResult()
    return answer
  }

  wait(call: WaitingCall): void {
    this.#waiting.push(call)
    if (this.#waiting.length >= this.#fullBatch && this.#inFlight < this.#maxInFlight) this.#send()
  }

  /** With so many waiting calls, another batch is sent while one is running. */
  get #fullBatch(): number {
    return this.#maxCalls ?? largeBacklog
  }

  /** The maximum number of calls in a batch. */
  get #maxCalls(): number | undefined {
    return typeof this.#batched === 'object' ? this.#batched.maxCalls : undefined
  }

  /**
   * Sends calls that wait for a slow call, which may be waiting for a lock, and removes calls whose clients have
   * disconnected.
   *
   * @returns whether there are waiting calls
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
    if (this.#waiting.length >= this.#fullBatch && this.#inFlight < this.#maxInFlight) this.#send()
  }

  /**
   * Takes as many waiting calls as fit into one batch, grouped by equal values, without calls of disconnected clients.
   */
  #take(): WaitingCall[][] {
    const callsByValues = new Map<unknown, WaitingCall[]>()
    let size = 0
    let count = 0
    for (const call of this.#waiting) {
      const key = this.#keyOf(call)
      const same = callsByValues.get(key)
      if (same === undefined) size += sizeOf(this.#statement, call.values)
      if (size > maxBatchValues && callsByValues.size > 0) break
      if (same === undefined && callsByValues.size === this.#maxCalls) break
      count++
      if (call.isOver) continue
      if (same === undefined) callsByValues.set(key, [call])
      else same.push(call)
    }
    this.#waiting.splice(0, count)
    return [...callsByValues.values()]
  }

  /** Equal for calls that can share a result. */
  #keyOf(call: WaitingCall): unknown {
    if (this.#batched === 'same') return 'same'
    return mayShare(this.#statement) ? keyOfValues(call.values) : call
  }

  #sendAlone(call: WaitingCall): void {
    if (!call.isOver) void this.track(this.#runAlone(call))
  }

  /** @returns whether it succeeded */
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
      // Waiting calls are sent first, because repeating the failed ones may take time.
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

  /**
   * If all calls belong to one request, its own runner. Otherwise a runner that ends when all clients have
   * disconnected.
   */
  #runnerOf(group: CallGroup): Runner {
    const [first] = group.calls
    if (first !== undefined && group.calls.every(({ caller }) => caller === first.caller))
      return first.caller.runner
    const mayEnd = group.calls.every(({ caller }) => caller.mayDisconnect)
    const { reads } = this.#engine.requests
    if (!mayEnd || reads === undefined) return this.#engine
    return reads({
      onFinished: (end) => {
        group.end = end
      },
    })
  }

  /**
   * Repeats each call of a failed batch separately. Errors that would affect every call (a timeout, an outage, a
   * missing table) are reported to all of them. A lost server behind this one has the rows of some calls only.
   */
  async #fail({ calls, callsByValues }: CallGroup, error: unknown): Promise<void> {
    const waiting = calls.filter(({ isOver }) => !isOver)
    if (waiting.length === 0) return
    const isForAll = affectsAllCalls(error) && !isOtherServerLost(error)
    if (isForAll || callsByValues.length === 1) {
      for (const call of waiting) call.reject(error)
      return
    }
    for (const call of waiting) call.group = undefined
    const successes = await Promise.all(waiting.map((call) => this.#runAlone(call)))
    if (!successes.every(Boolean)) return
    this.#failures++
    if (this.#failures >= maxGroupFailures) this.#batched = 'never'
  }

  #prepare(): void {
    this.#batched = 'preparing'
    void prepareBatch(this.#statement, this.#engine, writeBatchedRead).then((batched) => {
      this.#batched = batched
    })
  }
}

/** The size that a call adds to a batch. */
function sizeOf(statement: Statement, values: readonly unknown[]): number {
  if (statement.together === 'page') return boundOf(statement, values)
  let size = 0
  for (const value of values) size += Array.isArray(value) ? value.length : 1
  return size
}

/** Whether a single call is so large that it is not batched. */
export function isLarge(statement: Statement, values: readonly unknown[]): boolean {
  return statement.together === 'page' && boundOf(statement, values) > maxPageRows
}

/** Distributes the rows to the calls. The last value of each row is the number of its call. */
function distribute(rows: readonly Row[], callsByValues: CallGroup['callsByValues']): void {
  const answers: Row[][] = callsByValues.map(() => [])
  for (const row of rows as unknown[][]) answers[Number(row.pop()) - 1]?.push(row)
  for (const [index, calls] of callsByValues.entries()) resolveAll(calls, answers[index] ?? [])
}
