/**
 * The long run of `consistency.long.ts`: 200 live queries, 10,000 writes from three processes, on SQLite and PostgreSQL.
 * `npm run live-consistency [-- <queries> <writes> <seed>]` exits with 1 where a live query is wrong.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../records/postgres-server.js'
import { findMistakes } from './consistency.js'

const [queries = 200, writes = 10_000, seed = 20261123] = process.argv.slice(2).map(Number)
const folder = await mkdtemp(join(tmpdir(), 'live-consistency-'))
const server = await startPostgres()
let isConsistent = true
for (const [name, url] of [
  ['SQLite', `sqlite:${join(folder, 'truth.db')}`],
  ['PostgreSQL', await server.createDatabase()],
] as const) {
  const startedAt = performance.now()
  const elsewhere = (share: number, writerSeed: number): Promise<number> =>
    writeElsewhere(url, share, writerSeed)
  const result = await findMistakes({ url, queries, writes, seed, timeout: 60_000, elsewhere })
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(
    `${name}: ${queries} live queries, ${result.stored} of ${writes} writes stored, ${result.messages} messages, ${result.mistakes.length} untrue, ${seconds} s`,
  )
  for (const mistake of result.mistakes.slice(0, 10)) console.log(`  ${mistake.slice(0, 2000)}`)
  if (result.mistakes.length > 0) isConsistent = false
}
await server.close()
await rm(folder, { recursive: true })
process.exitCode = isConsistent ? 0 : 1

function writeElsewhere(url: string, count: number, writerSeed: number): Promise<number> {
  const program = join(import.meta.dirname, 'consistency-writer.ts')
  const args = ['--import', 'tsx', program, url, String(count), String(writerSeed)]
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(import.meta.dirname, '../tsconfig.json') }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(Number(text))
      else reject(new Error(`A writer ended with ${code}.`))
    })
  })
}
