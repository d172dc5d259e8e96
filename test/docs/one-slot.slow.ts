/** The recipe "One slot, one booking" with 40 concurrent requests to two processes: with its hook, and with its constraint alone. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { build, stop as stopCompiler } from 'esbuild'
import { connect } from 'filigree'
import { runSql } from '../records/run-sql.js'
import { startPostgres } from '../records/postgres-server.js'
import { root } from '../repository/source-files.js'

const page = readFileSync(join(root, 'docs/recipes/one-slot.md'), 'utf8')
const blockOf = (language: string): string =>
  new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? ''

const programs: string[] = []

/** @returns the path of the program, which is inside the repository, so that it finds its drivers */
async function bundle(name: string, contents: string): Promise<string> {
  const outfile = join(root, `node_modules/.filigree-${name}-${process.pid}.mjs`)
  await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    alias: { filigree: join(root, 'src/index.ts') },
    tsconfig: join(root, 'tsconfig.json'),
    logLevel: 'error',
    outfile,
  })
  programs.push(outfile)
  return outfile
}

const key = 'a-key-to-try-it-all'
const children: ChildProcess[] = []

/** @returns the URL of the process */
function start(program: string, database: string): Promise<string> {
  const env = { PATH: process.env.PATH, APP_API_KEY: key, DATABASE_URL: database, PORT: '0' }
  const child = spawn(process.execPath, [program], { env, cwd: tmpdir() })
  children.push(child)
  let output = ''
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += String(chunk)
      const address = /listening at (http:\/\/[\w.:[\]-]+)/.exec(output)?.[1]
      if (address !== undefined) resolve(address)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', () => {
      reject(new Error(output))
    })
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill()
  await ended
}

interface Answer {
  readonly status: number
  readonly body: { readonly error?: string }
}

async function post(address: string, path: string, json: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify(json)
  const response = await fetch(`${address}${path}`, { method: 'POST', headers, body })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

const slot = { roomId: 1, startsAt: '2027-01-05T10:00:00Z', endsAt: '2027-01-05T11:00:00Z' }

/** Expects that one of 40 requests succeeds and all others get a conflict. */
async function race(addresses: readonly string[]): Promise<void> {
  const [first = ''] = addresses
  expect(await post(first, '/rooms', { name: 'Blue' })).toMatchObject({ status: 201 })
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      post(addresses[index % addresses.length] ?? '', '/bookings', slot),
    ),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  const refused = answers.filter(({ status }) => status !== 201)
  expect(new Set(refused.map(({ status, body }) => `${status} ${body.error ?? ''}`))).toEqual(
    new Set(['409 The room is taken.']),
  )
}

const server = await startPostgres()
const folder = mkdtempSync(join(tmpdir(), 'filigree-one-slot-'))
afterEach(async () => {
  await Promise.all(children.splice(0).map(stop))
})
afterAll(async () => {
  await Promise.all([server.close(), stopCompiler()])
  for (const program of programs) rmSync(program, { force: true })
  rmSync(folder, { recursive: true })
})

const startTwo = async (program: string, database: string): Promise<string[]> => {
  // One after the other, because the first one creates the tables.
  const first = await start(program, database)
  return [first, await start(program, database)]
}

describe('of 40 bookings of one slot in two processes one is stored', () => {
  it.each([
    ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'slots.db')}`)],
    ['PostgreSQL', () => server.createDatabase()],
  ])('by the hook, on %s', async (_, open) => {
    const program = await bundle('one-slot', blockOf('ts'))
    await race(await startTwo(program, await open()))
  })

  it('by the exclusion constraint without the hook, on PostgreSQL', async () => {
    const program = await bundle('one-slot-bare', blockOf('ts').replace('@BeforeWrite()', ''))
    const url = await server.createDatabase()
    const addresses = await startTwo(program, url)
    const database = await connect(url, { records: [] })
    await runSql(database, blockOf('sql'))
    await database.close()
    await race(addresses)
  })
})
