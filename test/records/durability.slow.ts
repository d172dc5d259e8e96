/** Confirmed writes survive `kill -9`. Source: docs/records/access.md, Errors. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect } from 'filigree'
import { bundleProgram } from '../bundle-program.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { readSql } from './run-sql.js'

const kills = 3
/** A process that hangs must not outlive its test: Jest would wait for it. */
const maxMilliseconds = 50_000
let program: string

describe('kill -9 during creates', () => {
  let folder: string
  let server: PostgresServer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-kill-'))
    program = bundleProgram('records/creating-process')
    server = await startPostgres()
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
    await rm(program)
    await server.close()
  })

  it.each(['sqlite', 'sqlite, synchronous=full', 'postgres'])(
    'loses no confirmed write on %s',
    async (engine) => {
      const file = `sqlite:${join(folder, `${engine.length}.db`)}`
      const sqliteUrl = engine.includes('full') ? `${file}?synchronous=full` : file
      const url = engine === 'postgres' ? await server.createDatabase() : sqliteUrl
      const confirmed: number[] = []
      for (let kill = 0; kill < kills; kill++) {
        confirmed.push(...(await createAndKill(url, kill * 100_000, 150 + 100 * kill)))
      }
      await using database = await connect(url)
      const rows = await database.kysely.selectFrom('entry').select('number').execute()
      const stored = rows.map(({ number }) => Number(number))
      expect(new Set(stored).size).toBe(stored.length)
      const storedNumbers = new Set(stored)
      expect(confirmed.filter((number) => !storedNumbers.has(number))).toStrictEqual([])
      expect(confirmed.length).toBeGreaterThanOrEqual(kills * 150)
      if (engine === 'postgres') return
      expect(await readSql(database, 'pragma integrity_check')).toStrictEqual([['ok']])
    },
  )
})

/** Kills the process after `count` confirmed rows. @returns the numbers of all confirmed rows */
function createAndKill(url: string, first: number, count: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, url, String(first)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const confirmed: number[] = []
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      confirmed.push(Number(line))
      if (confirmed.length === count) child.kill('SIGKILL')
    })
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, maxMilliseconds)
    child.on('error', reject)
    child.on('close', (_, signal) => {
      clearTimeout(deadline)
      const rows = `${confirmed.length} of ${count} rows`
      if (isLate) reject(new Error(`The process stored ${rows} in ${maxMilliseconds} ms.`))
      else if (signal === 'SIGKILL') resolve(confirmed)
      else reject(new Error(`The process ended by itself after ${rows}.`))
    })
  })
}
