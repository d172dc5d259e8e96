/** One call may exchange the unique values of its rows, for every field kind. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  connect,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type FieldRules,
  type Rel,
  type Row,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import type { KindName } from '../public-types.js'

@NoAuth
@Table({ plural: 'lists' })
class TodoList {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Entry) entries!: Rel<Entry[]>
}

@NoAuth
@Table({ version: true, plural: 'entries' })
class Entry {
  @Field('id') id!: number
  @Field('integer') listId!: number
  @BelongsTo(() => TodoList, { by: 'listId' }) list!: Rel<TodoList>
  @Field('integer', { unique: true }) position!: number
  @Field('string', { unique: true }) code!: string
}

@Module({ records: [TodoList, Entry] })
class TodoModule {}

const engines = await startBothEngines()

describe.each(engines)('exchanged unique values: %s', (_name, address) => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(TodoModule, { port: 0, logger: false, database: await address() })
  })
  afterAll(() => app.close())
  const entries = () => app.get(Database).records(Entry)
  let list: Row<TodoList>
  let ids: number[]
  beforeEach(async () => {
    const database = app.get(Database)
    await database.records(Entry).deleteWhere({})
    list = await database.records(TodoList).create({ name: 'all' })
    const rows = [1, 2, 3].map((position) => ({ listId: list.id, position, code: `c${position}` }))
    ids = (await entries().createMany(rows)).map(({ id }) => id)
  })
  const positions = async () => (await entries().list()).map(({ position }) => position)
  const graphql = async (query: string) => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    return response.json() as { data: unknown; errors?: unknown }
  }

  it('work in updateMany, with one version increment per row', async () => {
    const events: unknown[] = []
    const stop = app.get(Database).onChange(({ event, id }) => events.push([event, id]))
    const rows = await entries().updateMany([
      { id: ids[0]!, position: 2, code: 'c3' },
      { id: ids[1]!, position: 3 },
      { id: ids[2]!, position: 1, code: 'c1' },
    ])
    stop()
    expect(rows.map(({ position, code }) => [position, code])).toEqual([
      [2, 'c3'],
      [3, 'c2'],
      [1, 'c1'],
    ])
    expect(await entries().list()).toEqual(rows)
    expect(rows).toMatchObject([{ version: 2 }, { version: 2 }, { version: 2 }])
    expect(events).toEqual(ids.map((id) => ['updated', id]))
  })

  it('still conflict with rows outside of the call, which changes nothing', async () => {
    await expect(
      entries().updateMany([
        { id: ids[0]!, position: 2 },
        { id: ids[1]!, position: 3 },
      ]),
    ).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    expect(await positions()).toEqual([1, 2, 3])
  })

  describe('of positions that updateWhere shifts', () => {
    it.each([
      ['up', {}, 1, [2, 3, 4]],
      ['down', {}, -1, [0, 1, 2]],
      ['up from the second', { position: { gte: 2 } }, 1, [1, 3, 4]],
      ['down from the second', { position: { gte: 2 } }, -2, [1, 0, 1]],
      ['far', { code: { in: ['c1', 'c2'] } }, 10, [11, 12, 3]],
    ])('%s', async (_direction, where, add, expected) => {
      const shifting = entries().updateWhere(where, { position: { add } })
      if (new Set(expected).size < 3) {
        await expect(shifting).rejects.toMatchObject({
          status: 409,
          errors: [{ path: 'position', code: 'unique' }],
        })
        expect(await positions()).toEqual([1, 2, 3])
        return
      }
      expect(await shifting).toBe(expected.filter((value, index) => value !== index + 1).length)
      expect(await positions()).toEqual(expected)
      const versions = (await entries().list()).map(
        (entry) => (entry as { version?: number }).version,
      )
      expect(versions).toEqual(expected.map((value, index) => (value === index + 1 ? 1 : 2)))
    })

    it('in a transaction, which can go on', async () => {
      await app.get(Database).transaction(async () => {
        await entries().updateWhere({}, { position: { add: 1 } })
        await entries().create({ listId: list.id, position: 1, code: 'c0' })
      })
      expect(await positions()).toEqual([2, 3, 4, 1])
    })
  })

  it('work in nested updates of a repository', async () => {
    const update = [
      { id: ids[0]!, position: 3 },
      { id: ids[2]!, position: 1 },
    ]
    await app.get(Database).records(TodoList).update(list.id, { entries: { update } })
    expect(await positions()).toEqual([3, 2, 1])
  })

  it('work over GraphQL, in bulk and nested updates', async () => {
    const changes = `[{ id: ${ids[0]}, position: 2 }, { id: ${ids[1]}, position: 1 }]`
    expect(
      await graphql(`mutation { updateEntries(input: ${changes}) { position version } }`),
    ).toEqual({
      data: {
        updateEntries: [
          { position: 2, version: 2 },
          { position: 1, version: 2 },
        ],
      },
    })
    const nested = `{ entries: { update: [{ id: ${ids[0]}, position: 1 }, { id: ${ids[1]}, position: 2 }] } }`
    expect(
      await graphql(`mutation { updateTodoList(id: ${list.id}, input: ${nested}) { id } }`),
    ).toEqual({ data: { updateTodoList: { id: String(list.id) } } })
    expect(await positions()).toEqual([1, 2, 3])
  })
})

/** Field kind, rules, and two values to exchange. */
const cases: readonly (readonly [KindName, FieldRules, unknown, unknown])[] = [
  ['string', { maxLength: 8 }, 'a', 'b'],
  ['text', {}, 'a', 'b'],
  ['integer', {}, 1, 2],
  ['integer', { min: 0 }, 1, 2],
  ['integer', { max: 10 }, 1, 2],
  ['integer', { min: 1, max: 1_000_000 }, 1, 2],
  ['bigint', { min: '0' }, '1', '9007199254740993'],
  ['bigint', {}, '1', '-2'],
  ['numeric', {}, 1.5, 2.5],
  ['numeric', { min: 0.5 }, 1.5, 2.5],
  ['decimal', {}, '1.50', '2.50'],
  ['decimal', { min: '0', precision: 9, scale: 0 }, '1', '2'],
  ['decimal', { max: '99.99', precision: 8, scale: 4 }, '1.5000', '2.5000'],
  ['date', {}, '2026-11-20', '2026-11-21'],
  ['date', { min: '2000-01-01' }, '2026-11-20', '2026-11-21'],
  ['datetime', {}, '2026-11-20T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
  ['datetime', { min: '2000-01-01' }, '2026-11-20T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
  ['time', {}, '10:30:00', '11:30:00'],
  ['time', { min: '08:00:00', max: '20:00:00' }, '10:30:00', '11:30:00'],
  ['blob', { maxLength: 12 }, Buffer.from('a'), Buffer.from('b')],
]

@Table()
class Kinds {
  @Field('id') id!: number;
  [name: string]: unknown
}
for (const [index, [kind, rules]] of cases.entries())
  Field(kind, { ...rules, unique: true })(Kinds.prototype, `f${index}`)

describe.each(engines)('unique values of every kind: %s', (_name, address) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await address(), { records: [Kinds] })
    await database.sync()
  })
  afterAll(() => database.close())

  it('can be exchanged in one call', async () => {
    const records = database.records(Kinds)
    const values = (at: 2 | 3): Record<string, unknown> =>
      Object.fromEntries(cases.map((one, index) => [`f${index}`, one[at]]))
    const [first, second] = await records.createMany([values(2), values(3)] as never)
    await records.updateMany([
      { id: first?.id, ...values(3) },
      { id: second?.id, ...values(2) },
    ] as never)
    const rows = await records.list({ orderBy: [{ id: 'asc' }] } as never)
    expect(rows).toMatchObject([values(3), values(2)])
  })
})
