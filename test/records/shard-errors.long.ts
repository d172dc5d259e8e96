/**
 * Errors of shards and partitions name the same fields as errors of plain tables. Source: decisions, Sharding, partitions and
 * failover.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import {
  BelongsTo,
  connect,
  Database,
  Field,
  HasMany,
  Record,
  type Rel,
  type Repository,
} from 'filigree'
import { citusCatalogue } from './citus-catalogue.js'
import { startCitusProxy, type CitusProxy } from './citus-proxy.js'
import { Client, startPostgres, type PostgresServer } from './postgres-server.js'
import { silentLog } from '../silent-log.js'
import { readSql, runSql } from './run-sql.js'

@Record({ table: 'city_district' })
class Region {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
}

@Record({
  shardBy: 'tenantId',
  constraints: { one_code: { status: 422, message: 'The code is used up.', path: 'code' } },
})
class Project {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') tenantId!: number
  @Field('string', { unique: true }) name!: string
  @Field('integer', { min: 0, optional: true, nullable: true }) hours?: number | null
  @Field('string', { optional: true, nullable: true }) code?: string | null
  @Field('integer', { optional: true, nullable: true }) regionId?: number | null
  @BelongsTo(() => Region) region!: Rel<Region>
  @HasMany(() => Task) tasks!: Rel<Task[]>
}

@Record({ shardBy: 'tenantId' })
class Task {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') tenantId!: number
  @Field('string', { unique: true })
  titleThatIsSoLongThatCitusCutsIt!: string
  @Field('string', { unique: true, optional: true, nullable: true })
  titleThatIsSoLongThatCitusCutsItToo?: string | null
  @Field('string', { optional: true, nullable: true }) projectId?: string | null
  @Field('string', { optional: true, nullable: true })
  projectThatWasFinishedBeforeThisOneWasId?: string | null
  @BelongsTo(() => Project) project!: Rel<Project>
  @BelongsTo(() => Project, { by: 'projectThatWasFinishedBeforeThisOneWasId' })
  earlier!: Rel<Project>
}

const records = [Region, Project, Task]
const projectId = '0f0e0d0c-0b0a-4908-8706-050403020100'
const taskId = '0f0e0d0c-0b0a-4908-8706-050403020101'
const missingId = '0f0e0d0c-0b0a-4908-8706-050403020199'
const title = 'titleThatIsSoLongThatCitusCutsIt'
const otherTitle = 'titleThatIsSoLongThatCitusCutsItToo'
const inTenant = { tenantId: 1 }
const long = (values: object) =>
  Array.from({ length: 200 }, (_, index) => ({
    ...inTenant,
    [title]: `t${index}`,
    name: `p${index}`,
    ...(index === 150 && values),
  }))

/** Writes that violate a constraint each. */
const failures: readonly (readonly [
  name: string,
  run: (database: Database) => Promise<unknown>,
])[] = [
  ['a used name', (db) => db.records(Project).create({ ...inTenant, name: 'Roof' })],
  [
    'a used name by update',
    (db) => db.records(Project).update(projectId, { name: 'Cellar' }, inTenant),
  ],
  ['a used key', (db) => db.records(Project).create({ ...inTenant, id: projectId, name: 'x' })],
  [
    'a declared constraint',
    (db) => db.records(Project).create({ ...inTenant, name: 'x', code: 'a' }),
  ],
  ['a used value of a long name', (db) => db.records(Task).create({ ...inTenant, [title]: 'a' })],
  [
    'a used value of another long name',
    (db) => db.records(Task).create({ ...inTenant, [title]: 'x', [otherTitle]: 'b' }),
  ],
  [
    'a missing row on every machine',
    (db) => db.records(Project).create({ ...inTenant, name: 'x', regionId: 9 }),
  ],
  [
    'a missing row',
    (db) => db.records(Task).create({ ...inTenant, [title]: 'x', projectId: missingId }),
  ],
  [
    'a missing row of a long name',
    (db) =>
      db.records(Task).create({
        ...inTenant,
        [title]: 'x',
        projectThatWasFinishedBeforeThisOneWasId: missingId,
      }),
  ],
  ['a row that is still referred to', (db) => db.records(Project).delete(projectId, inTenant)],
  ['a check', (db) => db.records(Project).updateWhere(inTenant, { hours: { add: -9 } })],
  [
    'a used name among many',
    (db) => db.records(Project).insertMany(long({ name: 'Roof' }) as never),
  ],
  [
    'a used value of a long name among many',
    (db) => db.records(Task).insertMany(long({ [title]: 'a', name: undefined }) as never),
  ],
  [
    'a missing row among many',
    (db) => db.records(Task).insertMany(long({ projectId: missingId, name: undefined }) as never),
  ],
]

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => {
      const { status, code, message, errors } = error as never
      return { status, code, message, errors }
    },
  )

