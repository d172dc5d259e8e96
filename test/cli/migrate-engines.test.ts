/** A project that has migrations for SQLite and changes to PostgreSQL. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import type { Finding } from '../../src/cli/commands/doctor-checks.js'
import { root } from '../openapi/command.js'
import { startPostgres } from '../records/postgres-server.js'
import { runIn, type Outcome } from './run-in.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
const server = await startPostgres()
const saved = process.env.DATABASE_URL

afterAll(async () => {
  if (saved === undefined) delete process.env.DATABASE_URL
  else process.env.DATABASE_URL = saved
  await rm(folder, { recursive: true, force: true })
  await server.close()
})

const name = ['--module', join(root, 'test/cli/migrate/shop-from-environment.ts')]
const migrate = (...args: string[]): Promise<Outcome> =>
  runIn(folder, ['migrate', ...args, ...name])
const setEngines = (engines?: string[]): Promise<void> =>
  writeFile(join(folder, 'package.json'), JSON.stringify({ filigree: { engines } }))
const findings = async (): Promise<Finding[]> => {
  const { out } = await runIn(folder, ['doctor', '--json', ...name])
  return (JSON.parse(out) as Finding[]).filter(({ about }) => about === 'migrations')
}

it('gets the missing migrations and the command that creates them from make, status and doctor', async () => {
  await setEngines(['sqlite'])
  process.env.DATABASE_URL = `sqlite:${join(folder, 'app.db')}`
  expect(await migrate('make', 'first')).toMatchObject({ code: 0, err: '' })
  expect(await migrate('up')).toMatchObject({ code: 0, err: '' })
  expect(await findings()).toEqual([
    { about: 'migrations', state: 'ok', what: 'they fit the records' },
  ])

  process.env.DATABASE_URL = await server.createDatabase()
  const what = 'There are no migrations for PostgreSQL, the engine of the database in use.'
  const remedy =
    'Write "filigree": { "engines": ["sqlite", "postgres"] } into package.json, then run filigree migrate make <name>.'
  expect(await migrate('make', 'more')).toMatchObject({ code: 0, err: `${what}\n${remedy}\n` })
  expect(await migrate('status')).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^no file for this engine \d+_first\n$/),
    err: `${what}\n${remedy}\n`,
  })
  expect(await findings()).toEqual([{ about: 'migrations', state: 'note', what, remedy }])
  expect((await migrate('up')).err).toContain(
    'Add "postgres" to filigree.engines in package.json if it is not there, then run filigree migrate make <name>.',
  )

  await setEngines()
  expect(await migrate('check')).toMatchObject({
    code: 1,
    err: `${what}\nWrite a migration: filigree migrate make <name>.\n`,
  })
  await setEngines(['sqlite', 'postgres'])
  expect((await migrate('check')).err).toContain('PostgreSQL: Table lamp is missing.')
  expect(await migrate('make', 'postgres')).toMatchObject({ code: 0, err: '' })
  const files = (await readdir(join(folder, 'migrations'))).map((file) => file.replace(/^\d+_/, ''))
  expect(files.sort()).toEqual([
    'first.postgres.sql',
    'first.sqlite.sql',
    'postgres.postgres.sql',
    'postgres.sqlite.sql',
    'schema.postgres.json',
  ])
  for (const command of ['up', 'status', 'check'])
    expect(await migrate(command)).toMatchObject({ code: 0, err: '' })
  expect(await findings()).toEqual([
    { about: 'migrations', state: 'ok', what: 'they fit the records' },
  ])
  process.env.DATABASE_URL = `sqlite:${join(folder, 'app.db')}`
  expect(await migrate('up')).toMatchObject({ code: 0, err: '' })
  expect(await migrate('status')).toMatchObject({ code: 0, err: '' })
})
