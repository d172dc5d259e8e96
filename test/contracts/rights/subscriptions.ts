/** Subscriptions under the same rules: who may subscribe to a record, and which changes each subscriber gets. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { subscribe, type EventClient } from '../../graphql/event-client.js'
import type { Expectation } from './cases.js'
import { onlyFor, forCallers, expectedFor } from './cases.js'
import { callers, classOf, type CallerName, type Fixture, type RecordName } from './fixture.js'

interface Subscription {
  readonly record: RecordName
  /** The selection of the record's fields and relations. */
  readonly fields: string
  /** Makes the change that subscribers with access get. */
  readonly change: (fixture: Fixture) => Promise<unknown>
  /** A row that every subscriber sees. It is created after the change, as the end of what is read. */
  readonly last: object
}

type Case = readonly [rule: string, subscription: Subscription, expectation: Expectation]

const update =
  (record: RecordName, id: number, values: object) =>
  (fixture: Fixture): Promise<unknown> =>
    fixture.database.records(classOf(record)).update(id, values)
const create =
  (record: RecordName, values: object) =>
  (fixture: Fixture): Promise<unknown> =>
    fixture.database.records(classOf(record)).create(values)
const remove =
  (record: RecordName, id: number) =>
  (fixture: Fixture): Promise<unknown> =>
    fixture.database.records(classOf(record)).delete(id)

const account = {
  record: 'Account',
  fields: 'iban',
  last: { iban: 'L', owner: 'everybody' },
} as const
const task = {
  record: 'Task',
  fields: 'text',
  last: { text: 'L', projectId: 2, owner: 'everybody' },
} as const
const oneEvent = (event: string, record: object | null) => [{ event, record }]
const nothing: unknown[] = []

/** A changed text of a record that only some callers may see. */
const changedWord = (
  rule: string,
  record: RecordName,
  readers: Parameters<typeof onlyFor>[0],
): Case => [
  rule,
  { record, fields: 'word', change: update(record, 1, { word: 'N' }), last: { word: 'L' } },
  onlyFor(readers, oneEvent('updated', { word: 'N' })),
]

const cases: readonly Case[] = [
  [
    'rows: a new row',
    { ...account, change: create('Account', { iban: 'N', owner: 'bob' }) },
    ...forCallers({ bob: 1, admin: 1, key: 1 }, oneEvent('created', { iban: 'N' }), nothing),
  ],
  [
    'rows: a row that changes',
    { ...account, change: update('Account', 1, { iban: 'N' }) },
    ...forCallers({ ann: 1, admin: 1, key: 1 }, oneEvent('updated', { iban: 'N' }), nothing),
  ],
  [
    'rows: a row that is given away',
    { ...account, change: update('Account', 1, { owner: 'bob' }) },
    ...forCallers({ bob: 1, admin: 1, key: 1 }, oneEvent('updated', { iban: 'DE-A' }), nothing),
  ],
  [
    'rows: a row that is deleted',
    {
      ...account,
      change: async (fixture) => {
        await create('Account', { id: 50, iban: 'N', owner: 'ann' })(fixture)
        await remove('Account', 50)(fixture)
      },
    },
    ...forCallers(
      { ann: 1, admin: 1, key: 1 },
      // The row is already deleted when its creation is reported, so its owner is unknown.
      expect.arrayContaining(oneEvent('deleted', null)),
      nothing,
    ),
  ],
  [
    'rows by the rows of another: a row that changes',
    { ...task, change: update('Task', 1, { text: 'N' }) },
    ...forCallers({ ann: 1, key: 1 }, oneEvent('updated', { text: 'N' }), nothing),
  ],
  [
    'rows by the rows of another: a row that is deleted',
    { ...task, change: remove('Task', 1) },
    // The owner of a deleted row is read from its own columns only, and here they name no one.
    ...forCallers({ key: 1 }, oneEvent('deleted', null), nothing),
  ],
  [
    'rows by the rows of another: a row for all callers that is deleted',
    {
      ...task,
      change: async (fixture) => {
        await update('Task', 1, { owner: 'everybody' })(fixture)
        await remove('Task', 1)(fixture)
      },
    },
    { rest: expect.arrayContaining(oneEvent('deleted', null)) },
  ],
  changedWord('@Secured', 'Vault', { admin: 1, key: 1 }),
  changedWord('@Secured by the sign-in', 'Till', { ann: 1, key: 1 }),
  changedWord('@Secured by a guard', 'Shift', { ann: 1, key: 1 }),
  changedWord('@Secured by an asynchronous guard', 'Ledger', { ann: 1, key: 1 }),
  [
    'a secured field',
    {
      record: 'Staff',
      fields: 'name salary',
      change: update('Staff', 1, { salary: 1 }),
      last: { name: 'L' },
    },
    ...forCallers(
      { admin: 1, key: 1 },
      oneEvent('updated', { name: 'Ada', salary: 1 }),
      oneEvent('updated', { name: 'Ada', salary: null }),
    ),
  ],
  [
    'softDelete: a row that is deleted',
    { record: 'Draft', fields: 'text', change: remove('Draft', 3), last: { text: 'L' } },
    { rest: oneEvent('deleted', null) },
  ],
  [
    'a relation to rows of others',
    {
      record: 'Post',
      fields: 'title account { iban }',
      change: update('Post', 1, { title: 'N' }),
      last: { title: 'L' },
    },
    ...forCallers(
      { ann: 1, admin: 1, key: 1 },
      oneEvent('updated', { title: 'N', account: { iban: 'DE-A' } }),
      oneEvent('updated', { title: 'N', account: null }),
    ),
  ],
  [
    'a relation to a secured record',
    {
      record: 'Post',
      fields: 'title vault { word }',
      change: update('Post', 1, { title: 'N' }),
      last: { title: 'L' },
    },
    ...forCallers(
      { admin: 1, key: 1 },
      oneEvent('updated', { title: 'N', vault: { word: 'gold' } }),
      oneEvent('updated', { title: 'N', vault: null }),
    ),
  ],
  [
    '@NoAuth',
    {
      record: 'Wish',
      fields: 'text',
      change: update('Wish', 1, { text: 'N' }),
      last: { text: 'L' },
    },
    { rest: oneEvent('updated', { text: 'N' }) },
  ],
  [
    'writes: false',
    {
      record: 'Entry',
      fields: 'text',
      change: update('Entry', 1, { text: 'N' }),
      last: { text: 'L' },
    },
    { rest: oneEvent('updated', { text: 'N' }) },
  ],
]

