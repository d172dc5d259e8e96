/**
 * An engine whose brief reads go together: calls of the same statement that arrive while one of them is on its way are
 * answered by one statement. So do changes of rows by their keys, as change-queue.ts says, and new rows, as create-queue.ts
 * says.
 * Statements that are shared have one answer for all who ask them with the same values meanwhile: counts and lists. What holds
 * of both:
 * - a call that nobody is before goes at once, by its own runner, as ever; in transactions each goes by itself;
 * - what a call sees: a statement that begins after the call came, so that it sees all that was committed before. Those that
 *   go together see the same; calls of one caller that do not wait for each other have no order, as ever;
 * - an error is that call's alone: of a group that fails, each is tried by itself;
 * - a request that is answered, or whose client has left, waits no longer than to the next look; the statement goes on for the
 *   others, and is ended on the server where no other is left;
 * - nobody waits for a timer; where a call takes long, though, a look each 50 milliseconds sends those who wait for it;
 * - the time that the engine gives a statement holds for that of a group too, and a group has one connection.
 */
import type {
  Results,
  ClientReading,
  ClientWriting,
  Engine,
  Row,
  Runner,
  Statement,
  Values,
  ResultKind,
  OrderedRunner,
} from '../../contract/engine.js'
import type { MaybePromise } from '../../../core/maybe-promise.js'
import { isWrite, isBrief, mayShare } from '../../contract/statement.js'
import { clientWritesOf, requestTimeoutError } from '../../client-writes.js'
import { EngineLayer } from '../../engine-layer.js'
import { ReadQueue, isLarge, WaitingCall, type Caller, keyOfValues } from './read-queue.js'
import { UpdateQueue, InsertQueue, type WriteCaller } from './write-queues.js'
import { OrderedBatch, OrderedUpdate } from './ordered-batch.js'

/** Milliseconds between two looks at the calls that wait. */
const checkInterval = 50

