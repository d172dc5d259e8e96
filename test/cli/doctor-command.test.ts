import { channel } from 'node:diagnostics_channel'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { bootstrap } from '../../src/index.js'
import { runCommand } from '../../src/cli/run-command.js'
import { Database } from '../../src/records/database.js'
import { readScans } from '../../src/records/scans/kept-scans.js'
import { root } from '../openapi/command.js'
import { startPostgres } from '../records/postgres-server.js'
import { AppModule, Lamp } from './doctor/shop.js'

const folder = await mkdtemp(join(tmpdir(), 'filigree-'))
const server = await startPostgres()

afterAll(async () => {
  delete process.env.SHOP_DATABASE
  await rm(folder, { recursive: true, force: true })
  await server.close()
})

async function doctor(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const code = await runCommand(['doctor', ...args], {
    out: async (text) => void (out += text),
    err: async (text) => void (err += text),
    cwd: folder,
  })
  return { code, out, err }
}

const shop = ['--module', join(root, 'test/cli/doctor/shop.ts')]

describe.each([
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'shop.db')}`)],
  ['PostgreSQL', () => server.createDatabase()],
])('%s: queries that scanned', (_name, open) => {
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
    // Whoever listens costs each statement something: what is known again and again is not listened to.
    while (channel('filigree:statement').hasSubscribers) await app.inject({ url: '/lamps/7' })
    while (!channel('filigree:statement').hasSubscribers)
      await new Promise((resolve) => setTimeout(resolve, 20))
    const asked = [
      '/lamps?color=c3&orderBy=-height&count=none',
      '/lamps?name=n7&count=none',
      '/lamps?orderBy=-id&count=none',
      '/lamps/7',
    ]
    for (const path of asked) expect((await app.inject({ url: path })).status).toBe(200)
    while ((await readScans(app.get(Database))).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20))
    await app.close()

    warnings.length = 0
    const again = await start()
    await again.close()
    const scanned = warnings.filter((text) => text.includes('reads a whole table'))
    expect(scanned).toEqual([
      expect.stringMatching(/Lamp.*color.*height.*fields: \['color', '-height'\]/),
    ])

    process.env.SHOP_DATABASE = url
    const told = await doctor('--database', ...shop)
    expect(told).toMatchObject({ code: 0, err: '' })
    expect(told.out).toMatch(/^Lamp: .*fields: \['color', '-height'\].*\n$/)
  })

  it('are none where nothing was asked', async () => {
    process.env.SHOP_DATABASE = `sqlite:${join(folder, 'empty.db')}`
    const told = await doctor('--database', ...shop)
    expect(told).toMatchObject({ code: 0, out: expect.stringContaining('No query') })
  })
})

it('says what is open to everybody, without a database', async () => {
  process.env.SHOP_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
  const told = await doctor('--production', ...shop)
  expect(told).toMatchObject({ code: 0, err: '' })
  expect(told.out).toMatch(/^Everybody may, without a token:\n- read .*GET \/lamps/)
  expect(told.out).toMatch(/\n- write .*POST \/lamps/)
  expect(told.out).toMatch(/\n- read documentation .*openapi\.json/)
  expect(told.out).not.toContain('/stock')
})

it('wants to be told what to look at', async () => {
  expect((await doctor()).code).toBe(2)
  expect((await doctor('--nothing')).code).toBe(2)
})

function ignore(): void {}
