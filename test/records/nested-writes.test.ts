import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BeforeWrite,
  BelongsTo,
  bootstrap,
  type Change,
  connect,
  Controller,
  type Database,
  Field,
  type Generated,
  HasMany,
  HttpError,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  Secured,
  type Row,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { randomNumbers } from '../random.js'
import type { Class } from '../public-types.js'

@Record
@NoAuth
class Owner {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record
@NoAuth
class Shop {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { optional: true, nullable: true }) ownerId?: number | null
  @BelongsTo(() => Owner) owner!: Rel<Owner>
  @HasMany(() => Item) items!: Rel<Item[]>
  @HasMany(() => Offer) offers!: Rel<Offer[]>
  @HasMany(() => Seal) seals!: Rel<Seal[]>
  @HasMany(() => Stamp) stamps!: Rel<Stamp[]>
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ rows: () => ({ open: true }), version: true })
@NoAuth
class Item {
  @Field('id') id!: number
  @Field('string', { maxLength: 9, unique: true }) name!: string
  @Field('boolean', { default: true }) open!: Generated<boolean>
  @Secured('boss') @Field('integer', { default: 1 }) cost!: Generated<number>
  @Field('integer', { optional: true, nullable: true }) shopId?: number | null
  @BelongsTo(() => Shop) shop!: Rel<Shop>
  @Field('string', { default: '', readOnly: true }) shout!: Generated<string>
  @BeforeWrite() prepare(): void {
    this.shout = this.name.toUpperCase()
  }
}

@Record
@NoAuth
class Offer {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('integer') shopId!: number
  @BelongsTo(() => Shop) shop!: Rel<Shop>
}

@Record({ writes: 'boss' })
@NoAuth
class Seal {
  @Field('id') id!: number
  @Field('string') mark!: string
  @Field('integer', { optional: true, nullable: true }) shopId?: number | null
  @BelongsTo(() => Shop) shop!: Rel<Shop>
}

@Record
@NoAuth
class Stamp {
  @Field('id') id!: number
  @Field('string') mark!: string
  @Field('integer', { optional: true, nullable: true, readOnly: true }) shopId?: number | null
  @BelongsTo(() => Shop) shop!: Rel<Shop>
}

@Record({ rows: () => ({ word: { ne: 'secret' } }) })
@NoAuth
class Tag {
  @Field('id') id!: number
  @Field('string') word!: string
}

@Controller('/shops', { crud: Shop })
@NoAuth
class Shops {}

const records = [Owner, Shop, Item, Offer, Seal, Stamp, Tag]

@Module({ controllers: [Shops], records })
class Street {}

interface WriteResult {
  readonly status: number
  readonly body?: unknown
}

const engines = await startBothEngines()
const statuses: { [code: string]: number } = {
  NOT_FOUND: 404,
  VALIDATION: 400,
  BAD_USER_INPUT: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  CONFLICT: 409,
  FORBIDDEN: 403,
  UNAUTHENTICATED: 401,
  BAD_VARIABLES: 400,
}

