/** Subscriptions under the same rules: who may subscribe to a record, and which changes each subscriber gets. */
import { describe, expect, it } from '@jest/globals'
import { subscribe, type EventClient } from '../../graphql/event-client.js'
import type { Wanted } from './line.js'
import { closed, same, wantedOf } from './line.js'
import { callers, classOf, type CallerName, type Ground, type RecordName } from './world.js'

interface Stream {
  readonly record: RecordName
  /** The selection of the record's fields and relations. */
  readonly fields: string
  /** Makes the change that subscribers with access get. */
  readonly change: (ground: Ground) => Promise<unknown>
  /** A row that every subscriber sees. It is created after the change, as the end of what is read. */
  readonly last: object
}

type Line = readonly [rule: string, stream: Stream, wanted: Wanted]

const update =
  (record: RecordName, id: number, values: object) =>
  (ground: Ground): Promise<unknown> =>
    ground.database.records(classOf(record)).update(id, values)
const create =
  (record: RecordName, values: object) =>
  (ground: Ground): Promise<unknown> =>
    ground.database.records(classOf(record)).create(values)
const remove =
  (record: RecordName, id: number) =>
  (ground: Ground): Promise<unknown> =>
    ground.database.records(classOf(record)).delete(id)

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
const heard = (event: string, record: object | null) => [{ event, record }]
const nothing: unknown[] = []

