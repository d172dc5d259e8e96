/** The part of the database contract about creating and finding rows. */
import { describe, expect, it } from '@jest/globals'
import { Author, Person, Product, Size } from '../records/shop.js'
import type { Fixture } from './database-fixture.js'

export function describeCreating(fixture: Fixture): void {
  describe('create and find', () => {
    it('create returns an instance of the class with its key and defaults', async () => {
      const lamp = await fixture.create()
      expect(lamp).toBeInstanceOf(Product)
      expect(lamp).toMatchObject({ name: 'Lamp', price: 9.5, active: true, colors: [] })
      expect(Number.isSafeInteger(lamp.id)).toBe(true)
      expect(lamp.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })

    it('find returns every value as it was created', async () => {
      const lamp = await fixture.create({
        stock: 3,
        description: 'für 🦊 — "x"',
        soldAt: '2026-11-20T12:00:00+02:00',
        picture: Buffer.from([0, 255, 1]),
        extra: { b: [1, null, 'x'], a: { deep: true }, bell: '\u0007' },
        colors: ['red', 'ß'],
        secret: 's',
      })
      expect(await fixture.products.find(lamp.id)).toStrictEqual(lamp)
      expect(lamp.soldAt).toBe('2026-11-20T10:00:00.000Z')
      expect(lamp.picture).toStrictEqual(Buffer.from([0, 255, 1]))
      expect(JSON.stringify(lamp.extra)).toBe(
        '{"b":[1,null,"x"],"a":{"deep":true},"bell":"\\u0007"}',
      )
    })

    it('find returns nested classes as their instances', async () => {
      const size = { unit: 'cm', value: 3, measuredAt: '2026-01-01', drawing: Buffer.from('x') }
      const lamp = await fixture.create({ sizes: [Object.assign(new Size(), size)] })
      const [found] = (await fixture.products.find(lamp.id))?.sizes ?? []
      expect(found).toBeInstanceOf(Size)
      expect(found).toMatchObject({ ...size, measuredAt: '2026-01-01T00:00:00.000Z' })
    })

    it('a value that was not set is missing, and null stays null', async () => {
      const lamp = await fixture.create({ stock: null })
      expect(lamp).not.toHaveProperty('description')
      expect(lamp).not.toHaveProperty('picture')
      expect(lamp.stock).toBeNull()
      expect(lamp.soldAt).toBeNull()
    })

    it.each([0.1 + 0.2, 1e308, 5e-324, 1 / 3, 9007199254740991, 123456789.123456])(
      'stores the number %p exactly',
      async (price) => {
        const lamp = await fixture.create({ price })
        expect((await fixture.products.find(lamp.id))?.price).toBe(price)
        expect(await fixture.products.count({ price })).toBe(1)
        expect(await fixture.products.count({ price: { in: [price] } })).toBe(1)
      },
    )

    it('stores integers up to 2^53 and refuses larger ones', async () => {
      const stock = Number.MAX_SAFE_INTEGER
      const lamp = await fixture.create({ stock })
      expect((await fixture.products.find(lamp.id))?.stock).toBe(stock)
      await expect(fixture.create({ stock: stock + 1 })).rejects.toMatchObject({
        status: 400,
        message: 'stock must be an integer',
      })
    })

    it.each([[99_999], ['99999'], ['x'], [-1], [1.5], [''], ["1' or '1'='1"], ['1e3'], [2 ** 60]])(
      'finds nothing by the key %p',
      async (id) => {
        expect(await fixture.products.find(id)).toBeNull()
        expect(await fixture.products.update(id, { price: 1 })).toBeNull()
        expect(await fixture.products.delete(id)).toBe(false)
      },
    )

    it('finds by an integer key written as text', async () => {
      const lamp = await fixture.create()
      expect(await fixture.products.find(String(lamp.id))).toStrictEqual(lamp)
    })

    it('stores a key of the caller, and refuses it a second time with 409', async () => {
      await fixture.create({ id: 4711 })
      await expect(fixture.create({ id: 4711 })).rejects.toMatchObject({
        status: 409,
        code: 'CONFLICT',
        errors: [{ path: 'id', code: 'unique', message: 'id is already taken' }],
      })
    })

    it('generated keys continue after the largest key of a caller, and never go back', async () => {
      const people = fixture.database.records(Person)
      const next = async (): Promise<number> =>
        (await people.create({ city: `c${await people.count()}`, street: '' })).id
      const before = await next()
      await people.create({ id: before + 3, city: 'near', street: '' })
      expect(await next()).toBe(before + 4)
      await people.insertMany([
        { id: before + 5000, city: 'far', street: '' },
        { id: before + 6, city: 'nearer', street: '' },
        { city: 'next', street: '' },
      ])
      expect(await next()).toBe(before + 5002)
      await people.create({ id: before + 7, city: 'between', street: '' })
      expect(await next()).toBe(before + 5003)
      await fixture.database.transaction(async (tx) => {
        await tx.records(Person).create({ id: before + 6000, city: 'in', street: '' })
      })
      expect(await next()).toBe(before + 6001)
    })

    it('generates UUID keys, and finds them in upper and lower case', async () => {
      const authors = fixture.database.records(Author)
      const ann = await authors.create({ name: 'Ann' })
      expect(ann.id).toMatch(/^[0-9a-f-]{36}$/)
      expect((await authors.find(ann.id.toUpperCase()))?.name).toBe('Ann')
      expect(await authors.count({ id: { in: [ann.id.toUpperCase()] } })).toBe(1)
    })
  })
}
