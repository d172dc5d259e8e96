/** What a deletion does to other rows by `onDelete`: changed rows count as changed, and depth is not limited. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterDelete,
  AfterWrite,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type DeleteContext,
  type Rel,
  type WriteContext,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

const optionalKey = { optional: true, nullable: true } as const

@NoAuth
@Table
class House {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Floor) floors!: Rel<Floor[]>
}

@NoAuth
@Table
class Floor {
  @Field('id') id!: number
  @Field('integer') houseId!: number
  @BelongsTo(() => House, { onDelete: 'cascade' }) house!: Rel<House>
}

@NoAuth
@Table({ version: true, timestamps: true })
class Lamp {
  @Field('id') id!: number
  @Field('integer', optionalKey) floorId?: number | null
  @BelongsTo(() => Floor, { onDelete: 'setNull' }) floor!: Rel<Floor>
  @Field('integer', optionalKey) clubId?: number | null
  @BelongsTo(() => Club, { onDelete: 'setNull' }) club!: Rel<Club>
}

@NoAuth
@Table({ softDelete: true })
class Club {
  @Field('id') id!: number
  @Field('string') name!: string
}

/** What the hooks of `Sign` were called with. */
const hookCalls: unknown[] = []

@NoAuth
@Table
class Sign {
  @Field('id') id!: number
  @Field('integer', optionalKey) floorId?: number | null
  @BelongsTo(() => Floor, { onDelete: 'setNull' }) floor!: Rel<Floor>
  @AfterWrite() wrote({ before, changed }: WriteContext) {
    if (before !== null) hookCalls.push([this.id, this.floorId, [...changed]])
  }
}

@NoAuth
@Table
class Step {
  @Field('id') id!: number
  @Field('integer', optionalKey) beforeId?: number | null
  @BelongsTo(() => Step, { by: 'beforeId', onDelete: 'cascade' }) before!: Rel<Step>
}

@NoAuth
@Table({ version: true })
class Link {
  @Field('id') id!: number
  @Field('integer', optionalKey) beforeId?: number | null
  @BelongsTo(() => Link, { by: 'beforeId', onDelete: 'setNull' }) before!: Rel<Link>
}

@NoAuth
@Table({ softDelete: true })
class Task {
  @Field('id') id!: number
  @Field('integer', optionalKey) beforeId?: number | null
  @BelongsTo(() => Task, { by: 'beforeId', onDelete: 'cascade' }) before!: Rel<Task>
}

const deletedNodes: number[] = []

@NoAuth
@Table
class Node {
  @Field('id') id!: number
  @Field('integer', optionalKey) beforeId?: number | null
  @BelongsTo(() => Node, { by: 'beforeId', onDelete: 'cascade' }) before!: Rel<Node>
  @AfterDelete() gone(_: DeleteContext) {
    deletedNodes.push(this.id)
  }
}

@NoAuth
@Table
class Hen {
  @Field('id') id!: number
  @Field('integer', optionalKey) eggId?: number | null
  @BelongsTo(() => Egg, { onDelete: 'cascade' }) egg!: Rel<Egg>
}

@NoAuth
@Table
class Egg {
  @Field('id') id!: number
  @Field('integer') henId!: number
  @BelongsTo(() => Hen, { onDelete: 'cascade' }) hen!: Rel<Hen>
}

@Controller('/houses', { crud: House })
class HouseController {}
@Controller('/floors', { crud: Floor })
class FloorController {}
@Controller('/lamps', { crud: Lamp })
class LampController {}
@Controller('/steps', { crud: Step })
class StepController {}

@Module({
  controllers: [HouseController, FloorController, LampController, StepController],
  records: [House, Floor, Lamp, Club, Sign, Step, Link, Task, Node, Hen, Egg],
})
class HouseModule {}

const engines = await startBothEngines()
const longAgo = '2020-01-01T00:00:00.000Z'

