/** What every engine does alike: the rules of fields, changes and deletions. */
import { describe, expect, it } from '@jest/globals'
import { Author, Category, Person, Review, Tag } from '../records/shop.js'
import { failure, type Fixture } from './database-fixture.js'

export function describeRules(fixture: Fixture): void {
  describe('rules', () => {
    it('create refuses invalid values and names the path of each field', async () => {
      const error = await failure(fixture.products.create({ price: -1, name: 5 } as never))
      expect(error).toMatchObject({ status: 400, code: 'VALIDATION' })
      expect(error.errors?.map(({ path, code }) => `${path} ${code}`).sort()).toStrictEqual([
        'categoryId required',
        'name type',
        'price min',
      ])
    })

    it('update refuses invalid values and changes nothing', async () => {
      const lamp = await fixture.create()
      await expect(fixture.products.update(lamp.id, { price: -1 })).rejects.toMatchObject({
        status: 400,
      })
      expect((await fixture.products.find(lamp.id))?.price).toBe(9.5)
    })

    it.each(['nope', '__proto__', 'category', 'name"; drop table product; --'])(
      'refuses the unknown key %p',
      async (key) => {
        const values = Object.defineProperty(
          { name: 'x', price: 1, categoryId: fixture.light.id },
          key,
          {
            value: 1,
            enumerable: true,
          },
        )
        await expect(fixture.products.create(values)).rejects.toMatchObject({ status: 400 })
      },
    )

    it.each(['a\u0000b', '\ud800', 'x\udfff'])('refuses the text %j', async (name) => {
      await expect(fixture.create({ name })).rejects.toMatchObject({ status: 400 })
      await expect(fixture.products.list({ where: { name } })).rejects.toMatchObject({
        status: 400,
      })
    })

    it("a duplicate value is 409 with the field's name, and shows no SQL", async () => {
      const error = await failure(fixture.categories.create({ name: 'Light' }))
      expect(error).toMatchObject({
        status: 409,
        code: 'CONFLICT',
        message: 'name is already taken',
        errors: [{ path: 'name', code: 'unique', message: 'name is already taken' }],
      })
    })

    it('a duplicate of a unique group names both fields', async () => {
      const people = fixture.database.records(Person)
      await people.create({ city: 'Oslo', street: 'A' })
      await people.create({ city: 'Oslo', street: 'B' })
      const error = await failure(people.create({ city: 'Oslo', street: 'A' }))
      expect(error).toMatchObject({
        status: 409,
        message: 'city and street together are already taken',
      })
    })

    it('a reference to a missing record is 409', async () => {
      const lamp = await fixture.create()
      const expected = {
        status: 409,
        code: 'CONFLICT',
        errors: [
          { path: 'categoryId', code: 'reference', message: 'categoryId names no Category' },
        ],
      }
      await expect(fixture.create({ categoryId: 9999 })).rejects.toMatchObject(expected)
      await expect(fixture.products.update(lamp.id, { categoryId: 9999 })).rejects.toMatchObject(
        expected,
      )
    })

    it('refuses to delete a record that is referenced, unless the deletion cascades', async () => {
      const lamp = await fixture.create()
      const message = 'This Category is still referred to by Product.categoryId.'
      await expect(fixture.categories.delete(fixture.light.id)).rejects.toMatchObject({
        status: 409,
        code: 'CONFLICT',
        message,
        errors: [{ path: 'Product.categoryId', code: 'reference', message }],
      })
      await fixture.database.transaction(async (tx) => {
        const work = tx.transaction((part) => part.records(Category).delete(fixture.light.id))
        await expect(work).rejects.toMatchObject({ status: 409, message })
      })
      await fixture.database.records(Review).create({ stars: 5, productId: lamp.id })
      expect(await fixture.products.delete(lamp.id)).toBe(true)
      expect(await fixture.database.records(Review).count()).toBe(0)
    })

    it('sets references to a deleted record to null if the relation says so', async () => {
      const lamp = await fixture.create()
      const ann = await fixture.database.records(Author).create({ name: 'Ann' })
      const values = { stars: 5, productId: lamp.id, authorKey: ann.id }
      const review = await fixture.database.records(Review).create(values)
      await fixture.database.records(Author).delete(ann.id)
      expect((await fixture.database.records(Review).find(review.id))?.authorKey).toBeNull()
    })
  })

  describe('update and delete', () => {
    it('update changes only the fields that it names', async () => {
      const lamp = await fixture.create({ stock: 3 })
      const updated = await fixture.products.update(lamp.id, { price: 12 })
      expect(updated).toStrictEqual(Object.assign(lamp, { price: 12 }))
      expect(await fixture.products.find(lamp.id)).toStrictEqual(updated)
    })

    it('update stores null and ignores undefined', async () => {
      const lamp = await fixture.create({ stock: 3 })
      expect((await fixture.products.update(lamp.id, { stock: null }))?.stock).toBeNull()
      expect((await fixture.products.update(lamp.id, { name: undefined }))?.name).toBe('Lamp')
    })

    it('update accepts the record itself, and refuses another key', async () => {
      const lamp = await fixture.create()
      expect(
        (await fixture.products.update(lamp.id, Object.assign(lamp, { price: 1 })))?.price,
      ).toBe(1)
      await expect(fixture.products.update(lamp.id, { id: lamp.id + 1 })).rejects.toMatchObject({
        status: 400,
        message: 'id cannot be changed',
      })
    })

    it('delete returns true once', async () => {
      const lamp = await fixture.create()
      expect(await fixture.products.delete(lamp.id)).toBe(true)
      expect(await fixture.products.delete(lamp.id)).toBe(false)
      expect(await fixture.products.find(lamp.id)).toBeNull()
    })

    it('never generates the key of a deleted row again', async () => {
      const lamp = await fixture.create()
      await fixture.products.delete(lamp.id)
      expect((await fixture.create()).id).toBeGreaterThan(lamp.id)
    })

    it('sets createdAt and updatedAt', async () => {
      const authors = fixture.database.records(Author)
      const ann = (await authors.create({ name: 'Ann' })) as Author & Stamped
      expect(ann.createdAt).toBe(ann.updatedAt)
      await authors.update(ann.id, { updatedAt: '2020-01-01' } as Partial<Author>)
      const changed = (await authors.update(ann.id, { name: 'Anna' })) as Author & Stamped
      expect(changed.updatedAt >= ann.updatedAt).toBe(true)
      expect(changed.createdAt).toBe(ann.createdAt)
    })

    it('softDelete hides the row, and its unique value can be used again', async () => {
      const tags = fixture.database.records(Tag)
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
}

interface Stamped {
  createdAt: string
  updatedAt: string
}
