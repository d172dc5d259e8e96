import { execFileSync } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import { bootstrap, Database } from '../../src/index.js'
import type { Finding } from '../../src/cli/commands/doctor-checks.js'
import { freePort } from '../free-port.js'
import { root } from '../openapi/command.js'
import { startPostgres } from '../records/postgres-server.js'
import { AppModule, Lamp } from './doctor/shop.js'
import { runIn, useFolder, type Outcome } from './run-in.js'
import { waitUntil } from '../wait-until.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
const server = await startPostgres()

afterAll(async () => {
  delete process.env.SHOP_DATABASE
  await rm(folder, { recursive: true, force: true })
  await server.close()
})

const doctor = (...args: string[]): Promise<Outcome> => runIn(folder, ['doctor', ...args])

const shop = ['--module', join(root, 'test/cli/doctor/shop.ts')]

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'shop.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('%s: queries that scanned', (engine, open) => {
  it('are named by the next start in development and by filigree doctor --database', async () => {
    const url = await open()
    const warnings: string[] = []
    const start = () => {
      const logger = {
        ...{ fatal: ignore, error: ignore, info: ignore, debug: ignore, trace: ignore },
        warn: (_details: unknown, message?: unknown) => void warnings.push(String(message)),
      }
      const env = { NODE_ENV: 'development', APP_API_KEY: 'key' }
      return bootstrap(AppModule, { database: url, listen: false, env, logger: logger as never })
    }
    const app = await start()
    const rows = Array.from({ length: 5000 }, (_, id) => ({
      color: `c${id % 7}`,
      name: `n${id}`,
      height: id % 100,
    }))
    await app.get(Database).records(Lamp).insertMany(rows)
    // The server of the tests analyzes no table by itself.
    if (engine === 'PostgreSQL') await sql`analyze`.execute(app.get(Database).kysely)
    // Subscribers cost each statement a little, so the scan log unsubscribes while it finds nothing new.
    while (channel('filigree:statement').hasSubscribers) {
      await app.inject({ url: '/lamps/7' })
      await new Promise((resolve) => setImmediate(resolve))
    }
    await waitUntil(() => channel('filigree:statement').hasSubscribers)
    const paths = [
      '/lamps?color=c3&orderBy=-height&count=none',
      '/lamps?name=n7&count=none',
      '/lamps?orderBy=-id&count=none',
      '/lamps/7',
    ]
    // A busy database may not store the advice: then the statement is examined when it runs again.
    await waitUntil(async () => {
      for (const path of paths) expect((await app.inject({ url: path })).status).toBe(200)
      return hasAdvice(app.get(Database))
    })
    await app.close()

    warnings.length = 0
    const restarted = await start()
    await restarted.close()
    const scanned = warnings.filter((text) => text.includes('reads a complete table'))
    expect(scanned).toEqual([
      expect.stringMatching(/Lamp.*color.*height.*fields: \['color', '-height'\]/),
    ])

    process.env.SHOP_DATABASE = url
    const output = await doctor('--database', ...shop)
    expect(output).toMatchObject({ code: 0, err: '' })
    expect(output.out).toMatch(/^Lamp: .*fields: \['color', '-height'\].*\n$/)
  })

  it('are not listed without queries', async () => {
    process.env.SHOP_DATABASE = `sqlite:${join(folder, 'empty.db')}`
    const output = await doctor('--database', ...shop)
    expect(output).toMatchObject({ code: 0, out: expect.stringContaining('No query') })
  })
})

