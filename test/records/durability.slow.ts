/** What was answered is there after `kill -9`. Source: docs/records/access.md, Errors. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from '../../src/records/database.js'
import { bundleCreatingProgram } from './creating-program.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { frameworkQuery } from '../../src/engines/contract/statement.js'

const rounds = 3
/** A process that hangs must not outlive its test: Jest would wait for it. */
const maxMilliseconds = 50_000
let program: string

describe('kill -9 in the middle of creates', () => {
  let folder: string
  let server: PostgresServer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-kill-'))
    program = bundleCreatingProgram()
    server = await startPostgres()
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
    await rm(program)
    await server.close()
  })

  it.each(['sqlite', 'sqlite, synchronous=full', 'postgres'])(
    'loses nothing that was answered, on %s',
    async (engine) => {
      const file = `sqlite:${join(folder, `${engine.length}.db`)}`
      const sqliteUrl = engine.includes('full') ? `${file}?synchronous=full` : file
      const url = engine === 'postgres' ? await server.createDatabase() : sqliteUrl
      const answered: number[] = []
      for (let round = 0; round < rounds; round++) {
        answered.push(...(await createAndKill(url, round * 100_000, 150 + 100 * round)))
      }
      await using database = await connect(url)
      const rows = await database.kysely.selectFrom('entry').select('number').execute()
      const stored = rows.map(({ number }) => Number(number))
      expect(new Set(stored).size).toBe(stored.length)
      const kept = new Set(stored)
      expect(answered.filter((number) => !kept.has(number))).toStrictEqual([])
      expect(answered.length).toBeGreaterThanOrEqual(rounds * 150)
      if (engine === 'postgres') return
      const check = frameworkQuery('pragma integrity_check')
      expect((await database.context.engine.run(check, [], 'all')).rows).toStrictEqual([['ok']])
    },
  )
})

/** @returns the numbers that were answered until the process was killed, at least `count` */
function createAndKill(url: string, first: number, count: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, url, String(first)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const answered: number[] = []
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      answered.push(Number(line))
      if (answered.length === count) child.kill('SIGKILL')
    })
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, maxMilliseconds)
    child.on('error', reject)
    child.on('close', (_, signal) => {
      clearTimeout(deadline)
      const rows = `${answered.length} of ${count} rows`
      if (isLate) reject(new Error(`The process stored ${rows} in ${maxMilliseconds} ms.`))
      else if (signal === 'SIGKILL') resolve(answered)
      else reject(new Error(`The process ended by itself after ${rows}.`))
    })
  })
}
