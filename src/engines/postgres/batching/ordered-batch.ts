/**
 * A sequence of statements of one caller. If all are the same update of different rows, they are sent as one statement
 * that updates all rows or none, and which can be batched with sequences of other callers. If it updates none, the
 * statements run one by one. The caller cannot see a difference.
 */
import type { MaybePromise } from '../../../core/maybe-promise.js'
import type {
  Results,
  Engine,
  RequestStatements,
  Row,
  Runner,
  Statement,
  Values,
  ResultKind,
} from '../../contract/engine.js'
import { isOutage } from '../errors.js'
import { prepareBatch, writeOrderedUpdates, type BatchedStatement } from './batched-statement.js'
import { rowKeyOf } from './update-queue.js'
import type { WriteCaller } from './write-queue.js'

/** The batched form of an update for sequences. */
export class OrderedUpdate {
  readonly statement: Statement
  readonly #engine: Engine
  #state: BatchedStatement | 'unknown' | 'preparing' | 'never' = 'unknown'

  constructor(statement: Statement, engine: Engine) {
    this.statement = statement
    this.#engine = engine
  }

  /** `undefined` until the batched statement is prepared. */
  get batched(): BatchedStatement | undefined {
    if (typeof this.#state === 'object') return this.#state
    if (this.#state === 'unknown') {
      this.#state = 'preparing'
      void prepareBatch(this.statement, this.#engine, writeOrderedUpdates).then((batched) => {
        this.#state = batched
      })
    }
    return undefined
  }
}

interface OrderedStatement {
  readonly statement: Statement
  readonly values: Values
  readonly resultKind: ResultKind
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The part of `Queues` that sequences use. */
interface OrderedUpdates {
  orderedUpdateOf(statement: Statement): OrderedUpdate
  runOrderedUpdate(
    statement: Statement,
    values: Values,
    caller: WriteCaller,
  ): MaybePromise<readonly Row[]>
}

/** Collects the statements until it is sent. */
export class OrderedBatch implements Runner {
  readonly #queues: OrderedUpdates
  readonly #caller: WriteCaller
  readonly #steps: OrderedStatement[] = []

  constructor(queues: OrderedUpdates, caller: WriteCaller) {
    this.#queues = queues
    this.#caller = caller
  }

  run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    return new Promise((resolve, reject) => {
      const answer = resolve as (answer: unknown) => void
      this.#steps.push({ statement, values, resultKind, resolve: answer, reject })
    })
  }

  /** @param inOrder runs the statements one by one */
  async send(inOrder: NonNullable<RequestStatements['inOrder']>): Promise<void> {
    const steps = this.#steps
    if (steps.length === 0) return
    try {
      const rows = await this.#runTogether(steps)
      if (rows !== undefined && rows.length === steps.length)
        for (const [index, row] of rows.entries()) steps[index]?.resolve([row])
      else
        await inOrder((runner) => {
          runAll(steps, runner)
        }, this.#caller.writing)
    } catch (error) {
      for (const { reject } of steps) reject(error)
    }
  }

  /** @returns the updated rows in the order of the steps; `undefined` or fewer rows if none was updated */
  async #runTogether(steps: readonly OrderedStatement[]): Promise<readonly Row[] | undefined> {
    const [first] = steps
    if (first === undefined || !updateDifferentRows(steps)) return undefined
    const batched = this.#queues.orderedUpdateOf(first.statement).batched
    if (batched === undefined) return undefined
    const values = batched.toLists(steps.map(({ values: stepValues }) => stepValues))
    try {
      const rows = await this.#queues.runOrderedUpdate(batched.statement, values, this.#caller)
      return [...rows].sort((one, other) => Number(one.at(-2)) - Number(other.at(-2)))
    } catch (error) {
      // After an outage the outcome is unknown. After any other error nothing was written.
      if (isOutage(error)) throw error
      return undefined
    }
  }
}

function runAll(steps: readonly OrderedStatement[], runner: Runner): void {
  for (const { statement, values, resultKind, resolve, reject } of steps) {
    Promise.resolve(runner.run(statement, values, resultKind)).then(resolve, reject)
  }
}

/** Whether all steps are the same update of different rows. */
function updateDifferentRows(steps: readonly OrderedStatement[]): boolean {
  const statement = steps[0]?.statement
  const oneRow = statement?.oneRow
  if (oneRow === undefined || steps.length < 2) return false
  const keys = new Set<string>()
  for (const step of steps) {
    if (step.statement !== statement || step.resultKind !== 'rows') return false
    keys.add(rowKeyOf(oneRow, step.values))
  }
  return keys.size === steps.length
}
