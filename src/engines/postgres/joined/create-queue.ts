/**
 * New rows of one table, each of one call. The first goes at once; those that come while it is on its way go together as one
 * statement, and so with one commit, when it has its answer. Of a statement that fails nothing was kept: then each call is
 * run by itself, so that it has its own answer or fault. One that has to wait for somebody (a unique value that another
 * transaction has written, a row that it refers to) holds the others for a moment only: then it waits by itself.
 */
import { isThenable, type Later } from '../../../core/later.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { isLockTimeout, isOfAll } from '../faults.js'
import { askJoined, writeJoinedCreate, type JoinedStatement } from './joined-statement.js'
import { mostFailures, mostRows, QueuedWrite, type WriteCaller } from './queued-write.js'

export class CreateQueue {
  readonly #statement: Statement
  readonly #engine: Engine
  #waiting: QueuedWrite[] = []
  #underWay = 0
  /** What is on its way from an earlier one is not waited for any more. */
  #turn = 0
  /** Nothing has come since somebody looked. */
  #isSlow = false
  #joined: JoinedStatement | 'unknown' | 'asked' | 'never' = 'unknown'
  #failures = 0

  constructor(statement: Statement, engine: Engine) {
    this.#statement = statement
    this.#engine = engine
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** @returns the stored row */
  run(values: readonly unknown[], caller: WriteCaller): Later<readonly Row[]> {
    if (this.#underWay > 0 && typeof this.#joined === 'object')
      return new Promise((resolve, reject) => {
        this.#waiting.push(new QueuedWrite(values, caller, resolve, reject))
      })
    if (this.#underWay > 0 && this.#joined === 'unknown') this.#ask()
    const answer = caller.runner.rows(this.#statement, values)
    if (isThenable(answer)) {
      const onAnswer = this.#begin()
      answer.then(onAnswer, onAnswer)
    }
    return answer
  }

  /**
   * What takes long may wait for somebody: nobody waits for it any more.
   *
   * @returns whether somebody waits
   */
  look(): boolean {
    if (this.#isSlow) {
      this.#turn++
      this.#underWay = 0
      this.#send()
    } else this.#isSlow = true
    return this.#waiting.length > 0
  }

  /** Something goes. @returns what is called with its answer */
  #begin(): () => void {
    const turn = this.#turn
    this.#underWay++
    this.#isSlow = false
    return () => {
      if (turn !== this.#turn) return
      this.#underWay--
      this.#isSlow = false
      if (this.#underWay === 0) this.#send()
    }
  }

  #send(): void {
    const joined = this.#joined
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver)
    const calls = this.#waiting.splice(0, mostRows)
    const [first] = calls
    if (first === undefined) return
    if (calls.length === 1 || typeof joined !== 'object')
      for (const call of calls) void call.runAlone(this.#statement).then(this.#begin())
    else void this.#runTogether(calls, joined)
  }

  async #runTogether(calls: readonly QueuedWrite[], joined: JoinedStatement): Promise<void> {
    const onAnswer = this.#begin()
    let rows: readonly Row[]
    for (const call of calls) call.hasGone = true
    try {
      rows = await this.#engine.rows(
        joined.statement,
        joined.toLists(calls.map(({ values }) => values)),
      )
    } catch (error) {
      onAnswer()
      await this.#fail(calls, error)
      return
    }
    onAnswer()
    // The statement makes sure that there are as many, in the order of the calls.
    for (const [index, call] of calls.entries()) call.resolve(rows.slice(index, index + 1))
  }

  /** Where the server was lost or took its time, each call is told so: nobody knows, or it would take as long again. */
  async #fail(calls: readonly QueuedWrite[], error: unknown): Promise<void> {
    const isWait = isLockTimeout(error)
    if (!isWait && isOfAll(error)) {
      for (const call of calls) call.reject(error)
      return
    }
    const answered = await Promise.all(calls.map((call) => call.runAlone(this.#statement)))
    if (isWait || !answered.every(Boolean)) return
    this.#failures++
    if (this.#failures === mostFailures) this.#joined = 'never'
  }

  #ask(): void {
    this.#joined = 'asked'
    void askJoined(this.#statement, this.#engine, writeJoinedCreate).then((joined) => {
      this.#joined = joined
    })
  }
}