describe('errors of shards', () => {
  let server: PostgresServer
  let proxy: CitusProxy
  let plain: Database
  let citus: Database

  beforeAll(async () => {
    server = await startPostgres()
    const url = await server.createDatabase()
    plain = await connect(url, { records })
    await plain.sync()
    await runSql(plain, 'create unique index one_code on project (tenant_id, code)')
    await plain
      .records(Project)
      .create({ ...inTenant, id: projectId, name: 'Roof', hours: 1, code: 'a' })
    await plain.records(Project).create({ ...inTenant, name: 'Cellar' })
    await plain
      .records(Task)
      .create({ ...inTenant, id: taskId, [title]: 'a', [otherTitle]: 'b', projectId })
    proxy = await startCitusProxy(url)
    citus = await connect(proxy.through(url), { records })
  })
  afterAll(async () => {
    await citus.close()
    await plain.close()
    await proxy.close()
    await server.close()
  })

  it.each(failures)('name the same fields as on a plain table: %s', async (_, run) => {
    const expected = await outcomeOf(run(plain))
    expect(expected).toMatchObject({ errors: [{ path: expect.any(String) }] })
    expect(await outcomeOf(run(citus))).toStrictEqual(expected)
  })
})

@Record({ table: 'place_visit' })
class Visit {
  @Field('id') id!: number
  @Field('integer') tenantId!: number
  @Field('string', { maxLength: 20 }) name!: string
}

/** Rows of tenant 13 are on a server that does not respond. Citus passes on the error with the severity of a statement. */
const lostTenant = `
  create table place_visit_rows (id bigint generated always as identity primary key, tenant_id bigint, name text);
  create function lost_tenant(tenant bigint) returns boolean language plpgsql as $$ begin
    if tenant = 13 then raise 'connection to the remote node 127.0.0.1:9702 failed' using errcode = '08006'; end if;
    return true; end $$;
  create view place_visit as select * from place_visit_rows where lost_tenant(tenant_id);
  create function lose_tenant() returns trigger language plpgsql as $$ begin perform lost_tenant(new.tenant_id); return new; end $$;
  create trigger lose_tenant before insert or update on place_visit_rows for each row execute function lose_tenant()`

