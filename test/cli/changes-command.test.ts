/** `filigree changes`: triggers that announce the writes of other programs. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { root } from '../openapi/command.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { runIn, type Outcome } from './run-in.js'

let folder: string
let server: PostgresServer
const saved = process.env.DATABASE_URL

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  server = await startPostgres()
})
afterAll(async () => {
  if (saved === undefined) delete process.env.DATABASE_URL
  else process.env.DATABASE_URL = saved
  await rm(folder, { recursive: true, force: true })
  await server.close()
})

const name = ['--module', join(root, 'test/cli/migrate/shop-from-environment.ts')]
const run = (...args: string[]): Promise<Outcome> => runIn(folder, [...args, ...name])

it('installs, shows and removes the triggers of a table', async () => {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ filigree: {} }))
  process.env.DATABASE_URL = await server.createDatabase()
  expect(await run('migrate', 'make', 'first')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await run('changes', 'status')).toEqual({
    code: 0,
    out: expect.stringMatching(
      /^lamp {2}not announced\n\nWhat other programs write is seen by:\nlive queries/,
    ),
    err: '',
  })

  const installed = await run('changes', 'install', 'Lamp')
  expect(installed).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /_announce-changes\.(\w+)\.sql\n.*_announce-changes\.\w+\.sql\nRead the files, and run them: filigree migrate up\.\n$/,
    ),
    err: '',
  })
  const files = (await readdir(join(folder, 'migrations'))).filter((file) =>
    file.includes('announce'),
  )
  const texts = await Promise.all(
    files.map((file) => readFile(join(folder, 'migrations', file), 'utf8')),
  )
  expect(texts.filter((text) => text.startsWith('-- Nothing to do: SQLite'))).toHaveLength(1)
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'check', '--database')).toMatchObject({ code: 0 })
  const status = await run('changes', 'status', '--json')
  expect(JSON.parse(status.out)).toMatchObject({
    tables: [{ table: 'lamp', state: 'announced' }],
    live: 'writes to announced tables, after their commit',
  })
  const doctor = await run('doctor', '--json')
  expect(JSON.parse(doctor.out)).toContainEqual({
    about: 'other programs',
    state: 'ok',
    what: 'their writes to lamp are announced',
  })

  expect(await run('changes', 'remove')).toMatchObject({ code: 0 })
  expect(await run('migrate', 'up')).toMatchObject({ code: 0 })
  expect((await run('changes')).out).toMatch(/^lamp {2}not announced\n/)
})

it('names a table that is near, and the actions', async () => {
  const near = await run('changes', 'install', 'lmap')
  expect(near).toMatchObject({ code: 2, out: '' })
  expect(near.err).toContain('"lmap" is neither a record nor a table. Did you mean "lamp"?')
  expect((await run('changes', 'instal')).err).toContain('install')
  expect((await run('changes', 'status', 'lamp')).err).toContain('unexpected argument "lamp"')
})

it('says that processes find the writes to a file of SQLite', async () => {
  process.env.DATABASE_URL = `sqlite:${join(folder, 'app.db')}`
  const { code, out } = await run('changes', 'status')
  expect(code).toBe(0)
  expect(out).toContain('live queries  all writes')
})
