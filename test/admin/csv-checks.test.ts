/** Checks of CSV files for records with hooks, with `rows` and with shards. They only read. Source: docs/admin.md, CSV. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  AfterWrite,
  BeforeWrite,
  BelongsTo,
  Database,
  Field,
  HasMany,
  HttpError,
  Module,
  Record as Row,
  type Rel,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { engines } from './desk-fixture.js'
import { OpenLogin } from './open-login.js'

let hookRuns = 0

@Row({ writes: ['editor'] })
@Admin({ title: 'name' })
class Page {
  @Field('id') id!: number
  @Field('string', { minLength: 2 }) name!: string
  @Field('string', { unique: true, optional: true }) slug!: string

  @BeforeWrite() setSlug(): void {
    hookRuns++
    this.slug = this.name.toLowerCase()
  }
}

@Row({ writes: ['editor'] })
@Admin({ title: 'name' })
class Step {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string

  @AfterWrite() refuse(): void {
    hookRuns++
    if (this.name === 'refused') throw new HttpError(409, 'refused')
  }
}

@Row
class Member {
  @Field('id') id!: number
  @Field('string') sub!: string
  @Field('integer') teamId!: number
  @BelongsTo(() => Team) team!: Rel<Team>
}

@Row<Team>({
  rows: (user) => user === null || { members: { sub: user.sub ?? '' } },
  writes: ['editor'],
})
@Admin({ title: 'name' })
class Team {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Member) members!: Rel<Member[]>
  @HasMany(() => Plan) plans!: Rel<Plan[]>
}

@Row<Plan>({
  rows: (user) =>
    user === null || {
      and: [{ title: { ne: 'secret' } }, { team: { members: { sub: user.sub ?? '' } } }],
    },
  writes: ['editor'],
})
@Admin({ title: 'title' })
class Plan {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer') teamId!: number
  @BelongsTo(() => Team) team!: Rel<Team>
}

@Row({
  shardBy: 'tenantId',
  rows: (user) => user === null || { tenantId: user.tenant },
  writes: ['editor'],
})
@Admin({ title: 'name' })
class Project {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { unique: true }) name!: string
}

@Module({
  controllers: [OpenLogin],
  records: [Page, Step, Member, Team, Plan, Project],
  imports: [
    admin({
      path: '/admin',
      roles: ['editor'],
      records: [Page, Step, Team, Plan, Project],
      login: { path: '/login' },
    }),
  ],
})
class Wiki {}

describe.each(engines)('a check of CSV that only reads, on %s', (engine) => {
  let server: PostgresServer | undefined
  let app: TestApplication
  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    const where = server === undefined ? {} : { database: await server.createDatabase() }
    app = await testApplication(Wiki, { ...where, auth: { cookie: true } })
  })
  beforeEach(async () => {
    await app.reset({ emptyTables: true })
    hookRuns = 0
  })
  afterAll(async () => {
    await app.close()
    await server?.close()
  })

  const database = (): Database => app.get(Database)
  const send = async (record: string, file: string, query = '?check=true') => {
    const who = app.as({ sub: 'ed', roles: ['editor'], tenant: 'one' })
    const headers = { 'content-type': 'text/csv' }
    const { body } = await who.post(`/admin/api/csv/${record}${query}`, file, { headers })
    return body as { hooks?: boolean; count?: number; faults?: { row: number; path: string }[] }
  }

  it('runs no hook, and says that hooks run at the import', async () => {
    const file = 'name,slug\nAlpha,\nBeta,alpha\n'
    expect(await send('pages', file)).toMatchObject({ faults: [], hooks: true })
    expect(await send('pages', 'name\nA\n')).toMatchObject({ faults: [{ row: 2, path: 'name' }] })
    expect(hookRuns).toBe(0)
    expect(await send('pages', file, '')).toEqual({ count: 2 })
    expect(hookRuns).toBe(2)
  })

  it('finds values that are taken if hooks run only after the write', async () => {
    await database().records(Step).create({ name: 'first' })
    hookRuns = 0
    expect(await send('steps', 'name\nfirst\nrefused\nnew\nnew\n')).toMatchObject({
      faults: [
        { row: 2, path: 'name' },
        { row: 5, path: 'name' },
      ],
      hooks: true,
    })
    expect(hookRuns).toBe(0)
    expect(await send('steps', 'name\nrefused\n', '')).toMatchObject({ faults: [{ row: 2 }] })
  })

  it('finds rows that the caller could not see afterwards', async () => {
    const teams = database().records(Team)
    const [mine, other] = [
      await teams.create({ name: 'Mine' }),
      await teams.create({ name: 'Other' }),
    ]
    await database().records(Member).create({ sub: 'ed', teamId: mine.id })
    const plan = await database().records(Plan).create({ title: 'Old', teamId: mine.id })
    const file = `id,title,teamId\n,Good,${mine.id}\n,Bad,${other.id}\n,secret,${mine.id}\n${plan.id},secret,${mine.id}\n${plan.id},New,${mine.id}\n`
    const checked = await send('plans', file)
    expect(checked).toMatchObject({ hooks: false })
    expect(checked.faults?.map(({ row }) => row)).toEqual([3, 4, 5])
    expect((await send('plans', file, '')).faults?.map(({ row }) => row)).toEqual([3, 4, 5])
    expect(await database().records(Plan).count()).toBe(1)
  })

  it('finds that the caller could not see a new row without rows that belong to it', async () => {
    const file = 'name\nNew\n'
    expect(await send('teams', file)).toMatchObject({ faults: [{ row: 2 }] })
    expect(await send('teams', file, '')).toMatchObject({ faults: [{ row: 2 }] })
  })

  it('checks a sharded record in the shard of the caller', async () => {
    const projects = database().records(Project)
    const mine = await projects.create({ tenantId: 'one', name: 'Tree' })
    await projects.create({ tenantId: 'one', name: 'Roof' })
    const other = await projects.create({ tenantId: 'two', name: 'Wall' })
    const file = `id,name\n${mine.id},Roof\n${mine.id},Wall\n${other.id},Door\n`
    const faults = [
      { row: 2, path: 'name' },
      { row: 4, path: 'id' },
    ]
    expect((await send('projects', file)).faults).toMatchObject(faults)
    expect((await send('projects', file, '')).faults).toMatchObject(faults)
    const change = `id,name\n${mine.id},Wall\n`
    expect(await send('projects', change)).toMatchObject({ faults: [] })
    expect(await send('projects', change, '')).toEqual({ count: 1 })
  })

  it('creates rows of a sharded record with their shard, which existing rows keep', async () => {
    const projects = database().records(Project)
    const mine = await projects.create({ tenantId: 'one', name: 'Tree' })
    const file = `id,tenantId,name\n,one,Door\n${mine.id},one,Wall\n`
    expect(await send('projects', file)).toMatchObject({ rows: 2, faults: [] })
    expect(await send('projects', file, '')).toEqual({ count: 2 })
    const orderBy = { name: 'asc' } as const
    expect(await projects.list({ where: { tenantId: 'one' }, orderBy })).toMatchObject([
      { name: 'Door' },
      { id: mine.id, name: 'Wall' },
    ])
    for (const query of ['?check=true', '']) {
      const moved = await send('projects', `id,tenantId,name\n${mine.id},two,Roof\n`, query)
      const message = 'tenantId cannot be changed'
      expect(moved.faults).toEqual([{ row: 2, path: 'tenantId', code: 'readOnly', message }])
      const bare = await send('projects', 'name\nRoof\n', query)
      expect(bare.faults).toEqual([
        { row: 2, path: 'tenantId', code: 'required', message: 'tenantId is required' },
      ])
      const elsewhere = await send('projects', 'tenantId,name\ntwo,Roof\n', query)
      expect(elsewhere.faults).toEqual([
        { row: 2, path: '', code: 'FORBIDDEN', message: 'Forbidden' },
      ])
    }
    expect(await projects.count({ tenantId: 'one' })).toBe(2)
    expect(await projects.count({ tenantId: 'two' })).toBe(0)
  })

  it('lets the form of a new row of a sharded record set its shard', async () => {
    const editor = app.as({ sub: 'ed', roles: ['editor'], tenant: 'one' })
    const { body: schema } = await editor.get('/admin/api/schema')
    const { fields, records } = schema as {
      fields: object[]
      records: { name: string; fields: [string, number][] }[]
    }
    const project = records.find(({ name }) => name === 'Project')
    const tenant = project?.fields.find(([name]) => name === 'tenantId')
    expect(fields[tenant?.[1] ?? -1]).toMatchObject({ required: true, immutable: true })
    const created = await editor.post('/admin/api/rows/projects', { tenantId: 'one', name: 'Tree' })
    expect(created).toMatchObject({ status: 201, body: { tenantId: 'one' } })
    const { id } = created.body as { id: string }
    const moved = await editor.patch(`/admin/api/rows/projects/${id}`, { tenantId: 'two' })
    expect(moved.status).toBe(400)
  })
})
