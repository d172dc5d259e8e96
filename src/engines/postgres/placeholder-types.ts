/**
 * The types that the server gave to statements' placeholders when it prepared them. A `prepare` of our own for that would
 * wait for whoever holds the statement's table. Source: PostgreSQL, Extended Query, ParameterDescription.
 */
import type { Later } from '../../core/later.js'
import type { Row, Statement } from '../contract/engine.js'
import { ownQuestion } from '../contract/statement.js'

/** Calls of others go each by itself. */
const mostStatements = 1000

/** Runs a question that looks at the catalogue alone. */
type Ask = (statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>

export class PlaceholderTypes {
  readonly #numbers = new Map<string, Later<readonly number[]>>()
  readonly #told = new Map<string, (numbers: readonly number[]) => void>()
  readonly #names = new Map<number, string>()

  /** @param numbers the object ids of the types, by place */
  note(sql: string, numbers: readonly number[]): void {
    if (this.#numbers.size < mostStatements || this.#numbers.has(sql))
      this.#numbers.set(sql, numbers)
    this.#told.get(sql)?.(numbers)
    this.#told.delete(sql)
  }

  /** @returns false where nothing was known */
  forget(sql: string): boolean {
    return this.#numbers.delete(sql)
  }

  /** As soon as the statement is prepared, whoever runs it. */
  async of(sql: string, ask: Ask): Promise<readonly string[]> {
    let numbers = this.#numbers.get(sql)
    if (numbers === undefined) {
      numbers = new Promise((resolve) => this.#told.set(sql, resolve))
      if (this.#numbers.size < mostStatements) this.#numbers.set(sql, numbers)
    }
    return this.name(await numbers, ask)
  }

  async name(numbers: readonly number[], ask: Ask): Promise<readonly string[]> {
    const unknown = numbers.filter((number) => !this.#names.has(number))
    if (unknown.length > 0) {
      for (const [number, name] of await ask(typeNames, [unknown]))
        this.#names.set(Number(number), String(name))
    }
    return numbers.map((number) => String(this.#names.get(number)))
  }
}

const typeNames = ownQuestion(
  `select cast(number as bigint), format_type(number, null) from unnest(cast($1 as oid[])) as number`,
  { together: 'calls' },
)
