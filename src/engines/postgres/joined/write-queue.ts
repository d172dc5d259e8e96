/**
 * What the queues of changes and of new rows share: what is on its way, what waits, and what is known of how the calls of a
 * statement go together.
 */
import { isThenable, type Later } from '../../../core/later.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { askJoined, type JoinedStatement, type WriteJoined } from './joined-statement.js'
import { QueuedWrite, type WriteCaller } from './queued-write.js'

/** Groups that failed where each of their calls did not: then all go by themselves. */
const mostFailures = 3

export abstract class WriteQueue {
  protected readonly statement: Statement
  protected readonly engine: Engine
  protected waiting: QueuedWrite[] = []
  protected underWay = 0
  protected joined: JoinedStatement | 'unknown' | 'asked' | 'never' = 'unknown'
  readonly #write: WriteJoined
  /** What is on its way from an earlier one is not waited for any more. */
  #turn = 0
  /** Nothing has come since somebody looked. */
  #isSlow = false
  #failures = 0

  constructor(statement: Statement, engine: Engine, write: WriteJoined) {
    this.statement = statement
    this.engine = engine
    this.#write = write
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0
  }

  /**
   * What takes long may stand in a line of its own, or wait for somebody: nobody waits for it any more.
   *
   * @returns whether somebody waits
   */
  look(): boolean {
    if (this.#isSlow) {
      this.#turn++
      this.underWay = 0
      this.send()
    } else this.#isSlow = true
    return this.isWaiting
  }

  /** Sends what waits. */
  protected abstract send(): void

  /** Something on its way was answered. */
  protected abstract answered(): void

  /** A call that goes by itself. */
  protected goAlone(values: readonly unknown[], { runner }: WriteCaller): Later<readonly Row[]> {
    if (this.underWay > 0 && this.joined === 'unknown') this.#ask()
    const answer = runner.run(this.statement, values, 'rows')
    if (isThenable(answer)) {
      const onAnswer = this.begin()
      answer.then(onAnswer, onAnswer)
    }
    return answer
  }

  /** @param keys of the rows that it changes */
  protected queue(
    values: readonly unknown[],
    caller: WriteCaller,
    keys: readonly string[] = [],
  ): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push(new QueuedWrite(values, caller, keys, { resolve, reject }))
    })
  }

  /** Something goes. @returns what is called with its answer */
  protected begin(): () => void {
    const turn = this.#turn
    this.underWay++
    this.#isSlow = false
    return () => {
      if (turn !== this.#turn) return
      this.underWay--
      this.#isSlow = false
      this.answered()
    }
  }

  protected async runJoined(
    calls: readonly QueuedWrite[],
    joined: JoinedStatement,
  ): Promise<readonly Row[]> {
    const onAnswer = this.begin()
    for (const call of calls) call.hasGone = true
    try {
      return await this.engine.run(
        joined.statement,
        joined.toLists(calls.map(({ values }) => values)),
        'rows',
      )
    } finally {
      onAnswer()
    }
  }

  /** A group has failed, and none of its calls. @returns whether all go by themselves from now on */
  protected failedTogether(): boolean {
    this.#failures++
    if (this.#failures !== mostFailures) return false
    this.joined = 'never'
    return true
  }

  #ask(): void {
    this.joined = 'asked'
    void askJoined(this.statement, this.engine, this.#write).then((joined) => {
      this.joined = joined
    })
  }
}
