/** The rows of the rights suite's tables: an operation and what each caller gets. */
import { expect } from '@jest/globals'
import type { Result, RecordClient } from './record-client.js'
import { callers, type CallerName, type Fixture, type RecordName } from './fixture.js'

export type Operation = (client: RecordClient) => Promise<Result>

/** By caller: the rows, the number or the row if the operation is done, otherwise its outcome. */
export type Expectation = Readonly<Partial<Record<CallerName, unknown>>> & {
  readonly rest?: unknown
  /** The operation is public, so `crud` ignores the token. */
  readonly ignoresToken?: true
  /** Only the HTTP method requires a token, so `crud` ignores the token if the controller is public. */
  readonly ignoresTokenIfOpen?: true
  /** May write the row but not read it, so a mutation that selects more than the key is refused. */
  readonly blind?: readonly CallerName[]
  /** A rule of the record requires the token, not only the HTTP method. */
  readonly requiredByRule?: true
}

export type Case = readonly [rule: string, operation: Operation, expectation: Expectation]

export const ids = (...all: number[]) => all.map((id) => ({ id: String(id) }))
export const id = (one: number) => ({ id: String(one) })
export const list =
  (record: RecordName, path?: string, operator?: 'eq' | 'gte' | 'like', value?: string | number) =>
  (client: RecordClient): Promise<Result> =>
    client.list(
      record,
      ['id'],
      path === undefined || operator === undefined || value === undefined
        ? undefined
        : { filter: { path, operator, value } },
    )

/** @returns a response to the key of a hidden row, with the missing key 99 where the response repeats the key it was sent */
export function withMissingKey(text: string, hidden: number): string {
  return text
    .replaceAll(`Account ${hidden}.`, 'Account 99.')
    .replaceAll(`: ${hidden} does not exist`, ': 99 does not exist')
}

/** Writes need a token unless the record says otherwise. */
export const noToken = { anonymous: 'unauthenticated' }

/** One value for some callers, and another for the rest. */
export function forCallers(
  some: Partial<Record<CallerName, 1>>,
  value: unknown,
  rest: unknown,
): [Expectation] {
  return [{ ...Object.fromEntries(Object.keys(some).map((name) => [name, value])), rest: rest }]
}

/** Some callers get the value, the rest is forbidden, and anonymous callers need a token. */
export function onlyFor(some: Partial<Record<CallerName, 1>>, value: unknown): Expectation {
  return {
    anonymous: 'unauthenticated',
    requiredByRule: true,
    ...forCallers(some, value, 'forbidden')[0],
  }
}

/** @returns the expected result of the caller through the named interface */
export function expectedFor(expectation: Expectation, caller: CallerName, client: string): unknown {
  // MCP checks the token of every message before it reads the message.
  if (caller === 'revoked' && client.startsWith('agents')) return 'unauthenticated'
  // A revoked token is refused wherever the token is checked.
  if (caller === 'revoked' && !(expectation.ignoresToken === true && client.startsWith('crud')))
    return expectation.revoked ?? 'unauthenticated'
  if (client === 'the executor' && expectation.blind?.includes(caller) === true) return 'forbidden'
  return caller in expectation ? expectation[caller] : expectation.rest
}

export function valueOrOutcome({ outcome, value }: Result): unknown {
  if (outcome !== 'done') return outcome
  return toTexts(value)
}

/** Keys are numbers in REST and texts in GraphQL. */
function toTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toTexts)
  if (typeof value !== 'object' || value === null || !('id' in value)) return value
  return { ...value, id: String(value.id) }
}

/** Rows count as `done`, because new rows have other keys in each test. */
export function ignoringRows(value: unknown): unknown {
  return typeof value === 'object' ? 'done' : value
}

/**
 * Runs the operation as every caller and expects its outcome.
 *
 * @param isWrite expects unchanged rows after a refused write, and restores them after a successful one
 * @param expectedOf returns the expected result of the caller
 */
export async function expectForCallers(
  fixture: Fixture,
  open: (token: string | undefined) => RecordClient,
  operation: Operation,
  isWrite: boolean,
  expectedOf: (caller: CallerName, actual: unknown) => unknown,
): Promise<void> {
  for (const caller of callers) {
    const result = await operation(open(fixture.tokens.get(caller)))
    const actual = ignoringRows(valueOrOutcome(result))
    expect([caller, actual]).toEqual([caller, ignoringRows(expectedOf(caller, actual))])
    if (!isWrite) continue
    if (result.outcome === 'done') await fixture.restore()
    else expect([caller, await fixture.snapshot()]).toEqual([caller, fixture.initialRows])
  }
  fixture.markUnchanged()
}
