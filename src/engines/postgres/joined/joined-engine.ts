/**
 * An engine whose brief reads go together: calls of the same statement that arrive while one of them is on its way are
 * answered by one statement. So do changes of one row by its key, as change-queue.ts says, and new rows, as create-queue.ts
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
import type { BeginOptions } from '../../contract/begin-options.js'
import type { Catalogue } from '../../contract/catalogue.js'
import type {
  ClientReading,
  ClientWriting,
  Dialect,
  Engine,
  EngineChannel,
  PoolState,
  QueryResult,
  Row,
  Runner,
  SchemaChangeOptions,
  Statement,
  TransactionRunner,
} from '../../contract/engine.js'
import type { Later } from '../../../core/later.js'
import { changes, isBrief, mayShare } from '../../contract/statement.js'
import { writesOn, lateFault } from '../../client-writes.js'
import type { OrderedRunner } from '../../contract/ordered-runner.js'
import type { Pulse, PulseOptions } from '../../contract/pulse.js'
import { CallQueue, isLarge } from './call-queue.js'
import { ChangeQueue } from './change-queue.js'
import { CreateQueue } from './create-queue.js'
import { keyOfValues } from './shared-answer.js'
import { WaitingCall, type Caller } from './waiting-call.js'
import type { WriteCaller } from './queued-write.js'

/** Milliseconds between two looks at the calls that wait. */
const lookTime = 50