describe('filigree doctor', () => {
  const findings = async (...args: string[]) => {
    const { code, out, err } = await doctor(...args, '--json', ...shop)
    return { code, err, found: JSON.parse(out) as Finding[] }
  }
  const about = (found: readonly Finding[], name: string) =>
    found.filter((one) => one.about === name)

  it('lists results, and what is open', async () => {
    // The test above has created it.
    process.env.SHOP_DATABASE = `sqlite:${join(folder, 'shop.db')}`
    const { code, err, found } = await findings()
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(about(found, 'Node.js')).toEqual([
      { about: 'Node.js', state: 'ok', what: process.versions.node },
    ])
    expect(about(found, 'declarations')[0]?.state).toBe('ok')
    expect(about(found, 'keys')[0]?.what).toContain('a key pair for development')
    expect(about(found, 'database')[0]?.state).toBe('ok')
    expect(about(found, 'migrations')[0]).toMatchObject({ state: 'note', what: 'there are none' })
    expect(about(found, 'open to everybody').length).toBeGreaterThan(1)
    const { out } = await doctor(...shop)
    expect(out).toMatch(/^ok +Node\.js/)
  })

  it('does not create a missing database', async () => {
    const file = join(folder, 'unmade.db')
    process.env.SHOP_DATABASE = `sqlite:${file}`
    const { code, found } = await findings()
    expect(code).toBe(0)
    expect(about(found, 'database')).toMatchObject([
      { state: 'note', what: 'its file does not exist yet' },
    ])
    await doctor('--database', ...shop)
    expect(existsSync(file)).toBe(false)
  })

  it('checks the compiler and its options', async () => {
    process.env.SHOP_DATABASE = `sqlite:${join(folder, 'whole.db')}`
    const config = { compilerOptions: { emitDecoratorMetadata: true, types: [] }, files: ['a.ts'] }
    await writeFile(join(folder, 'package.json'), '{}')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    const { found } = await findings()
    expect(about(found, 'TypeScript')[0]).toMatchObject({ state: 'ok' })
    const texts = about(found, 'compiler options').map(({ what }) => what)
    expect(texts).toContainEqual(expect.stringContaining('experimentalDecorators is off'))
    expect(texts).toContainEqual(expect.stringContaining('emitDecoratorMetadata is on'))
  })

  it('fails for an unreachable database, without its password', async () => {
    const address = 'postgres://desk:a-secret@127.0.0.1:9/desk?connectTimeout=500'
    process.env.SHOP_DATABASE = address
    const { code, found } = await findings()
    expect(code).toBe(1)
    expect(about(found, 'database')[0]?.state).toBe('fault')
    const { out, err } = await doctor(...shop)
    expect(out + err + JSON.stringify(found)).not.toContain('a-secret')
  })

  it('lists what is open in production, with and without errors', async () => {
    const { code, found } = await findings('--production')
    expect(code).toBe(1)
    expect(about(found, 'settings')).toContainEqual(
      expect.objectContaining({ state: 'fault', what: expect.stringContaining('no keys') }),
    )
    expect(about(found, 'open to everybody').length).toBeGreaterThan(1)
    process.env.SHOP_DATABASE = 'postgres://user@127.0.0.1:1/none'
    const { out } = await doctor('--production', ...shop)
    expect(out).toMatch(/\nOpen without a token:\n- read .*GET \/lamps/)
    expect(out).toMatch(/\n- write .*POST \/lamps/)
    expect(out).toMatch(/\n- read documentation .*openapi\.json/)
    expect(out).not.toContain('/stock')
  })

  it('distinguishes open records that show no rows without a sign-in', async () => {
    const { out } = await doctor('--production', '--module', join(root, 'test/cli/desk.ts'))
    expect(out).toMatch(/\n- read .*GET \/notes/)
    expect(out).not.toMatch(/\n- read .*(?:GET \/drafts|Draft)/)
    expect(out).toContain('\n- query Draft (open, shows no rows without a sign-in)\n')
  })

  it('checks the settings of the page about production, and lists the missing ones', async () => {
    const { found } = await findings('--production')
    const missing = found.filter(({ state }) => state === 'fault').map(({ about: name }) => name)
    expect(missing).toEqual(
      expect.arrayContaining(['NODE_ENV', 'trustProxy', 'health', 'accessLog', 'throttle']),
    )
    for (const one of found.filter(({ state }) => state === 'fault'))
      expect(one.remedy).toBeDefined()
  })

  it('finds no error if all requirements are met', async () => {
    const ready = join(root, 'test/cli/doctor/ready.ts')
    const variables = {
      NODE_ENV: 'production',
      DATABASE_URL: await server.createDatabase(),
      PORT: String(await freePort()),
      APP_API_KEY: 'a-key-of-thirty-two-letters-and-more',
    }
    const names = Object.keys(variables)
    const before = names.map((name) => process.env[name])
    Object.assign(process.env, variables)
    try {
      const { out, code } = await doctor('--production', '--json', '--module', ready)
      const found = JSON.parse(out) as Finding[]
      const listed = [
        'NODE_ENV',
        'DATABASE_URL',
        'trustProxy',
        'health',
        'metrics',
        'accessLog',
        'throttle',
        'APP_API_KEY',
        'securityHeaders',
        'documentation',
        'database',
        'port',
      ]
      expect(code).toBe(0)
      for (const name of listed) expect(about(found, name)).toMatchObject([{ state: 'ok' }])
    } finally {
      for (const [at, name] of names.entries()) {
        if (before[at] === undefined) Reflect.deleteProperty(process.env, name)
        else process.env[name] = before[at]
      }
    }
  })

  it('finds each unsafe setting', async () => {
    const careless = join(root, 'test/cli/doctor/careless.ts')
    const file = join(folder, 'readable.db')
    await writeFile(file, '', { mode: 0o644 })
    const before = { ...process.env }
    process.env.NODE_ENV = 'production'
    process.env.APP_API_KEY = 'eleven-char'
    process.env.DATABASE_URL = `sqlite:${file}`
    try {
      const { out, code } = await doctor('--production', '--json', '--module', careless)
      expect(code).toBe(1)
      const errors = (JSON.parse(out) as Finding[]).filter(({ state }) => state === 'fault')
      const what = (name: string) => errors.filter((one) => one.about === name)
      expect(what('APP_API_KEY')).toMatchObject([{ what: expect.stringMatching(/^has 11 char/) }])
      expect(what('trustProxy')).toMatchObject([
        { what: expect.stringMatching(/^is true: clients can forge/) },
      ])
      expect(what('metrics')).toMatchObject([{ what: '/metrics is open to everybody' }])
      expect(what('documentation')).toMatchObject([
        { what: expect.stringContaining('without a token') },
      ])
      expect(what('securityHeaders')).toHaveLength(1)
      expect(what('sign-in')).toMatchObject([
        { what: expect.stringMatching(/^POST \/login accepts/) },
      ])
      expect(what('database file')).toMatchObject([{ what: expect.stringContaining(file) }])
    } finally {
      for (const name of ['NODE_ENV', 'APP_API_KEY', 'DATABASE_URL']) {
        if (before[name] === undefined) Reflect.deleteProperty(process.env, name)
        else process.env[name] = before[name]
      }
    }
  })

  it('shows the code, file and source line of a mistake in the declarations', async () => {
    const faulty = ['--module', join(root, 'test/cli/faulty.ts')]
    const { out, code } = await doctor(...faulty)
    expect(code).toBe(1)
    expect(out).toMatch(/fault +declarations +error\[UNKNOWN_PATH_TYPE\]: GET \/<id:integer>/)
    expect(out).toMatch(/--> \S*test\/cli\/faulty\.ts:6:\d+\n/)
    expect(out).toMatch(/6 \| {3}@Get\('\/<id:integer>'\)\n/)
    expect(out).toMatch(/\| +\^{7}\n/)
    expect(out).toContain('Did you mean "int"?')
    const found = JSON.parse((await doctor('--json', ...faulty)).out) as Finding[]
    expect(about(found, 'declarations')).toMatchObject([
      {
        code: 'UNKNOWN_PATH_TYPE',
        source: { file: expect.stringMatching(/test\/cli\/faulty\.ts$/), line: 6 },
      },
    ])
  })

  it('suggests a similar option', async () => {
    const { code, err } = await doctor('--databse')
    expect(code).toBe(2)
    expect(err).toContain('--database')
  })
})