interface Change {
  readonly event: string
  readonly id: string
  readonly [record: string]: unknown
}

export function describeSubscriptions(fixture: Fixture): void {
  const subscribeAs = async (caller: CallerName, { record, fields }: Subscription) => {
    const name = record.toLowerCase()
    const query = `subscription { ${name}Changed { event id ${name} { ${fields} } } }`
    try {
      return await subscribe(`${fixture.app.url}/graphql`, query, {
        token: fixture.tokens.get(caller),
      })
    } catch (error) {
      return refusalOf(error)
    }
  }

  describe('by a subscription', () => {
    // PostgreSQL needs most of a second until the first listener to a table misses no change.
    let stopListening: () => void
    beforeAll(async () => {
      stopListening = await fixture.database.onChange(() => undefined, { everywhere: true })
    })
    afterAll(() => {
      stopListening()
    })

    it.each(cases)('%s', async (_rule, subscription, expectation) => {
      const clients = new Map<CallerName, EventClient | string>()
      for (const caller of callers) clients.set(caller, await subscribeAs(caller, subscription))
      await subscription.change(fixture)
      const last = await create(subscription.record, subscription.last)(fixture)
      const { id } = last as { readonly id: number }
      for (const [caller, client] of clients) {
        const events =
          typeof client === 'string' ? client : await readUntil(client, subscription, String(id))
        expect([caller, events]).toEqual([
          caller,
          expectedFor(expectation, caller, 'a subscription'),
        ])
      }
      for (const client of clients.values()) if (typeof client !== 'string') client.leave()
    })
  })
}

/** @returns the events before the last row */
async function readUntil(
  client: EventClient,
  { record }: Subscription,
  last: string,
): Promise<unknown[]> {
  const name = record.toLowerCase()
  const events: unknown[] = []
  for (;;) {
    const result = await client.next()
    const data = result?.data as Readonly<Record<string, Change | null>> | undefined
    const change = data?.[`${name}Changed`]
    if (change === null || change === undefined) throw new Error(JSON.stringify(result))
    if (change.id === last) return events
    events.push({ event: change.event, record: change[name] })
  }
}

function refusalOf(error: unknown): string {
  const { message, answer } = error as {
    readonly message: string
    readonly answer?: {
      readonly errors?: readonly { readonly extensions: { readonly code: string } }[]
    }
  }
  const code = answer?.errors?.[0]?.extensions.code
  if (code === 'FORBIDDEN' || message === '403') return 'forbidden'
  if (code === 'UNAUTHENTICATED' || message === '401') return 'unauthenticated'
  throw error
}