/** The queues of an engine's brief statements. */
class Queues {
  readonly #engine: Engine
  readonly #most: number
  readonly #byStatement = new WeakMap<Statement, CallQueue>()
  readonly #same = new WeakMap<Statement, Map<string, CallQueue>>()
  readonly #changes = new WeakMap<Statement, ChangeQueue>()
  readonly #creates = new WeakMap<Statement, CreateQueue>()
  /** In which somebody may wait. */
  readonly #looked = new Set<Pick<CallQueue, 'look'>>()
  #looking: NodeJS.Timeout | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#most = Math.max(2, Math.floor((engine.pool?.().most ?? 1) / 3))
  }

  /** @returns `undefined` for what goes by itself */
  of(statement: Statement, values: readonly unknown[]): CallQueue | undefined {
    if (!isBrief(statement) || isLarge(statement, values))
      return mayShare(statement) ? this.#ofSame(statement, values) : undefined
    let queue = this.#byStatement.get(statement)
    if (queue === undefined) {
      queue = new CallQueue(statement, this.#engine, this.#most)
      this.#byStatement.set(statement, queue)
    }
    return queue
  }

  /** Of calls with the same values, as long as there are some. */
  #ofSame(statement: Statement, values: readonly unknown[]): CallQueue {
    const key = keyOfValues(values)
    const same = this.#same.get(statement) ?? new Map<string, CallQueue>()
    this.#same.set(statement, same)
    let queue = same.get(key)
    if (queue === undefined) {
      queue = new CallQueue(statement, this.#engine, this.#most, () => same.delete(key))
      same.set(key, queue)
    }
    return queue
  }

  /** A new row. */
  create(
    statement: Statement,
    values: readonly unknown[],
    caller: WriteCaller,
  ): Later<readonly Row[]> {
    let queue = this.#creates.get(statement)
    if (queue === undefined) {
      queue = new CreateQueue(statement, this.#engine)
      this.#creates.set(statement, queue)
    }
    const answer = queue.run(values, caller)
    if (queue.isWaiting) this.#lookAt(queue)
    return answer
  }

  /** A change of one row by its key. */
  change(
    statement: Statement,
    values: readonly unknown[],
    caller: WriteCaller,
  ): Later<readonly Row[]> {
    let queue = this.#changes.get(statement)
    if (queue === undefined) {
      queue = new ChangeQueue(statement, this.#engine, this.#most)
      this.#changes.set(statement, queue)
    }
    const answer = queue.run(values, caller)
    if (queue.isWaiting) this.#lookAt(queue)
    return answer
  }

  wait(queue: CallQueue, call: WaitingCall): void {
    queue.wait(call)
    this.#lookAt(queue)
  }

  #lookAt(queue: Pick<CallQueue, 'look'>): void {
    this.#looked.add(queue)
    this.#looking ??= setInterval(() => {
      this.#look()
    }, lookTime).unref()
  }

  #look(): void {
    for (const queue of this.#looked) if (!queue.look()) this.#looked.delete(queue)
    if (this.#looked.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }
}

/** Runs what goes together in its queue, and all else as it stands. */
abstract class JoiningRunner implements Runner, Caller, WriteCaller {
  readonly writing?: ClientWriting
  abstract readonly runner: Runner
  abstract readonly mayLeave: boolean
  abstract readonly isGone: boolean
  readonly #queues: Queues

  constructor(queues: Queues) {
    this.#queues = queues
  }

  rows(statement: Statement, values: readonly unknown[]): Later<readonly Row[]> {
    if (statement.oneRow !== undefined && !this.mayLeave)
      return this.#queues.change(statement, values, this)
    if (statement.newRow !== undefined && !this.mayLeave)
      return this.#queues.create(statement, values, this)
    const queue = this.#queues.of(statement, values)
    if (queue === undefined) return this.runner.rows(statement, values)
    if (queue.isFree) return queue.follow(this.runner.rows(statement, values))
    return new Promise((resolve, reject) => {
      this.#queues.wait(queue, new WaitingCall(values, this, resolve, reject))
    })
  }

  first(statement: Statement, values: readonly unknown[]): Later<Row | undefined> {
    const queue = this.#queues.of(statement, values)
    if (queue === undefined) return this.runner.first(statement, values)
    if (queue.isFree) return queue.follow(this.runner.first(statement, values))
    return new Promise((resolve, reject) => {
      const toFirst = (rows: readonly Row[]): void => {
        resolve(rows[0])
      }
      this.#queues.wait(queue, new WaitingCall(values, this, toFirst, reject))
    })
  }

  change(statement: Statement, values: readonly unknown[]): Later<number> {
    return this.runner.change(statement, values)
  }

  query(statement: Statement, values: readonly unknown[]): Later<QueryResult> {
    return this.runner.query(statement, values)
  }

  script(sql: string): Later<void> {
    return this.runner.script(sql)
  }
}

/** The reads of one request. */
class JoiningReads extends JoiningRunner {
  readonly mayLeave = true
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

  get isGone(): boolean {
    return this.#reading.isOver === true
  }
}

/** The changes of one request. */
class JoiningWrites extends JoiningRunner {
  readonly mayLeave = false
  readonly isGone = false
  override readonly writing: ClientWriting
  readonly #engine: Engine
  #runner: Runner | undefined

  constructor(engine: Engine, queues: Queues, writing: ClientWriting) {
    super(queues)
    this.#engine = engine
    this.writing = writing
  }

  override rows(statement: Statement, values: readonly unknown[]): Later<readonly Row[]> {
    if (this.writing.late && changes(statement)) throw lateFault()
    return super.rows(statement, values)
  }

  get runner(): Runner {
    return (this.#runner ??= writesOn(this.#engine, this.writing))
  }
}

export class JoinedEngine extends JoiningRunner implements Engine {
  readonly mayLeave = false
  readonly isGone = false
  readonly runner: Runner
  readonly dialect: Dialect
  readonly driver: string
  readonly isReadOnly: boolean
  readonly changesPiecemeal: boolean
  readonly channel: EngineChannel | undefined
  readonly clientReads?: (reading: ClientReading) => Runner
  readonly pool?: () => PoolState
  readonly inOrder?: (writing?: ClientWriting) => Later<OrderedRunner | undefined>
  readonly pulse?: (options: PulseOptions) => Pulse
  readonly parameterTypes?: (statement: Statement) => Promise<readonly string[]>
  readonly #engine: Engine
  readonly #queues: Queues

  constructor(engine: Engine) {
    const queues = new Queues(engine)
    super(queues)
    this.#queues = queues
    this.runner = engine
    this.#engine = engine
    this.dialect = engine.dialect
    this.driver = engine.driver
    this.isReadOnly = engine.isReadOnly === true
    this.changesPiecemeal = engine.changesPiecemeal
    this.channel = engine.channel
    if (engine.clientReads !== undefined) {
      this.clientReads = (reading) => new JoiningReads(engine, queues, reading)
    }
    if (engine.pool !== undefined) this.pool = engine.pool.bind(engine)
    if (engine.pulse !== undefined) this.pulse = engine.pulse.bind(engine)
    if (engine.parameterTypes !== undefined)
      this.parameterTypes = engine.parameterTypes.bind(engine)
    if (engine.inOrder !== undefined) this.inOrder = engine.inOrder.bind(engine)
  }

  clientWrites(writing: ClientWriting): Runner {
    return new JoiningWrites(this.#engine, this.#queues, writing)
  }

  begin(options?: BeginOptions): Promise<TransactionRunner> {
    return this.#engine.begin(options)
  }

  changeSchema<T>(work: (runner: Runner) => Promise<T>, options?: SchemaChangeOptions): Promise<T> {
    return this.#engine.changeSchema(work, options)
  }

  catalogue(runner: Runner): Promise<Catalogue> {
    return this.#engine.catalogue(runner)
  }

  tableSizes(tables: readonly string[]): Later<ReadonlyMap<string, number>> {
    return this.#engine.tableSizes(tables)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}