describe.each(engines)('%s: nested writes', (_name, open) => {
  let database: Database
  let app: Application

  const crud = async (id: number | undefined, input: object): Promise<WriteResult> => {
    const [method, url] = id === undefined ? ['POST', '/shops'] : ['PATCH', `/shops/${id}`]
    const response = await app.inject({ method, url, json: input })
    return { status: response.status, body: response.json() }
  }
  const graphql = async (id: number | undefined, input: object): Promise<WriteResult> => {
    const query =
      id === undefined
        ? 'mutation ($input: ShopInput) { done: createShop(input: $input) { id } }'
        : 'mutation ($input: ShopInput, $id: ID!) { done: updateShop(id: $id, input: $input) { id } }'
    const json = { query, variables: { id, input } }
    const response = await app.inject({ method: 'POST', url: '/graphql', json })
    const { data, errors } = response.json() as {
      data: { done?: unknown } | null
      errors?: { extensions: { code: string } }[]
    }
    const code = errors?.[0]?.extensions.code
    if (code !== undefined) return { status: statuses[code] ?? 500, body: errors }
    return { status: id === undefined ? 201 : 200, body: data?.done }
  }
  const program = async (id: number | undefined, input: object): Promise<WriteResult> => {
    const shops = database.records(Shop)
    try {
      const body =
        id === undefined ? await shops.create(input as never) : await shops.update(id, input)
      return { status: id === undefined ? 201 : 200, body }
    } catch (error) {
      if (error instanceof HttpError) return { status: error.status, body: error.errors }
      throw error
    }
  }
  const interfaces = { crud, graphql, program }
  const interfaceNames = ['crud', 'graphql', 'program'] as const

  /** All rows of the database, as readable texts. */
  const state = async () => {
    const items = await database.records(Item).list()
    const offers = await database.records(Offer).list()
    const seals = await database.records(Seal).list()
    const shops = await database.records(Shop).list({ with: ['tags', 'owner'] })
    return {
      shops: shops.map(({ id, name, tags, owner }) => {
        const words = tags.map(({ word }) => word).sort()
        return [id, name, words.join('+'), owner?.name]
      }),
      items: items.map(({ id, name, shopId, version }: Row<Item> & { version?: number }) =>
        [id, name, shopId, version].join(':'),
      ),
      offers: offers.map(({ id, text, shopId }) => `${id}:${text}:${shopId}`),
      seals: seals.map(({ id, shopId }) => `${id}:${shopId}`),
      tags: (await database.records(Tag).list()).map(({ id, word }) => `${id}:${word}`),
      owners: (await database.records(Owner).list()).map(({ id, name }) => `${id}:${name}`),
    }
  }

  beforeAll(async () => {
    database = await connect(await open(), { records })
    await database.sync()
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(Street, { database, listen: false, logger: false, env })
  })
  afterAll(() => database.close())

  beforeEach(async () => {
    const [first, second] = [
      [Stamp, Seal, Offer, Item],
      [Shop, Owner, Tag],
    ] as Class[][]
    for (const type of first ?? []) await database.records(type).deleteWhere({})
    await database.kysely.deleteFrom('shop_tag').execute()
    for (const type of second ?? []) await database.records(type).deleteWhere({})
    const owners = [
      { id: 1, name: 'ann' },
      { id: 2, name: 'bob' },
    ]
    await database.records(Owner).insertMany(owners)
    await database.records(Shop).insertMany([
      { id: 1, name: 'one', ownerId: 1 },
      { id: 2, name: 'two' },
    ])
    const items = ['a', 'b', 'c', 'd', 'other', 'free', 'hid'].map((name, index) => ({
      id: index + 1,
      name,
      shopId: index < 4 || name === 'hid' ? 1 : name === 'other' ? 2 : null,
      open: name !== 'hid',
    }))
    await database.records(Item).insertMany(items)
    await database.records(Offer).insertMany([
      { id: 1, text: 'x', shopId: 1 },
      { id: 2, text: 'y', shopId: 2 },
    ])
    await database.records(Seal).insertMany([{ id: 1, mark: 'm', shopId: 1 }])
    await database.records(Stamp).insertMany([{ id: 1, mark: 'm' }])
    const words = ['red', 'blue', 'far', 'secret', 'loose']
    await database.records(Tag).insertMany(words.map((word, index) => ({ id: index + 1, word })))
    await database.records(Shop).link(1, 'tags', [1, 2, 4])
    await database.records(Shop).link(2, 'tags', [3])
  })

  describe.each(interfaceNames)('through %s', (via) => {
    it('perform all five operations on children in one write, and leave other rows unchanged', async () => {
      const result = await interfaces[via](1, {
        name: 'uno',
        items: {
          create: [{ name: 'new' }, { name: 'c' }],
          update: [{ id: 1, name: 'A' }],
          connect: [6],
          disconnect: [2],
          delete: [3],
        },
        offers: { create: [{ text: 'z' }], delete: [1] },
      })
      expect(result).toMatchObject({ status: 200 })
      const now = await state()
      expect(now.shops).toEqual([
        [1, 'uno', 'blue+red+secret', 'ann'],
        [2, 'two', 'far', undefined],
      ])
      expect(now.items).toEqual([
        '1:A:1:2',
        '2:b::2',
        '4:d:1:1',
        '5:other:2:1',
        '6:free:1:2',
        '7:hid:1:1',
        expect.stringMatching(/^\d+:new:1:1$/),
        expect.stringMatching(/^\d+:c:1:1$/),
      ])
      expect(now.offers.slice(0, 1)).toEqual(['2:y:2'])
      expect(now.offers[1]).toMatch(/:z:1$/)
      const created = await database.records(Item).list({ where: { name: { in: ['new', 'A'] } } })
      expect(created.map(({ shout }) => shout).sort()).toEqual(['A', 'NEW'])
    })

    it('perform all five operations on linked rows', async () => {
      const result = await interfaces[via](1, {
        tags: {
          create: [{ word: 'new' }],
          update: [{ id: 1, word: 'RED' }],
          connect: [5],
          disconnect: [2],
        },
      })
      expect(result).toMatchObject({ status: 200 })
      expect((await state()).shops[0]).toEqual([1, 'one', 'RED+loose+new+secret', 'ann'])
      expect(await interfaces[via](1, { tags: { delete: [1] } })).toMatchObject({ status: 200 })
      const now = await state()
      expect(now.shops[0]).toEqual([1, 'one', 'loose+new+secret', 'ann'])
      expect(now.tags).not.toContain('1:RED')
      expect(now.tags).toContain('2:blue')
    })

    it.each([
      [{ create: { name: 'cy' } }, 'cy', 3],
      [{ connect: 2 }, 'bob', 2],
      [{ update: { name: 'ANN' } }, 'ANN', 2],
      [{ disconnect: true }, undefined, 2],
      [{ delete: true }, undefined, 1],
    ])('perform %j on the parent row', async (owner, name, count) => {
      expect(await interfaces[via](1, { owner })).toMatchObject({ status: 200 })
      const now = await state()
      expect(now.shops[0]?.[3]).toBe(name)
      expect(now.owners).toHaveLength(count)
    })

    it('work in a create', async () => {
      const result = await interfaces[via](undefined, {
        name: 'three',
        owner: { connect: 2 },
        items: { create: [{ name: 'n1' }, { name: 'n2' }], connect: [6] },
        offers: { create: [{ text: 'p' }] },
        tags: { connect: [1], create: [{ word: 'w' }] },
      })
      expect(result).toMatchObject({ status: 201 })
      const id = Number((result.body as { id: unknown }).id)
      const now = await state()
      expect(now.shops[2]).toEqual([id, 'three', 'red+w', 'bob'])
      const mine = now.items.filter((text) => text.split(':')[2] === String(id))
      expect(mine.map((text) => text.split(':')[1])).toEqual(['free', 'n1', 'n2'])
      expect(now.offers.filter((text) => text.endsWith(`:${id}`))).toHaveLength(1)
    })

    it.each([
      [404, { items: { update: [{ id: 5, name: 'x' }] } }],
      [404, { items: { update: [{ id: 99, name: 'x' }] } }],
      [404, { items: { disconnect: [5] } }],
      [404, { items: { disconnect: [99] } }],
      [404, { items: { delete: [5] } }],
      [404, { items: { delete: [1, 5] } }],
      [404, { offers: { update: [{ id: 2, text: 'x' }] } }],
      [404, { tags: { update: [{ id: 3, word: 'x' }] } }],
      [404, { tags: { disconnect: [3] } }],
      [404, { tags: { delete: [3] } }],
      [409, { items: { connect: [99] } }],
      [409, { tags: { connect: [99] } }],
      [409, { owner: { connect: 99 } }],
      [400, { offers: { disconnect: [1] } }],
      [400, { items: { update: [{ id: 1, shopId: 2 }] } }],
      [400, { items: { update: [{ name: 'x' }] } }],
      [400, { items: { create: [{ name: 'far too long' }] } }],
      [400, { items: { update: [{ id: 1, name: 'far too long' }] } }],
      [400, { items: { nothing: [1] } }],
      [400, { items: { create: [{ name: 'x', shopId: 2 }] } }],
      [400, { owner: { create: { name: 'x' }, connect: 2 } }],
      [409, { items: { update: [{ id: 1, name: 'b' }] } }],
      [409, { items: { delete: [1], create: [{ name: 'b' }] } }],
    ])('respond with %i to %j, and write nothing', async (status, input) => {
      const before = await state()
      const result = await interfaces[via](1, { name: 'changed', ...input })
      expect({ status: result.status, input }).toEqual({ status, input })
      expect(await state()).toEqual(before)
    })

    it('do not find rows of other parents in a create', async () => {
      const before = await state()
      const result = await interfaces[via](undefined, { name: 'x', items: { update: [{ id: 1 }] } })
      expect(result.status).toBe(404)
      const ownerless = await interfaces[via](undefined, { name: 'x', owner: { delete: true } })
      expect(ownerless.status).toBe(404)
      expect(await state()).toEqual(before)
    })
  })

  describe.each(['crud', 'graphql'] as const)('clients through %s', (via) => {
    it.each([
      [404, { items: { update: [{ id: 7, name: 'x' }] } }],
      [404, { items: { disconnect: [7] } }],
      [404, { items: { delete: [7] } }],
      [409, { items: { connect: [7] } }],
      [404, { tags: { disconnect: [4] } }],
      [409, { tags: { connect: [4] } }],
      [403, { items: { create: [{ name: 'x', open: false }] } }],
      [403, { items: { update: [{ id: 1, open: false }] } }],
      [401, { items: { update: [{ id: 1, cost: 2 }] } }],
      [401, { items: { create: [{ name: 'x', cost: 2 }] } }],
      [401, { seals: { create: [{ mark: 'x' }] } }],
      [401, { seals: { update: [{ id: 1, mark: 'x' }] } }],
      [401, { seals: { disconnect: [1] } }],
      [401, { seals: { delete: [1] } }],
      [400, { stamps: { connect: [1] } }],
      [400, { items: { create: [{ name: 'x', shout: 'y' }] } }],
      [400, { items: { create: Array.from({ length: 1001 }, (_, i) => ({ name: `n${i}` })) } }],
      [400, { items: { connect: Array.from({ length: 1001 }, (_, i) => i + 1) } }],
      [400, { tagIds: Array.from({ length: 1001 }, () => 1) }],
    ])('get %i if they may not write the child', async (status, input) => {
      const before = await state()
      const result = await interfaces[via](1, { name: 'changed', ...input })
      expect(result.status).toBe(status)
      expect(await state()).toEqual(before)
    })
  })

  it('report an error with its path in the input', async () => {
    const result = await crud(1, { items: { create: [{ name: 'ok' }, { name: 'b' }] } })
    expect(result).toMatchObject({
      status: 409,
      body: { errors: [{ path: 'items.create.1.name', code: 'unique' }] },
    })
    const other = await graphql(1, { items: { delete: [1, 5] } })
    expect(JSON.stringify(other.body)).toContain('input.items.delete.1')
  })

  it('accept plain child rows for a new parent only', async () => {
    expect((await graphql(undefined, { name: 'x', items: [{ name: 'by' }] })).status).toBe(201)
    expect((await graphql(1, { items: [{ name: 'by2' }] })).status).toBe(400)
    const mixed = { name: 'x', items: [{ name: 'by3' }, { connect: [6] }] }
    expect((await graphql(undefined, mixed)).status).toBe(400)
  })

  it('report every row to onChange', async () => {
    const events: string[] = []
    const stop = database.onChange(({ event, record, id }: Change) =>
      events.push(`${event} ${record.name} ${id}`),
    )
    const items = { create: [{ name: 'new' }], update: [{ id: 1, name: 'A' }], delete: [2] }
    await crud(1, { name: 'uno', items })
    stop()
    expect(events.filter((text) => !text.startsWith('created'))).toEqual([
      'updated Shop 1',
      'deleted Item 2',
      'updated Item 1',
    ])
    expect(events.filter((text) => text.startsWith('created Item'))).toHaveLength(1)
  })

  it('reject an outdated version of a child, and roll back', async () => {
    const before = await state()
    const items = {
      update: [
        { id: 1, name: 'A', version: 1 },
        { id: 2, version: 7, name: 'B' },
      ],
    }
    expect((await program(1, { items })).status).toBe(409)
    expect(await state()).toEqual(before)
  })

  it('work at any depth in GraphQL and in programs', async () => {
    const items = { update: [{ id: 1, shop: { update: { owner: { update: { name: 'deep' } } } } }] }
    // The item is already nested in its shop.
    expect((await program(1, { items })).status).toBe(400)
    const result = await database
      .records(Item)
      .update(1, { shop: { update: { owner: { update: { name: 'deep' } } } } })
    expect(result?.id).toBe(1)
    expect((await state()).owners).toEqual(['1:deep', '2:bob'])
  })

  it('match a reference implementation for random operations', async () => {
    const next = randomNumbers(7)
    const some = (count: number): number[] => [
      ...new Set(Array.from({ length: next(count + 1) }, () => 1 + next(12))),
    ]
    await database.records(Item).deleteWhere({})
    let items = new Map<number, { name: string; shop: number | null }>()
    let links = new Set(['1:1', '1:2', '1:4', '2:3'])
    const tagIds = new Set([1, 2, 3, 4, 5])
    for (let iteration = 0; iteration < 120; iteration++) {
      const shop = 1 + next(2)
      const via = interfaceNames[next(3)] ?? 'crud'
      const names = Array.from({ length: next(3) }, (_, i) => `r${iteration}${i}`)
      const update = some(2).map((id) => ({ id, name: `u${iteration}${id}` }))
      const operations = { update, connect: some(2), disconnect: some(1), delete: some(1) }
      const tagged = { connect: some(1), disconnect: some(1) }
      const result = await interfaces[via](shop, {
        items: { create: names.map((name) => ({ name })), ...operations },
        tags: tagged,
      })

      const mine = (id: number): boolean => items.get(id)?.shop === shop
      const named = [...update.map(({ id }) => id), ...operations.disconnect, ...operations.delete]
      const isSeen = (id: number): boolean => via === 'program' || id !== 4
      const isFound =
        named.every(mine) &&
        operations.connect.every((id) => items.has(id)) &&
        tagged.disconnect.every((id) => links.has(`${shop}:${id}`) && isSeen(id)) &&
        tagged.connect.every((id) => tagIds.has(id) && isSeen(id))
      const deletedIds = new Set(operations.delete)
      const isConsistent = ![
        ...update.map(({ id }) => id),
        ...operations.disconnect,
        ...operations.connect,
      ].some((id) => deletedIds.has(id))
      const context = JSON.stringify({ iteration, via, shop, operations, tagged, result })
      expect({ context, ok: result.status < 300 }).toEqual({ context, ok: isFound && isConsistent })
      if (result.status < 300) {
        items = new Map([...items].filter(([id]) => !deletedIds.has(id)))
        for (const id of operations.disconnect)
          items.set(id, { name: items.get(id)?.name ?? '', shop: null })
        for (const id of operations.connect)
          items.set(id, { name: items.get(id)?.name ?? '', shop })
        for (const { id, name } of update)
          items.set(id, { name, shop: items.get(id)?.shop ?? null })
        const created = await database.records(Item).list({ where: { name: { in: names } } })
        for (const { id, name } of created) items.set(id, { name, shop })
        expect(created).toHaveLength(names.length)
        links = new Set(
          [...links].filter((link) => !tagged.disconnect.some((id) => link === `${shop}:${id}`)),
        )
        for (const id of tagged.connect) links.add(`${shop}:${id}`)
      }
      const storedItems = await database.records(Item).list()
      expect(storedItems.map(({ id, name, shopId }) => [id, name, shopId ?? null])).toEqual(
        [...items]
          .sort(([a], [b]) => a - b)
          .map(([id, { name, shop: shopId }]) => [id, name, shopId]),
      )
      const pairs = await database.kysely.selectFrom('shop_tag').selectAll().execute()
      expect(
        new Set(pairs.map((pair) => `${String(pair.shop_id)}:${String(pair.tag_id)}`)),
      ).toEqual(links)
    }
  })
})
