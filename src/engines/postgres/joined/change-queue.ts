/**
 * The changes of one row by its key. The first goes at once; those that come while some are on their way go together as one
 * statement, and so with one commit. That statement waits for nobody: a row that others hold, and a row that is not there,
 * are tried by themselves behind it. Of what fails each half is tried, down to the call that is the reason.
 */
import { isThenable, type Later } from '../../../core/later.js'
import type { Engine, Row, Statement } from '../../contract/engine.js'
import { isOfAll } from '../faults.js'
import { askJoined, writeJoinedChange, type JoinedStatement } from './joined-statement.js'
import { mostFailures, mostRows, QueuedWrite, type WriteCaller } from './queued-write.js'

export class ChangeQueue {
  readonly #statement: Statement
  readonly #engine: Engine
  readonly #keyPlace: number
  readonly #most: number
  #waiting: QueuedWrite[] = []
  #underWay = 0
  /** What is on its way from an earlier one is not waited for any more. */
  #turn = 0
  /** Nothing has come since somebody looked. */
  #isSlow = false
  #isGathering = false
  #joined: JoinedStatement | 'unknown' | 'asked' | 'never' = 'unknown'
  #failures = 0

  /** @param most statements on their way at once */
  constructor(statement: Statement, engine: Engine, most: number) {
    this.#statement = statement
    this.#engine = engine
    this.#most = most
    this.#keyPlace = (statement.oneRow?.keyPlace ?? 1) - 1
  }

  /** A call may go by itself: nobody is before it, or it is not known how they go together. */
  get isFree(): boolean {
    return this.#underWay === 0 || typeof this.#joined !== 'object'
  }

  /** A call that goes by itself. */
  run(values: readonly unknown[], { runner }: WriteCaller): Later<readonly Row[]> {
    if (this.#underWay > 0 && this.#joined === 'unknown') this.#ask()
    const answer = runner.rows(this.#statement, values)
    if (isThenable(answer)) {
      const onAnswer = this.#begin()
      answer.then(onAnswer, onAnswer)
    }
    return answer
  }

  wait(values: readonly unknown[], caller: WriteCaller): Promise<readonly Row[]> {
    if (this.#underWay < this.#most) this.#gather()
    return new Promise((resolve, reject) => {
      this.#waiting.push(new QueuedWrite(values, caller, resolve, reject))
    })
  }

  /**
   * What takes long may stand in a line of its own: nobody waits for it any more.
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

  /** Sends at the end of the loop's turn: until then others may come. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    setImmediate(() => {
      this.#isGathering = false
      if (this.#underWay < this.#most) this.#send()
    })
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
      this.#send()
    }
  }

  #send(): void {
    const joined = this.#joined
    if (this.#waiting.length === 0 || typeof joined !== 'object') return
    const calls = this.#take()
    const [first] = calls
    if (first !== undefined && calls.length === 1)
      void first.runAlone(this.#statement).then(this.#begin())
    else void this.#runTogether(calls, joined)
  }

  /** Calls for different rows, as many as go into one statement; what else is for one of them comes behind it. */
  #take(): QueuedWrite[] {
    const keys = new Set<unknown>()
    const calls: QueuedWrite[] = []
    const left: QueuedWrite[] = []
    for (const call of this.#waiting) {
      if (call.isOver) continue
      const key = String(call.values[this.#keyPlace])
      const goes = calls.length < mostRows && !keys.has(key)
      keys.add(key)
      ;(goes ? calls : left).push(call)
    }
    this.#waiting = left
    return calls
  }

  /** @returns whether each was answered */
  async #runTogether(calls: readonly QueuedWrite[], joined: JoinedStatement): Promise<boolean> {
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
      return this.#fail(calls, error, joined)
    }
    onAnswer()
    const isChanged = new Set<QueuedWrite>()
    for (const row of rows as unknown[][]) {
      const call = calls[Number(row.pop()) - 1]
      if (call === undefined) continue
      isChanged.add(call)
      call.resolve([row])
    }
    for (const call of calls) if (!isChanged.has(call)) this.#runApart(call)
    return true
  }

  /** In a turn of the loop of its own: calls of one turn may wait for each other. */
  #runApart(call: QueuedWrite): void {
    setImmediate(() => void call.runAlone(this.#statement))
  }

  /** Of what failed nothing was kept, unless the server was lost: then nobody knows. What took its time is not tried again. */
  async #fail(
    calls: readonly QueuedWrite[],
    error: unknown,
    joined: JoinedStatement,
  ): Promise<boolean> {
    if (isOfAll(error)) {
      for (const call of calls) call.reject(error)
      return false
    }
    const half = calls.length >> 1
    const tried = [calls.slice(0, half), calls.slice(half)].map((part) => {
      const [first] = part
      if (first !== undefined && part.length === 1) return first.runAlone(this.#statement)
      return this.#runTogether(part, joined)
    })
    const isAnswered = (await Promise.all(tried)).every(Boolean)
    if (isAnswered) this.#failures++
    if (this.#failures === mostFailures) this.#stop()
    return isAnswered
  }

  /** Each goes by itself from now on. */
  #stop(): void {
    this.#joined = 'never'
    for (const call of this.#waiting.splice(0)) this.#runApart(call)
  }

  #ask(): void {
    this.#joined = 'asked'
    void askJoined(this.#statement, this.#engine, writeJoinedChange).then((joined) => {
      this.#joined = joined
    })
  }
}
