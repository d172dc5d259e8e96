/** The part of the database contract about UUIDs: as keys, as references, and as fields of kind `uuid`. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Field,
  type Generated,
  HasMany,
  ManyToMany,
  Record,
  type Repository,
} from '../../src/index.js'
import type { Fixture } from './database-fixture.js'

@Record({ table: 'uuid_team', search: ['name'] })
export class Team {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('string') name!: string
  @Field('uuid', { nullable: true, optional: true }) badge?: string | null
  @HasMany(() => Player) players?: Player[]
  @HasMany(() => Remark, { by: 'about' }) remarks?: Remark[]
}

@Record({ table: 'uuid_player', search: ['name', 'teamId'] })
export class Player {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('string') name!: string
  @Field('string', { nullable: true, optional: true, maxLength: 36 }) teamId?: string | null
  @BelongsTo(() => Team, { onDelete: 'cascade' }) team?: Team | null
  @ManyToMany(() => Badge) badges?: Badge[]
}

@Record({ table: 'uuid_badge' })
export class Badge {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('uuid', {
    oneOf: ['aaaaaaaa-0000-4000-8000-000000000001'],
    default: 'aaaaaaaa-0000-4000-8000-000000000001',
  })
  form!: Generated<string>
}

/** `about` may hold the key of a team, or any other text. */
@Record({ table: 'uuid_remark' })
export class Remark {
  @Field('id') id!: Generated<number>
  @Field('string') about!: string
}

export const uuidRecords = [Team, Player, Badge, Remark]

const ids = Array.from(
  { length: 5 },
  (_, index) => `${'0aCf9'[index] ?? ''}b000000-0000-4000-8000-00000000000${index}`,
)
const [zero = '', a = '', c = '', f = '', nine = ''] = ids.map((id) => id.toLowerCase())
const malformed = ['', 'x', 'zzz', `${zero}0`, zero.replaceAll('-', ''), `{${zero}}`, "'", 'null']

const isShort = (text: string): boolean => text.length <= 36

