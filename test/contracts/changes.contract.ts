/** Change events of written rows, the same on every engine. Source: public API, Records; docs/graphql.md, Subscriptions. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type EngineSource, connect, type Database, type Row } from '../../src/index.js'
import { Author, Category, Product, Review, shop, Tag } from '../records/shop.js'
import type { DatabaseUnderTest } from './database.contract.js'
import { internalsOf } from '../records/open-database.js'

function openShop(where: string | EngineSource): Promise<Database> {
  const chosen = typeof where === 'string' ? { url: where } : { engine: where }
  return connect({ ...chosen, records: shop })
}

export function describeChanges(name: string, open: () => Promise<DatabaseUnderTest>): void {
  describe(`${name}: change events`, () => {
    let server: DatabaseUnderTest
    let database: Database
    let reported: string[]
    let stop: () => void

    beforeAll(async () => {
      server = await open()
      database = await openShop(await server.url())
      await database.sync()
    })
    afterAll(async () => {
      await database.close()
      await server.close?.()
    })
    afterEach(() => {
      stop()
    })
    beforeEach(async () => {
      for (const type of [Review, Product, Category, Author, Tag]) {
        const records = database.records<{ id: string | number }>(type)
        for (const { id } of await records.list()) await records.delete(id)
      }
      stop = database.onChange(({ event, record, id }) =>
        reported.push(`${event} ${record.name.toLowerCase()} ${String(id)}`),
      )
      reported = []
    })

    it('insertMany reports every row after its commit, with integer and UUID keys', async () => {
      const many = [{ name: 'a' }, { name: 'b' }]
      await database.records(Category).insertMany(many)
      const ids = (await database.records(Category).list()).map(({ id }) => id)
      expect(reported).toStrictEqual(ids.map((id) => `created category ${id}`))
      reported.length = 0
      await database.records(Author).insertMany(many)
      const authors = (await database.records(Author).list()).map(({ id }) => id)
      expect(reported.sort()).toStrictEqual(authors.map((id) => `created author ${id}`).sort())
    })

    it('insertMany reports rows with a key of the caller', async () => {
      const many = [{ id: 7001, name: 'a' }, { name: 'b' }]
      await database.records(Category).insertMany(many as { name: string }[])
      const ids = (await database.records(Category).list()).map(({ id }) => id)
      expect(reported.sort()).toStrictEqual(ids.map((id) => `created category ${id}`).sort())
      expect(ids).toContain(7001)
    })

    it('a failed insertMany reports nothing', async () => {
      const twice = database.records(Category).insertMany([{ name: 'a' }, { name: 'a' }])
      await expect(twice).rejects.toMatchObject({ status: 409 })
      expect(reported).toStrictEqual([])
    })

    it('a deletion reports the rows deleted by cascade and the rows that lose their reference', async () => {
      const light = await database.records(Category).create({ name: 'Light' })
      const values = { name: 'Lamp', price: 1, categoryId: light.id }
      const lamp = await database.records(Product).create(values)
      const ann = await database.records(Author).create({ name: 'Ann' })
      const first = await database.records(Review).create({ stars: 1, ...keysOf(lamp, ann) })
      const second = await database.records(Review).create({ stars: 2, ...keysOf(lamp, ann) })
      reported.length = 0
      await database.records(Author).delete(ann.id)
      expect(reported.sort()).toStrictEqual([
        `deleted author ${ann.id}`,
        `updated review ${first.id}`,
        `updated review ${second.id}`,
      ])
      reported.length = 0
      expect(await database.records(Product).delete(lamp.id)).toBe(true)
      expect(reported).toStrictEqual([
        `deleted review ${first.id}`,
        `deleted review ${second.id}`,
        `deleted product ${lamp.id}`,
      ])
    })

    it('a change has the key in the type of the record, whatever type the caller passed', async () => {
      const { id } = await database.records(Category).create({ name: 'Light' })
      const changes: unknown[] = []
      const end = database.onChange((change) => changes.push(change.id))
      await database.records(Category).delete(String(id))
      end()
      expect(changes).toStrictEqual([id])
    })

    it('a refused deletion reports nothing', async () => {
      const light = await database.records(Category).create({ name: 'Light' })
      await database.records(Product).create({ name: 'Lamp', price: 1, categoryId: light.id })
      reported.length = 0
      await expect(database.records(Category).delete(light.id)).rejects.toMatchObject({
        status: 409,
      })
      expect(await database.records(Category).delete(123456)).toBe(false)
      expect(reported).toStrictEqual([])
    })

    it('linking and unlinking reports an update of the record', async () => {
      const light = await database.records(Category).create({ name: 'Light' })
      const values = { name: 'Lamp', price: 1, categoryId: light.id }
      const lamp = await database.records(Product).create(values)
      const tag = await database.records(Tag).create({ word: 'new' })
      reported.length = 0
      await database.records(Product).link(lamp.id, 'tags', [tag.id])
      await database.records(Product).link(lamp.id, 'tags', [tag.id])
      await database.records(Tag).delete(tag.id)
      expect(reported).toStrictEqual([`updated product ${lamp.id}`, `deleted tag ${tag.id}`])
    })

    it('a watcher that starts during an insertMany is notified that it missed changes', async () => {
      stop()
      const changes: unknown[] = []
      let end: (() => void) | undefined
      await database.transaction(async (tx) => {
        await tx.records(Category).insertMany([{ name: 'a' }])
        end = await internalsOf(database).watch(Category, {
          onChanges: ({ event, ids }) => changes.push([event, ids]),
          end: () => undefined,
          columns: [],
        })
        const b = await tx.records(Category).create({ name: 'b' })
        expect(changes).toStrictEqual([])
        changes.push(b.id)
      })
      end?.()
      expect(changes).toStrictEqual([changes[0], ['lost', []], ['created', [changes[0]]]])
      expect(internalsOf(database).feed.size).toBe(0)
    })

    it('closing the database ends its watchers', async () => {
      const other = await openShop(await server.url())
      let ended = 0
      await internalsOf(other).watch(Category, {
        onChanges: () => undefined,
        end: () => ended++,
        columns: [],
      })
      await other.close()
      expect(ended).toBe(1)
      expect(internalsOf(other).feed.size).toBe(0)
    })
  })
}

function keysOf(lamp: Row<Product>, ann: Row<Author>): { productId: number; authorKey: string } {
  return { productId: lamp.id, authorKey: ann.id }
}
