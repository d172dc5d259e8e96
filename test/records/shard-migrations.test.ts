/** Migrations of sharded records: one set of files distributes tables on Citus, and does nothing of it elsewhere. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, Record, type Rel } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'
import { Firm, Machine, Part, Project, Region, Task } from './sharded-office.js'

@Record({ table: 'firm' })
class LocalFirm {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'machine' })
class LocalMachine {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') firmId!: number
  @Field('string') name!: string
  @BelongsTo(() => LocalFirm, { onDelete: 'cascade' }) firm!: Rel<LocalFirm>
}

@Record({ table: 'machine', shardBy: 'firmId' })
class ShardedMachine {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') firmId!: number
  @Field('string') name!: string
  @BelongsTo(() => LocalFirm, { onDelete: 'cascade' }) firm!: Rel<LocalFirm>
}

@Record({ table: 'bill' })
class LocalBill {
  @Field('id') id!: number
  @Field('integer') tenantId!: number
}

@Record({ table: 'bill', shardBy: 'tenantId' })
class ShardedBill {
  @Field('id') id!: number
  @Field('integer') tenantId!: number
}

const engines = await startBothEngines()
const migrations = useMigrations()
const { open, optionsAt } = migrations

async function textOf(name: string, engine = 'postgres'): Promise<string> {
  const files = await readdir(migrations.folder)
  const file = files.find((one) => one.endsWith(`_${name}.${engine}.sql`)) ?? name
  return readFile(join(migrations.folder, file), 'utf8')
}

/** The statements that distribute tables and add references, in the order of the file. */
async function stepsOf(name: string): Promise<string[]> {
  const [up = ''] = (await textOf(name)).split('\n-- down\n')
  const pattern =
    /(create_\w+\([^;]*\));|(undistribute_table\([^;]*\));|add constraint "(\w+_fkey)"|(create table "\w+")/g
  return [...up.matchAll(pattern)].map((match) => match.slice(1).find(Boolean) ?? '')
}