describe('a lost worker', () => {
  let server: PostgresServer
  let database: Database
  let visits: Repository<Visit>
  const lost = { status: 503, code: 'DATABASE_UNAVAILABLE', headers: { 'retry-after': '1' } }

  beforeAll(async () => {
    server = await startPostgres()
    database = await connect(await server.createDatabase(), { records: [Visit] })
    for (const part of lostTenant.split(/;\n(?=  create)/))
      await sql.raw(part).execute(database.kysely)
    visits = database.records(Visit)
    await sql`alter table place_visit_rows disable trigger lose_tenant`.execute(database.kysely)
    await sql`insert into place_visit_rows (tenant_id, name) select case n when 13 then 13 else 1 end, 'v' || n from generate_series(1, 40) n`.execute(
      database.kysely,
    )
    await sql`alter table place_visit_rows enable trigger lose_tenant`.execute(database.kysely)
  })
  afterAll(async () => {
    await database.close()
    await server.close()
  })

  it('fails only the reads and writes of its tenants, and ends no connection', async () => {
    const processes = async () =>
      readSql(
        database,
        "select pid from pg_stat_activity where application_name = 'filigree' and datname = current_database() order by backend_start",
      )
    const work = (): Promise<unknown>[] => [
      ...Array.from({ length: 40 }, async (_, index) => visits.find(index + 1)),
      database.transaction(async () => visits.find(13)),
      database.transaction(async () => visits.find(12)),
    ]
    await Promise.allSettled(work())
    await Promise.allSettled(work())
    const before = await processes()
    for (let round = 0; round < 5; round++) {
      const results = await Promise.allSettled(work())
      const failed = results.flatMap((result, index) =>
        result.status === 'rejected' ? [[index, result.reason]] : [],
      )
      expect(failed).toMatchObject([
        [12, lost],
        [40, lost],
      ])
    }
    await expect(visits.create({ tenantId: 13, name: 'n' })).rejects.toMatchObject(lost)
    await expect(visits.update(13, { name: 'n' })).rejects.toMatchObject(lost)
    expect(await processes()).toEqual(expect.arrayContaining(before))
  })
})

@Record({
  table: 'site_event',
  constraints: { one_code: { status: 422, message: 'The code is used up.', path: 'code' } },
})
class SiteEvent {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('datetime') at!: string
  @Field('string') name!: string
  @Field('string', { optional: true, nullable: true }) code?: string | null
  @Field('integer', { optional: true, nullable: true }) regionId?: number | null
  @BelongsTo(() => Region) region!: Rel<Region>
}

/** The indexes of a partition have names of their own, and so have the keys of a table that became one. */
const partitionedEvents = `
  create table city_district (id bigint generated always as identity primary key, name text);
  create table site_event (id uuid, at timestamptz, name text, code text, region_id bigint, primary key (id, at), unique (at, name))
    partition by range (at);
  create unique index one_code on site_event (at, lower(code));
  create table site_event_2025 (like site_event, constraint own_region_key foreign key (region_id) references city_district);
  alter table site_event add constraint site_event_region_id_fkey foreign key (region_id) references city_district;
  alter table site_event attach partition site_event_2025 for values from ('2025-01-01') to ('2026-01-01')`

describe('errors of partitions', () => {
  let server: PostgresServer
  let database: Database
  let events: Repository<SiteEvent>
  const at = '2025-05-05T00:00:00.000Z'
  const id = projectId

  beforeAll(async () => {
    server = await startPostgres()
    database = await connect(await server.createDatabase(), { records: [Region, SiteEvent] })
    await runSql(database, partitionedEvents)
    events = database.records(SiteEvent)
    await events.create({ id, at, name: 'a', code: 'A' })
  })
  afterAll(async () => {
    await database.close()
    await server.close()
  })

  const cases: readonly (readonly [what: string, values: object, expected: object])[] = [
    ['a used key', { id, name: 'x' }, { status: 409, message: 'id is already taken' }],
    [
      'a used value',
      { name: 'a' },
      { status: 409, message: 'at and name together are already taken' },
    ],
    [
      'a declared constraint',
      { name: 'x', code: 'a' },
      { status: 422, message: 'The code is used up.' },
    ],
    [
      'a missing row',
      { name: 'x', regionId: 9 },
      { status: 409, message: 'regionId names no Region' },
    ],
  ]
  it.each(cases)('name the field: %s', async (_, values, expected) => {
    const create = () => events.create({ at, ...values } as never)
    await expect(create()).rejects.toMatchObject(expected)
    await expect(create()).rejects.toMatchObject(expected)
    await expect(database.transaction(create)).rejects.toMatchObject(expected)
  })
})

@Record({ table: 'shop_order' })
class Order {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'shop_bill', shardBy: 'tenantId' })
class Bill {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') tenantId!: number
}