const lines: readonly Line[] = [
  [
    'rows: a new row',
    { ...account, change: create('Account', { iban: 'N', owner: 'bob' }) },
    ...same({ bob: 1, admin: 1, key: 1 }, heard('created', { iban: 'N' }), nothing),
  ],
  [
    'rows: a row that changes',
    { ...account, change: update('Account', 1, { iban: 'N' }) },
    ...same({ ann: 1, admin: 1, key: 1 }, heard('updated', { iban: 'N' }), nothing),
  ],
  [
    'rows: a row that is given away',
    { ...account, change: update('Account', 1, { owner: 'bob' }) },
    ...same({ bob: 1, admin: 1, key: 1 }, heard('updated', { iban: 'DE-A' }), nothing),
  ],
  [
    'rows: a row that is deleted',
    {
      ...account,
      change: async (ground) => {
        await create('Account', { id: 50, iban: 'N', owner: 'ann' })(ground)
        await remove('Account', 50)(ground)
      },
    },
    ...same(
      { ann: 1, admin: 1, key: 1 },
      // The row is already deleted when its creation is reported, so its owner is unknown.
      expect.arrayContaining(heard('deleted', null)),
      nothing,
    ),
  ],
  [
    'rows by the rows of another: a row that changes',
    { ...task, change: update('Task', 1, { text: 'N' }) },
    ...same({ ann: 1, key: 1 }, heard('updated', { text: 'N' }), nothing),
  ],
  [
    'rows by the rows of another: a row that is deleted',
    { ...task, change: remove('Task', 1) },
    // The owner of a deleted row is read from its own columns only, and here they name no one.
    ...same({ key: 1 }, heard('deleted', null), nothing),
  ],
  [
    'rows by the rows of another: a row for all callers that is deleted',
    {
      ...task,
      change: async (ground) => {
        await update('Task', 1, { owner: 'everybody' })(ground)
        await remove('Task', 1)(ground)
      },
    },
    { others: expect.arrayContaining(heard('deleted', null)) },
  ],
  [
    '@Secured',
    {
      record: 'Vault',
      fields: 'word',
      change: update('Vault', 1, { word: 'N' }),
      last: { word: 'L' },
    },
    closed({ admin: 1, key: 1 }, heard('updated', { word: 'N' })),
  ],
  [
    '@Secured by the sign-in',
    {
      record: 'Till',
      fields: 'word',
      change: update('Till', 1, { word: 'N' }),
      last: { word: 'L' },
    },
    closed({ ann: 1, key: 1 }, heard('updated', { word: 'N' })),
  ],
  [
    '@Secured by a guard',
    {
      record: 'Shift',
      fields: 'word',
      change: update('Shift', 1, { word: 'N' }),
      last: { word: 'L' },
    },
    closed({ ann: 1, key: 1 }, heard('updated', { word: 'N' })),
  ],
  [
    '@Secured by an asynchronous guard',
    {
      record: 'Ledger',
      fields: 'word',
      change: update('Ledger', 1, { word: 'N' }),
      last: { word: 'L' },
    },
    closed({ ann: 1, key: 1 }, heard('updated', { word: 'N' })),
  ],
  [
    'a secured field',
    {
      record: 'Staff',
      fields: 'name salary',
      change: update('Staff', 1, { salary: 1 }),
      last: { name: 'L' },
    },
    ...same(
      { admin: 1, key: 1 },
      heard('updated', { name: 'Ada', salary: 1 }),
      heard('updated', { name: 'Ada', salary: null }),
    ),
  ],
  [
    'softDelete: a row that is deleted',
    { record: 'Draft', fields: 'text', change: remove('Draft', 3), last: { text: 'L' } },
    { others: heard('deleted', null) },
  ],
  [
    'a relation to rows of others',
    {
      record: 'Post',
      fields: 'title account { iban }',
      change: update('Post', 1, { title: 'N' }),
      last: { title: 'L' },
    },
    ...same(
      { ann: 1, admin: 1, key: 1 },
      heard('updated', { title: 'N', account: { iban: 'DE-A' } }),
      heard('updated', { title: 'N', account: null }),
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
    ...same(
      { admin: 1, key: 1 },
      heard('updated', { title: 'N', vault: { word: 'gold' } }),
      heard('updated', { title: 'N', vault: null }),
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
    { others: heard('updated', { text: 'N' }) },
  ],
  [
    'writes: false',
    {
      record: 'Entry',
      fields: 'text',
      change: update('Entry', 1, { text: 'N' }),
      last: { text: 'L' },
    },
    { others: heard('updated', { text: 'N' }) },
  ],
]

interface Change {
  readonly event: string
  readonly id: string
  readonly [record: string]: unknown
}

export function describeStreams(ground: Ground): void {
  const follow = async (caller: CallerName, { record, fields }: Stream) => {
    const name = record.toLowerCase()
    const query = `subscription { ${name}Changed { event id ${name} { ${fields} } } }`
    try {
      return await subscribe(`${ground.app.url}/graphql`, query, {
        token: ground.tokens.get(caller),
      })
    } catch (error) {
      return verdictOf(error)
    }
  }

  describe('by a subscription', () => {
    it.each(lines)('%s', async (_rule, stream, wanted) => {
      const clients = new Map<CallerName, EventClient | string>()
      for (const caller of callers) clients.set(caller, await follow(caller, stream))
      await stream.change(ground)
      const last = await create(stream.record, stream.last)(ground)
      const { id } = last as { readonly id: number }
      for (const [caller, client] of clients) {
        const told =
          typeof client === 'string' ? client : await readUntil(client, stream, String(id))
        expect([caller, told]).toEqual([caller, wantedOf(wanted, caller, 'a subscription')])
      }
      for (const client of clients.values()) if (typeof client !== 'string') client.leave()
    })
  })
}

/** @returns the events before the last row */
async function readUntil(
  client: EventClient,
  { record }: Stream,
  last: string,
): Promise<unknown[]> {
  const name = record.toLowerCase()
  const told: unknown[] = []
  for (;;) {
    const result = await client.next()
    const data = result?.data as Readonly<Record<string, Change | null>> | undefined
    const change = data?.[`${name}Changed`]
    if (change === null || change === undefined) throw new Error(JSON.stringify(result))
    if (change.id === last) return told
    told.push({ event: change.event, record: change[name] })
  }
}

function verdictOf(error: unknown): string {
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
