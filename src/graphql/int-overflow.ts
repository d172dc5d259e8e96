/** A value that GraphQL's `Int` cannot hold: the client is told so, the log what to do. */
import type { Log } from '../core/log.js'

/** A field of a record, as messages name it: `Product.price`. */
interface NamedField {
  readonly where: string
}

/** The fields that the log has named. */
const told = new WeakSet<NamedField>()

export class IntOverflow extends Error {
  readonly #field: NamedField
  readonly #value: string

  /** @param about what the client is told besides */
  constructor(field: NamedField, value: unknown, about: string) {
    const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value)
    super(`Int cannot represent non 32-bit signed integer value: ${text}${about}`)
    this.#field = field
    this.#value = text
  }

  /** Names the field and the remedy, once in the life of a process; afterwards at debug. */
  tell(log: Log): void {
    const field = this.#field
    const level = told.has(field) ? 'debug' : 'warn'
    told.add(field)
    log[level](
      { code: 'INT_OVERFLOW' },
      `${field.where} is ${this.#value}, which GraphQL's Int cannot hold: the answer has an error. Give the field max (or min) beyond 32 bits, @Field('integer', { max: Number.MAX_SAFE_INTEGER }), and it is Integer.`,
    )
  }
}