describe.each(engines)('reference rules: %s', (_name, address) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    app = await bootstrap(HouseModule, { port: 0, logger: false, database: await address() })
    database = app.get(Database)
  })
  afterAll(() => app.close())
  beforeEach(() => {
    hookCalls.length = 0
    deletedNodes.length = 0
  })

  const graphql = async (query: string) => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    return response.json() as { data: { [name: string]: unknown }; errors?: unknown }
  }

  /** A house with two floors, each with a lamp that was written long ago. */
  async function makeHouse() {
    const house = await database.records(House).create({ name: 'home' })
    const [first, second] = await database
      .records(Floor)
      .createMany([{ houseId: house.id }, { houseId: house.id }])
    const lamps = database.records(Lamp)
    const lamp = await lamps.create({ floorId: first!.id })
    const other = await lamps.create({ floorId: second!.id })
    await lamps.update(lamp.id, { updatedAt: longAgo } as object)
    await lamps.update(other.id, { updatedAt: longAgo } as object)
    return { house, first: first!, second: second!, lamp, other }
  }

  async function expectCleared(id: number) {
    const lamp = await database.records(Lamp).find(id)
    expect(lamp).toMatchObject({ floorId: null, version: 3 })
    expect((lamp as unknown as { updatedAt: string }).updatedAt).not.toBe(longAgo)
  }

  type Made = Awaited<ReturnType<typeof makeHouse>>
  it.each<[string, (made: Made) => Promise<unknown>]>([
    ['delete', ({ first }) => database.records(Floor).delete(first.id)],
    ['deleteWhere', ({ first }) => database.records(Floor).deleteWhere({ id: first.id })],
    ['deleteMany', ({ first }) => database.records(Floor).deleteMany([first.id, 999_999])],
    ['a cascade', ({ house }) => database.records(House).delete(house.id)],
    ['REST', ({ first }) => app.inject({ method: 'DELETE', url: `/floors/${first.id}` })],
    ['GraphQL', ({ first }) => graphql(`mutation { deleteFloor(id: ${first.id}) }`)],
    ['many of GraphQL', ({ first }) => graphql(`mutation { deleteFloors(ids: [${first.id}]) }`)],
    [
      'a nested delete',
      ({ house, first }) =>
        database.records(House).update(house.id, { floors: { delete: [first.id] } }),
    ],
  ])('setNull by %s raises version and updatedAt', async (_by, remove) => {
    const made = await makeHouse()
    await remove(made)
    expect(await database.records(Floor).find(made.first.id)).toBeNull()
    await expectCleared(made.lamp.id)
  })

  it('setNull by a soft deletion raises version and updatedAt', async () => {
    const club = await database.records(Club).create({ name: 'club' })
    const lamp = await database.records(Lamp).create({ clubId: club.id })
    await database.records(Club).delete(club.id)
    expect(await database.records(Lamp).find(lamp.id)).toMatchObject({ clubId: null, version: 2 })
  })

  it('the ETag of a row changes with setNull', async () => {
    const { first, lamp } = await makeHouse()
    const url = `/lamps/${lamp.id}`
    const etag = (await app.inject({ url })).headers.etag!
    await app.inject({ method: 'DELETE', url: `/floors/${first.id}` })
    const read = await app.inject({ url, headers: { 'if-none-match': etag } })
    expect(read.status).toBe(200)
    expect(read.json()).toMatchObject({ floorId: null })
    const write = { method: 'PATCH', url, headers: { 'if-match': etag }, json: { clubId: null } }
    expect((await app.inject(write)).status).toBe(412)
  })

  it('changes report rows that a reference rule changed and deleted', async () => {
    const { house, first, second, lamp, other } = await makeHouse()
    const events: string[] = []
    const stop = database.onChange(({ event, record, id }) =>
      events.push(`${event} ${record.name} ${id}`),
    )
    await database.records(House).delete(house.id)
    stop()
    expect(events.sort()).toEqual(
      [
        `deleted Floor ${first.id}`,
        `deleted Floor ${second.id}`,
        `deleted House ${house.id}`,
        `updated Lamp ${lamp.id}`,
        `updated Lamp ${other.id}`,
      ].sort(),
    )
  })

  it('hooks run once for each row whose reference is cleared', async () => {
    const { house, first } = await makeHouse()
    const sign = await database.records(Sign).create({ floorId: first.id })
    await database.records(House).deleteWhere({ id: house.id })
    expect(hookCalls).toEqual([[sign.id, null, ['floorId']]])
    expect(await database.records(Sign).find(sign.id)).toMatchObject({ floorId: null })
  })

  it('a refused deletion changes no reference', async () => {
    const { lamp, first } = await makeHouse()
    await expect(
      database.transaction(async () => {
        await database.records(Floor).delete(first.id)
        throw new Error('undone')
      }),
    ).rejects.toThrow('undone')
    expect(await database.records(Lamp).find(lamp.id)).toMatchObject({
      floorId: first.id,
      version: 2,
    })
  })

  /** Rows that each refer to the row before. */
  async function makeChain(
    record: typeof Step | typeof Link | typeof Task | typeof Node,
    length: number,
  ): Promise<number[]> {
    const rows = database.records<Step>(record)
    const [last] = await rows.list({ orderBy: { id: 'desc' }, limit: 1 })
    const start = (last?.id ?? 0) + 1
    const ids = Array.from({ length }, (_, index) => start + index)
    await rows.insertMany(ids.map((id) => ({ id, beforeId: id === start ? null : id - 1 })))
    return ids
  }

  describe('a long chain of cascades', () => {
    const chain = (length = 1500) => makeChain(Step, length)

    it('is deleted with its first row', async () => {
      const ids = await chain(20_000)
      expect(await database.records(Step).delete(ids[0]!)).toBe(true)
      expect(await database.records(Step).count()).toBe(0)
    })

    it('is deleted by REST and by GraphQL', async () => {
      const ids = await chain()
      const response = await app.inject({ method: 'DELETE', url: `/steps/${ids[0]}` })
      expect(response.status).toBe(204)
      const more = await chain()
      const { data } = await graphql(`mutation { deleteStep(id: ${more[0]}) }`)
      expect(data).toEqual({ deleteStep: true })
      expect(await database.records(Step).count()).toBe(0)
    })

    it('is deleted by deleteWhere and deleteMany, which count the matching rows', async () => {
      const ids = await chain()
      expect(await database.records(Step).deleteWhere({})).toBe(ids.length)
      const more = await chain()
      expect(await database.records(Step).deleteMany([...more, 999_999])).toBe(more.length)
      expect(await database.records(Step).count()).toBe(0)
    })

    it('is reported completely', async () => {
      const ids = await chain()
      const reported: unknown[] = []
      const stop = database.onChange(({ id }) => reported.push(id))
      await database.records(Step).delete(ids[0]!)
      stop()
      expect(reported).toEqual([...ids].reverse())
    })

    it('is deleted if it ends where it begins', async () => {
      const ids = await chain()
      await database.records(Step).update(ids[0]!, { beforeId: ids.at(-1)! })
      expect(await database.records(Step).delete(ids[700]!)).toBe(true)
      expect(await database.records(Step).count()).toBe(0)
    })

    it('leaves the rows above the deleted one', async () => {
      const ids = await chain()
      await database.records(Step).delete(ids[100]!)
      expect(await database.records(Step).count()).toBe(100)
      await database.records(Step).deleteWhere({})
    })

    it('is deleted across two records', async () => {
      const hens = Array.from({ length: 800 }, (_, id) => ({ id: id + 1, eggId: null }))
      await database.records(Hen).insertMany(hens)
      await database.records(Egg).insertMany(hens.map(({ id }) => ({ id, henId: id })))
      await database.records(Hen).updateMany(hens.slice(1).map(({ id }) => ({ id, eggId: id - 1 })))
      expect(await database.records(Hen).delete(1)).toBe(true)
      expect(await database.records(Egg).count()).toBe(0)
      expect(await database.records(Hen).count()).toBe(0)
    })

    it('runs the hooks of every row once', async () => {
      const ids = await makeChain(Node, 1500)
      expect(await database.records(Node).deleteWhere({})).toBe(ids.length)
      expect(deletedNodes).toEqual(ids)
    })

    it('is marked as deleted', async () => {
      const ids = await makeChain(Task, 1500)
      await database.records(Task).delete(ids[0]!)
      expect(await database.records(Task).count()).toBe(0)
    })
  })

  it('setNull changes only the next row of a chain', async () => {
    const ids = await makeChain(Link, 1500)
    await database.records(Link).delete(ids[0]!)
    expect(await database.records(Link).find(ids[1]!)).toMatchObject({ beforeId: null, version: 2 })
    expect(await database.records(Link).find(ids[2]!)).toMatchObject({ version: 1 })
    expect(await database.records(Link).deleteWhere({})).toBe(ids.length - 1)
  })
})
