/** Migrations that `migrate make` writes run on Citus in both directions, and distribute tables as `shardBy` says. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, type Database, type Rel } from 'filigree'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  migrationOptions,
  setRecords,
} from '../../records/migration-helpers.js'
import { changes, Owner, toClass, type Version } from '../../records/schema-versions.js'
import { Bill, Firm, Machine, Part, Project, Region, Task } from '../../records/sharded-office.js'
import type { Class } from '../../public-types.js'
import { runOnCitus, useCitus } from './coordinator.js'

@Record({ table: 'project' })
class LocalProject {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') name!: string
  @Field('integer', { optional: true, nullable: true }) regionId?: number | null
  @BelongsTo(() => Region) region!: Rel<Region>
}

@Record({ table: 'task' })
class LocalTask {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { optional: true, nullable: true }) projectId?: string | null
  @BelongsTo(() => LocalProject, { onDelete: 'cascade' }) project!: Rel<LocalProject>
}

@Record({ table: 'project', shardBy: 'tenantId' })
class ShardedProject {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') name!: string
  @Field('integer', { optional: true, nullable: true }) regionId?: number | null
  @BelongsTo(() => Region) region!: Rel<Region>
}

@Record({ table: 'task', shardBy: 'tenantId' })
class ShardedTask {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { optional: true, nullable: true }) projectId?: string | null
  @BelongsTo(() => ShardedProject, { onDelete: 'cascade' }) project!: Rel<ShardedProject>
}

/** A new table that refers to one that moves. */
@Record({ table: 'note', shardBy: 'tenantId' })
class Note {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') projectId!: string
  @BelongsTo(() => ShardedProject, { onDelete: 'cascade' }) project!: Rel<ShardedProject>
}

@Record({ table: 'note' })
class LocalNote {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') projectId!: string
  @BelongsTo(() => LocalProject, { onDelete: 'cascade' }) project!: Rel<LocalProject>
}

@Record({ table: 'bill', version: true, softDelete: true })
class LocalBill {
  @Field('id') id!: number
  @Field('integer') tenantId!: number
  @Field('string') text!: string
  version!: number
}

const { open } = useCitus()
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-citus-'))
})
afterEach(() => rm(folder, { recursive: true }))
const optionsAt = (minute: number) => migrationOptions(folder, minute)

/** @returns `project distributed tenant_id` for each distributed table, and its colocated tables in one group */
async function tables(): Promise<string[]> {
  const rows =
    await runOnCitus(`select table_name::text as name, citus_table_type as type, distribution_column as by,
    min(table_name::text) over (partition by colocation_id) as group from citus_tables
    where citus_table_type <> 'local' order by 1`)
  return rows.map(({ name, type, by, group }) =>
    type === 'reference'
      ? `${String(name)}: reference`
      : `${String(name)}: by ${String(by)} with ${String(group)}`,
  )
}

async function references(): Promise<unknown[]> {
  const rows =
    await runOnCitus(`select conrelid::regclass::text || ' ' || pg_get_constraintdef(oid) as text
    from pg_constraint where contype in ('f', 'p') and connamespace = 'public'::regnamespace
    and conrelid::regclass::text !~ '_\\d{6}$' order by 1`)
  return rows.map(({ text }) => text)
}

/** Makes and runs a migration to these records. */
async function migrateTo(database: Database, minute: number, ...records: Class[]): Promise<void> {
  setRecords(database, ...records)
  await makeMigration(database, `v${minute}`, optionsAt(minute))
  await migrateUp(database, optionsAt(minute))
  await checkSettled(database)
}

/** Nothing is left to change, in the files and in the database. */
async function checkSettled(database: Database): Promise<void> {
  expect(await checkMigrations(database, { folder, engines: undefined })).toEqual([])
  expect(
    (await database.differences())
      .filter(({ kind }) => kind !== 'unknown column')
      .map(({ message }) => message),
  ).toEqual([])
  await database.verify()
}

const count = async (table: string): Promise<number> =>
  Number((await runOnCitus(`select count(*) as count from ${table}`))[0]?.count)

