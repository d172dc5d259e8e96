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
  Answers,
  ClientReading,
  ClientWriting,
  Engine,
  Row,
  Runner,
  Statement,
  Values,
  Wanted,
  OrderedRunner,
} from '../../contract/engine.js'
import type { MaybePromise } from '../../../core/maybe-promise.js'
import { changes, isBrief, mayShare } from '../../contract/statement.js'
import { writesOn, lateFault } from '../../client-writes.js'
import { EngineLayer } from '../../engine-layer.js'
import { CallQueue, isLarge, WaitingCall, type Caller, keyOfValues } from './read-queue.js'
import { ChangeQueue, CreateQueue, type WriteCaller } from './write-queues.js'
import { JoinedLine, LineForm } from './ordered-batch.js'

/** Milliseconds between two looks at the calls that wait. */
const lookTime = 50

/** The queues of an engine's brief statements. */
class Queues {
  readonly #engine: Engine
  readonly #most: number
  readonly #byStatement = new WeakMap<Statement, CallQueue>()
  readonly #same = new WeakMap<Statement, Map<string, CallQueue>>()
  readonly #writes = new WeakMap<Statement, ChangeQueue | CreateQueue>()
  readonly #lines = new WeakMap<Statement, LineForm>()
  /** In which somebody may wait. */
  readonly #looked = new Set<Pick<CallQueue, 'look'>>()
  #looking: NodeJS.Timeout | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#most = Math.max(2, Math.floor((engine.pool?.().most ?? 1) / 3))
  }

  run<W extends Wanted>(
    statement: Statement,
    values: readonly unknown[],
    wanted: W,
    caller: Caller & WriteCaller,
  ): MaybePromise<Answers[W]> {
    if (wanted === 'rows' && !caller.mayLeave) {
      const queue = this.#ofWrites(statement)
      if (queue !== undefined) return this.#write(queue, values, caller) as MaybePromise<Answers[W]>
    }
    const queue = wanted === 'rows' || wanted === 'first' ? this.#of(statement, values) : undefined
    if (queue === undefined) return caller.runner.run(statement, values, wanted)
    if (queue.isFree) return queue.follow(caller.runner.run(statement, values, wanted))
    return new Promise((resolve, reject) => {
      const answer = (rows: readonly Row[]): void => {
        resolve((wanted === 'first' ? rows[0] : rows) as Answers[W])
      }
      queue.wait(new WaitingCall(values, caller, answer, reject))
      this.#lookAt(queue)
    })
  }

  /** @returns `undefined` for what goes by itself */
  #of(statement: Statement, values: readonly unknown[]): CallQueue | undefined {
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

  /** Of changes of rows by their keys, and of new rows. */
  #ofWrites(statement: Statement): ChangeQueue | CreateQueue | undefined {
    const { oneRow, rows, newRow } = statement
    if (oneRow === undefined && rows === undefined && newRow === undefined) return undefined
    let queue = this.#writes.get(statement)
    if (queue === undefined) {
      queue =
        newRow !== undefined
          ? new CreateQueue(statement, this.#engine)
          : new ChangeQueue(statement, this.#engine, rows === undefined ? this.#most : 1)
      this.#writes.set(statement, queue)
    }
    return queue
  }

  /** How changes of one row that one caller asks for in order go as one. */
  lineOf(statement: Statement): LineForm {
    let line = this.#lines.get(statement)
    if (line === undefined) {
      line = new LineForm(statement, this.#engine)
      this.#lines.set(statement, line)
    }
    return line
  }

  /** Runs what stands for a line's changes. */
  changeInLine(
    statement: Statement,
    values: readonly unknown[],
    caller: WriteCaller,
  ): MaybePromise<readonly Row[]> {
    const queue = this.#ofWrites(statement)
    return queue === undefined
      ? caller.runner.run(statement, values, 'rows')
      : this.#write(queue, values, caller)
  }

  #write(
    queue: ChangeQueue | CreateQueue,
    values: readonly unknown[],
    caller: WriteCaller,
  ): MaybePromise<readonly Row[]> {
    const answer = queue.run(values, caller)
    if (queue.isWaiting) this.#lookAt(queue)
    return answer
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
  protected readonly queues: Queues

  constructor(queues: Queues) {
    this.queues = queues
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): MaybePromise<Answers[W]> {
    return this.queues.run(statement, values, wanted, this)
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

  override run<W extends Wanted>(
    statement: Statement,
    values: Values,
    wanted: W,
  ): MaybePromise<Answers[W]> {
    if (this.writing.late && changes(statement)) throw lateFault()
    return super.run(statement, values, wanted)
  }

  get runner(): Runner {
    return (this.#runner ??= writesOn(this.#engine, this.writing))
  }
}

export class JoinedEngine extends EngineLayer implements Caller, WriteCaller {
  readonly mayLeave = false
  readonly isGone = false
  readonly #queues: Queues

  constructor(engine: Engine) {
    super(engine)
    const queues = new Queues(engine)
    this.#queues = queues
    if (engine.clientReads !== undefined)
      this.clientReads = (reading) => new JoiningReads(engine, queues, reading)
    if (engine.inOrder !== undefined)
      this.inOrder = (writing) => {
        const runner = writing === undefined ? engine : writesOn(engine, writing)
        return new JoinedLine(queues, { runner, writing }, () => openLine(engine, writing))
      }
  }

  get runner(): Runner {
    return this.inner
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): MaybePromise<Answers[W]> {
    return this.#queues.run(statement, values, wanted, this)
  }

  clientWrites(writing: ClientWriting): Runner {
    return new JoiningWrites(this.inner, this.#queues, writing)
  }
}

async function openLine(
  engine: Engine,
  writing: ClientWriting | undefined,
): Promise<OrderedRunner> {
  const line = await engine.inOrder?.(writing)
  if (line === undefined) throw new TypeError('The database runs nothing in order any more.')
  return line
}
