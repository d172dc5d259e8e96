/**
 * Statements of one caller in order, each by itself. Where all are the same change of a row, for other rows, they are sent as
 * one that does all or nothing, and which goes together with that of others. Nobody sees a part of them then, and who asks in
 * order learns nothing of it. Where nothing was done they run in their order.
 */
import type { MaybePromise } from '../../../core/maybe-promise.js'
import type {
  Answers,
  Engine,
  Row,
  Statement,
  Values,
  Wanted,
  OrderedRunner,
} from '../../contract/engine.js'
import { isOutage } from '../errors.js'
import { askJoined, writeJoinedLine, type JoinedStatement } from './batched-statement.js'
import type { WriteCaller } from './write-queues.js'

/** How the changes of a statement go as one. */
export class LineForm {
  readonly statement: Statement
  readonly #engine: Engine
  #known: JoinedStatement | 'unknown' | 'asked' | 'never' = 'unknown'

  constructor(statement: Statement, engine: Engine) {
    this.statement = statement
    this.#engine = engine
  }

  /** `undefined` as long as it is not known. */
  get joined(): JoinedStatement | undefined {
    if (typeof this.#known === 'object') return this.#known
    if (this.#known === 'unknown') {
      this.#known = 'asked'
      void askJoined(this.statement, this.#engine, writeJoinedLine).then((joined) => {
        this.#known = joined
      })
    }
    return undefined
  }
}

interface Step {
  readonly statement: Statement
  readonly values: Values
  readonly wanted: Wanted
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What the line is told by those who know all calls. */
interface Queues {
  lineOf(statement: Statement): LineForm
  changeInLine(
    statement: Statement,
    values: Values,
    caller: WriteCaller,
  ): MaybePromise<readonly Row[]>
}

export class JoinedLine implements OrderedRunner {
  readonly #queues: Queues
  readonly #caller: WriteCaller
  readonly #open: () => Promise<OrderedRunner>
  readonly #steps: Step[] = []

  /** @param open gives what runs them in order */
  constructor(queues: Queues, caller: WriteCaller, open: () => Promise<OrderedRunner>) {
    this.#queues = queues
    this.#caller = caller
    this.#open = open
  }

  run<W extends Wanted>(statement: Statement, values: Values, wanted: W): Promise<Answers[W]> {
    return new Promise((resolve, reject) => {
      const answer = resolve as (answer: unknown) => void
      this.#steps.push({ statement, values, wanted, resolve: answer, reject })
    })
  }

  end(): void {
    void this.#send()
  }

  async #send(): Promise<void> {
    const steps = this.#steps
    if (steps.length === 0) return
    try {
      const rows = await this.#together(steps)
      if (rows !== undefined && rows.length === steps.length)
        for (const [index, row] of rows.entries()) steps[index]?.resolve([row])
      else this.#inOrder(steps, await this.#open())
    } catch (error) {
      for (const { reject } of steps) reject(error)
    }
  }

  #inOrder(steps: readonly Step[], line: OrderedRunner): void {
    for (const { statement, values, wanted, resolve, reject } of steps) {
      Promise.resolve(line.run(statement, values, wanted)).then(resolve, reject)
    }
    line.end()
  }

  /** @returns the changed rows in the order of the steps; `undefined` or fewer where none of them was changed */
  async #together(steps: readonly Step[]): Promise<readonly Row[] | undefined> {
    const [first] = steps
    if (first === undefined || !areAlike(steps)) return undefined
    const joined = this.#queues.lineOf(first.statement).joined
    if (joined === undefined) return undefined
    const values = joined.toLists(steps.map(({ values: own }) => own))
    try {
      const rows = await this.#queues.changeInLine(joined.statement, values, this.#caller)
      return [...rows].sort((one, other) => Number(one.at(-2)) - Number(other.at(-2)))
    } catch (error) {
      // Nobody knows then what was done. Of all else nothing was.
      if (isOutage(error)) throw error
      return undefined
    }
  }
}

/** The same change of a row, for different rows. */
function areAlike(steps: readonly Step[]): boolean {
  const statement = steps[0]?.statement
  const place = (statement?.oneRow?.keyPlace ?? 0) - 1
  if (place < 0 || steps.length < 2) return false
  const keys = new Set<string>()
  for (const step of steps) {
    if (step.statement !== statement || step.wanted !== 'rows') return false
    keys.add(String(step.values[place]))
  }
  return keys.size === steps.length
}