function ignore(): void {}

/** Whether the database has stored advice about statements that read complete tables. */
async function hasAdvice({ kysely }: Database): Promise<boolean> {
  const tables = await kysely.introspection.getTables()
  if (!tables.some(({ name }) => name === 'filigree_scans')) return false
  return (await kysely.selectFrom('filigree_scans').select('advice').execute()).length > 0
}

describe('keys in files that git tracks', () => {
  const place = useFolder()
  const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: place.folder })

  async function findings(...args: string[]): Promise<unknown[]> {
    const ready = ['--module', join(root, 'test/cli/doctor/ready.ts'), '--json']
    const { out } = await place.run('doctor', ...ready, ...args)
    const found = JSON.parse(out) as Finding[]
    return found
      .filter(({ about }) => about === 'tracked files')
      .map(({ state, what }) => `${state}: ${what}`)
  }

  it.each([[[]], [['--production']]])('are faults: doctor %j', async (args) => {
    const keys = JSON.parse((await place.run('keys', '--json')).out) as { [name: string]: string }
    await mkdir(join(place.folder, 'deploy'))
    await mkdir(join(place.folder, 'test'))
    const write = (name: string, text = ''): Promise<void> =>
      writeFile(join(place.folder, name), text)
    await write('production.env', (await place.run('keys')).out)
    await write('deploy/a b.yaml', `env:\n  APP_API_KEY: ${keys['APP_API_KEY']}\n`)
    await write('test/key.pem', keys['APP_PRIVATE_KEY'])
    await write('public-key.pem', keys['APP_PUBLIC_KEY'])
    await write(
      'README.md',
      'APP_API_KEY=${{ secrets.APP_API_KEY }}, APP_API_KEY=<key>, APP_API_KEY=short',
    )
    git('init', '--quiet')
    expect(await findings(...args)).toEqual(['ok: git tracks no keys'])
    git('add', '--all')
    expect(await findings(...args)).toEqual([
      'fault: deploy/a b.yaml contains a key, and git tracks it',
      'fault: production.env contains a key, and git tracks it',
      'note: test/key.pem contains a key, and git tracks it',
    ])
  })

  it('are no subject outside of a repository', async () => {
    expect(await findings()).toEqual([])
  })
})
