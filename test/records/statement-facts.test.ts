/** What statements say of themselves, as listeners of the channel are told it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  Field,
  ManyToMany,
  Record,
  type Database,
  type Rel,
  type StatementEvent,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@Record()
class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record()
class Label {
  @Field('id') id!: number
  @Field('string', { unique: true }) text!: string
  @Field('string') note!: string
}

@Record({ softDelete: true, indexes: [{ fields: ['name'] }] })
class Item {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
  @Field('string') name!: string
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}

const engines = await startBothEngines()

/** What is told of each statement of the work. */
async function told(work: () => Promise<unknown>): Promise<string[]> {
  const found: string[] = []
  const hear = (message: unknown): void => {
    const { kind, table, tables } = message as StatementEvent
    found.push(`${kind} ${String(table)} of ${[...tables].sort().join()}`)
  }
  subscribe('filigree:statement', hear)
  try {
    await work()
  } finally {
    unsubscribe('filigree:statement', hear)
  }
  return [...new Set(found)]
}

describe.each(engines)('Statements on %s', (_name, open) => {
  let database: Database
  let shelf: Shelf

  beforeAll(async () => {
    database = await connect(await open(), { records: [Shelf, Label, Item] })
    await database.sync()
    shelf = await database.records(Shelf).create({ name: 'Upper' })
    await database.records(Item).create({ code: 'a', name: 'Lamp', shelfId: shelf.id })
  })
  afterAll(() => database.close())

  const items = () => database.records(Item)

  it('are counted under the record that was asked for, whatever it is read with', async () => {
    const related = await told(() => items().list({ with: ['shelf', 'labels'] }))
    expect(related[0]).toMatch(/^SELECT item of .*\bitem\b/)
    for (const one of related) expect(one).toMatch(/^SELECT item of /)
    const filtered = await told(() => items().list({ where: { shelf: { name: 'Upper' } } }))
    expect(filtered).toStrictEqual(['SELECT item of item,shelf'])
    expect(await told(() => items().count({ labels: { text: 'x' } }))).toStrictEqual([
      'SELECT item of item,item_label,label',
    ])
    expect(await told(() => items().aggregate({ groupBy: ['name'], count: true }))).toStrictEqual([
      'SELECT item of item',
    ])
  })

  it('say what they do, not what their text begins with', async () => {
    const labels = database.records(Label)
    expect(
      await told(() => labels.upsert({ text: 'new', note: 'a' }, { by: 'text' })),
    ).toStrictEqual(['UPSERT label of label'])
    expect(await told(() => items().delete(99))).toStrictEqual(['DELETE item of item'])
    expect(await told(() => labels.update(99, { text: 'z' }))).toContain('UPDATE label of label')
  })

  it('that an application builds are known by their parts, those that it writes out are not', async () => {
    const { kysely } = database
    const built = kysely
      .selectFrom('item')
      .innerJoin('shelf', 'shelf.id', 'item.shelf_id')
      .select('item.name')
      .orderBy('item.name', 'desc')
    expect(await told(() => built.execute())).toStrictEqual(['SELECT item of item,shelf'])
    const { sql } = await import('kysely')
    const partly = kysely.selectFrom('item').select(sql<number>`count(*)`.as('n'))
    expect(await told(() => partly.execute())).toStrictEqual(['SELECT item of *,item'])
    expect(await told(() => sql`select 1 from item`.execute(kysely))).toStrictEqual([
      'UNKNOWN undefined of *',
    ])
  })

  it('of parts of transactions are no writes', async () => {
    const seen = await told(() =>
      database.transaction(async (transaction) => {
        await transaction.transaction((part) => part.records(Shelf).list({ limit: 1 }))
      }),
    )
    expect(seen).toStrictEqual([
      'BEGIN undefined of ',
      'SAVEPOINT undefined of ',
      'SELECT shelf of shelf',
      'COMMIT undefined of ',
    ])
  })
})
