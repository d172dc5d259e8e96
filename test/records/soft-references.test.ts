/** A soft-deleted row counts as missing. References to it follow the same rules as after a real deletion. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  ManyToMany,
  Module,
  NoAuth,
  Record as Table,
  type Application,
  type Rel,
  type Row,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'

@NoAuth
@Table({ softDelete: true, plural: 'teams' })
class Team {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { optional: true, nullable: true }) partOfId?: number | null
  @BelongsTo(() => Team, { by: 'partOfId', onDelete: 'cascade' }) partOf!: Rel<Team>
}

@NoAuth
@Table
class Member {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer') teamId!: number
  @BelongsTo(() => Team) team!: Rel<Team>
  @ManyToMany(() => Team) otherTeams!: Rel<Team[]>
}

@NoAuth
@Table({ softDelete: true })
class Task {
  @Field('id') id!: number
  @Field('integer') teamId!: number
  @BelongsTo(() => Team, { onDelete: 'cascade' }) team!: Rel<Team>
}

@NoAuth
@Table
class Room {
  @Field('id') id!: number
  @Field('integer', { optional: true, nullable: true }) teamId?: number | null
  @BelongsTo(() => Team, { onDelete: 'setNull' }) team!: Rel<Team>
}

@Controller('/teams', { crud: Team })
class TeamController {}

@Controller('/members', { crud: Member })
class MemberController {}

@Module({ controllers: [TeamController, MemberController], records: [Team, Member, Task, Room] })
class TeamModule {}

const engines = await startBothEngines()

describe.each(engines)('references to soft-deleted rows: %s', (_name, address) => {
  let app: Application
  let database: Database
  beforeAll(async () => {
    app = await bootstrap(TeamModule, { port: 0, logger: false, database: await address() })
    database = app.get(Database)
  })
  afterAll(() => app.close())

  let used: Row<Team>
  let free: Row<Team>
  let deleted: Row<Team>
  beforeEach(async () => {
    const teams = database.records(Team)
    used = await teams.create({ name: 'used' })
    free = await teams.create({ name: 'free' })
    deleted = await teams.create({ name: 'deleted' })
    await teams.delete(deleted.id)
    await database.records(Member).create({ name: 'Ann', teamId: used.id })
  })

  const refused = { status: 409, code: 'CONFLICT' }
  const graphql = async (query: string) => {
    const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
    const { errors } = response.json() as { errors?: { extensions: { code: string } }[] }
    return errors?.[0]?.extensions.code
  }

  it('a row with references cannot be deleted, through any interface', async () => {
    const teams = database.records(Team)
    await expect(teams.delete(used.id)).rejects.toMatchObject({
      ...refused,
      errors: [{ path: 'Member.teamId', code: 'reference' }],
    })
    await expect(teams.deleteMany([free.id, used.id])).rejects.toMatchObject(refused)
    await expect(teams.deleteWhere({ id: used.id })).rejects.toMatchObject(refused)
    expect((await app.inject({ method: 'DELETE', url: `/teams/${used.id}` })).status).toBe(409)
    expect(await graphql(`mutation { deleteTeam(id: ${used.id}) }`)).toBe('CONFLICT')
    expect(await teams.count({ id: { in: [used.id, free.id] } })).toBe(2)
    await database.records(Member).deleteWhere({ teamId: used.id })
    expect(await teams.delete(used.id)).toBe(true)
  })

  it('deleting a row deletes cascading rows, and sets other references to null', async () => {
    const part = await database.records(Team).create({ name: 'part', partOfId: free.id })
    await database.records(Team).update(free.id, { partOfId: part.id })
    const task = await database.records(Task).create({ teamId: part.id })
    const room = await database.records(Room).create({ teamId: free.id })
    const events: unknown[] = []
    const stop = database.onChange(({ event, record, id }) => events.push([event, record.name, id]))
    expect(await database.records(Team).delete(free.id)).toBe(true)
    stop()
    expect(await database.records(Task).find(task.id)).toBeNull()
    expect(await database.records(Team).find(part.id)).toBeNull()
    expect(await database.records(Room).find(room.id)).toMatchObject({ teamId: null })
    expect(events).toEqual(
      expect.arrayContaining([
        ['deleted', 'Team', free.id],
        ['deleted', 'Team', part.id],
        ['deleted', 'Task', task.id],
        ['updated', 'Room', room.id],
      ]),
    )
  })

  it('a blocked cascade rolls everything back', async () => {
    const part = await database.records(Team).create({ name: 'part', partOfId: free.id })
    await database.records(Member).create({ name: 'Bob', teamId: part.id })
    const room = await database.records(Room).create({ teamId: free.id })
    await expect(database.records(Team).delete(free.id)).rejects.toMatchObject(refused)
    expect(await database.records(Team).find(free.id)).toMatchObject({ name: 'free' })
    expect(await database.records(Room).find(room.id)).toMatchObject({ teamId: free.id })
  })

  it('no write accepts the id of a deleted row', async () => {
    const members = database.records(Member)
    const member = await members.create({ name: 'Bob', teamId: free.id })
    const withDeletedTeam = { name: 'Eve', teamId: deleted.id }
    const withFreeTeam = { name: 'Eve', teamId: free.id }
    const missing = { ...refused, errors: [{ path: 'teamId', code: 'reference' }] }
    await expect(members.create(withDeletedTeam)).rejects.toMatchObject(missing)
    await expect(members.createMany([withFreeTeam, withDeletedTeam])).rejects.toMatchObject({
      errors: [{ path: '1.teamId' }],
    })
    await expect(members.insertMany([withFreeTeam, withDeletedTeam])).rejects.toMatchObject(refused)
    await expect(members.update(member.id, { teamId: deleted.id })).rejects.toMatchObject(missing)
    await expect(members.updateMany([{ id: member.id, teamId: deleted.id }])).rejects.toMatchObject(
      refused,
    )
    await expect(
      members.updateWhere({ id: member.id }, { teamId: deleted.id }),
    ).rejects.toMatchObject(refused)
    await expect(
      members.upsert({ id: 10_000, ...withDeletedTeam }, { by: 'id' }),
    ).rejects.toMatchObject(refused)
    await expect(
      members.link(member.id, 'otherTeams', [free.id, deleted.id]),
    ).rejects.toMatchObject(refused)
    await expect(
      database.records(Member).create({ name: 'Eve', team: { connect: deleted.id } }),
    ).rejects.toMatchObject({ status: 409 })
    const post = await app.inject({ method: 'POST', url: '/members', json: withDeletedTeam })
    expect(post.status).toBe(409)
    expect(
      await graphql(
        `mutation { createMember(input: { name: "Eve", teamId: ${deleted.id} }) { id } }`,
      ),
    ).toBe('CONFLICT')
    expect(await members.count({ name: 'Eve' })).toBe(0)
    expect(await members.find(member.id)).toMatchObject({ teamId: free.id })
  })
})
