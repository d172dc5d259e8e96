/**
 * Kills PostgreSQL by `kill -9` in the middle of writes, and starts it again: confirmed writes are stored, no write is stored
 * by half, requests are 503 meanwhile, and the application recovers by itself. `npm run faults -- --only postgres`
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Database } from '../../src/index.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'
import { say } from './command-line.js'
import { start } from './shop-application.js'
import { findLoss, writeSteadily } from './steady-writes.js'

const repetitions = 3

/** @returns the number of findings */
export async function killPostgres(): Promise<number> {
  const server = await startOwnPostgres()
  const app = await start(await server.createDatabase())
  const database = app.get(Database)
  let findings = 0
  try {
    for (let repetition = 1; repetition <= repetitions; repetition++) {
      const postmaster = await postmasterOf(database)
      let isBack = false
      let downFor = 0
      const killing = async (): Promise<void> => {
        await pause(300 * repetition)
        const killedAt = performance.now()
        process.kill(postmaster, 'SIGKILL')
        await startAgain(server)
        isBack = true
        downFor = Math.round(performance.now() - killedAt)
      }
      const [written] = await Promise.all([
        writeSteadily([app.url], 8, ({ inRow }) => isBack && inRow >= 50),
        killing(),
      ])
      const { names, statuses, unclean } = written
      const loss = await findLoss(database, written)
      findings += loss.missing + loss.half + unclean.length
      say({
        part: 'postgres',
        round: repetition,
        answered: names.size,
        statuses,
        unclean,
        downFor,
        ...loss,
      })
    }
  } finally {
    await app.close()
    await server.close()
  }
  return findings
}

/** Reads the process id in the first line of `postmaster.pid`. */
async function postmasterOf({ kysely }: Database): Promise<number> {
  const { rows } = await kysely.executeQuery<{ data_directory: string }>({
    sql: 'show data_directory',
    parameters: [],
    query: { kind: 'RawNode' },
    queryId: {},
  } as never)
  const text = await readFile(join(rows[0]?.data_directory ?? '', 'postmaster.pid'), 'utf8')
  return Number(text.split('\n')[0])
}

/** Retries, because resources of the killed server block the start for a short time. */
async function startAgain(server: OwnPostgres): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await server.start()
      return
    } catch (error) {
      if (attempt === 50) throw error
      await pause(200)
    }
  }
}
