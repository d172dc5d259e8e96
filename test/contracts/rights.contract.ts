/**
 * Every rule of a record by every door, for everybody who may ask. Source: decisions, Second storey: rights. Tables say
 * what is asked and what each caller gets; a door is an adapter in `rights-doors.ts`.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Class } from '../../src/metadata/note.js'
import { doors, type Answer, type Door } from './rights-doors.js'
import { callers, Ground, records, type CallerName, type RecordName } from './rights-world.js'

type Ask = (door: Door) => Promise<Answer>

/** What a caller gets: rows, a number or a row where it is done, else the verdict. */
type Wanted = Readonly<Partial<Record<CallerName, unknown>>> & {
  readonly others?: unknown
  /** Nothing depends on who asks: `crud` then does not look at a token that comes. */
  readonly plain?: true
}

type Line = readonly [rule: string, ask: Ask, wanted: Wanted]

const ids = (...all: number[]) => all.map((id) => ({ id: String(id) }))
const id = (one: number) => ({ id: String(one) })
const list =
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
const noToken = { anonymous: 'unauthenticated' }

const reads: readonly Line[] = [
  [
    'rows: a list',
    list('Account'),
    { ann: ids(1), bob: ids(2), admin: ids(1, 2), key: ids(1, 2), others: [] },
  ],
  [
    'rows: a count',
    (door) => door.count('Account'),
    { ann: 1, bob: 1, admin: 2, key: 2, others: 0 },
  ],
  [
    'rows: one row',
    (door) => door.find('Account', 1, ['id', 'iban']),
    ...same({ ann: 1, admin: 1, key: 1 }, { id: '1', iban: 'DE-A' }, 'missing'),
  ],
  [
    'rows: a filter through a relation',
    list('Post', 'account.iban', 'like', 'DE-A%'),
    ...same({ ann: 1, admin: 1, key: 1 }, ids(1), []),
  ],
  [
    'rows: a count through a relation',
    (door) =>
      door.count('Post', { filter: { path: 'account.iban', operator: 'eq', value: 'DE-B' } }),
    ...same({ bob: 1, admin: 1, key: 1 }, 1, 0),
  ],
  [
    'rows: a filter back through a list',
    list('Account', 'posts.account.iban', 'like', 'DE%'),
    { ann: ids(1), bob: ids(2), admin: ids(1, 2), key: ids(1, 2), others: [] },
  ],
  [
    'rows by the rows of another',
    list('Task'),
    { ann: ids(1), bob: ids(2), key: ids(1, 2), others: [] },
  ],
  [
    'rows by ties: a filter through them',
    list('Member', 'projects.name', 'like', 'p%'),
    { ann: ids(1), bob: ids(2), key: ids(1, 2), others: [] },
  ],
  ['@Secured: a list', list('Vault'), closed({ admin: 1, key: 1 }, ids(1))],
  [
    '@Secured: one row',
    (door) => door.find('Vault', 1, ['id']),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured: a row that is not there',
    (door) => door.find('Vault', 9, ['id']),
    closed({ admin: 1, key: 1 }, 'missing'),
  ],
  ['@Secured: a count', (door) => door.count('Vault'), closed({ admin: 1, key: 1 }, 1)],
  [
    '@Secured: a filter through a relation',
    list('Post', 'vault.word', 'like', 'g%'),
    closed({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  ['@Secured by a guard: a list', list('Shift'), closed({ ann: 1, key: 1 }, ids(1))],
  [
    '@Secured by a guard: a filter through a relation',
    list('Post', 'shift.word', 'eq', 'night'),
    closed({ ann: 1, key: 1 }, ids(1, 2)),
  ],
  [
    'a secured field: its value',
    (door) => door.list('Staff', ['name', 'salary']),
    ...same(
      { admin: 1, key: 1 },
      [
        { name: 'Ada', salary: 5000 },
        { name: 'Bea', salary: 7000 },
      ],
      [
        { name: 'Ada', salary: null },
        { name: 'Bea', salary: null },
      ],
    ),
  ],
  [
    'a secured field: the value of one row',
    (door) => door.find('Staff', 1, ['name', 'salary']),
    ...same({ admin: 1, key: 1 }, { name: 'Ada', salary: 5000 }, { name: 'Ada', salary: null }),
  ],
  [
    'a secured field: a filter',
    list('Staff', 'salary', 'gte', 6000),
    closed({ admin: 1, key: 1 }, ids(2)),
  ],
  [
    'a secured field: a count',
    (door) => door.count('Staff', { filter: { path: 'salary', operator: 'gte', value: 6000 } }),
    closed({ admin: 1, key: 1 }, 1),
  ],
  [
    'a secured field: an order',
    (door) => door.list('Staff', ['id'], { orderBy: '-salary' }),
    closed({ admin: 1, key: 1 }, ids(2, 1)),
  ],
  [
    'a secured field: a filter through a relation',
    list('Post', 'staff.salary', 'gte', 6000),
    closed({ admin: 1, key: 1 }, ids(1, 2)),
  ],
  ['hidden: a filter', list('Staff', 'secret', 'eq', 'shh'), { others: 'invalid' }],
  [
    'hidden: an order',
    (door) => door.list('Staff', ['id'], { orderBy: 'secret' }),
    { others: 'invalid' },
  ],
  [
    'hidden: a filter through a relation',
    list('Post', 'staff.secret', 'eq', 'shh'),
    { others: 'invalid' },
  ],
  ['softDelete: a list', list('Draft'), { plain: true, others: ids(1) }],
  [
    'softDelete: one row',
    (door) => door.find('Draft', 2, ['id']),
    { plain: true, others: 'missing' },
  ],
  ['mutations: reading', list('Notice'), { others: ids(1) }],
  ['mutations: false: reading', list('Entry'), { others: ids(1) }],
  ['@NoAuth: reading', list('Wish'), { plain: true, others: ids(1) }],
]

const writes: readonly Line[] = [
  [
    'rows: an update',
    (door) => door.update('Account', 1, { iban: 'X' }),
    { ...noToken, ann: id(1), admin: id(1), key: id(1), others: 'missing' },
  ],
  [
    'rows: a delete',
    (door) => door.delete('Account', 1),
    { ...noToken, ann: 'conflict', admin: 'conflict', key: 'conflict', others: 'missing' },
  ],
  [
    'rows: a row for another',
    (door) => door.create('Account', { iban: 'X', owner: 'ann' }),
    { ...noToken, ann: id(3), admin: id(3), key: id(3), others: 'forbidden' },
  ],
  [
    'rows: a row given away',
    (door) => door.update('Account', 2, { owner: 'ann' }),
    { ...noToken, bob: 'forbidden', admin: id(2), key: id(2), others: 'missing' },
  ],
  [
    'rows: a key',
    (door) => door.create('Post', { title: 'x', accountId: 1 }),
    { ...noToken, ann: id(3), admin: id(3), key: id(3), others: 'conflict' },
  ],
  [
    'rows: a key that changes',
    (door) => door.update('Post', 2, { accountId: 1 }),
    { ...noToken, ann: id(2), admin: id(2), key: id(2), others: 'conflict' },
  ],
  [
    'rows: a key that does not change',
    (door) => door.update('Post', 1, { accountId: 1, title: 'y' }),
    { ...noToken, others: id(1) },
  ],
  [
    'rows by another: a key',
    (door) => door.create('Task', { text: 'x', projectId: 1 }),
    { ...noToken, ann: id(3), key: id(3), others: 'conflict' },
  ],
  [
    '@Secured: a write',
    (door) => door.update('Vault', 1, { word: 'tin' }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    '@Secured: a new row',
    (door) => door.create('Vault', { word: 'tin' }),
    closed({ admin: 1, key: 1 }, id(2)),
  ],
  [
    '@Secured: a key',
    (door) => door.create('Post', { title: 'x', vaultId: 1 }),
    { ...noToken, others: id(3) },
  ],
  [
    'a secured field: an update',
    (door) => door.update('Staff', 1, { salary: 1 }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  [
    'a secured field: a new row',
    (door) => door.create('Staff', { name: 'C', salary: 1 }),
    closed({ admin: 1, key: 1 }, id(3)),
  ],
  [
    'a secured field: left to its default',
    (door) => door.create('Staff', { name: 'C' }),
    { ...noToken, others: id(3) },
  ],
  [
    'hidden: a write',
    (door) => door.update('Staff', 1, { secret: 'x' }),
    { ...noToken, others: 'invalid' },
  ],
  [
    'readOnly: a write',
    (door) => door.update('Staff', 1, { source: 'x' }),
    { ...noToken, others: 'invalid' },
  ],
  [
    'mutations: a new row',
    (door) => door.create('Notice', { text: 'x' }),
    closed({ admin: 1, key: 1 }, id(2)),
  ],
  [
    'mutations: an update',
    (door) => door.update('Notice', 1, { text: 'x' }),
    closed({ admin: 1, key: 1 }, id(1)),
  ],
  ['mutations: a delete', (door) => door.delete('Notice', 1), closed({ admin: 1, key: 1 }, true)],
  [
    'mutations: false: a new row',
    (door) => door.create('Entry', { text: 'x' }),
    { revoked: 'none', others: 'none' },
  ],
  [
    'mutations: false: an update',
    (door) => door.update('Entry', 1, { text: 'x' }),
    { revoked: 'none', others: 'none' },
  ],
  [
    'mutations: false: a delete',
    (door) => door.delete('Entry', 1),
    { revoked: 'none', others: 'none' },
  ],
  [
    '@NoAuth: a new row',
    (door) => door.create('Wish', { text: 'x' }),
    { plain: true, others: id(2) },
  ],
  ['@NoAuth: a delete', (door) => door.delete('Wish', 1), { plain: true, others: true }],
  [
    'softDelete: an update',
    (door) => door.update('Draft', 2, { text: 'x' }),
    { ...noToken, others: 'missing' },
  ],
  ['softDelete: a delete', (door) => door.delete('Draft', 2), { ...noToken, others: 'missing' }],
  [
    'softDelete: a key',
    (door) => door.create('Post', { title: 'x', draftId: 2 }),
    { ...noToken, others: 'conflict' },
  ],
  [
    'nothing said: a write',
    (door) => door.update('Member', 1, { login: 'x' }),
    { ...noToken, others: id(1) },
  ],
]

/** Nobody can tell a row that is hidden from one that is not there. */
const alike: readonly (readonly [string, (door: Door, id: number) => Promise<Answer>, number])[] = [
  ['one row', (door, one) => door.find('Account', one, ['id']), 1],
  ['an update', (door, one) => door.update('Account', one, { iban: 'X' }), 1],
  ['an empty update', (door, one) => door.update('Account', one, {}), 1],
  ['a delete', (door, one) => door.delete('Account', one), 1],
  ['a key of a new row', (door, one) => door.create('Post', { title: 'x', accountId: one }), 1],
  ['a key of an old row', (door, one) => door.update('Post', 2, { accountId: one }), 1],
  [
    'a key of a row by another',
    (door, one) => door.create('Task', { text: 'x', projectId: one }),
    1,
  ],
  [
    'a key beside a fault',
    (door, one) => door.create('Post', { title: 'x', accountId: one, vaultId: 77 }),
    1,
  ],
  ['a filter by key', (door, one) => list('Post', 'account.id', 'eq', one)(door), 1],
  ['one row that is softly deleted', (door, one) => door.find('Draft', one, ['id']), 2],
  [
    'a key of one that is softly deleted',
    (door, one) => door.create('Post', { title: 'x', draftId: one }),
    2,
  ],
]

export function describeRights(name: string, url: () => Promise<string>): void {
  describe(`${name}: the rights contract`, () => {
    const ground = new Ground()
    beforeAll(async () => {
      await ground.open(await url())
    })
    afterAll(() => ground.close())
    beforeEach(() => ground.clear())

    describe.each(doors)('by %s', (door, open) => {
      it.each(reads)('reading, %s', async (_rule, ask, wanted) => {
        for (const caller of callers) {
          expect([caller, outcome(await ask(open(ground, caller)))]).toEqual([
            caller,
            of(wanted, caller, door),
          ])
        }
      })

      it.each(writes)('writing, %s', async (_rule, ask, wanted) => {
        for (const caller of callers) {
          await ground.clear()
          const before = await snapshot(ground)
          const answer = await ask(open(ground, caller))
          expect([caller, withoutKey(outcome(answer))]).toEqual([
            caller,
            withoutKey(of(wanted, caller, door)),
          ])
          if (answer.verdict !== 'done')
            expect([caller, await snapshot(ground)]).toEqual([caller, before])
        }
      })

      it.each(alike)(
        '%s is answered alike for a hidden and a missing row',
        async (_what, ask, hidden) => {
          for (const caller of ['anonymous', 'bob', 'guest', 'revoked'] as const) {
            await ground.clear()
            const ofHidden = await ask(open(ground, caller), hidden)
            await ground.clear()
            const ofMissing = await ask(open(ground, caller), 99)
            const told = ofHidden.text.replaceAll(`Account ${hidden}.`, 'Account 99.')
            expect([caller, told]).toEqual([caller, ofMissing.text])
          }
        },
      )
    })
  })
}

function outcome({ verdict, value }: Answer): unknown {
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
function withoutKey(value: unknown): unknown {
  return typeof value === 'object' ? 'done' : value
}

function of(wanted: Wanted, caller: CallerName, door: string): unknown {
  // A token that is called back opens nothing, wherever somebody asks whose it is.
  if (caller === 'revoked' && !(wanted.plain === true && door === 'crud'))
    return wanted.revoked ?? 'unauthenticated'
  return caller in wanted ? wanted[caller] : wanted.others
}

/** One thing for some, another for all others. */
function same(some: Partial<Record<CallerName, 1>>, value: unknown, others: unknown): [Wanted] {
  return [{ ...Object.fromEntries(Object.keys(some).map((name) => [name, value])), others }]
}

/** Open to some; others need another token, and visitors one at all. */
function closed(some: Partial<Record<CallerName, 1>>, value: unknown): Wanted {
  return { anonymous: 'unauthenticated', ...same(some, value, 'forbidden')[0] }
}

async function snapshot({ database }: Ground): Promise<unknown> {
  const all: unknown[] = []
  for (const type of Object.values<Class>(records)) all.push(await database.records(type).list())
  return all
}
