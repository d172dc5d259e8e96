/** The part of the database contract about insertMany, transactions and the query builder. */
import { describe, expect, it } from '@jest/globals'
import { Category, Product } from '../records/shop.js'
import type { Fixture } from './database-fixture.js'

export function describeTransactions(fixture: Fixture): void {
  describe('insertMany', () => {
    it('writes all rows and reports its progress', async () => {
      const reported: unknown[] = []
      const rows = Array.from({ length: 2500 }, (_, index) => ({
        name: `p${index}`,
        price: index,
        categoryId: fixture.light.id,
      }))
      const count = await fixture.products.insertMany(rows, {
        onProgress: (one) => reported.push(one),
      })
      expect(count).toBe(2500)
      expect(reported).toStrictEqual([
        { done: 1000, total: 2500 },
        { done: 2000, total: 2500 },
        { done: 2500, total: 2500 },
      ])
      expect(await fixture.products.count()).toBe(2500)
      expect(await fixture.products.list({ where: { price: 2499 } })).toMatchObject([
        { name: 'p2499' },
      ])
    })

    it('accepts rows with a key and rows without one', async () => {
      const rows = [{ name: 'a' }, { id: 77, name: 'b' }, { name: 'c' }]
      expect(await fixture.categories.insertMany(rows)).toBe(3)
      expect((await fixture.categories.find(77))?.name).toBe('b')
    })

    it('writes nothing if one row is invalid, and names that row', async () => {
      await expect(
        fixture.categories.insertMany([{ name: 'a' }, { name: 5 as never }]),
      ).rejects.toMatchObject({ status: 400, errors: [{ path: '1.name', code: 'type' }] })
      await expect(
        fixture.categories.insertMany([{ name: 'a' }, { name: 'a' }]),
      ).rejects.toMatchObject({
        status: 409,
      })
      expect(await fixture.categories.count()).toBe(1)
    })
  })

  describe('transactions', () => {
    it('a transaction stores all of its writes', async () => {
      const result = await fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        return tx.records(Category).create({ name: 'b' })
      })
      expect(result.name).toBe('b')
      expect(await fixture.categories.count()).toBe(3)
    })

    it('a transaction that fails stores nothing', async () => {
      const work = fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        throw new Error('no')
      })
      await expect(work).rejects.toThrow('no')
      expect(await fixture.categories.count()).toBe(1)
    })

    it('writes of a transaction are not visible outside before its end', async () => {
      let during = -1
      const outside = gate()
      const inside = gate()
      const looking = inside.opened.then(async () => {
        const counting = fixture.categories.count()
        // A single connection answers after the end.
        if (fixture.isSingle) outside.open()
        during = await counting
        outside.open()
      })
      await fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        inside.open()
        await outside.opened
      })
      await looking
      expect(during).toBe(fixture.isSingle ? 2 : 1)
      expect(await fixture.categories.count()).toBe(2)
    })

    it('includes writes through other repositories and the query builder', async () => {
      const work = fixture.database.transaction(async () => {
        await fixture.categories.create({ name: 'a' })
        await fixture.database.kysely.insertInto('category').values({ name: 'b' }).execute()
        expect(await fixture.categories.count()).toBe(3)
        throw new Error('no')
      })
      await expect(work).rejects.toThrow('no')
      expect(await fixture.categories.count()).toBe(1)
    })

    it('a nested transaction that fails leaves the outer one usable', async () => {
      await fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        await expect(
          tx.transaction(async (part) => {
            await part.records(Category).create({ name: 'b' })
            await part.records(Category).create({ name: 'a' })
          }),
        ).rejects.toMatchObject({ status: 409 })
        await tx.transaction(async (part) => {
          await part.records(Category).create({ name: 'c' })
        })
      })
      const found = await fixture.categories.list()
      expect(found.map((one) => one.name)).toStrictEqual(['Light', 'a', 'c'])
    })

    it('refuses further statements after one has failed, unless it failed in a nested transaction', async () => {
      const work = fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        await expect(tx.records(Category).create({ name: 'a' })).rejects.toMatchObject({
          status: 409,
          errors: [{ path: 'name', code: 'unique' }],
        })
        await expect(tx.records(Category).count()).rejects.toMatchObject({
          code: 'TRANSACTION_FAILED',
        })
        await expect(tx.transaction(async () => 'part')).rejects.toMatchObject({
          code: 'TRANSACTION_FAILED',
        })
        await tx.records(Category).create({ name: 'b' })
      })
      await expect(work).rejects.toMatchObject({ code: 'TRANSACTION_FAILED' })
      expect(await fixture.categories.count()).toBe(1)
    })

    it('stores nothing after a failed statement, even if the error was caught and no statement followed', async () => {
      const work = fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'a' })
        await tx
          .records(Category)
          .create({ name: 'a' })
          .catch(() => undefined)
      })
      await expect(work).rejects.toThrow('tx.transaction(async (part) => …)')
      expect(await fixture.categories.count()).toBe(1)
    })

    it('a refused value is not a failed statement, and a broken reference is named', async () => {
      await fixture.database.transaction(async (tx) => {
        await expect(tx.records(Category).create({ name: 5 as never })).rejects.toMatchObject({
          status: 400,
        })
        await tx.records(Category).create({ name: 'a' })
        await expect(
          tx.transaction((part) =>
            part.records(Product).create({ name: 'x', price: 1, categoryId: 99 }),
          ),
        ).rejects.toMatchObject({ errors: [{ path: 'categoryId', code: 'reference' }] })
        await tx.records(Category).create({ name: 'b' })
      })
      expect(await fixture.categories.count()).toBe(3)
    })

    it('refuses unknown options', async () => {
      const work = async (): Promise<void> => undefined
      const wrong = [{ isolation: 'chaos' }, { lock: true }, { timeout: -1 }]
      for (const options of wrong)
        await expect(fixture.database.transaction(work, options as never)).rejects.toThrow(
          TypeError,
        )
      await expect(fixture.categories.find(1, { where: {} } as never)).rejects.toThrow(
        'find: unknown option "where".',
      )
      await expect(fixture.categories.count({}, { limit: 1 } as never)).rejects.toThrow(TypeError)
    })

    it('find with a lock locks the row until the transaction ends, and requires a transaction', async () => {
      await expect(fixture.categories.find(fixture.light.id, { lock: true })).rejects.toThrow(
        'find: { lock: true } locks the row until its transaction ends, but no transaction is open here.',
      )
      const add = (): Promise<void> =>
        fixture.database.transaction(
          async (tx) => {
            const found = await tx.records(Category).find(fixture.light.id, { lock: true })
            await tx.records(Category).update(fixture.light.id, { name: `${found?.name}+` })
          },
          { isolation: 'read committed' },
        )
      await Promise.all([add(), add(), add(), add()])
      expect((await fixture.categories.find(fixture.light.id))?.name).toBe('Light++++')
    })

    it('concurrent transactions that read and then update lose no update', async () => {
      const add = (): Promise<void> =>
        fixture.database.transaction(async (tx) => {
          const found = await tx.records(Category).find(fixture.light.id)
          await tx.records(Category).update(fixture.light.id, { name: `${found?.name}+` })
        })
      await Promise.all(Array.from({ length: 20 }, add))
      expect((await fixture.categories.find(fixture.light.id))?.name).toBe(`Light${'+'.repeat(20)}`)
    })

    it('concurrent transactions wait for each other', async () => {
      const add = (word: string): Promise<void> =>
        fixture.database.transaction(async (tx) => {
          const count = await tx.records(Category).count()
          await tx.records(Category).create({ name: `${word}${count}` })
        })
      await Promise.all([add('a'), add('b'), fixture.categories.create({ name: 'c' }), add('d')])
      expect(await fixture.categories.count()).toBe(5)
    })

    it('a transaction cannot be used after its end', async () => {
      const tx = await fixture.database.transaction(async (inner) => inner)
      await expect(tx.records(Category).count()).rejects.toThrow('The transaction is over.')
    })

    it('reports changes after the commit, and no changes that were rolled back', async () => {
      const reported: string[] = []
      const end = fixture.database.onChange(({ event, record }) =>
        reported.push(`${event} ${record.name}`),
      )
      await fixture.categories.create({ name: 'a' })
      await fixture.database.transaction(async (tx) => {
        await tx.records(Category).create({ name: 'b' })
        await tx
          .transaction(async (part) => {
            await part.records(Category).create({ name: 'c' })
            throw new Error('no')
          })
          .catch(() => undefined)
        expect(reported).toStrictEqual(['created Category'])
      })
      await fixture.database
        .transaction(async (tx) => {
          await tx.records(Category).delete(fixture.light.id)
          throw new Error('no')
        })
        .catch(() => undefined)
      await fixture.categories.delete(fixture.light.id)
      end()
      await fixture.categories.create({ name: 'd' })
      expect(reported).toStrictEqual(['created Category', 'created Category', 'deleted Category'])
    })
  })

  describe('the query builder', () => {
    it('the query builder reads and writes the same database', async () => {
      await fixture.create({ price: 3 })
      await fixture.create({ price: 4 })
      const row = await fixture.database.kysely
        .selectFrom('product')
        .select(({ fn }) => [fn.sum('price').as('total'), fn.countAll().as('count')])
        .executeTakeFirstOrThrow()
      expect(Number(row.total)).toBe(7)
      const result = await fixture.database.kysely
        .updateTable('product')
        .set({ price: 1 })
        .where('price', '=', 3)
        .executeTakeFirst()
      expect(result.numUpdatedRows).toBe(1n)
      expect(await fixture.products.count({ price: 1 })).toBe(1)
    })

    it('the query builder rolls back its own transaction', async () => {
      const work = fixture.database.kysely.transaction().execute(async (trx) => {
        await trx.insertInto('category').values({ name: 'x' }).execute()
        throw new Error('no')
      })
      await expect(work).rejects.toThrow('no')
      expect(await fixture.categories.count()).toBe(1)
    })
  })
}

function gate(): { open: () => void; opened: Promise<void> } {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}
