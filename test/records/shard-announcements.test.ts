/** Writes of other programs to distributed tables: triggers where the server allows them, otherwise messages of the programs. */
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from '@jest/globals'
import { Field, Record } from '../../src/index.js'
import {
  announcedTablesOf,
  makeAnnouncements,
  readAnnouncements,
} from '../../src/records/migrations/announce-changes.js'
import { waitUntil } from '../wait-until.js'
import { startBothEngines } from './both-engines.js'
import { makeMigration, migrateDown, migrateUp, useMigrations } from './migration-helpers.js'
import { internalsOf } from './open-database.js'
import { Client } from './postgres-server.js'
import { Project, Region } from './sharded-office.js'

@Record
class Plan {
  @Field('id') id!: number
  @Field('string') title!: string
}

const records = [Project, Region, Plan]
const engines = (await startBothEngines()).filter(([name]) => name !== 'SQLite')
const { open, optionsAt } = useMigrations()

describe.each(engines)('on %s', (engine, address) => {
  it('are announced by triggers, or by messages where there are none', async () => {
    const url = await address()
    const database = await open(url, ...records)
    const { tables, context } = internalsOf(database)
    const announced = announcedTablesOf(tables)
    await makeMigration(database, 'first', optionsAt(0))
    const [file = ''] = await makeAnnouncements('install', announced, {
      ...optionsAt(1),
      engines: ['postgres'],
    })
    const text = await readFile(file, 'utf8')
    const [, ...blocks] =
      text
        .split('-- down')[0]
        ?.split("if not exists (select from pg_extension where extname = 'citus')") ?? []
    expect(blocks).toHaveLength(3)
    for (const [index, name] of ['project', 'region', 'task'].entries())
      expect(blocks[index]).toContain(`create trigger filigree_insert after insert on "${name}"`)
    await migrateUp(database, optionsAt(1))

    const [state, message] =
      engine === 'Citus'
        ? [
            'impossible',
            /-- (select pg_notify\('filigree_changes', '\["another program","project".*)/.exec(
              text,
            )?.[1],
          ]
        : ['announced', '']
    const found = await readAnnouncements(tables, context)
    expect(Object.fromEntries(found?.map((one) => [one.table, one.state]) ?? [])).toStrictEqual({
      project: state,
      region: state,
      task: state,
      plan: 'announced',
    })

    const heard: string[] = []
    const end = await database.onChange(
      ({ event, record }) => void heard.push(`${event} ${record.name}`),
      { everywhere: true },
    )
    const other = new Client({ connectionString: url })
    await other.connect()
    await other.query(
      `begin; insert into project (id, tenant_id, name, hours) values (gen_random_uuid(), 'a', 'Roof', 0); ${message ?? ''} commit`,
    )
    await other.query(`insert into plan (title) values ('End')`)
    await waitUntil(() => heard.includes('created Plan'))
    expect(heard).toStrictEqual([
      engine === 'Citus' ? 'lost Project' : 'created Project',
      'created Plan',
    ])
    await other.end()
    end()
    await migrateDown(database, { ...optionsAt(1), steps: 1 })
    const left = await readAnnouncements(tables, context)
    expect(left?.filter((one) => one.state === 'announced')).toStrictEqual([])
  })
})
