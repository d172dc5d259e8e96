/** The rows of the rights suite's tables: an operation and what each caller gets. */
import type { Answer, Door } from './door.js'
import type { CallerName, RecordName } from './world.js'

export type Ask = (door: Door) => Promise<Answer>

/** By caller: the rows, the number or the row if the operation is done, otherwise its outcome. */
export type Wanted = Readonly<Partial<Record<CallerName, unknown>>> & {
  readonly others?: unknown
  /** The operation is public, so `crud` ignores the token. */
  readonly plain?: true
  /** Only the HTTP method requires a token, so `crud` ignores the token if the controller is public. */
  readonly plainIfOpen?: true
  /** A rule of the record requires the token, not only the HTTP method. */
  readonly byRule?: true
}

export type Line = readonly [rule: string, ask: Ask, wanted: Wanted]

export const ids = (...all: number[]) => all.map((id) => ({ id: String(id) }))
export const id = (one: number) => ({ id: String(one) })
export const list =
  (record: RecordName, path?: string, operator?: 'eq' | 'gte' | 'like', value?: string | number) =>
  (door: Door): Promise<Answer> =>
    door.list(
      record,
      ['id'],
      path === undefined || operator === undefined || value === undefined
        ? undefined
        : { filter: { path, operator, value } },
    )

/** Writes need a token unless the record says otherwise. */
export const noToken = { anonymous: 'unauthenticated' }

/** One value for some callers, and another for the rest. */
export function same(
  some: Partial<Record<CallerName, 1>>,
  value: unknown,
  others: unknown,
): [Wanted] {
  return [{ ...Object.fromEntries(Object.keys(some).map((name) => [name, value])), others }]
}

/** Some callers get the value, the rest is forbidden, and anonymous callers need a token. */
export function closed(some: Partial<Record<CallerName, 1>>, value: unknown): Wanted {
  return { anonymous: 'unauthenticated', byRule: true, ...same(some, value, 'forbidden')[0] }
}

/** @returns the expected result of the caller through the named interface */
export function wantedOf(wanted: Wanted, caller: CallerName, door: string): unknown {
  // MCP checks the token of every message before it reads the message.
  if (caller === 'revoked' && door.startsWith('agents')) return 'unauthenticated'
  // A revoked token is refused wherever the token is checked.
  if (caller === 'revoked' && !(wanted.plain === true && door.startsWith('crud')))
    return wanted.revoked ?? 'unauthenticated'
  return caller in wanted ? wanted[caller] : wanted.others
}

export function outcome({ verdict, value }: Answer): unknown {
  if (verdict !== 'done') return verdict
  return toTexts(value)
}

/** Keys are numbers in REST and texts in GraphQL. */
function toTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toTexts)
  if (typeof value !== 'object' || value === null || !('id' in value)) return value
  return { ...value, id: String(value.id) }
}

/** Rows count as `done`, because new rows have other keys in each test. */
export function withoutKey(value: unknown): unknown {
  return typeof value === 'object' ? 'done' : value
}
