/** One call may exchange the unique values of its rows. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type Rel,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

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
  let list: TodoList
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
