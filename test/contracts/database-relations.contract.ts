/** The part of the database contract about relations. */
import { describe, expect, it } from '@jest/globals'
import { Author, Category, Person, Review, Tag } from '../records/shop.js'
import type { Fixture } from './database-fixture.js'

export function describeRelations(fixture: Fixture): void {
  describe('relations', () => {
    it('find loads no relation unless `with` names it', async () => {
      const lamp = await fixture.create()
      expect(await fixture.products.find(lamp.id)).not.toHaveProperty('category')
    })

    it('`with` loads several levels of relations', async () => {
      const lamp = await fixture.create()
      const ann = await fixture.database.records(Author).create({ name: 'Ann' })
      const reviews = fixture.database.records(Review)
      await reviews.create({ stars: 4, productId: lamp.id, authorKey: ann.id })
      await reviews.create({ stars: 2, productId: lamp.id })
      const found = await fixture.products.find(lamp.id, { with: ['category', 'reviews.author'] })
      expect(found?.category).toBeInstanceOf(Category)
      expect(found?.category.name).toBe('Light')
      expect(found?.reviews.map((review) => review.author?.name ?? null)).toStrictEqual([
        'Ann',
        null,
      ])
    })

    it('each record gets its own related records', async () => {
      const dark = await fixture.categories.create({ name: 'Dark' })
      await fixture.categories.create({ name: 'Empty' })
      await fixture.create({ name: 'a' })
      await fixture.create({ name: 'b', categoryId: dark.id })
      await fixture.create({ name: 'c' })
      const found = await fixture.categories.list({ with: ['products'] })
      expect(found.map(({ products: list }) => list.map((product) => product.name))).toStrictEqual([
        ['a', 'c'],
        ['b'],
        [],
      ])
    })

    it('link and unlink change each pair of a many-to-many relation once', async () => {
      const lamp = await fixture.create()
      const tags = fixture.database.records(Tag)
      const [red, blue] = [await tags.create({ word: 'red' }), await tags.create({ word: 'blue' })]
      expect(await fixture.products.link(lamp.id, 'tags', [red.id, blue.id])).toBe(2)
      expect(await fixture.products.link(lamp.id, 'tags', [red.id])).toBe(0)
      const found = await fixture.products.find(lamp.id, { with: ['tags.products'] })
      expect(found?.tags.map(({ word }) => word)).toStrictEqual(['red', 'blue'])
      expect(found?.tags[0]?.products.map(({ id }) => id)).toStrictEqual([lamp.id])
      expect(await fixture.products.unlink(lamp.id, 'tags', [red.id, 999])).toBe(1)
      expect((await fixture.products.find(lamp.id, { with: ['tags'] }))?.tags).toHaveLength(1)
    })

    it('link writes nothing if one of the keys does not exist', async () => {
      const lamp = await fixture.create()
      const red = await fixture.database.records(Tag).create({ word: 'red' })
      await expect(fixture.products.link(lamp.id, 'tags', [red.id, 999])).rejects.toMatchObject({
        status: 409,
        message: 'tags names no Tag',
      })
      expect((await fixture.products.find(lamp.id, { with: ['tags'] }))?.tags).toStrictEqual([])
      await expect(fixture.products.link(999, 'tags', [red.id])).rejects.toMatchObject({
        status: 404,
      })
      await expect(fixture.products.link(lamp.id, 'tags', ['x'])).rejects.toMatchObject({
        status: 400,
      })
    })

    it('links a record to another of its class, readable in both directions', async () => {
      const people = fixture.database.records(Person)
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
}
