/** The part of the database contract about filters, order and pages. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Review, Tag } from '../records/shop.js'
import { failure, type Fixture } from './database-fixture.js'
import { anonymousView } from '../records/open-database.js'

export function describeLists(fixture: Fixture): void {
  describe('filters', () => {
    beforeEach(async () => {
      await fixture.create({ name: 'Äpfel', price: 5, stock: null, active: false })
      await fixture.create({ name: 'lamp', price: 10, stock: 1, soldAt: '2026-01-02T00:00:00Z' })
      await fixture.create({
        name: 'Lamp',
        price: 20,
        stock: 2,
        soldAt: '2026-01-01T23:59:59.999Z',
      })
      await fixture.create({ name: '100%_x', price: 30, stock: 0 })
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
      ['like, which is case-sensitive', { name: { like: 'la%' } }, ['lamp']],
      ['like with _', { name: { like: '_amp' } }, ['lamp', 'Lamp']],
      ['like with an escape', { name: { like: '100\\%\\_%' } }, ['100%_x']],
      ['ilike', { name: { ilike: 'LA%' } }, ['lamp', 'Lamp']],
      ['ilike beyond ASCII', { name: { ilike: 'ÄPF%' } }, ['Äpfel']],
      ['a datetime, converting its offset', { soldAt: '2026-01-02T01:00:00+01:00' }, ['lamp']],
      ['datetimes in order', { soldAt: { lt: '2026-01-02' } }, ['Lamp']],
      ['text by code point', { name: { gt: 'a' } }, ['Äpfel', 'lamp']],
      ['or', { or: [{ price: 5 }, { price: 30 }] }, ['Äpfel', '100%_x']],
      ['or of none', { or: [] }, []],
      ['and', { and: [{ price: { gt: 5 } }, { price: { lt: 20 } }] }, ['lamp']],
      ['not, also where null is compared', { not: { stock: { gt: 0 } } }, ['Äpfel', '100%_x']],
      ['through a relation', { category: { name: 'Light' } }, all],
      ['through a relation to nothing', { category: { name: 'Dark' } }, []],
    ])('finds by %s', async (_, where, expected) => {
      expect(await fixture.names({ where })).toStrictEqual(expected)
      expect(await fixture.products.count(where)).toBe(expected.length)
    })

    it('filters through one-to-many and many-to-many relations', async () => {
      const [apple, lamp] = await fixture.products.list()
      const [red, blue] = [
        await fixture.database.records(Tag).create({ word: 'red' }),
        await fixture.database.records(Tag).create({ word: 'blue' }),
      ]
      await fixture.products.link(apple!.id, 'tags', [red.id, blue.id])
      await fixture.products.link(lamp!.id, 'tags', [blue.id])
      await fixture.database.records(Review).create({ stars: 2, productId: lamp!.id })
      expect(await fixture.names({ where: { reviews: { stars: { lt: 3 } } } })).toStrictEqual([
        'lamp',
      ])
      expect(await fixture.names({ where: { not: { reviews: {} }, stock: null } })).toStrictEqual([
        'Äpfel',
      ])
      expect(await fixture.names({ where: { tags: { word: 'red' } } })).toStrictEqual(['Äpfel'])
      const where = { products: { tags: { word: 'blue' }, price: { lt: 6 } } }
      expect(await fixture.categories.count(where)).toBe(1)
      await fixture.database.records(Tag).delete(red.id)
      expect(await fixture.names({ where: { tags: { word: 'red' } } })).toStrictEqual([])
    })

    it('filters through several levels of relations', async () => {
      const [apple, lamp] = await fixture.products.list()
      const tags = fixture.database.records(Tag)
      const [red, blue] = [await tags.create({ word: 'red' }), await tags.create({ word: 'blue' })]
      await fixture.products.link(apple!.id, 'tags', [red.id, blue.id])
      await fixture.products.link(lamp!.id, 'tags', [blue.id])
      await fixture.database.records(Review).create({ stars: 2, productId: lamp!.id })
      const dark = await fixture.categories.create({ name: 'Dark' })
      await fixture.create({ name: 'Night', categoryId: dark.id })
      const byTag = { tags: { products: { name: 'lamp' } } }
      expect(await fixture.names({ where: byTag })).toStrictEqual(['Äpfel', 'lamp'])
      const byReview = { category: { products: { reviews: { stars: 2 } } } }
      expect(await fixture.names({ where: byReview })).toStrictEqual(all)
      expect(await fixture.names({ where: { not: byReview } })).toStrictEqual(['Night'])
      const without = { category: { not: { products: { tags: {} } } } }
      expect(await fixture.names({ where: without })).toStrictEqual(['Night'])
      await tags.delete(blue.id)
      expect(await fixture.names({ where: byTag })).toStrictEqual([])
    })

    // A nested loop over the rows would take 100 to the power of 5 steps, so this test would not end.
    it('reads each row once, even if many paths of the filter lead to it', async () => {
      const rows = Array.from({ length: 100 }, (_, index) => ({ name: `p${index}` }))
      const values = { price: 1, categoryId: fixture.light.id }
      await fixture.products.insertMany(rows.map((row) => ({ ...row, ...values })))
      let where: object = { name: 'Dark' }
      for (let level = 0; level < 9; level++) {
        where = level % 2 === 0 ? { category: where } : { products: where }
      }
      expect(await fixture.products.count(where)).toBe(0)
      expect(await fixture.products.count({ not: where })).toBe(104)
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
    ])('refuses the filter %j and names its path', async (where, path) => {
      const error = await failure(fixture.products.list({ where: where as never }))
      expect(error).toMatchObject({ status: 400, code: 'VALIDATION' })
      expect(error.errors?.[0]?.path).toBe(path)
    })

    it.each(['like', 'ilike'])(
      'accepts 20 patterns of a client by %s, and refuses the 21st',
      async (operator) => {
        const patterns = (count: number) => ({
          or: Array.from({ length: count }, (_, index) => ({
            name: { [operator]: `%la${index}%` },
          })),
        })
        await expect(
          fixture.names({ where: patterns(20), view: anonymousView(fixture.database) }),
        ).resolves.toStrictEqual([])
        await expect(fixture.names({ where: patterns(21) })).resolves.toStrictEqual([])
        const error = await failure(
          fixture.products.list({ where: patterns(21), view: anonymousView(fixture.database) }),
        )
        expect(error).toMatchObject({ status: 400, errors: [{ path: `or.20.name.${operator}` }] })
      },
    )

    it('refuses filters and orders of a client by hidden fields', async () => {
      expect(await fixture.names({ where: { secret: 'x' } })).toStrictEqual([])
      for (const where of [
        { secret: 'x' },
        { or: [{ secret: 'x' }] },
        { category: { products: { secret: 'x' } } },
      ]) {
        await expect(
          fixture.products.list({ where, view: anonymousView(fixture.database) }),
        ).rejects.toMatchObject({
          status: 400,
        })
      }
      await expect(
        fixture.products.list({
          orderBy: { secret: 'asc' },
          view: anonymousView(fixture.database),
        }),
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
        await fixture.create({ name, stock })
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
      expect((await fixture.names({ orderBy })).join(' ')).toBe(expected)
    })

    it('limit and offset select a page', async () => {
      expect(await fixture.names({ limit: 2 })).toStrictEqual(['b', 'a'])
      expect(await fixture.names({ limit: 2, offset: 2 })).toStrictEqual(['Z', 'é'])
      expect(await fixture.names({ offset: 4 })).toStrictEqual(['😀', '\uffff'])
      expect(await fixture.names({ limit: 0 })).toStrictEqual([])
      expect(await fixture.names({ limit: 5, offset: Number.MAX_SAFE_INTEGER })).toStrictEqual([])
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
      { orderBy: 'nope' },
      { orderBy: 'name; drop table product' },
      { with: ['nope'] },
      { with: ['category.nope'] },
    ])('refuses %j with 400', async (options) => {
      await expect(fixture.products.list(options as never)).rejects.toMatchObject({ status: 400 })
    })

    it('refuses a misspelt option', async () => {
      await expect(fixture.products.list({ wher: {} } as never)).rejects.toThrow(
        'unknown option "wher"',
      )
    })
  })
}

function deep(levels: number): unknown {
  return levels === 0 ? {} : { not: deep(levels - 1) }
}