describe.each(engines)('migrations of sharded records on %s', (_engine, address) => {
  it('distribute new tables before their references are added', async () => {
    const records = [Region, Project, Task, Firm, Machine, Part]
    const database = await open(await address(), ...records)
    await makeMigration(database, 'first', optionsAt(0))
    expect(await stepsOf('first')).toEqual([
      'create table "region"',
      `create_reference_table('region')`,
      'create table "project"',
      `create_distributed_table('project', 'tenant_id', colocate_with => 'none')`,
      'create table "task"',
      `create_distributed_table('task', 'tenant_id', colocate_with => 'project')`,
      'create table "firm"',
      `create_reference_table('firm')`,
      'create table "machine"',
      `create_distributed_table('machine', 'firm_id', colocate_with => 'none')`,
      'create table "part"',
      `create_distributed_table('part', 'firm_id', colocate_with => 'machine')`,
      'project_region_id_fkey',
      'task_project_id_fkey',
      'machine_firm_id_fkey',
      'part_machine_id_fkey',
    ])
    expect(await textOf('first')).not.toContain('no transaction')
    expect(await textOf('first', 'sqlite')).not.toContain('citus')
    await migrateUp(database, optionsAt(0))
    expect(await database.differences()).toEqual([])
    expect(await makeMigration(database, 'again', optionsAt(1))).toBeUndefined()
    await migrateDown(database, optionsAt(0))
    await migrateUp(database, optionsAt(0))
    await database.verify()
  })

  it('move an existing table after its key, and its references around it', async () => {
    const database = await open(await address(), LocalFirm, LocalMachine)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    expect(await textOf('first')).not.toContain('citus')
    setRecords(database, LocalFirm, ShardedMachine)
    await makeMigration(database, 'second', optionsAt(1))
    expect(await stepsOf('second')).toEqual([
      `create_reference_table('firm')`,
      `create_distributed_table_concurrently('machine', 'firm_id', colocate_with => 'none')`,
      `create_distributed_table('machine', 'firm_id', colocate_with => 'none')`,
      'machine_firm_id_fkey',
    ])
    const text = await textOf('second')
    expect(text.indexOf('primary key using index')).toBeLessThan(
      text.indexOf('create_reference_table'),
    )
    await migrateUp(database, optionsAt(1))
    await database.verify()
    await migrateDown(database, optionsAt(1))
    await migrateUp(database, optionsAt(1))
    setRecords(database, LocalFirm, LocalMachine)
    await makeMigration(database, 'third', optionsAt(2))
    expect(await stepsOf('third')).toEqual([
      `undistribute_table('machine')`,
      'machine_firm_id_fkey',
    ])
    const third = await textOf('third')
    expect(third.indexOf('undistribute_table')).toBeLessThan(
      third.indexOf('primary key using index'),
    )
    await migrateUp(database, optionsAt(2))
    expect(await database.differences()).toEqual([])
  })

  it('say that a table with a counting key cannot leave its shards on Citus', async () => {
    const database = await open(await address(), LocalBill)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    setRecords(database, ShardedBill)
    await makeMigration(database, 'second', optionsAt(1))
    const [up = '', down = ''] = (await textOf('second')).split('\n-- down\n')
    const refusal =
      "raise exception 'Citus cannot move bill from its shards, because the database counts bill.id. Create another table, and copy the rows'"
    expect(up).not.toContain(refusal)
    expect(up).toMatch(
      /create_distributed_table_concurrently\('bill'[^;]*;\s+perform setval\(pg_get_serial_sequence\('"bill"', 'id'\)/,
    )
    expect(down).toContain(refusal)
    expect(down).not.toContain('undistribute_table')
    await migrateUp(database, optionsAt(1))
    setRecords(database, LocalBill)
    await makeMigration(database, 'third', optionsAt(2))
    expect(await textOf('third')).toContain(refusal)
    await migrateUp(database, optionsAt(2))
    expect(await database.differences()).toEqual([])
  })

  it('name tables in another group, and tables that are distributed by another column', async () => {
    const database = await open(await address(), Firm, Machine, Part)
    await makeMigration(database, 'first', optionsAt(0))
    const file = join(migrations.folder, 'schema.postgres.json')
    const snapshot = JSON.parse(await readFile(file, 'utf8')) as {
      [table: string]: { distribution?: unknown }
    }
    const place = (table: string, distribution: object): unknown =>
      Object.assign(snapshot[table] as object, { distribution })
    place('part', { kind: 'sharded', column: 'firm_id', group: 'other' })
    await writeFile(file, JSON.stringify(snapshot))
    const check = (): Promise<string[]> =>
      checkMigrations(database, { folder: migrations.folder, engines: ['postgres'] })
    expect(await check()).toEqual([
      'PostgreSQL: part is in another colocation group than machine, so that its rows may be on other machines.',
    ])
    place('part', { kind: 'sharded', column: 'machine_id', group: 'other' })
    await writeFile(file, JSON.stringify(snapshot))
    expect(await check()).toEqual([
      'PostgreSQL: part is distributed by machine_id and should be distributed by firm_id (Part.firmId).',
    ])
    await makeMigration(database, 'second', optionsAt(1))
    expect(await stepsOf('second')).toEqual([
      `undistribute_table('part')`,
      'part_machine_id_fkey',
      `create_distributed_table_concurrently('part', 'firm_id', colocate_with => 'machine')`,
      `create_distributed_table('part', 'firm_id', colocate_with => 'machine')`,
      'part_machine_id_fkey',
    ])
  })

  it('are found without a database, also in files of versions that did not write them', async () => {
    const database = await open(await address(), LocalFirm, ShardedMachine)
    await makeMigration(database, 'first', optionsAt(0))
    const file = join(migrations.folder, 'schema.postgres.json')
    const snapshot = JSON.parse(await readFile(file, 'utf8')) as {
      [table: string]: { distribution?: unknown }
    }
    expect(snapshot.machine?.distribution).toMatchObject({ kind: 'sharded', column: 'firm_id' })
    expect(snapshot.firm?.distribution).toEqual({ kind: 'reference' })
    for (const table of Object.values(snapshot)) delete table.distribution
    await writeFile(file, JSON.stringify(snapshot))
    expect(
      await checkMigrations(database, { folder: migrations.folder, engines: ['postgres'] }),
    ).toEqual([
      'PostgreSQL: firm is a local table and should be a reference table, because machine.firm_id refers to it (on delete cascade).',
      'PostgreSQL: machine is a local table and should be distributed by firm_id (ShardedMachine.firmId).',
    ])
    await migrateUp(database, optionsAt(0))
    await makeMigration(database, 'second', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    expect(
      await checkMigrations(database, { folder: migrations.folder, engines: undefined }),
    ).toEqual([])
    expect(await database.differences()).toEqual([])
  })
})
