/** The statement events on the diagnostics channel: kind, table and tables. */
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

/** @returns the distinct events of the statements that `work` runs, as text */
async function eventsOf(work: () => Promise<unknown>): Promise<string[]> {
  const found: string[] = []
  const record = (message: unknown): void => {
    const { kind, table, tables } = message as StatementEvent
    found.push(`${kind} ${String(table)} of ${[...tables].sort().join()}`)
  }
  subscribe('filigree:statement', record)
  try {
    await work()
  } finally {
    unsubscribe('filigree:statement', record)
  }
  return [...new Set(found)]
}

describe.each(engines)('Statement events on %s', (_name, open) => {
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

  it('name the record that a statement reads as table, and only the tables that it reads', async () => {
    const related = await eventsOf(() => items().list({ with: ['shelf', 'labels'] }))
    expect(related).toStrictEqual([
      'SELECT item of item',
      'SELECT shelf of shelf',
      'SELECT label of item_label,label',
    ])
    const filtered = await eventsOf(() => items().list({ where: { shelf: { name: 'Upper' } } }))
    expect(filtered).toStrictEqual(['SELECT item of item,shelf'])
    expect(await eventsOf(() => items().count({ labels: { text: 'x' } }))).toStrictEqual([
      'SELECT item of item,item_label,label',
    ])
    expect(
      await eventsOf(() => items().aggregate({ groupBy: ['name'], count: true })),
    ).toStrictEqual(['SELECT item of item'])
  })

  it('report the operation, not the first word of the SQL', async () => {
    const labels = database.records(Label)
    expect(
      await eventsOf(() => labels.upsert({ text: 'new', note: 'a' }, { by: 'text' })),
    ).toStrictEqual(['UPSERT label of label'])
    expect(await eventsOf(() => items().delete(99))).toStrictEqual(['DELETE item of item'])
    expect(await eventsOf(() => labels.update(99, { text: 'z' }))).toContain(
      'UPDATE label of label',
    )
  })

  it('list the tables of built queries, and * for raw SQL', async () => {
    const { kysely } = database
    const built = kysely
      .selectFrom('item')
      .innerJoin('shelf', 'shelf.id', 'item.shelf_id')
      .select('item.name')
      .orderBy('item.name', 'desc')
    expect(await eventsOf(() => built.execute())).toStrictEqual(['SELECT item of item,shelf'])
    const { sql } = await import('kysely')
    const partly = kysely.selectFrom('item').select(sql<number>`count(*)`.as('n'))
    expect(await eventsOf(() => partly.execute())).toStrictEqual(['SELECT item of *,item'])
    expect(await eventsOf(() => sql`select 1 from item`.execute(kysely))).toStrictEqual([
      'UNKNOWN undefined of *',
    ])
  })

  it('do not report savepoints as writes', async () => {
    const events = await eventsOf(() =>
      database.transaction(async (transaction) => {
        await transaction.transaction((part) => part.records(Shelf).list({ limit: 1 }))
      }),
    )
    expect(events).toStrictEqual([
      'BEGIN undefined of ',
      'SAVEPOINT undefined of ',
      'SELECT shelf of shelf',
      'COMMIT undefined of ',
    ])
  })
})
