/** What every engine must do alike. Source: public face, Records; decisions, Small print: records. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { HttpError } from '../../src/errors/http-error.js'
import { connect, type Database } from '../../src/records/database.js'
import type { Repository } from '../../src/records/repository.js'
import { Author, Category, Person, Product, Review, shop, Size, Tag } from '../records/shop.js'

export interface DatabaseUnderTest {
  /** The address of an empty database. */
  url(): Promise<string>
  close?(): Promise<void>
}

export function describeDatabase(name: string, open: () => Promise<DatabaseUnderTest>): void {
  describe(`${name}: the database contract`, () => {
    let server: DatabaseUnderTest
    let database: Database
    let categories: Repository<Category>
    let products: Repository<Product>
    let light: Category

    beforeAll(async () => {
      server = await open()
      database = await connect(await server.url(), { records: shop })
      await database.sync()
      categories = database.records(Category)
      products = database.records(Product)
    })
    afterAll(async () => {
      await database.close()
      await server.close?.()
    })
    beforeEach(async () => {
      await empty(database)
      light = await categories.create({ name: 'Light' })
    })

    const create = (values: Partial<Product> = {}): Promise<Product> =>
      products.create({ name: 'Lamp', price: 9.5, categoryId: light.id, ...values })

    const names = async (options: Parameters<typeof products.list>[0]): Promise<string[]> =>
      (await products.list(options)).map((product) => product.name)

    describe('create and find', () => {
      it('answers an instance of the class with its key and defaults', async () => {
        const lamp = await create()
        expect(lamp).toBeInstanceOf(Product)
        expect(lamp).toMatchObject({ name: 'Lamp', price: 9.5, active: true, colors: [] })
        expect(Number.isSafeInteger(lamp.id)).toBe(true)
        expect(lamp.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      })

      it('finds what was created, the same in every value', async () => {
        const lamp = await create({
          stock: 3,
          description: 'für 🦊 — "x"',
          soldAt: '2026-11-20T12:00:00+02:00',
          picture: Buffer.from([0, 255, 1]),
          extra: { b: [1, null, 'x'], a: { deep: true }, nul: '\u0000' },
          colors: ['red', 'ß'],
          secret: 's',
        })
        expect(await products.find(lamp.id)).toStrictEqual(lamp)
        expect(lamp.soldAt).toBe('2026-11-20T10:00:00.000Z')
        expect(lamp.picture).toStrictEqual(Buffer.from([0, 255, 1]))
        expect(JSON.stringify(lamp.extra)).toBe(
          '{"b":[1,null,"x"],"a":{"deep":true},"nul":"\\u0000"}',
        )
      })

      it('brings nested classes back as their instances', async () => {
        const size = { unit: 'cm', value: 3, measuredAt: '2026-01-01', drawing: Buffer.from('x') }
        const lamp = await create({ sizes: [Object.assign(new Size(), size)] })
        const [found] = (await products.find(lamp.id))?.sizes ?? []
        expect(found).toBeInstanceOf(Size)
        expect(found).toMatchObject({ ...size, measuredAt: '2026-01-01T00:00:00.000Z' })
      })

      it('leaves what was not given out, and keeps a null that is a value', async () => {
        const lamp = await create({ stock: null })
        expect(lamp).not.toHaveProperty('description')
        expect(lamp).not.toHaveProperty('picture')
        expect(lamp.stock).toBeNull()
        expect(lamp.soldAt).toBeNull()
      })

      it.each([0.1 + 0.2, 1e308, 5e-324, 1 / 3, 9007199254740991, 123456789.123456])(
        'keeps the number %p as it is',
        async (price) => {
          const lamp = await create({ price })
          expect((await products.find(lamp.id))?.price).toBe(price)
          expect(await products.count({ price })).toBe(1)
          expect(await products.count({ price: { in: [price] } })).toBe(1)
        },
      )

      it('keeps integers up to 2^53 and refuses larger ones', async () => {
        const stock = Number.MAX_SAFE_INTEGER
        const lamp = await create({ stock })
        expect((await products.find(lamp.id))?.stock).toBe(stock)
        await expect(create({ stock: stock + 1 })).rejects.toMatchObject({
          status: 400,
          message: 'stock must be an integer',
        })
      })

      it.each([
        [99_999],
        ['99999'],
        ['x'],
        [-1],
        [1.5],
        [''],
        ["1' or '1'='1"],
        ['1e3'],
        [2 ** 60],
      ])('finds nothing by the key %p', async (id) => {
        expect(await products.find(id)).toBeNull()
        expect(await products.update(id, { price: 1 })).toBeNull()
        expect(await products.delete(id)).toBe(false)
      })

      it("finds by an integer key's text", async () => {
        const lamp = await create()
        expect(await products.find(String(lamp.id))).toStrictEqual(lamp)
      })

      it('takes a key that is given, and refuses it a second time with 409', async () => {
        await create({ id: 4711 })
        await expect(create({ id: 4711 })).rejects.toMatchObject({
          status: 409,
          code: 'CONFLICT',
          errors: [{ path: 'id', code: 'unique', message: 'id is already taken' }],
        })
      })

      it('counts on behind keys that were given, and never back', async () => {
        const people = database.records(Person)
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
        await database.transaction(async (tx) => {
          await tx.records(Person).create({ id: before + 6000, city: 'in', street: '' })
        })
        expect(await next()).toBe(before + 6001)
      })

      it('gives UUID keys, and finds them in any case', async () => {
        const authors = database.records(Author)
        const ann = await authors.create({ name: 'Ann' })
        expect(ann.id).toMatch(/^[0-9a-f-]{36}$/)
        expect((await authors.find(ann.id.toUpperCase()))?.name).toBe('Ann')
        expect(await authors.count({ id: { in: [ann.id.toUpperCase()] } })).toBe(1)
      })
    })

    describe('rules', () => {
      it('refuses what breaks them, every field by its path', async () => {
        const error = await failure(products.create({ price: -1, name: 5 as never }))
        expect(error).toMatchObject({ status: 400, code: 'VALIDATION' })
        expect(error.errors?.map(({ path, code }) => `${path} ${code}`).sort()).toStrictEqual([
          'categoryId required',
          'name type',
          'price min',
        ])
      })

      it('checks an update too, and changes nothing then', async () => {
        const lamp = await create()
        await expect(products.update(lamp.id, { price: -1 })).rejects.toMatchObject({ status: 400 })
        expect((await products.find(lamp.id))?.price).toBe(9.5)
      })

      it.each(['nope', '__proto__', 'category', 'name"; drop table product; --'])(
        'refuses the unknown key %p',
        async (key) => {
          const values = Object.defineProperty({ name: 'x', price: 1, categoryId: light.id }, key, {
            value: 1,
            enumerable: true,
          })
          await expect(products.create(values)).rejects.toMatchObject({ status: 400 })
        },
      )

      it.each(['a\u0000b', '\ud800', 'x\udfff'])('refuses the text %j', async (name) => {
        await expect(create({ name })).rejects.toMatchObject({ status: 400 })
        await expect(products.list({ where: { name } })).rejects.toMatchObject({ status: 400 })
      })

      it("answers a taken value with 409 and the field's name, never SQL", async () => {
        const error = await failure(categories.create({ name: 'Light' }))
        expect(error).toMatchObject({
          status: 409,
          code: 'CONFLICT',
          message: 'name is already taken',
          errors: [{ path: 'name', code: 'unique', message: 'name is already taken' }],
        })
      })

      it('names both fields of a group that is taken', async () => {
        const people = database.records(Person)
        await people.create({ city: 'Oslo', street: 'A' })
        await people.create({ city: 'Oslo', street: 'B' })
        const error = await failure(people.create({ city: 'Oslo', street: 'A' }))
        expect(error).toMatchObject({ status: 409, message: 'city and street are taken together' })
      })

      it('answers a key that no record has with 409', async () => {
        const lamp = await create()
        const expected = {
          status: 409,
          code: 'CONFLICT',
          errors: [
            { path: 'categoryId', code: 'reference', message: 'categoryId names no Category' },
          ],
        }
        await expect(create({ categoryId: 9999 })).rejects.toMatchObject(expected)
        await expect(products.update(lamp.id, { categoryId: 9999 })).rejects.toMatchObject(expected)
      })

      it('does not delete what others refer to, unless they go along', async () => {
        const lamp = await create()
        const message = 'This Category is still referred to by Product.categoryId.'
        await expect(categories.delete(light.id)).rejects.toMatchObject({
          status: 409,
          code: 'CONFLICT',
          message,
          errors: [{ path: 'Product.categoryId', code: 'reference', message }],
        })
        await database.transaction(async (tx) => {
          const work = tx.transaction((part) => part.records(Category).delete(light.id))
          await expect(work).rejects.toMatchObject({ status: 409, message })
        })
        await database.records(Review).create({ stars: 5, productId: lamp.id })
        expect(await products.delete(lamp.id)).toBe(true)
        expect(await database.records(Review).count()).toBe(0)
      })

      it('empties what referred to a deleted record where it is told to', async () => {
        const lamp = await create()
        const ann = await database.records(Author).create({ name: 'Ann' })
        const values = { stars: 5, productId: lamp.id, authorKey: ann.id }
        const review = await database.records(Review).create(values)
        await database.records(Author).delete(ann.id)
        expect((await database.records(Review).find(review.id))?.authorKey).toBeNull()
      })
    })

    describe('update and delete', () => {
      it('changes what is named and nothing else', async () => {
        const lamp = await create({ stock: 3 })
        const updated = await products.update(lamp.id, { price: 12 })
        expect(updated).toStrictEqual(Object.assign(lamp, { price: 12 }))
        expect(await products.find(lamp.id)).toStrictEqual(updated)
      })

      it('makes a value null, and leaves an undefined one alone', async () => {
        const lamp = await create({ stock: 3 })
        expect((await products.update(lamp.id, { stock: null }))?.stock).toBeNull()
        expect((await products.update(lamp.id, { name: undefined }))?.name).toBe('Lamp')
      })

      it('takes the record itself back, and refuses another key', async () => {
        const lamp = await create()
        expect((await products.update(lamp.id, Object.assign(lamp, { price: 1 })))?.price).toBe(1)
        await expect(products.update(lamp.id, { id: lamp.id + 1 })).rejects.toMatchObject({
          status: 400,
          message: 'id cannot be changed',
        })
      })

      it('deletes once', async () => {
        const lamp = await create()
        expect(await products.delete(lamp.id)).toBe(true)
        expect(await products.delete(lamp.id)).toBe(false)
        expect(await products.find(lamp.id)).toBeNull()
      })

      it('never gives the key of a deleted row again', async () => {
        const lamp = await create()
        await products.delete(lamp.id)
        expect((await create()).id).toBeGreaterThan(lamp.id)
      })

      it('keeps timestamps', async () => {
        const authors = database.records(Author)
        const ann = (await authors.create({ name: 'Ann' })) as Author & Stamped
        expect(ann.createdAt).toBe(ann.updatedAt)
        await authors.update(ann.id, { updatedAt: '2020-01-01' } as Partial<Author>)
        const changed = (await authors.update(ann.id, { name: 'Anna' })) as Author & Stamped
        expect(changed.updatedAt >= ann.updatedAt).toBe(true)
        expect(changed.createdAt).toBe(ann.createdAt)
      })

      it('deletes softly where it is told to, and lets the value be taken again', async () => {
        const tags = database.records(Tag)
        const red = await tags.create({ word: 'red' })
        expect(await tags.delete(red.id)).toBe(true)
        expect(await tags.delete(red.id)).toBe(false)
        expect(await tags.find(red.id)).toBeNull()
        expect(await tags.count()).toBe(0)
        expect(await tags.list({ withDeleted: true })).toMatchObject([{ id: red.id, word: 'red' }])
        await tags.create({ word: 'red' })
        await expect(tags.create({ word: 'red' })).rejects.toMatchObject({ status: 409 })
      })
    })

    describe('filters', () => {
      beforeEach(async () => {
        await create({ name: 'Äpfel', price: 5, stock: null, active: false })
        await create({ name: 'lamp', price: 10, stock: 1, soldAt: '2026-01-02T00:00:00Z' })
        await create({ name: 'Lamp', price: 20, stock: 2, soldAt: '2026-01-01T23:59:59.999Z' })
        await create({ name: '100%_x', price: 30, stock: 0 })
      })

      const all = ['Äpfel', 'lamp', 'Lamp', '100%_x']

      it.each<[string, object, string[]]>([
        ['nothing', {}, all],
        ['a value', { name: 'Lamp' }, ['Lamp']],
        ['eq', { price: { eq: 10 } }, ['lamp']],
        ['ne', { price: { ne: 10 } }, ['Äpfel', 'Lamp', '100%_x']],
        ['ne of a field that may be null', { stock: { ne: 1 } }, ['Äpfel', 'Lamp', '100%_x']],
        ['gt and lt together', { price: { gt: 5, lt: 30 } }, ['lamp', 'Lamp']],
        ['gte', { price: { gte: 20 } }, ['Lamp', '100%_x']],
        ['lte', { price: { lte: 10 } }, ['Äpfel', 'lamp']],
        ['in', { price: { in: [5, 30, 77] } }, ['Äpfel', '100%_x']],
        ['in with null', { stock: { in: [0, null] } }, ['Äpfel', '100%_x']],
        ['in of none', { price: { in: [] } }, []],
        ['in of texts', { name: { in: ['lamp', "x'y", 'Äpfel'] } }, ['Äpfel', 'lamp']],
        ['null', { stock: null }, ['Äpfel']],
        ['isNull', { stock: { isNull: true } }, ['Äpfel']],
        ['isNull false', { stock: { isNull: false } }, ['lamp', 'Lamp', '100%_x']],
        ['ne null', { stock: { ne: null } }, ['lamp', 'Lamp', '100%_x']],
        ['a truth value', { active: false }, ['Äpfel']],
        ['truth values', { active: { in: [true, false] } }, all],
        ['like, which heeds case', { name: { like: 'la%' } }, ['lamp']],
        ['like with _', { name: { like: '_amp' } }, ['lamp', 'Lamp']],
        ['like with an escape', { name: { like: '100\\%\\_%' } }, ['100%_x']],
        ['ilike', { name: { ilike: 'LA%' } }, ['lamp', 'Lamp']],
        ['ilike beyond ASCII', { name: { ilike: 'ÄPF%' } }, ['Äpfel']],
        ['a moment, offsets converted', { soldAt: '2026-01-02T01:00:00+01:00' }, ['lamp']],
        ['moments in order', { soldAt: { lt: '2026-01-02' } }, ['Lamp']],
        ['text by code point', { name: { gt: 'a' } }, ['Äpfel', 'lamp']],
        ['or', { or: [{ price: 5 }, { price: 30 }] }, ['Äpfel', '100%_x']],
        ['or of none', { or: [] }, []],
        ['and', { and: [{ price: { gt: 5 } }, { price: { lt: 20 } }] }, ['lamp']],
        ['not, also where null is compared', { not: { stock: { gt: 0 } } }, ['Äpfel', '100%_x']],
        ['through a relation', { category: { name: 'Light' } }, all],
        ['through a relation to nothing', { category: { name: 'Dark' } }, []],
        ['an undefined condition', { name: undefined, price: 5 }, ['Äpfel']],
      ])('finds by %s', async (_, where, expected) => {
        expect(await names({ where })).toStrictEqual(expected)
        expect(await products.count(where)).toBe(expected.length)
      })

      it('goes through relations of many, and many to many', async () => {
        const [apple, lamp] = await products.list()
        const [red, blue] = [
          await database.records(Tag).create({ word: 'red' }),
          await database.records(Tag).create({ word: 'blue' }),
        ]
        await products.link(apple!.id, 'tags', [red.id, blue.id])
        await products.link(lamp!.id, 'tags', [blue.id])
        await database.records(Review).create({ stars: 2, productId: lamp!.id })
        expect(await names({ where: { reviews: { stars: { lt: 3 } } } })).toStrictEqual(['lamp'])
        expect(await names({ where: { not: { reviews: {} }, stock: null } })).toStrictEqual([
          'Äpfel',
        ])
        expect(await names({ where: { tags: { word: 'red' } } })).toStrictEqual(['Äpfel'])
        const where = { products: { tags: { word: 'blue' }, price: { lt: 6 } } }
        expect(await categories.count(where)).toBe(1)
        await database.records(Tag).delete(red.id)
        expect(await names({ where: { tags: { word: 'red' } } })).toStrictEqual([])
      })

      it.each<[unknown, string]>([
        [{ nope: 1 }, 'nope'],
        [{ pric: 1 }, 'pric'],
        [{ price: { above: 1 } }, 'price.above'],
        [{ price: '5' }, 'price'],
        [{ price: { gt: null } }, 'price.gt'],
        [{ price: { in: 5 } }, 'price.in'],
        [{ price: { in: [1, 'x'] } }, 'price.in.1'],
        [{ price: { like: '5' } }, 'price.like'],
        [{ name: { like: 'a\\' } }, 'name.like'],
        [{ name: { like: 'a\u0000' } }, 'name.like'],
        [{ extra: 5 }, 'extra'],
        [{ picture: { gt: Buffer.from('x') } }, 'picture.gt'],
        [{ stock: { isNull: 1 } }, 'stock.isNull'],
        [{ or: {} }, 'or'],
        [{ not: 5 }, 'not'],
        [{ category: 5 }, 'category'],
        [{ category: { nope: 1 } }, 'category.nope'],
        [{ 'name" or 1=1 --': 1 }, 'name" or 1=1 --'],
        [{ ['__proto__']: 1 }, '__proto__'],
        [{ constructor: 1 }, 'constructor'],
        ['x', ''],
        [[], ''],
        [deep(20), 'not.not.not.not.not.not.not.not.not.not.not.not'],
      ])('refuses the filter %j by its path', async (where, path) => {
        const error = await failure(products.list({ where: where as never }))
        expect(error).toMatchObject({ status: 400, code: 'VALIDATION' })
        expect(error.errors?.[0]?.path).toBe(path)
      })

      it('lets a client not ask for hidden fields', async () => {
        expect(await names({ where: { secret: 'x' } })).toStrictEqual([])
        for (const where of [
          { secret: 'x' },
          { or: [{ secret: 'x' }] },
          { category: { products: { secret: 'x' } } },
        ]) {
          await expect(products.list({ where, from: 'client' })).rejects.toMatchObject({
            status: 400,
          })
        }
        await expect(
          products.list({ orderBy: { secret: 'asc' }, from: 'client' }),
        ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('is unknown') })
      })
    })

    describe('order and pages', () => {
      beforeEach(async () => {
        for (const [name, stock] of [
          ['b', 2],
          ['a', null],
          ['Z', 1],
          ['é', 2],
          ['😀', null],
          ['\uffff', 3],
        ] as const) {
          await create({ name, stock })
        }
      })

      it.each<[string, object | undefined, string]>([
        ['the key', undefined, 'b a Z é 😀 \uffff'],
        ['code points', { name: 'asc' }, 'Z a b é \uffff 😀'],
        ['code points, backwards', { name: 'desc' }, '😀 \uffff é b a Z'],
        ['nulls last', { stock: 'asc' }, 'Z b é \uffff a 😀'],
        ['nulls last, backwards too', { stock: 'desc' }, '\uffff b é Z a 😀'],
        ['nulls first', { stock: { nulls: 'first' } }, 'a 😀 Z b é \uffff'],
        [
          'nulls first, backwards',
          { stock: { direction: 'desc', nulls: 'first' } },
          'a 😀 \uffff b é Z',
        ],
        ['several fields', [{ stock: 'desc' }, { name: 'desc' }], '\uffff é b Z 😀 a'],
      ])('sorts by %s', async (_, orderBy, expected) => {
        expect((await names({ orderBy: orderBy as never })).join(' ')).toBe(expected)
      })

      it('gives pages', async () => {
        expect(await names({ limit: 2 })).toStrictEqual(['b', 'a'])
        expect(await names({ limit: 2, offset: 2 })).toStrictEqual(['Z', 'é'])
        expect(await names({ offset: 4 })).toStrictEqual(['😀', '\uffff'])
        expect(await names({ limit: 0 })).toStrictEqual([])
        expect(await names({ limit: 5, offset: Number.MAX_SAFE_INTEGER })).toStrictEqual([])
      })

      it.each([
        { limit: -1 },
        { limit: 1.5 },
        { limit: '1; drop table product' },
        { offset: -1 },
        { offset: 2 ** 60 },
        { orderBy: { nope: 'asc' } },
        { orderBy: { name: 'sideways' } },
        { orderBy: { name: 'asc; drop table product' } },
        { orderBy: { extra: 'asc' } },
        { orderBy: 'name' },
        { with: ['nope'] },
        { with: ['category.nope'] },
      ])('refuses %j with 400', async (options) => {
        await expect(products.list(options as never)).rejects.toMatchObject({ status: 400 })
      })

      it('refuses a misspelt option', async () => {
        await expect(products.list({ wher: {} } as never)).rejects.toThrow('unknown option "wher"')
      })
    })

    describe('relations', () => {
      it('loads none by itself', async () => {
        const lamp = await create()
        expect(await products.find(lamp.id)).not.toHaveProperty('category')
      })

      it('loads what is asked for, levels deep', async () => {
        const lamp = await create()
        const ann = await database.records(Author).create({ name: 'Ann' })
        const reviews = database.records(Review)
        await reviews.create({ stars: 4, productId: lamp.id, authorKey: ann.id })
        await reviews.create({ stars: 2, productId: lamp.id })
        const found = await products.find(lamp.id, { with: ['category', 'reviews.author'] })
        expect(found?.category).toBeInstanceOf(Category)
        expect(found?.category.name).toBe('Light')
        expect(found?.reviews.map((review) => review.author?.name ?? null)).toStrictEqual([
          'Ann',
          null,
        ])
      })

      it('gives every record its own', async () => {
        const dark = await categories.create({ name: 'Dark' })
        await categories.create({ name: 'Empty' })
        await create({ name: 'a' })
        await create({ name: 'b', categoryId: dark.id })
        await create({ name: 'c' })
        const found = await categories.list({ with: ['products'] })
        expect(found.map(({ products: list }) => list.map((one) => one.name))).toStrictEqual([
          ['a', 'c'],
          ['b'],
          [],
        ])
      })

      it('links and unlinks many to many, each pair once', async () => {
        const lamp = await create()
        const tags = database.records(Tag)
        const [red, blue] = [
          await tags.create({ word: 'red' }),
          await tags.create({ word: 'blue' }),
        ]
        expect(await products.link(lamp.id, 'tags', [red.id, blue.id])).toBe(2)
        expect(await products.link(lamp.id, 'tags', [red.id])).toBe(0)
        const found = await products.find(lamp.id, { with: ['tags.products'] })
        expect(found?.tags.map(({ word }) => word)).toStrictEqual(['red', 'blue'])
        expect(found?.tags[0]?.products.map(({ id }) => id)).toStrictEqual([lamp.id])
        expect(await products.unlink(lamp.id, 'tags', [red.id, 999])).toBe(1)
        expect((await products.find(lamp.id, { with: ['tags'] }))?.tags).toHaveLength(1)
      })

      it('links none where one does not exist', async () => {
        const lamp = await create()
        const red = await database.records(Tag).create({ word: 'red' })
        await expect(products.link(lamp.id, 'tags', [red.id, 999])).rejects.toMatchObject({
          status: 409,
          message: 'tags names no Tag',
        })
        expect((await products.find(lamp.id, { with: ['tags'] }))?.tags).toStrictEqual([])
        await expect(products.link(999, 'tags', [red.id])).rejects.toMatchObject({ status: 404 })
        await expect(products.link(lamp.id, 'tags', ['x'])).rejects.toMatchObject({ status: 400 })
      })

      it('ties a record to its like in both directions', async () => {
        const people = database.records(Person)
        const [a, b] = [
          await people.create({ city: 'a', street: '' }),
          await people.create({ city: 'b', street: '' }),
        ]
        await people.link(a.id, 'follows', [b.id])
        const found = await people.list({ with: ['follows', 'followers'] })
        expect(found[0]).toMatchObject({ follows: [{ city: 'b' }], followers: [] })
        expect(found[1]).toMatchObject({ follows: [], followers: [{ city: 'a' }] })
      })
    })

    describe('insertMany', () => {
      it('writes all rows and tells how far it is', async () => {
        const told: unknown[] = []
        const rows = Array.from({ length: 2500 }, (_, index) => ({
          name: `p${index}`,
          price: index,
          categoryId: light.id,
        }))
        const count = await products.insertMany(rows, { onProgress: (one) => told.push(one) })
        expect(count).toBe(2500)
        expect(told).toStrictEqual([
          { done: 1000, total: 2500 },
          { done: 2000, total: 2500 },
          { done: 2500, total: 2500 },
        ])
        expect(await products.count()).toBe(2500)
        expect(await products.list({ where: { price: 2499 } })).toMatchObject([{ name: 'p2499' }])
      })

      it('takes keys and rows without one together', async () => {
        const rows = [{ name: 'a' }, { id: 77, name: 'b' }, { name: 'c' }]
        expect(await categories.insertMany(rows)).toBe(3)
        expect((await categories.find(77))?.name).toBe('b')
      })

      it('writes none where one is wrong, and says which', async () => {
        await expect(
          categories.insertMany([{ name: 'a' }, { name: 5 as never }]),
        ).rejects.toMatchObject({ status: 400, errors: [{ path: '1.name', code: 'type' }] })
        await expect(categories.insertMany([{ name: 'a' }, { name: 'a' }])).rejects.toMatchObject({
          status: 409,
        })
        expect(await categories.count()).toBe(1)
      })
    })

    describe('transactions', () => {
      it('stores all', async () => {
        const result = await database.transaction(async (tx) => {
          await tx.records(Category).create({ name: 'a' })
          return tx.records(Category).create({ name: 'b' })
        })
        expect(result.name).toBe('b')
        expect(await categories.count()).toBe(3)
      })

      it('stores nothing of work that fails', async () => {
        const work = database.transaction(async (tx) => {
          await tx.records(Category).create({ name: 'a' })
          throw new Error('no')
        })
        await expect(work).rejects.toThrow('no')
        expect(await categories.count()).toBe(1)
      })

      it('is not seen from outside before its end', async () => {
        let during = -1
        const outside = gate()
        const inside = gate()
        const looking = inside.opened.then(async () => {
          const counting = categories.count()
          // A database of one connection answers after the end.
          if (name.includes('memory')) outside.open()
          during = await counting
          outside.open()
        })
        await database.transaction(async (tx) => {
          await tx.records(Category).create({ name: 'a' })
          inside.open()
          await outside.opened
        })
        await looking
        expect(during).toBe(name.includes('memory') ? 2 : 1)
        expect(await categories.count()).toBe(2)
      })

      it('takes in what goes through other repositories, and the query builder', async () => {
        const work = database.transaction(async () => {
          await categories.create({ name: 'a' })
          await database.kysely.insertInto('category').values({ name: 'b' }).execute()
          expect(await categories.count()).toBe(3)
          throw new Error('no')
        })
        await expect(work).rejects.toThrow('no')
        expect(await categories.count()).toBe(1)
      })

      it('has parts that fail alone', async () => {
        await database.transaction(async (tx) => {
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
        const found = await categories.list()
        expect(found.map((one) => one.name)).toStrictEqual(['Light', 'a', 'c'])
      })

      it('lets two wait for each other', async () => {
        const add = (word: string): Promise<void> =>
          database.transaction(async (tx) => {
            const count = await tx.records(Category).count()
            await tx.records(Category).create({ name: `${word}${count}` })
          })
        await Promise.all([add('a'), add('b'), categories.create({ name: 'c' }), add('d')])
        expect(await categories.count()).toBe(5)
      })

      it('is over when it is over', async () => {
        const tx = await database.transaction(async (inner) => inner)
        await expect(tx.records(Category).count()).rejects.toThrow('The transaction is over.')
      })

      it('tells of changes after the commit, and of none that were taken back', async () => {
        const told: string[] = []
        const end = database.onChange(({ event, table }) => told.push(`${event} ${table.name}`))
        await categories.create({ name: 'a' })
        await database.transaction(async (tx) => {
          await tx.records(Category).create({ name: 'b' })
          await tx
            .transaction(async (part) => {
              await part.records(Category).create({ name: 'c' })
              throw new Error('no')
            })
            .catch(() => undefined)
          expect(told).toStrictEqual(['created category'])
        })
        await database
          .transaction(async (tx) => {
            await tx.records(Category).delete(light.id)
            throw new Error('no')
          })
          .catch(() => undefined)
        await categories.delete(light.id)
        end()
        await categories.create({ name: 'd' })
        expect(told).toStrictEqual(['created category', 'created category', 'deleted category'])
      })
    })

    describe('the query builder', () => {
      it('reads and writes on the same database', async () => {
        await create({ price: 3 })
        await create({ price: 4 })
        const row = await database.kysely
          .selectFrom('product')
          .select(({ fn }) => [fn.sum('price').as('total'), fn.countAll().as('count')])
          .executeTakeFirstOrThrow()
        expect(Number(row.total)).toBe(7)
        const result = await database.kysely
          .updateTable('product')
          .set({ price: 1 })
          .where('price', '=', 3)
          .executeTakeFirst()
        expect(result.numUpdatedRows).toBe(1n)
        expect(await products.count({ price: 1 })).toBe(1)
      })

      it('takes back a transaction of its own', async () => {
        const work = database.kysely.transaction().execute(async (trx) => {
          await trx.insertInto('category').values({ name: 'x' }).execute()
          throw new Error('no')
        })
        await expect(work).rejects.toThrow('no')
        expect(await categories.count()).toBe(1)
      })
    })
  })
}

interface Stamped {
  createdAt: string
  updatedAt: string
}

async function empty(database: Database): Promise<void> {
  const tables = [
    'product_tag',
    'following',
    'review',
    'product',
    'category',
    'author',
    'tag',
    'person',
  ]
  for (const table of tables) await database.kysely.deleteFrom(table).execute()
}

async function failure(work: Promise<unknown>): Promise<HttpError> {
  try {
    await work
  } catch (error) {
    return error as HttpError
  }
  throw new Error('It did not fail.')
}

function deep(levels: number): unknown {
  return levels === 0 ? {} : { not: deep(levels - 1) }
}

function gate(): { open: () => void; opened: Promise<void> } {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}
