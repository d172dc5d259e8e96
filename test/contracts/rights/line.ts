/** The words of the rights suite's tables: who gets what of a question. */
import type { Answer, Door } from './door.js'
import type { CallerName, RecordName } from './world.js'

export type Ask = (door: Door) => Promise<Answer>

/** What a caller gets: rows, a number or a row where it is done, else the verdict. */
export type Wanted = Readonly<Partial<Record<CallerName, unknown>>> & {
  readonly others?: unknown
  /** Nothing depends on who asks: `crud` then does not look at a token that comes. */
  readonly plain?: true
  /** Only the verb asks for a token: where a controller opens it, `crud` does not look at one that comes. */
  readonly plainIfOpen?: true
  /** A rule of the record asks for the token, not only the verb. */
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

/** Writes need a token where nothing else is said. */
export const noToken = { anonymous: 'unauthenticated' }

/** One thing for some, another for all others. */
export function same(
  some: Partial<Record<CallerName, 1>>,
  value: unknown,
  others: unknown,
): [Wanted] {
  return [{ ...Object.fromEntries(Object.keys(some).map((name) => [name, value])), others }]
}

/** Open to some; others need another token, and visitors one at all. */
export function closed(some: Partial<Record<CallerName, 1>>, value: unknown): Wanted {
  return { anonymous: 'unauthenticated', byRule: true, ...same(some, value, 'forbidden')[0] }
}

/** What a caller is to get by a door. */
export function wantedOf(wanted: Wanted, caller: CallerName, door: string): unknown {
  // Agents show their token with every message, before anything of it is read.
  if (caller === 'revoked' && door.startsWith('agents')) return 'unauthenticated'
  // A token that is called back opens nothing, wherever somebody asks whose it is.
  if (caller === 'revoked' && !(wanted.plain === true && door.startsWith('crud')))
    return wanted.revoked ?? 'unauthenticated'
  return caller in wanted ? wanted[caller] : wanted.others
}

export function outcome({ verdict, value }: Answer): unknown {
  if (verdict !== 'done') return verdict
  return toTexts(value)
}

/** Keys are numbers by one door and texts by another. */
function toTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toTexts)
  if (typeof value !== 'object' || value === null || !('id' in value)) return value
  return { ...value, id: String(value.id) }
}

/** What was written is shown by more than its key, and keys go on. */
export function withoutKey(value: unknown): unknown {
  return typeof value === 'object' ? 'done' : value
}
