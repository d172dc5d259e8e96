/**
 * A layer that batches statements: calls of the same brief read that arrive while another call runs are sent as one
 * statement. Updates of rows by key and inserts are batched too, see write-queue.ts. Calls of counts and lists with
 * equal values share one result.
 *
 * - A call that finds no other call running is sent immediately by its own runner. Statements in transactions are never
 *   batched.
 * - A batch starts after all of its calls have arrived, so each call sees everything that was committed before it.
 * - An error affects only its call: if a batch fails, each call is tried separately.
 * - A request whose response was sent, or whose client has disconnected, leaves the queue at the next check. The
 *   statement continues for the other calls, and is cancelled on the server if there are none.
 * - No call waits for a timer. If a call takes long, a check every 50 milliseconds sends the calls that wait for it.
 * - The engine's time limit applies to a batch as to a single statement, and a batch uses one connection.
 */
import type {
  Results,
  ClientReading,
  ClientWriting,
  Engine,
  RequestStatements,
  Row,
  Runner,
  Statement,
  Values,
  ResultKind,
} from '../../contract/engine.js'
import type { MaybePromise } from '../../../core/maybe-promise.js'
import { isWrite, isBrief, mayShare } from '../../contract/statement.js'
import { requestTimeoutError } from '../../client-writes.js'
import { createLayer } from '../../engine-layer.js'
import { ReadQueue, isLarge, WaitingCall, type ReadCaller, keyOfValues } from './read-queue.js'
import { InsertQueue } from './insert-queue.js'
import { UpdateQueue } from './update-queue.js'
import type { WriteCaller } from './write-queue.js'
import { OrderedBatch, OrderedUpdate } from './ordered-batch.js'

/** Milliseconds between two checks of waiting calls. */
const checkInterval = 50

/** The queues of an engine, one for each statement. */
class Queues {
  readonly #engine: Engine
  readonly #maxInFlight: number
  readonly #byStatement = new WeakMap<Statement, ReadQueue>()
  readonly #same = new WeakMap<Statement, Map<string, ReadQueue>>()
  readonly #writes = new WeakMap<Statement, UpdateQueue | InsertQueue>()
  readonly #orderedUpdates = new WeakMap<Statement, OrderedUpdate>()
  /** Queues that may have waiting calls. */
  readonly #checkedQueues = new Set<Pick<ReadQueue, 'check'>>()
  #checkTimer: NodeJS.Timeout | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#maxInFlight = Math.max(2, Math.floor((engine.status.pool()?.maxConnections ?? 1) / 3))
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: readonly unknown[],
    resultKind: W,
    caller: ReadCaller & WriteCaller,
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

  /** @returns `undefined` for statements that are not batched */
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

  /** The queue of calls with equal values. It exists as long as there are such calls. */
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

  /** The queue of an update by key or an insert. */
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

  /** The batched form of sequential updates of single rows. */
  orderedUpdateOf(statement: Statement): OrderedUpdate {
    let runner = this.#orderedUpdates.get(statement)
    if (runner === undefined) {
      runner = new OrderedUpdate(statement, this.#engine)
      this.#orderedUpdates.set(statement, runner)
    }
    return runner
  }

  /** Runs a batched sequence of updates. */
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

/** Runs batchable statements in their queue, and all others directly. */
abstract class BatchingRunner implements Runner, ReadCaller, WriteCaller {
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
  readonly #reads: (reading: ClientReading) => Runner
  readonly #reading: ClientReading
  #runner: Runner | undefined

  constructor(queues: Queues, reads: (reading: ClientReading) => Runner, reading: ClientReading) {
    super(queues)
    this.#reads = reads
    this.#reading = reading
  }

  /** Created when it is first needed, because most calls are batched. */
  get runner(): Runner {
    return (this.#runner ??= this.#reads(this.#reading))
  }

  get isDisconnected(): boolean {
    return this.#reading.isOver === true
  }
}

/** The writes of one request. */
class BatchingWrites extends BatchingRunner {
  readonly mayDisconnect = false
  readonly isDisconnected = false
  override readonly writing: ClientWriting
  readonly #requests: RequestStatements
  #runner: Runner | undefined

  constructor(queues: Queues, requests: RequestStatements, writing: ClientWriting) {
    super(queues)
    this.#requests = requests
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
    return (this.#runner ??= this.#requests.writes(this.writing))
  }
}

/** Batches the calls of an engine's statements. */
export function batchCalls(engine: Engine): Engine {
  const queues = new Queues(engine)
  const { requests } = engine
  const { reads, inOrder } = requests
  const program = { runner: engine, mayDisconnect: false, isDisconnected: false }
  return createLayer(engine, {
    run: (statement, values, resultKind) => queues.run(statement, values, resultKind, program),
    requests: {
      ...requests,
      reads: reads && ((reading) => new BatchingReads(queues, reads, reading)),
      writes: (writing) => new BatchingWrites(queues, requests, writing),
      inOrder:
        inOrder &&
        ((send, writing) => {
          const runner = writing === undefined ? engine : requests.writes(writing)
          const batch = new OrderedBatch(queues, { runner, writing })
          send(batch)
          void batch.send(inOrder)
        }),
    },
  })
}