/** At the commit, Citus reports the error of a worker only by a warning. */
const failingCommits = `
  create table shop_order (id bigint generated by default as identity primary key, name text);
  create table shop_bill (id uuid, tenant_id bigint, primary key (tenant_id, id));
  create sequence conflicts;
  create function fail_commit() returns trigger language plpgsql as $$ begin
    if new.name = 'conflict' and nextval('conflicts') < 3 then
      raise warning 'could not serialize access due to read/write dependencies' using errcode = '40001';
      raise exception 'could not commit transaction for shard 102008 on at least one active node' using errcode = 'XX000';
    elsif new.name = 'cut' then
      raise exception 'SSL SYSCALL error: EOF detected' using errcode = 'XX000';
    elsif new.name = 'lost' then
      raise exception 'could not commit transaction for shard 102008 on at least one active node' using errcode = 'XX000';
    end if;
    return null; end $$;
  create constraint trigger fail_commit after insert on shop_order deferrable initially deferred
    for each row execute function fail_commit()`

describe('transactions on Citus', () => {
  let server: PostgresServer
  let url: string
  let proxy: CitusProxy
  let database: Database
  const warnings: string[] = []

  beforeAll(async () => {
    server = await startPostgres()
    url = await server.createDatabase()
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query(failingCommits)
    await client.query(citusCatalogue)
    await client.query('create table pg_dist_partition (logicalrelid regclass)')
    await client.end()
    proxy = await startCitusProxy(url)
    const log = { ...silentLog, warn: (_: object, message: string) => warnings.push(message) }
    database = await connect(proxy.through(`${url}?lock_timeout=4000`), {
      records: [Order, Bill],
      log,
    })
  })
  afterAll(async () => {
    await database.close()
    await proxy.close()
    await server.close()
  })

  const create = (name: string, onRun: () => void = () => undefined) =>
    database.transaction(async () => {
      onRun()
      await database.records(Order).create({ name })
    })

  it('warn at the start that single statements have no lock timeout on the workers', () => {
    const command = /no lock_timeout.*: alter role \w+ in database \w+ set lock_timeout = 4000$/
    expect(warnings).toStrictEqual([expect.stringMatching(command)])
  })

  it('run again if a notice of the failed commit reports a conflict', async () => {
    let runs = 0
    await create('conflict', () => runs++)
    expect(runs).toBe(3)
    expect(await database.records(Order).count({ name: 'conflict' })).toBe(1)
  })

  it.each([
    ['the outcome of the commit is unknown', 'lost'],
    ['the connection to a worker breaks', 'cut'],
  ])('fail with 503 if %s', async (_, name) => {
    let runs = 0
    await expect(create(name, () => runs++)).rejects.toMatchObject({
      status: 503,
      code: 'DATABASE_UNAVAILABLE',
      headers: { 'retry-after': '1' },
    })
    expect(runs).toBe(1)
  })

  it('pass their time limits on to the workers, each in a message of its own', async () => {
    proxy.queries.length = 0
    await create('timely')
    expect(proxy.queries).toStrictEqual([
      'begin isolation level serializable',
      "set local citus.propagate_set_commands to 'local'",
      'set local statement_timeout = 30000',
      'set local lock_timeout = 4000',
      'commit',
    ])
  })

  it('are committed in two phases if they write tables with and without shards', async () => {
    const bill = () => database.records(Bill).create({ tenantId: 9 })
    const order = () => database.records(Order).create({ name: 'joint' })
    const request = 'delete from filigree_commit where id = 0'
    const requestsOf = async (...works: (() => Promise<unknown>)[]) => {
      proxy.queries.length = 0
      await database.transaction(async () => {
        for (const work of works) await work()
      })
      return proxy.queries.filter((sql) => sql === request || sql === 'commit')
    }
    expect(await requestsOf(bill)).toStrictEqual(['commit'])
    expect(await requestsOf(order)).toStrictEqual(['commit'])
    // The first time, it creates the table in a transaction of its own.
    expect((await requestsOf(bill, order)).slice(-2)).toStrictEqual([request, 'commit'])
    expect(await requestsOf(order, bill)).toStrictEqual([request, 'commit'])
    expect(await database.records(Bill).count({ tenantId: 9 })).toBe(3)
  })

  describe('at the first commit in two phases', () => {
    let fresh: Database
    const request = 'delete from filigree_commit where id = 0'
    beforeEach(async () => {
      const address = proxy.through(`${url}?connections=2&schemaTimeout=300`)
      fresh = await connect(address, { records: [Order, Bill], log: silentLog })
      proxy.queries.length = 0
    })
    afterEach(() => fresh.close())

    const writeBoth = (onRun: () => Promise<unknown> = () => Promise.resolve()) =>
      fresh.transaction(async () => {
        await fresh.records(Bill).create({ tenantId: 10 })
        await fresh.records(Order).create({ name: 'first' })
        await onRun()
      })
    const requests = (): number => proxy.queries.filter((sql) => sql === request).length

    it('need no connection but their own', async () => {
      let open = 0
      let allAreOpen: () => void
      const allOpen = new Promise<void>((resolve) => {
        allAreOpen = resolve
      })
      const onRun = (): Promise<void> => {
        if (++open === 2) allAreOpen()
        return allOpen
      }
      await Promise.all([writeBoth(onRun), writeBoth(onRun)])
      expect(requests()).toBe(2)
    })

    it('fail with 503 while a worker has not got the metadata yet, and not for ever', async () => {
      const answer = (body: string) =>
        sql`${sql.raw(`create or replace function citus_add_local_table_to_metadata(name regclass)
          returns void language plpgsql as $$ begin ${body} end $$`)}`.execute(database.kysely)
      const outOfSync = '127.0.0.1:9701 is a metadata node, but is out of sync'
      await answer(`raise object_not_in_prerequisite_state using message = '${outOfSync}';`)
      await expect(writeBoth()).rejects.toMatchObject({ status: 503 })
      await answer('')
      proxy.queries.length = 0
      await writeBoth()
      expect(requests()).toBe(1)
    })

    it('fail with 503 while the table cannot be created', async () => {
      await database.transaction(async (tx) => {
        await sql`select pg_advisory_xact_lock(4163170431)`.execute(tx.kysely)
        await expect(writeBoth()).rejects.toMatchObject({ status: 503 })
      })
      proxy.queries.length = 0
      await writeBoth()
      expect(requests()).toBe(1)
    })
  })

  const useTenants = async (...tenants: readonly number[]): Promise<void> => {
    for (const tenantId of tenants) {
      const { id } = await database.records(Bill).create({ tenantId })
      await database.records(Bill).find(id, { tenantId })
    }
  }

  it('are rejected if they must be serializable and use several shards', async () => {
    const work = () => useTenants(1, 2)
    await expect(database.transaction(work, { isolation: 'serializable' })).rejects.toThrow(
      "transaction: it must be serializable and uses tenantId 1 and 2, but the database isolates transactions only within one tenantId. Use a transaction for each, or { isolation: 'repeatable read' } and lock the rows that you read.",
    )
    expect(await database.records(Bill).count({ tenantId: 1 })).toBe(0)
    await database.transaction(() => useTenants(1, 1), { isolation: 'serializable' })
    await database.transaction(work, { isolation: 'repeatable read' })
    expect(await database.records(Bill).count({ tenantId: 1 })).toBe(3)
  })

  it('continue with one warning if they are serializable by default', async () => {
    warnings.length = 0
    await database.transaction(() => useTenants(3, 4))
    await database.transaction(() => useTenants(3, 4))
    expect(await database.records(Bill).count({ tenantId: 4 })).toBe(2)
    expect(warnings).toStrictEqual([
      'a transaction uses tenantId 3 and 4, but the database isolates transactions only within one tenantId: lock the rows that it reads, or set another isolation',
    ])
  })
})
