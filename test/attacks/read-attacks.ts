/** Attacks by reads that are small or few, but cost the database or the process much. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrap, Controller, Database, Field, Module, Record, type Application } from 'filigree'
import type { Attack } from './attack.js'
import { sampleGrowth, watchTurns } from './measure.js'

@Record
class Parcel {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer') weight!: number
}

@Controller('/parcels', { crud: Parcel })
class ParcelController {}

@Module({ controllers: [ParcelController], records: [Parcel] })
class ParcelModule {}

const parcelCount = 200_000

/** Runs work on an application with a file of many rows. */
async function withParcels<T>(work: (app: Application) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-attack-'))
  const app = await bootstrap(ParcelModule, {
    ...{ listen: false, logger: false, env: {}, trustProxy: 1 },
    database: `sqlite:${join(folder, 'parcels.db')}`,
  })
  try {
    const rows = Array.from({ length: parcelCount }, (_, index) => ({
      name: `Parcel ${index}`,
      weight: (index * 7919) % 1000,
    }))
    await app.get(Database).records(Parcel).insertMany(rows)
    return await work(app)
  } finally {
    await app.close()
    await rm(folder, { recursive: true })
  }
}

/** The median time of ten searches by a client, in milliseconds. */
async function timeSearches(app: Application): Promise<number> {
  const times: number[] = []
  for (let number = 0; number < 10; number++) {
    const startedAt = performance.now()
    await app.inject({
      url: `/parcels?name.endsWith=${number}&limit=5`,
      headers: { 'x-forwarded-for': '192.0.2.2' },
    })
    times.push(performance.now() - startedAt)
  }
  return times.sort((first, second) => first - second)[times.length / 2] ?? NaN
}

async function attackByLists(app: Application): Promise<{ alone: number; attacked: number }> {
  const alone = await timeSearches(app)
  let isOver = false
  const attackers = Array.from({ length: 10 }, async (_, attacker) => {
    while (!isOver)
      await app.inject({
        url: `/parcels?name.endsWith=${attacker}&orderBy=-weight&limit=5`,
        headers: { 'x-forwarded-for': '192.0.2.1' },
      })
  })
  const attacked = await timeSearches(app)
  isOver = true
  await Promise.all(attackers)
  return { alone, attacked }
}

@Record
class Scan {
  @Field('id') id!: number
  @Field('text') content!: string
}

@Controller('/scans', { crud: Scan })
class ScanController {}

@Module({ controllers: [ScanController], records: [Scan] })
class ScanModule {}

/** Requests all of 150 rows of 1 MB, several times. @returns the statuses */
async function attackByLargeRows(app: Application): Promise<string> {
  const statuses = new Set<number>()
  for (const url of ['/scans?limit=1000', '/scans?limit=1000&content.like=%25x%25']) {
    const responses = await Promise.all([1, 2, 3].map(() => app.inject({ url })))
    for (const { status } of responses) statuses.add(status)
  }
  return [...statuses].join(', ')
}

async function withScans<T>(work: (app: Application) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-attack-'))
  const app = await bootstrap(ScanModule, {
    ...{ listen: false, logger: false, env: {} },
    database: `sqlite:${join(folder, 'scans.db')}`,
  })
  try {
    for (let number = 0; number < 150; number++)
      await app
        .get(Database)
        .records(Scan)
        .create({ content: `${number}`.padEnd(1_000_000, 'x') })
    return await work(app)
  } finally {
    await app.close()
    await rm(folder, { recursive: true })
  }
}

export const attacks: readonly Attack[] = [
  {
    name: 'anonymous lists of 150 rows of 1 MB',
    before:
      'other requests wait 3.5 s, the process grows by 540 MiB, the connection ends without a byte',
    measures: true,
    run: () =>
      withScans(async (app) => {
        const endSampling = sampleGrowth(5)
        const endTurns = watchTurns()
        const statuses = await attackByLargeRows(app)
        const [growth, longest] = [endSampling(), endTurns()]
        return {
          now: `${statuses}; the process grew by ${growth.toFixed(0)} MiB, the longest turn took ${longest.toFixed(0)} ms`,
          isBlocked: statuses === '400' && growth < 128 && longest < 200,
        }
      }),
  },
  {
    name: 'ten small lists at a time by one client, while another client searches',
    before: 'the search of the other client waits for all of them: 5 s instead of 6 ms',
    measures: true,
    run: () =>
      withParcels(async (app) => {
        const { alone, attacked } = await attackByLists(app)
        return {
          now: `the search takes ${attacked.toFixed(0)} ms instead of ${alone.toFixed(0)} ms`,
          isBlocked: attacked < 500,
        }
      }),
  },
]