describe('migrations', () => {
  it('distribute new tables, with the tables that they refer to on every machine', async () => {
    const records = [Region, Project, Task, Bill, Firm, Machine, Part]
    const database = await open(...records)
    await migrateTo(database, 0, ...records)
    expect(await tables()).toEqual([
      'bill: by tenant_id with bill',
      'firm: reference',
      'machine: by firm_id with machine',
      'part: by firm_id with machine',
      'project: by tenant_id with project',
      'region: reference',
      'task: by tenant_id with project',
    ])
    await migrateDown(database, optionsAt(0))
    expect(await references()).toEqual(['filigree_migration PRIMARY KEY (name)'])
    await migrateUp(database, optionsAt(0))
    await checkSettled(database)
  })

  it('distribute existing tables with their rows and references, and back', async () => {
    const database = await open(Region, LocalProject, LocalTask)
    await migrateTo(database, 0, Region, LocalProject, LocalTask)
    const before = await references()
    await runOnCitus(`insert into region (name) select 'r' from generate_series(1, 3)`)
    await runOnCitus(`insert into project (id, tenant_id, name, region_id)
      select gen_random_uuid(), 't' || (n % 20), 'p', 1 + n % 3 from generate_series(1, 500) n`)
    await runOnCitus(`insert into task (id, tenant_id, project_id)
      select gen_random_uuid(), tenant_id, id from project`)
    await migrateTo(database, 1, Region, ShardedProject, ShardedTask)
    expect(await tables()).toEqual([
      'project: by tenant_id with project',
      'region: reference',
      'task: by tenant_id with project',
    ])
    const after = await references()
    expect(await count('task')).toBe(500)
    await expect(runOnCitus(`delete from region`)).rejects.toThrow('violates foreign key')
    await runOnCitus(`delete from project where tenant_id = 't3'`)
    expect(await count('task')).toBe(475)
    await migrateDown(database, optionsAt(1))
    // Reference tables stay.
    expect(await tables()).toEqual(['region: reference'])
    expect(await references()).toEqual(before)
    expect(await count('task')).toBe(475)
    await migrateUp(database, optionsAt(1))
    expect(await references()).toEqual(after)
    await checkSettled(database)
  })

  it('take shards away, and add a table that refers to one that moves', async () => {
    const database = await open(Region, LocalProject)
    await migrateTo(database, 0, Region, LocalProject)
    await runOnCitus(
      `insert into project (id, tenant_id, name) values (gen_random_uuid(), 'a', 'p')`,
    )
    await migrateTo(database, 1, Region, ShardedProject, Note)
    expect(await tables()).toEqual([
      'note: by tenant_id with note',
      'project: by tenant_id with note',
      'region: reference',
    ])
    await runOnCitus(`insert into note (id, tenant_id, project_id)
      select gen_random_uuid(), tenant_id, id from project`)
    await expect(
      runOnCitus(`insert into note values (gen_random_uuid(), 'a', gen_random_uuid())`),
    ).rejects.toThrow('violates foreign key')
    await migrateDown(database, optionsAt(1))
    await migrateUp(database, optionsAt(1))
    await checkSettled(database)
    await migrateTo(database, 2, Region, LocalProject, LocalNote)
    expect(await tables()).toEqual(['region: reference'])
    expect(await count('project')).toBe(1)
    await migrateDown(database, optionsAt(2))
    expect(await tables()).toHaveLength(3)
    expect(await count('project')).toBe(1)
  })
})

/** The same version of the record, sharded. */
function sharded({ fields, options }: Version): Class {
  return toClass({
    fields: { tenantId: ['integer', {}], ...fields },
    options: { ...options, shardBy: options.shardBy ?? 'tenantId' },
  })
}

/** Options that do not fit sharded records. */
const unfit: ReadonlySet<string> = new Set([
  'onDelete',
  'onDelete of optional ones',
  'a unique one of indexes',
  'softDelete with indexes',
  // Citus moves no table with a counting key back.
  'shardBy',
])

describe('a counting key', () => {
  it('goes on after the move of its table, which cannot be undone', async () => {
    const database = await open()
    await migrateTo(database, 0, LocalBill)
    for (const text of ['x', 'y']) await database.records(LocalBill).create({ text, tenantId: 1 })
    await migrateTo(database, 1, Bill)
    const { id } = await database.records(Bill).create({ text: 'z', tenantId: 1 })
    expect(id).toBe(3)
    await expect(migrateDown(database, optionsAt(1))).rejects.toThrow(
      'Citus cannot move bill from its shards, because the database counts bill.id.',
    )
  })
})

describe('each change of a sharded record', () => {
  it.each(changes.filter(([name]) => !unfit.has(name)))('%s', async (_name, before, after) => {
    const database = await open()
    await migrateTo(database, 0, sharded(before), Owner)
    await migrateTo(database, 1, sharded(after), Owner)
    await migrateDown(database, optionsAt(1))
    await migrateUp(database, optionsAt(1))
    await checkSettled(database)
    await migrateTo(database, 2, sharded(before), Owner)
  })
})
