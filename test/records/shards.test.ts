/** Sharded records. Every statement names the shard, and rows of other shards with the same id stay unchanged. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import {
  BelongsTo,
  bootstrap,
  connect,
  Database,
  DeclarationError,
  Field,
  ManyToMany,
  Module,
  pglite,
  Record,
  type Application,
  type Rel,
  type Repository,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import {
  Bill,
  Firm,
  Machine,
  namesShards,
  Office,
  Part,
  Project,
  Region,
  shared,
  Task,
  Watch,
} from './sharded-office.js'

const servers = await startBothEngines()
type Change = Pick<Task, 'id' | 'tenantId' | 'title'>
type Opening = [name: string, open: () => Promise<string | ReturnType<typeof pglite>>]
const engines: Opening[] = [...servers, ['PGlite', () => Promise.resolve(pglite())]]

describe.each(engines)('%s', (engine, open) => {
  let app: Application
  let database: Database
  let projects: Repository<Project>
  let tasks: Repository<Task>
  let bills: Repository<Bill>
  let watch: Watch

  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters', APP_API_KEY: 'key' }
    app = await bootstrap(Office, { listen: false, logger: false, database: await open(), env })
    database = app.get(Database)
    projects = database.records(Project)
    tasks = database.records(Task)
    bills = database.records(Bill)
    watch = new Watch(database)
  })
  afterAll(() => app.close())

  beforeEach(() => watch.begin())
  afterEach(() => watch.end())

  it('creates keys, unique values and references with the shard column', async () => {
    const keys =
      engine === 'SQLite'
        ? "select name from pragma_table_info('task') where pk > 0 order by pk"
        : `select a.attname as name from pg_constraint k, unnest(k.conkey) with ordinality u(n, place), pg_attribute a
           where k.conrelid = 'task'::regclass and k.contype = 'p' and a.attrelid = k.conrelid and a.attnum = u.n order by place`
    const { rows } = await sql.raw<{ name: string }>(keys).execute(database.kysely)
    expect(rows.map(({ name }) => name)).toStrictEqual(['tenant_id', 'id'])
    expect(await database.sync()).toStrictEqual([])
    const elsewhere = projects.create({ tenantId: 'a', name: 'Roof' })
    await expect(elsewhere).rejects.toMatchObject({ status: 409, errors: [{ path: 'name' }] })
    const { id } = await projects.create({ tenantId: 'c', name: 'Cellar' })
    const other = tasks.create({ tenantId: 'a', title: 'x', projectId: id })
    await expect(other).rejects.toMatchObject({ status: 409, errors: [{ path: 'projectId' }] })
  })

  it('finds, updates and deletes in the named shard', async () => {
    const shard = { tenantId: 'a' }
    const found = await projects.find(shared, { ...shard, with: ['tasks.project', 'region'] })
    expect(found).toMatchObject({ tenantId: 'a', region: null, tasks: [{ title: 'of a' }] })
    expect(found?.tasks[0]?.project?.tenantId).toBe('a')
    expect(await projects.find(shared, { tenantId: 'none' })).toBeNull()
    await projects.update(shared, { hours: 2 }, shard)
    await projects.update(shared, { hours: { add: 3 } }, shard)
    await projects.update(shared, { tenantId: 'a', hours: { add: 1 } })
    expect(
      await projects.update(shared, { hours: 9 }, { ...shard, where: { hours: 7 } }),
    ).toBeNull()
    await projects.updateWhere({ ...shard, id: shared }, { name: 'Top' })
    await projects.updateMany([{ id: shared, tenantId: 'a', hours: 8 }])
    await projects.upsert({ tenantId: 'a', name: 'Top', hours: 10 }, { by: 'name' })
    await projects.update(shared, { tasks: { create: [{ title: 'new' }] } }, shard)
    const [first] = await tasks.list({ where: { ...shard, project: { name: 'Top' } }, limit: 1 })
    expect(first?.tenantId).toBe('a')
    const page = await tasks.list({ where: shard, limit: 1, after: tasks.cursorOf(first as Task) })
    expect(page).toHaveLength(1)
    expect(await tasks.count(shard)).toBe(2)
    expect(await projects.list({ where: { ...shard, tasks: { title: 'new' } } })).toMatchObject([
      { tenantId: 'a', name: 'Top', hours: 10 },
    ])
    await database.transaction(async () => projects.find(shared, { ...shard, lock: true }))
    expect(await tasks.delete(shared, shard)).toBe(true)
    expect(await tasks.delete(shared, shard)).toBe(false)
    const stop = database.onChange(() => undefined)
    expect(await projects.delete(shared, shard)).toBe(true)
    stop()
    expect(await tasks.count(shard)).toBe(0)
  })

  it('rejects a key without its shard, and a change of the shard', async () => {
    const missing = { status: 400, errors: [{ path: 'tenantId', code: 'required' }] }
    await expect(projects.find(shared)).rejects.toMatchObject(missing)
    await expect(projects.update(shared, { hours: 5 })).rejects.toMatchObject(missing)
    await expect(projects.delete(shared)).rejects.toMatchObject(missing)
    await expect(projects.deleteMany([shared, shared])).rejects.toMatchObject(missing)
    const moved = projects.updateWhere({ tenantId: 'a' }, { tenantId: 'b' })
    await expect(moved).rejects.toMatchObject({ status: 400, errors: [{ code: 'readOnly' }] })
    const other = projects.update(shared, { tenantId: 'b' }, { tenantId: 'a' })
    await expect(other).rejects.toMatchObject({ status: 400, errors: [{ code: 'readOnly' }] })
  })

  it('supports numeric keys, versions and soft deletion', async () => {
    const { id } = await bills.create({ tenantId: 1, text: 'one' })
    const other = await bills.create({ tenantId: 2, text: 'two' })
    expect(other.id).not.toBe(id)
    expect(await bills.find(id, { tenantId: 2 })).toBeNull()
    expect(await bills.update(id, { text: 'x', version: 1 }, { tenantId: 2 })).toBeNull()
    const changed = await bills.update(id, { text: 'x', version: 1 }, { tenantId: 1 })
    expect(changed).toMatchObject({ text: 'x', version: 2 })
    const old = bills.update(id, { text: 'y', version: 1 }, { tenantId: 1 })
    await expect(old).rejects.toMatchObject({ status: 409 })
    expect(await bills.delete(id, { tenantId: 2 })).toBe(false)
    expect(await bills.delete(id, { tenantId: 1, expectedVersion: 2 })).toBe(true)
    expect(await bills.find(id, { tenantId: 1 })).toBeNull()
  })

  it('requires exactly one shard in a query', async () => {
    const missing = { status: 400, errors: [{ path: 'tenantId', code: 'required' }] }
    const queries = [
      projects.list(),
      projects.list({ where: { hours: 1 } }),
      projects.list({ where: { tenantId: { in: ['a', 'b'] } } }),
      projects.list({ where: { or: [{ tenantId: 'a' }, { hours: 1 }] } }),
      projects.count(),
      projects.aggregate({ sum: ['hours'] }),
      projects.updateWhere({ hours: 1 }, { hours: 2 }),
      projects.updateWhere({}, { hours: 2 }),
      projects.deleteWhere({ name: 'Roof' }),
      projects.upsert({ name: 'Roof' }, { by: 'name' }),
    ]
    for (const query of queries) await expect(query).rejects.toMatchObject(missing)
    const many = projects.updateMany([
      { id: shared, hours: 7, tenantId: 'a' },
      { id: shared, hours: 8 },
    ])
    const second = [{ path: '1.tenantId', code: 'required' }]
    await expect(many).rejects.toMatchObject({ status: 400, errors: second })
  })

  it('batches reads of one shard', async () => {
    const where = { tenantId: 'a' }
    await projects.createMany([
      { ...where, name: 'Wall', hours: 2 },
      { ...where, name: 'Door', hours: 2 },
    ])
    expect(await projects.aggregate({ where, groupBy: ['hours'], count: true })).toMatchObject([
      { hours: 1, count: 1 },
      { hours: 2, count: 2 },
    ])
    expect(
      await projects.list({ where, distinct: ['hours'], orderBy: { hours: 'asc' } }),
    ).toHaveLength(2)
    expect(await projects.count(where, { distinct: ['hours'] })).toBe(2)
    expect(await tasks.list({ where, search: 'of' })).toMatchObject([where])
    const tenants = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? 'a' : 'b'))
    const found = await Promise.all(tenants.map((tenantId) => projects.find(shared, { tenantId })))
    expect(found.map((one) => one?.tenantId)).toStrictEqual(tenants)
    const listed = await projects.list({ where, with: ['tasks.project.tasks'] })
    expect(
      listed.flatMap((one) => one.tasks.flatMap(({ project }) => project?.tasks)),
    ).toMatchObject([{ title: 'of a' }])
  })

  it('groups by fields of related records of one shard', async () => {
    const region = await database.records(Region).create({ name: 'north' })
    await projects.updateWhere({ tenantId: 'b' }, { regionId: region.id })
    await projects.updateWhere({ tenantId: 'a' }, { name: 'Wall' })
    await tasks.create({ tenantId: 'a', title: 'free' })
    const name = 'project.name'
    const count = { groupBy: [name], count: true, orderBy: { [name]: 'asc' } } as const
    expect(await tasks.aggregate({ where: { tenantId: 'a' }, ...count })).toEqual([
      { [name]: 'Wall', count: 1 },
      { [name]: null, count: 1 },
    ])
    expect(await tasks.aggregate({ where: { tenantId: 'b' }, ...count })).toEqual([
      { [name]: 'Roof', count: 1 },
    ])
    const groupBy = ['project.region.name'] as const
    expect(await tasks.aggregate({ where: { tenantId: 'b' }, groupBy, count: true })).toEqual([
      { 'project.region.name': 'north', count: 1 },
    ])
    await expect(tasks.aggregate(count)).rejects.toMatchObject({ status: 400 })
    const roof = { name: 'Roof' }
    await projects.updateWhere({ tenantId: 'a' }, roof)
    await projects.updateWhere({ tenantId: 'b' }, { regionId: null })
  })

  it('writes many rows in several shards', async () => {
    const rows = Array.from({ length: 450 }, (_, index) => ({
      tenantId: index % 3 === 0 ? 'c' : 'd',
      title: `t${index}`,
    }))
    expect(await tasks.insertMany(rows)).toBe(450)
    expect(await tasks.count({ tenantId: 'c' })).toBe(150)
    const many = Array.from({ length: 5100 }, (_, n) => ({ tenantId: `e${n % 3}`, title: `t${n}` }))
    const before = watch.statements.length
    expect((await tasks.createMany(many)).map(({ title }) => title)).toStrictEqual(
      many.map(({ title }) => title),
    )
    if (engine !== 'SQLite') expect(watch.statements.length - before).toBeLessThan(20)
    const created = await bills.createMany([
      { tenantId: 1, text: 'x' },
      { tenantId: 2, text: 'y' },
    ])
    expect(
      await bills.updateMany(created.map(({ id, tenantId }) => ({ id, tenantId, text: 'z' }))),
    ).toMatchObject([
      { tenantId: 1, text: 'z', version: 2 },
      { tenantId: 2, text: 'z', version: 2 },
    ])
    const stop = database.onChange(() => undefined)
    expect(await tasks.updateWhere({ tenantId: 'c' }, { title: 'same' })).toBe(150)
    expect(await tasks.deleteWhere({ tenantId: 'd', title: 't1' })).toBe(1)
    stop()
    expect(await tasks.deleteWhere({ tenantId: 'd' })).toBe(299)
    expect(await tasks.count({ tenantId: 'c', title: 'same' })).toBe(150)
  })

  it('changes many rows of each shard together', async () => {
    const rows = Array.from({ length: 60 }, (_, n) => ({ tenantId: `m${n % 3}`, title: `t${n}` }))
    const created = await tasks.createMany(rows)
    const changes = created.map(({ id, tenantId }, n) => ({ id, tenantId, title: `u${n}` }))
    const before = watch.statements.length
    expect(await tasks.updateMany(changes)).toMatchObject(changes)
    if (engine !== 'SQLite') expect(watch.statements.length - before).toBeLessThan(20)
    const one = changes.filter(({ tenantId }) => tenantId === 'm1')
    expect(await tasks.updateMany(one)).toMatchObject(one)
    const [first, second] = changes as [Change, Change]
    const again = { ...first, title: 'last' }
    expect(await tasks.updateMany([...changes, again])).toMatchObject([...changes, again])
    const elsewhere = { ...first, tenantId: second.tenantId }
    const none = changes.map((change) => ({ ...change, title: 'none' }))
    await expect(tasks.updateMany([...none, elsewhere])).rejects.toMatchObject({ status: 404 })
    const untitled = { ...second, title: null } as never
    const invalid = tasks.updateMany([...none, untitled])
    const atLast = [{ path: '60.title' }]
    await expect(invalid).rejects.toMatchObject({ status: 400, errors: atLast })
    expect(await tasks.count({ tenantId: 'm0', title: 'none' })).toBe(0)
    expect(await tasks.count({ tenantId: 'm0', title: 'last' })).toBe(1)
    const names = [{ name: 'Wall' }, { name: 'Door' }, { name: 'Gate' }, { name: 'Loft' }]
    const built = await projects.createMany(names.map((name) => ({ ...name, tenantId: 'm0' })))
    const turned = built.map(({ id, tenantId }, n) => ({ id, tenantId, ...names[(n + 1) % 4] }))
    expect(await projects.updateMany(turned)).toMatchObject(turned)
  })

  it('allows hooks to read other shards', async () => {
    const [one] = await bills.createMany([
      { tenantId: 1, text: 'x' },
      { tenantId: 2, text: 'y' },
    ])
    const results: unknown[] = []
    Bill.onWrite = async () => {
      results.push(await bills.list({ where: { tenantId: 2 } }))
      results.push(await bills.count().catch((error: unknown) => error))
    }
    try {
      await bills.update(one?.id as number, { text: 'z' }, { tenantId: 1 })
    } finally {
      Bill.onWrite = () => Promise.resolve()
    }
    expect(results).toMatchObject([[{ tenantId: 2, text: 'y' }], { status: 400 }])
  })

  it('reads the sharded rows of a tenant record by its id', async () => {
    const firms = database.records(Firm)
    const { id: firmId } = await firms.create({ name: 'Mill' })
    const machine = await database.records(Machine).create({ firmId, name: 'Saw' })
    await database.records(Part).create({ firmId, machineId: machine.id })
    const found = await firms.find(firmId, { with: ['machines.parts.machine'] })
    expect(found?.machines[0]?.parts[0]?.machine.name).toBe('Saw')
    expect(
      await firms.list({ where: { machines: { parts: { machineId: machine.id } } } }),
    ).toHaveLength(1)
    const deletedRecords: unknown[] = []
    const stop = database.onChange(({ record }) => deletedRecords.push(record))
    expect(await firms.delete(firmId)).toBe(true)
    stop()
    expect(deletedRecords).toStrictEqual([Part, Machine, Firm])
    const nested = firms.create({ name: 'x', machines: { create: [{ name: 'y' }] } })
    await expect(nested).rejects.toMatchObject({ status: 400, errors: [{ path: 'machines' }] })
  })
})

it('recognizes statements that touch every shard', () => {
  expect(
    namesShards('select t."id" from "task" as t where t."tenant_id" = $1 and t."id" = $2'),
  ).toBe(true)
  expect(namesShards('select t."id", t."tenant_id" from "task" as t where t."id" = $1')).toBe(false)
  expect(namesShards('update "task" set "tenant_id" = $1 where "id" = $2')).toBe(false)
  expect(namesShards('insert into "task" ("id") values ($1)')).toBe(false)
  const join = 'select 1 from "task" as t join "project" as p on p."id" = t."project_id"'
  expect(namesShards(`${join} where t."tenant_id" = $1`)).toBe(false)
})

it.each(servers)(
  'reports an existing table whose key lacks the shard column on %s',
  async (engine, open) => {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-shards-'))
    const url = engine === 'SQLite' ? `sqlite:${join(folder, 'cups.db')}` : await open()
    @Record({ table: 'cup' })
    class Cup {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('string') tenantId!: string
    }
    @Record({ table: 'cup', shardBy: 'tenantId' })
    class ShardedCup {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('string') tenantId!: string
    }
    const first = await connect(url, { records: [Cup] })
    const second = await connect(url, { records: [ShardedCup] })
    try {
      await first.sync()
      const [difference, ...more] = await second.differences()
      // A table is distributed after its key contains the shard.
      const later = engine === 'Citus' ? ['other distribution'] : []
      expect(more.map(({ kind }) => kind)).toStrictEqual(later)
      const message = 'cup has the primary key (id) and should have (tenant_id, id).'
      expect(difference).toMatchObject({ kind: 'other key', message, blocks: true })
      for (const statement of difference?.sql ?? []) await sql.raw(statement).execute(second.kysely)
      expect((await second.differences()).map(({ kind }) => kind)).toStrictEqual(later)
    } finally {
      await first.close()
      await second.close()
      await rm(folder, { recursive: true })
    }
  },
)

describe('the start rejects', () => {
  const problemsOf = async (...records: (new () => object)[]): Promise<string[]> => {
    @Module({ records })
    class Faulty {}
    const database = 'sqlite::memory:'
    const error: unknown = await bootstrap(Faulty, { listen: false, logger: false, database }).then(
      (app) => app.close(),
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof DeclarationError)) throw new Error('It started.')
    return error.problems.map(({ code, message }) => `${code} ${message}`)
  }

  it('a shard field that is missing, optional, or the key', async () => {
    @Record({ shardBy: 'tenant' })
    class None {
      @Field('id') id!: number
      @Field('string') tenantId!: string
    }
    @Record({ shardBy: 'tenantId' })
    class Loose {
      @Field('id') id!: number
      @Field('string', { nullable: true }) tenantId!: string | null
    }
    @Record({ shardBy: 'id' })
    class Own {
      @Field('id') id!: number
    }
    expect(await problemsOf(None, Loose, Own)).toStrictEqual([
      expect.stringContaining(
        'RECORD_SHARD @Record of None: shardBy names "tenant", which is not a field',
      ),
      expect.stringContaining('is not required'),
      expect.stringContaining('which is the primary key'),
    ])
  })

  it('unique values across shards', async () => {
    @Record({
      shardBy: 'tenantId',
      indexes: [
        { fields: ['code'], unique: true },
        { fields: ['place', '-code'], unique: true, where: { place: 'a' } },
        { fields: ['code', 'tenantId'], unique: true },
        { fields: ['code'] },
      ],
    })
    class Seat {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('string') tenantId!: string
      @Field('string') code!: string
      @Field('string', { unique: true }) place!: string
    }
    const message = (names: string): string =>
      `RECORD_INDEX @Record of Seat: an index is unique over ${names}, but values can only be unique within tenantId, by which Seat is sharded.`
    expect(await problemsOf(Seat)).toStrictEqual([message('code'), message('place, code')])
  })

  it('relations that leave the shard', async () => {
    @Record({ shardBy: 'tenantId' })
    class Home {
      @Field('id', { key: 'uuid' }) id!: string
      @Field('string') tenantId!: string
      @ManyToMany(() => Tag) tags!: Rel<Tag[]>
    }
    @Record
    class Tag {
      @Field('id') id!: number
    }
    @Record
    class Garage {
      @Field('id') id!: number
      @Field('string') homeId!: string
      @BelongsTo(() => Home) home!: Rel<Home>
    }
    @Record({ shardBy: 'tenantId' })
    class Room {
      @Field('id') id!: number
      @Field('string') tenantId!: string
      @Field('string', { nullable: true }) homeId!: string | null
      @BelongsTo(() => Home, { onDelete: 'setNull' }) home!: Rel<Home>
    }
    expect(await problemsOf(Home, Tag, Garage, Room)).toStrictEqual([
      expect.stringContaining('a join table cannot be sharded'),
      expect.stringContaining('Garage refers to Home, which is sharded by tenantId'),
      expect.stringContaining("'setNull' would empty tenantId too"),
    ])
  })
})
