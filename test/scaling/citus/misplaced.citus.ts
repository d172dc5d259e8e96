/** The start and the commands name tables that are not distributed as their records say, each with the statement. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runIn, type Outcome } from '../../cli/run-in.js'
import { root } from '../../openapi/command.js'
import { citusUrl, runOnCitus, useCitus } from './coordinator.js'
import { Firm, Machine, Part } from '../../records/sharded-office.js'
import { Card, Letter, Parcel } from './parcels.js'

const { open } = useCitus()
const application = join(root, 'test/scaling/citus/parcels.ts')
let folder: string
const run = (...args: string[]): Promise<Outcome> =>
  runIn(folder, [...args, '--module', application])

/** Makes the tables, and then moves them by hand. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-citus-'))
  process.env.DATABASE_URL = citusUrl
  await (await open(Parcel, Letter, Card)).sync()
  for (const sql of [
    `select undistribute_table('letter')`,
    `select create_distributed_table('letter', 'tenant_id', colocate_with => 'none')`,
    `select undistribute_table('card')`,
  ])
    await runOnCitus(sql)
})
afterEach(async () => {
  delete process.env.DATABASE_URL
  await rm(folder, { recursive: true })
})

const messages = [
  'letter is in another colocation group than parcel, so that its rows may be on other machines.',
  `select undistribute_table('letter'); select create_distributed_table('letter', 'tenant_id', colocate_with => 'parcel');`,
  'card is a local table and should be distributed by tenant_id (Card.tenantId).',
  `select create_distributed_table('card', 'tenant_id', colocate_with => 'parcel');`,
]

const namesAll = (text: string): void => {
  for (const message of messages) expect(text).toContain(message)
}

describe('tables in other places are named', () => {
  it('by a warning at the start', async () => {
    const database = await open(Parcel, Letter, Card)
    const warnings: string[] = []
    database.log.warn = (_fields, message) => void warnings.push(message)
    await database.verify()
    namesAll(warnings.join('\n'))
  })

  it('by migrate status, check --database and doctor', async () => {
    expect((await run('migrate', 'make', 'first')).code).toBe(0)
    namesAll((await run('migrate', 'status')).err)
    const check = await run('migrate', 'check', '--database')
    expect(check.code).toBe(1)
    namesAll(check.err)
    const doctor = await run('doctor')
    expect(doctor.code).toBe(1)
    namesAll(doctor.out + doctor.err)
  })

  it('with the reference whose rule the database does not enforce between them', async () => {
    await (await open(Firm, Machine, Part)).sync()
    for (const sql of [
      'alter table machine drop constraint machine_firm_id_fkey',
      'drop table part',
      `select undistribute_table('machine')`,
      'drop table firm',
      'create table firm (id bigint primary key, name text not null)',
      `select create_distributed_table('machine', 'firm_id')`,
    ])
      await runOnCitus(sql)
    const differences = await (await open(Firm, Machine, Part)).differences()
    expect(differences.map(({ message }) => message)).toContain(
      'firm is a local table and should be a reference table, because machine.firm_id refers to it (on delete cascade).',
    )
  })

  it('until a migration moves them', async () => {
    await run('migrate', 'make', 'first')
    await run('migrate', 'up')
    await run('migrate', 'make', 'distribute')
    expect((await run('migrate', 'up')).code).toBe(0)
    expect(await (await open(Parcel, Letter, Card)).differences()).toEqual([])
  })
})
