/** Follows the changes of a record and collects them. */
import { expect } from '@jest/globals'
import type { Database } from '../../src/index.js'
import type { RowChanges } from '../../src/records/changes/changes.js'
import type { Column } from '../../src/engines/contract/table.js'
import { Author, Category } from './shop.js'
import { internalsOf } from './open-database.js'

export interface Follower {
  readonly changes: [RowChanges['event'], ...unknown[]][]
  readonly stop: () => void
  /** Resolves once this many changes have arrived. */
  until(count: number): Promise<void>
}

export async function follow(
  database: Database,
  type: typeof Category | typeof Author = Category,
  columns: readonly Column[] = [],
): Promise<Follower> {
  const changes: Follower['changes'] = []
  let check: () => void = () => undefined
  const stop = await internalsOf(database).watch(type, {
    onChanges: ({ event, ids, past }) => {
      changes.push(past === undefined ? [event, ...ids] : [event, ...ids, past])
      check()
    },
    end: () => undefined,
    columns,
  })
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      check = () => {
        if (changes.length >= count) resolve()
      }
      check()
    })
  return { changes, stop, until }
}

/** Writes rows with both types of key, and expects that another process receives each change once and in order. */
export async function expectChangesOfBothKeys(writer: Database, reader: Database): Promise<void> {
  const categories = await follow(reader)
  const authors = await follow(reader, Author)
  const a = await writer.records(Category).create({ name: 'a' })
  await writer.records(Category).update(a.id, { name: 'b' })
  await writer.records(Category).delete(a.id)
  const ann = await writer.records(Author).create({ name: 'Ann' })
  await Promise.all([categories.until(3), authors.until(1)])
  // A change that was sent twice would arrive before this one.
  const last = await writer.records(Category).create({ name: 'c' })
  await categories.until(4)
  expect(categories.changes).toStrictEqual([
    ['created', a.id],
    ['updated', a.id],
    ['deleted', a.id],
    ['created', last.id],
  ])
  expect(authors.changes).toStrictEqual([['created', ann.id]])
}
