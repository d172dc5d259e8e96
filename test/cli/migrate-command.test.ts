import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '../../src/index.js'
import { root } from '../openapi/command.js'
import { Lamp } from './migrate/lamp.js'
import { runIn, type Outcome } from './run-in.js'

const shop = join(root, 'test/cli/migrate/shop.ts')
const environmentShop = join(root, 'test/cli/migrate/shop-from-environment.ts')
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  process.env.SHOP_DATABASE = `sqlite:${join(folder, 'shop.db')}`
})

afterAll(async () => {
  delete process.env.SHOP_DATABASE
  await rm(folder, { recursive: true, force: true })
})

const run = (...args: string[]): Promise<Outcome> => runIn(folder, ['migrate', ...args])

/** Removes the time of each migration, which differs between runs. */
const withoutTimes = (text: string): string => text.replace(/ \([\d.]+ m?s\)/g, '')

describe('filigree migrate', () => {
  it('creates a migration, runs it, lists it and undoes it', async () => {
    const made = await run('make', 'first lamps', '--module', shop)
    expect(made).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^(migrations\/\d{14}_first-lamps)\.sqlite\.sql\n\1\.postgres\.sql\n$/,
      ),
      err: '',
    })
    const files = await readdir(join(folder, 'migrations'))
    expect(files.map((file) => file.replace(/^\d{14}_/, ''))).toEqual([
      'first-lamps.postgres.sql',
      'first-lamps.sqlite.sql',
      'schema.postgres.json',
    ])
    const [file = ''] = files
    expect(await readFile(join(folder, 'migrations', file), 'utf8')).toMatch(
      /create table "?lamp"?/i,
    )

    const name = file.replace('.postgres.sql', '')
    expect(await run('status', '--module', shop)).toEqual({
      code: 1,
      out: `pending ${name}\n`,
      err: '',
    })
    expect(withoutTimes((await run('up', '--module', shop)).out)).toBe(`ran: ${name}\n`)
    expect((await run('up', '--module', shop)).out).toBe('Nothing to do.\n')
    const asJson = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await run(...args, '--json', '--module', shop)).out)
    expect(await asJson('up')).toEqual({ ran: [] })
    expect(await asJson('status')).toEqual([expect.objectContaining({ name, state: 'applied' })])
    expect(await asJson('check')).toEqual({ problems: [] })
    expect(await asJson('make', 'again')).toEqual({ files: [], applied: [], warnings: [] })
    expect(await run('status', '--module', shop)).toEqual({
      code: 0,
      out: `applied ${name}\n`,
      err: '',
    })
    expect((await run('make', 'again', '--module', shop)).out).toBe(
      'The migrations already fit the records: no new one is needed.\nFor your own statements use --empty.\n',
    )
    expect((await run('down', '--module', shop)).out).toBe(`undone: ${name}\n`)
    expect((await run('status', '--module', shop)).code).toBe(1)
  })

  it('creates a file for custom statements, which runs after all other migrations', async () => {
    const customFolder = join(folder, 'own')
    const inOwn = (...args: string[]): Promise<Outcome> => run(...args, '--folder', 'own')
    await inOwn('make', 'lamps', '--module', shop)
    for (const file of await readdir(customFolder)) {
      const renamedFile = file.replace(/^\d{14}/, '20991231235959')
      await rename(join(customFolder, file), join(customFolder, renamedFile))
    }
    // Neither an application nor a database is needed.
    const { code, out } = await inOwn('make', 'a fill', '--empty')
    const name = '21000101000000_a-fill'
    expect({ code, out }).toEqual({
      code: 0,
      out: `own/${name}.sqlite.sql\nown/${name}.postgres.sql\n`,
    })
    const text = await readFile(join(customFolder, `${name}.sqlite.sql`), 'utf8')
    expect(text).toBe('-- Statements of your own, each with its semicolon.\n\n-- down\n')
    expect(withoutTimes((await inOwn('up', '--module', shop)).out)).toBe(
      `ran: 20991231235959_lamps\nran: ${name}\n`,
    )
    expect((await inOwn('up', '--empty')).err).toContain('--empty is only for make.')
  })

  it('creates, runs, compiles and undoes a migration in code', async () => {
    const cwd = join(folder, 'code')
    await mkdir(cwd)
    await symlink(join(root, 'node_modules'), join(cwd, 'node_modules'))
    await writeFile(join(cwd, 'tsconfig.json'), '{}')
    await writeFile(join(cwd, 'package.json'), '{ "type": "module" }')
    process.env.DATABASE_URL = `sqlite:${join(cwd, 'shop.db')}`
    const inFolder = (...args: string[]): Promise<Outcome> =>
      runIn(cwd, ['migrate', ...args, '--module', environmentShop])
    await inFolder('make', 'lamps')
    const { code, out } = await inFolder('make', 'fill lamps', '--code')
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^migrations\/\d{14}_fill-lamps\.ts\n$/),
    })
    const name = out.slice('migrations/'.length, -'.ts\n'.length)
    const file = join(cwd, out.trim())
    expect(await readFile(file, 'utf8')).toMatch(
      /^import type \{ MigrationContext \} from 'filigree'\n[^]*export const down = async/,
    )
    expect((await inFolder('status')).out).toContain(`pending ${name}`)
    expect(await inFolder('check')).toMatchObject({ code: 0, err: '' })
    expect(withoutTimes((await inFolder('up')).out)).toContain(`ran: ${name}\n`)
    // A server without the sources runs the compiled file, and accepts the database.
    const built = `dist/migrations/${name}.mjs`
    expect((await inFolder('build')).out).toBe(`${built}\n`)
    await rename(join(cwd, 'migrations'), join(cwd, 'sources'))
    expect((await readdir(join(cwd, 'dist/migrations'))).length).toBe(4)
    expect(await inFolder('status')).toMatchObject({ code: 0 })
    expect(await inFolder('up')).toMatchObject({ code: 0, out: 'Nothing to do.\n' })
    expect((await inFolder('down')).out).toBe(`undone: ${name}\n`)
    expect((await inFolder('up', '--code')).err).toContain('--code is only for make.')
    expect((await inFolder('make', 'x', '--code', '--empty')).err).toContain('Choose one.')
    delete process.env.DATABASE_URL
  })

  it('treats tables that the application has created as applied', async () => {
    const database = await connect(process.env.SHOP_DATABASE ?? '', { records: [Lamp] })
    await database.sync()
    await database.close()
    const { out } = await run('make', 'lamps', '--module', shop, '--folder', 'others')
    expect(out).toMatch(/\nalready applied to this database: \d{14}_lamps\n$/)
  })

  it('needs no production settings except the database', async () => {
    const saved = { ...process.env }
    Object.assign(process.env, { NODE_ENV: 'production', PORT: 'none', PUBLIC_URL: 'nowhere' })
    delete process.env.APP_PRIVATE_KEY
    try {
      const inProduction = async (...args: string[]): Promise<unknown> => {
        const { code, err } = await run(...args, '--module', shop, '--folder', 'production')
        return { code, err }
      }
      expect(await inProduction('make', 'lamps')).toEqual({ code: 0, err: '' })
      expect(await inProduction('check')).toEqual({ code: 0, err: '' })
      expect(await inProduction('status')).toEqual({ code: 1, err: '' })
      expect(await inProduction('up')).toEqual({ code: 0, err: '' })
    } finally {
      process.env = saved
    }
  })

  it('does not need the folders of static files', async () => {
    const withPage = join(root, 'test/cli/migrate/with-page.ts')
    const args = ['--module', withPage, '--folder', 'with-page']
    expect(await run('make', 'lamps', ...args)).toMatchObject({ code: 0, err: '' })
    expect(await run('status', ...args)).toMatchObject({ code: 1, err: '' })
    expect(await run('check', ...args)).toMatchObject({ code: 0, err: '' })
    expect((await runIn(folder, ['routes', withPage])).err).toContain('error[STATIC_FOLDER]')
  })

  it('checks classes and files without a database, for the engines of package.json', async () => {
    const cwd = join(folder, 'checked')
    await mkdir(cwd)
    await writeFile(join(cwd, 'package.json'), '{ "filigree": { "engines": ["postgres"] } }')
    const inFolder = (...args: string[]): Promise<Outcome> =>
      runIn(cwd, ['migrate', ...args, '--module', shop])
    const before = await inFolder('check')
    expect([before.code, before.err]).toEqual([
      1,
      'PostgreSQL: Table lamp is missing.\nWrite a migration: filigree migrate make <name>.\n',
    ])
    expect((await inFolder('make', 'lamps')).code).toBe(0)
    expect(
      (await readdir(join(cwd, 'migrations'))).map((file) => file.replace(/^\d+_/, '')),
    ).toEqual(['lamps.postgres.sql', 'schema.postgres.json'])
    expect(await inFolder('check')).toEqual({
      code: 0,
      out: 'The migrations fit the records.\n',
      err: expect.stringContaining('filigree migrate adopt sqlite'),
    })
    const snapshot = join(cwd, 'migrations', 'schema.postgres.json')
    const text = await readFile(snapshot, 'utf8')
    await writeFile(snapshot, text.replaceAll('"name": "name"', '"name": "title"'))
    const after = await inFolder('check')
    expect(after.code).toBe(1)
    expect(after.err).toContain('lamp.name is missing (Lamp.name).')
    await writeFile(join(cwd, 'package.json'), '{ "filigree": { "engines": "postgres" } }')
    expect((await inFolder('check')).code).toBe(2)
  })

  it('lists statements that down does not undo', async () => {
    const own = join(folder, 'halfway')
    await mkdir(own)
    const file = join(own, '22000101000000_split.sqlite.sql')
    const review = '-- REVIEW: cannot be undone automatically: A row was split.'
    await writeFile(file, `select 1;\n\n-- down\nselect 1;\n${review}\n`)
    await run('up', '--module', shop, '--folder', 'halfway')
    expect(await run('down', '--module', shop, '--folder', 'halfway')).toEqual({
      code: 0,
      out: 'undone: 22000101000000_split\n',
      err: 'not undone: A row was split.\n',
    })
  })

  it('reports the error of a migration', async () => {
    await mkdir(join(folder, 'faulty'))
    await writeFile(join(folder, 'faulty', '1_x.sqlite.sql'), 'nonsense;')
    const { code, err } = await run('up', '--module', shop, '--folder', 'faulty')
    expect(code).toBe(1)
    expect(err).toBe(
      'filigree migrate: 1 problem\n\nerror[MIGRATION_FAILED]: Migration 1_x: near "nonsense": syntax error.\n  = Correct it.\n\nTo read more about it: filigree explain MIGRATION_FAILED\n',
    )
  })

  it.each([
    [[], 'the action is missing. Actions: make, up, down, status, check, build, adopt.'],
    [['make'], 'the name is missing'],
    [['up', 'twice'], 'unexpected argument "twice"'],
    [['down', '--steps', 'x'], '--steps x is not a number from 1.'],
    [['up', '--fodler', 'x'], 'unknown option --fodler. Did you mean "--folder"?'],
  ])('refuses %j with its usage', async (args, message) => {
    const { code, err } = await run(...args)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(err).toContain('Usage: filigree migrate make <name> | up | down | status')
  })
})