export function describeUuids(fixture: Fixture): void {
  describe('UUIDs', () => {
    let teams: Repository<Team>
    let players: Repository<Player>

    beforeEach(async () => {
      const { database } = fixture
      for (const type of [Remark, Badge, Player, Team])
        await database.records<object>(type).deleteWhere({})
      teams = database.records(Team)
      players = database.records(Player)
      for (const [index, id] of ids.entries())
        await teams.create({ id, name: `t${index}`, badge: index === 0 ? null : id })
      await players.insertMany([
        { id: c.toUpperCase(), name: 'p0', teamId: a.toUpperCase() },
        { id: a, name: 'p1', teamId: a },
        { id: nine, name: 'p2', teamId: f },
        { id: zero, name: 'p3', teamId: null },
      ])
    })

    const named = async (where: object): Promise<string[]> =>
      (await players.list({ where, orderBy: { name: 'asc' } })).map(({ name }) => name)

    it('are stored in lower case, and found in upper and lower case', async () => {
      expect((await teams.list()).map(({ id }) => id)).toEqual([zero, nine, a, c, f])
      for (const id of [a, a.toUpperCase()]) {
        expect(await teams.find(id)).toMatchObject({ id: a, badge: a })
        expect(await teams.list({ where: { id } })).toHaveLength(1)
        expect(await teams.list({ where: { badge: id } })).toHaveLength(1)
        expect(await teams.count({ id: { in: [id, zero] } })).toBe(2)
        expect(await named({ teamId: id })).toEqual(['p0', 'p1'])
        expect(await named({ teamId: { in: [id] } })).toEqual(['p0', 'p1'])
        expect(await named({ team: { id } })).toEqual(['p0', 'p1'])
      }
      expect(await players.update(zero.toUpperCase(), { teamId: f.toUpperCase() })).toMatchObject({
        id: zero,
        teamId: f,
      })
    })

    it('that the framework makes are of version 7 and sort in the order of the rows', async () => {
      const before = Date.now()
      const one = await teams.create({ name: 'made' })
      await teams.insertMany(Array.from({ length: 5_000 }, () => ({ name: 'made' })))
      const last = await teams.create({ name: 'made' })
      const made = await teams.list({ where: { name: 'made' }, orderBy: 'id', limit: 6_000 })
      const keys = made.map(({ id }) => id)
      expect(new Set(keys).size).toBe(5_002)
      expect([keys[0], keys.at(-1)]).toEqual([one.id, last.id])
      const form = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
      expect(keys.filter((key) => !form.test(key))).toEqual([])
      const time = Number.parseInt(one.id.replace('-', '').slice(0, 12), 16)
      expect(time).toBeGreaterThanOrEqual(before)
      expect(time).toBeLessThanOrEqual(Date.now())
    })

    it('sort and compare in the same order, ascending and descending, with cursors', async () => {
      const sorted = [zero, nine, a, c, f]
      for (const property of ['id', 'badge'] as const) {
        const expected = property === 'id' ? sorted : sorted.slice(1)
        for (const direction of ['asc', 'desc'] as const) {
          const found: string[] = []
          let after: string | undefined
          do {
            const orderBy = { [property]: direction }
            const page: Team[] = await teams.list({
              where: { [property]: { isNull: false } },
              orderBy,
              limit: 2,
              ...(after !== undefined && { after }),
            })
            found.push(...page.map((row) => String(row[property])))
            const last = page.at(-1)
            after = last && teams.cursorOf(last, orderBy)
          } while (after !== undefined)
          expect(found).toEqual(direction === 'asc' ? expected : [...expected].reverse())
        }
      }
      expect(await teams.count({ id: { gt: nine.toUpperCase() } })).toBe(3)
      expect(await teams.count({ badge: { between: [nine, c] } })).toBe(3)
      expect(await teams.count({ not: { badge: { gte: c } } })).toBe(3)
    })

    it('a value that is not a UUID finds nothing', async () => {
      for (const id of malformed) {
        expect(await teams.find(id)).toBeNull()
        expect(await teams.delete(id)).toBe(false)
        expect(await named({ teamId: id })).toEqual([])
        expect(await named({ teamId: { in: [id] } })).toEqual([])
        expect(await named({ teamId: { in: [id, null] } })).toEqual(['p3'])
        expect(await named({ teamId: { in: [id, f] } })).toEqual(['p2'])
        expect(await named({ teamId: { ne: id } })).toEqual(['p0', 'p1', 'p2', 'p3'])
        expect(await named({ not: { teamId: id } })).toEqual(['p0', 'p1', 'p2', 'p3'])
        expect(await named({ not: { teamId: { in: [id] } } })).toEqual(['p0', 'p1', 'p2', 'p3'])
        expect(await named({ or: [{ teamId: id }, { name: 'p1' }] })).toEqual(['p1'])
        expect(await players.updateWhere({ teamId: id }, { name: 'none' })).toBe(0)
      }
      expect(await named({ teamId: { gt: 'b' } })).toEqual(['p2'])
      expect(await named({ teamId: { lte: 'ac' } })).toEqual(['p0', 'p1'])
      expect(await named({ not: { teamId: { lt: 'B' } } })).toEqual(['p2', 'p3'])
      await expect(teams.list({ where: { id: 'x' } })).rejects.toMatchObject({ status: 400 })
      await expect(teams.list({ where: { badge: { in: ['x'] } } })).rejects.toMatchObject({
        status: 400,
      })
    })

    it('are matched as text by patterns and searches', async () => {
      expect(await named({ teamId: { startsWith: 'ab' } })).toEqual(['p0', 'p1'])
      expect(await named({ teamId: { startsWith: 'AB' } })).toEqual([])
      expect(await named({ teamId: { endsWith: '0003' } })).toEqual(['p2'])
      expect(await named({ teamId: { contains: 'b0' } })).toEqual(['p0', 'p1', 'p2'])
      expect(await named({ teamId: { like: 'F%' } })).toEqual([])
      expect(await named({ teamId: { ilike: 'F%' } })).toEqual(['p2'])
      expect(await named({ teamId: { like: f } })).toEqual(['p2'])
      expect(await named({ not: { teamId: { contains: '0003' } } })).toEqual(['p0', 'p1', 'p3'])
      expect(await named({ search: 'fb000000' })).toEqual(['p2'])
      expect(await named({ search: '000000000001' })).toEqual(['p0', 'p1'])
    })

    it('can be aggregated by min, max and groups', async () => {
      const [aggregates] = await players.aggregate({
        min: ['teamId', 'id'],
        max: ['teamId'],
      } as never)
      expect(aggregates).toMatchObject({ minTeamId: a, minId: zero, maxTeamId: f })
      const groups = await players.aggregate({
        groupBy: ['teamId'],
        count: true,
        min: ['id'],
        having: { minId: { gt: zero.toUpperCase() } },
        orderBy: { minId: 'desc' },
      } as never)
      expect(groups).toEqual([
        { teamId: a, count: 2, minId: a },
        { teamId: f, count: 1, minId: nine },
      ])
      const odd = { groupBy: ['teamId'], max: ['teamId'], having: { maxTeamId: { gt: 'b' } } }
      expect(await players.aggregate(odd as never)).toEqual([{ teamId: f, maxTeamId: f }])
    })

    it('join records to each other, and to text fields', async () => {
      const remarks = fixture.database.records(Remark)
      await remarks.createMany([{ about: a }, { about: 'the weather' }, { about: f }])
      const found = await teams.list({ with: ['players.team', 'remarks'], orderBy: { id: 'asc' } })
      expect(found.map(({ players: list }) => list.map(({ name }) => name))).toEqual([
        [],
        [],
        ['p1', 'p0'],
        [],
        ['p2'],
      ])
      expect(found[2]?.players[0]?.team?.id).toBe(a)
      expect(found.map(({ remarks: list }) => list.length)).toEqual([0, 0, 1, 0, 1])
      expect(await teams.count({ remarks: { about: { startsWith: 'f' } } })).toBe(1)
      expect(await teams.count({ not: { remarks: {} } })).toBe(3)
      const badges = fixture.database.records(Badge)
      const badge = await badges.create({})
      expect(badge.form).toMatch(/^a{8}-/)
      expect(await players.link(zero.toUpperCase(), 'badges', [badge.id.toUpperCase()])).toBe(1)
      expect(await players.count({ badges: { id: badge.id } })).toBe(1)
    })

    it('a reference that is not a stored UUID is 409', async () => {
      const wrong = { status: 409, message: 'teamId names no Team' }
      for (const teamId of [...malformed.filter(isShort), 'bb000000-0000-4000-8000-000000000009']) {
        await expect(players.create({ name: 'p', teamId })).rejects.toMatchObject(wrong)
        await expect(players.update(a, { teamId })).rejects.toMatchObject(wrong)
        await expect(players.createMany([{ name: 'p', teamId }])).rejects.toMatchObject({
          status: 409,
        })
        await expect(players.insertMany([{ name: 'p', teamId }])).rejects.toMatchObject({
          status: 409,
        })
        await expect(players.updateWhere({ id: a }, { teamId })).rejects.toMatchObject({
          status: 409,
        })
      }
      expect(await players.count()).toBe(4)
      await expect(players.link(a, 'badges', ['x'])).rejects.toMatchObject({ status: 400 })
    })

    it('are written by many calls at the same time', async () => {
      const created = await Promise.all(
        Array.from({ length: 20 }, (_, n) => players.create({ name: `m${n}`, teamId: c })),
      )
      await Promise.all(
        created.map(({ id }, n) => players.update(id, { teamId: n % 2 ? a : null })),
      )
      const read = await Promise.all(created.map(({ id }) => players.find(id)))
      expect(read.map((row) => row?.teamId)).toEqual(created.map((_, n) => (n % 2 ? a : null)))
      expect(await players.deleteWhere({ id: { in: created.map(({ id }) => id) } })).toBe(20)
      const upserted = await players.upsert(
        { id: a.toUpperCase(), name: 'again', teamId: f.toUpperCase() },
        { by: 'id' },
      )
      expect(upserted).toMatchObject({ id: a, name: 'again', teamId: f })
    })
  })
}
