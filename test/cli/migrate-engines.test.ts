/** A project that has migrations for SQLite and changes to PostgreSQL. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import type { Finding } from '../../src/cli/commands/doctor-checks.js'
import { root } from '../openapi/command.js'
import { startPostgres } from '../records/postgres-server.js'
import { bootstrap, connect } from '../../src/index.js'
import { silentLog } from '../silent-log.js'
import { AppModule } from './migrate/shop-from-environment.js'
import { Lamp } from './migrate/lamp.js'
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
  const remedy = 'Write them: filigree migrate adopt postgres.'
  expect(await migrate('make', 'more')).toMatchObject({ code: 0, err: `${what}\n${remedy}\n` })
  expect(await migrate('status')).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^no file for this engine \d+_first\n$/),
    err: `${what}\n${remedy}\n`,
  })
  expect(await migrate('check')).toMatchObject({ code: 0, err: `${what}\n${remedy}\n` })
  expect(await findings()).toEqual([{ about: 'migrations', state: 'note', what, remedy }])
  expect((await migrate('up')).err).toContain('filigree migrate adopt postgres')

  await setEngines()
  expect(await migrate('check')).toMatchObject({ code: 1, err: `${what}\n${remedy}\n` })
  expect((await migrate('make', 'own', '--empty')).err).toContain(
    'There are no migrations for PostgreSQL.\n  = Write them: filigree migrate adopt postgres.',
  )
  await setEngines(['sqlite'])
  await migrate('make', 'fill', '--code')
  expect(await migrate('adopt', 'postgres')).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^migrations\/\d+_first\.postgres\.sql\npackage\.json: filigree\.engines names postgres now\.\n$/,
    ),
    err: expect.stringMatching(
      /^note: \d+_fill does not run on the new engine\. filigree copy copies the rows that it has written\.\n$/,
    ),
  })
  expect(await readFile(join(folder, 'package.json'), 'utf8')).toBe(
    '{"filigree":{"engines":["sqlite", "postgres"]}}',
  )
  expect(await migrate('adopt', 'postgres')).toEqual({
    code: 0,
    out: 'There are migrations for postgres already.\n',
    err: '',
  })
  const files = (await readdir(join(folder, 'migrations'))).map((file) => file.replace(/^\d+_/, ''))
  expect(files.sort()).toEqual([
    'fill.mjs',
    'first.postgres.sql',
    'first.sqlite.sql',
    'schema.postgres.json',
  ])
  for (const command of ['up', 'status', 'check'])
    expect(await migrate(command)).toMatchObject({ code: 0, err: '' })
  expect(await findings()).toEqual([
    { about: 'migrations', state: 'ok', what: 'they fit the records' },
  ])
  expect((await migrate('make', 'nothing')).out).toContain('no new one is needed')
  process.env.DATABASE_URL = `sqlite:${join(folder, 'app.db')}`
  expect(await migrate('up')).toMatchObject({ code: 0, err: '' })
  expect(await migrate('status')).toMatchObject({ code: 0, err: '' })
})

it('is named by the start: in an error in production, and in a warning elsewhere', async () => {
  const next = await mkdtemp(join(tmpdir(), 'filigree-'))
  await writeFile(join(next, 'package.json'), '{ "filigree": { "engines": ["sqlite"] } }')
  process.env.DATABASE_URL = 'sqlite::memory:'
  expect(await runIn(next, ['migrate', 'make', 'first', ...name])).toMatchObject({ code: 0 })
  const before = process.cwd()
  process.chdir(next)
  try {
    const database = await server.createDatabase()
    const what = 'There are no migrations for PostgreSQL, the engine of the database in use.'
    const remedy = 'Write them: filigree migrate adopt postgres.'
    const production = { DATABASE_URL: database, NODE_ENV: 'production' }
    await expect(
      bootstrap(AppModule, { auth: { keys: false }, env: production, logger: false }),
    ).rejects.toMatchObject({
      problems: [
        { code: 'SCHEMA_DIFFERS', remedy: `${what} ${remedy} Then run filigree migrate up.` },
      ],
    })
    const warnings: string[] = []
    const logger = { ...silentLog, warn: (_: object, text: string) => void warnings.push(text) }
    const app = await bootstrap(AppModule, {
      auth: { keys: false },
      env: { DATABASE_URL: database },
      logger,
      port: 0,
    })
    await app.close()
    expect(warnings).toContain(`${what} ${remedy}`)
  } finally {
    process.chdir(before)
    await rm(next, { recursive: true })
  }
})

it('marks the migration as applied where the start has made the tables already', async () => {
  const next = await mkdtemp(join(tmpdir(), 'filigree-'))
  const run = (...args: string[]): Promise<Outcome> => runIn(next, ['migrate', ...args, ...name])
  await writeFile(join(next, 'package.json'), '{ "filigree": { "engines": ["sqlite"] } }')
  process.env.DATABASE_URL = 'sqlite::memory:'
  await run('make', 'first')
  process.env.DATABASE_URL = await server.createDatabase()
  const database = await connect(process.env.DATABASE_URL, { records: [Lamp] })
  await database.sync()
  await database.close()
  expect((await run('adopt', 'postgres')).out).toMatch(
    /already applied to this database: \d+_first/,
  )
  expect(await run('up')).toMatchObject({ code: 0, out: 'Nothing to do.\n' })
  await rm(next, { recursive: true })
})

it.each([
  [['adopt'], 'the engine is missing. Engines: sqlite, postgres.'],
  [['adopt', 'oracle'], '"oracle" is not an engine. Engines: sqlite, postgres.'],
])('refuses %j', async (args, message) => {
  expect(await migrate(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
})