/** The queues of an engine's brief statements. */
class Queues {
  readonly #engine: Engine
  readonly #maxInFlight: number
  readonly #byStatement = new WeakMap<Statement, ReadQueue>()
  readonly #same = new WeakMap<Statement, Map<string, ReadQueue>>()
  readonly #writes = new WeakMap<Statement, UpdateQueue | InsertQueue>()
  readonly #orderedUpdates = new WeakMap<Statement, OrderedUpdate>()
  /** In which somebody may wait. */
  readonly #checkedQueues = new Set<Pick<ReadQueue, 'check'>>()
  #checkTimer: NodeJS.Timeout | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#maxInFlight = Math.max(2, Math.floor((engine.pool?.().most ?? 1) / 3))
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: readonly unknown[],
    resultKind: W,
    caller: Caller & WriteCaller,
  ): MaybePromise<Results[W]> {
    if (resultKind === 'rows' && !caller.mayDisconnect) {
      const queue = this.#writeQueueOf(statement)
      if (queue !== undefined) return this.#write(queue, values, caller) as MaybePromise<Results[W]>
    }
    const queue =
      resultKind === 'rows' || resultKind === 'first'
        ? this.#readQueueOf(statement, values)
        : undefined
    if (queue === undefined) return caller.runner.run(statement, values, resultKind)
    if (queue.canRunAlone) return queue.track(caller.runner.run(statement, values, resultKind))
    return new Promise((resolve, reject) => {
      const answer = (rows: readonly Row[]): void => {
        resolve((resultKind === 'first' ? rows[0] : rows) as Results[W])
      }
      queue.wait(new WaitingCall(values, caller, answer, reject))
      this.#watch(queue)
    })
  }

  /** @returns `undefined` for what goes by itself */
  #readQueueOf(statement: Statement, values: readonly unknown[]): ReadQueue | undefined {
    if (!isBrief(statement) || isLarge(statement, values))
      return mayShare(statement) ? this.#sharedQueueOf(statement, values) : undefined
    let queue = this.#byStatement.get(statement)
    if (queue === undefined) {
      queue = new ReadQueue(statement, this.#engine, this.#maxInFlight)
      this.#byStatement.set(statement, queue)
    }
    return queue
  }

  /** Of calls with the same values, as long as there are some. */
  #sharedQueueOf(statement: Statement, values: readonly unknown[]): ReadQueue {
    const key = keyOfValues(values)
    const same = this.#same.get(statement) ?? new Map<string, ReadQueue>()
    this.#same.set(statement, same)
    let queue = same.get(key)
    if (queue === undefined) {
      queue = new ReadQueue(statement, this.#engine, this.#maxInFlight, () => same.delete(key))
      same.set(key, queue)
    }
    return queue
  }

  /** Of changes of rows by their keys, and of new rows. */
  #writeQueueOf(statement: Statement): UpdateQueue | InsertQueue | undefined {
    const { oneRow, rows, newRow } = statement
    if (oneRow === undefined && rows === undefined && newRow === undefined) return undefined
    let queue = this.#writes.get(statement)
    if (queue === undefined) {
      queue =
        newRow !== undefined
          ? new InsertQueue(statement, this.#engine)
          : new UpdateQueue(statement, this.#engine, rows === undefined ? this.#maxInFlight : 1)
      this.#writes.set(statement, queue)
    }
    return queue
  }

  /** How changes of one row that one caller asks for in order go as one. */
  orderedUpdateOf(statement: Statement): OrderedUpdate {
    let runner = this.#orderedUpdates.get(statement)
    if (runner === undefined) {
      runner = new OrderedUpdate(statement, this.#engine)
      this.#orderedUpdates.set(statement, runner)
    }
    return runner
  }

  /** Runs what stands for a line's changes. */
  runOrderedUpdate(
    statement: Statement,
    values: readonly unknown[],
    caller: WriteCaller,
  ): MaybePromise<readonly Row[]> {
    const queue = this.#writeQueueOf(statement)
    return queue === undefined
      ? caller.runner.run(statement, values, 'rows')
      : this.#write(queue, values, caller)
  }

  #write(
    queue: UpdateQueue | InsertQueue,
    values: readonly unknown[],
    caller: WriteCaller,
  ): MaybePromise<readonly Row[]> {
    const answer = queue.run(values, caller)
    if (queue.isWaiting) this.#watch(queue)
    return answer
  }

  #watch(queue: Pick<ReadQueue, 'check'>): void {
    this.#checkedQueues.add(queue)
    this.#checkTimer ??= setInterval(() => {
      this.#checkQueues()
    }, checkInterval).unref()
  }

  #checkQueues(): void {
    for (const queue of this.#checkedQueues) if (!queue.check()) this.#checkedQueues.delete(queue)
    if (this.#checkedQueues.size > 0) return
    clearInterval(this.#checkTimer)
    this.#checkTimer = undefined
  }
}

/** Runs what goes together in its queue, and all else as it stands. */
abstract class BatchingRunner implements Runner, Caller, WriteCaller {
  readonly writing?: ClientWriting
  abstract readonly runner: Runner
  abstract readonly mayDisconnect: boolean
  abstract readonly isDisconnected: boolean
  protected readonly queues: Queues

  constructor(queues: Queues) {
    this.queues = queues
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    return this.queues.run(statement, values, resultKind, this)
  }
}

/** The reads of one request. */
class BatchingReads extends BatchingRunner {
  readonly mayDisconnect = true
  readonly #engine: Engine
  readonly #reading: ClientReading
  #runner: Runner | undefined

  constructor(engine: Engine, queues: Queues, reading: ClientReading) {
    super(queues)
    this.#engine = engine
    this.#reading = reading
  }

  /** Made when something goes by itself: most of what waits does not. */
  get runner(): Runner {
    this.#runner ??= this.#engine.clientReads?.(this.#reading) ?? this.#engine
    return this.#runner
  }

  get isDisconnected(): boolean {
    return this.#reading.isOver === true
  }
}

/** The changes of one request. */
class BatchingWrites extends BatchingRunner {
  readonly mayDisconnect = false
  readonly isDisconnected = false
  override readonly writing: ClientWriting
  readonly #engine: Engine
  #runner: Runner | undefined

  constructor(engine: Engine, queues: Queues, writing: ClientWriting) {
    super(queues)
    this.#engine = engine
    this.writing = writing
  }

  override run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    if (this.writing.isTimedOut && isWrite(statement)) throw requestTimeoutError()
    return super.run(statement, values, resultKind)
  }

  get runner(): Runner {
    return (this.#runner ??= clientWritesOf(this.#engine, this.writing))
  }
}

export class BatchingEngine extends EngineLayer implements Caller, WriteCaller {
  readonly mayDisconnect = false
  readonly isDisconnected = false
  readonly #queues: Queues

  constructor(engine: Engine) {
    super(engine)
    const queues = new Queues(engine)
    this.#queues = queues
    if (engine.clientReads !== undefined)
      this.clientReads = (reading) => new BatchingReads(engine, queues, reading)
    if (engine.inOrder !== undefined)
      this.inOrder = (writing) => {
        const runner = writing === undefined ? engine : clientWritesOf(engine, writing)
        return new OrderedBatch(queues, { runner, writing }, () =>
          openOrderedRunner(engine, writing),
        )
      }
  }

  get runner(): Runner {
    return this.inner
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]> {
    return this.#queues.run(statement, values, resultKind, this)
  }

  clientWrites(writing: ClientWriting): Runner {
    return new BatchingWrites(this.inner, this.#queues, writing)
  }
}

async function openOrderedRunner(
  engine: Engine,
  writing: ClientWriting | undefined,
): Promise<OrderedRunner> {
  const runner = await engine.inOrder?.(writing)
  if (runner === undefined) throw new TypeError('The database runs nothing in order any more.')
  return runner
}
