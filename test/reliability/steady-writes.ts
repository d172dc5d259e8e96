/** Clients that write pairs of rows all the time, and remember what they were answered. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../src/index.js'
import { Shadow, Thing } from './shop-application.js'

export interface Written {
  /** Names that were answered with success. */
  readonly names: Set<string>
  /** How often each status came; 0 is no answer. */
  readonly statuses: Record<string, number>
  /** Answers of 503 without `Retry-After`, and of any other status from 500. */
  readonly unclean: string[]
  /** Since when all answers are successes: how many there are in a row. */
  inRow: number
}

let count = 0

/** @returns once `isOver` says so */
export async function writeSteadily(
  urls: readonly string[],
  clients: number,
  isOver: (written: Written) => boolean,
): Promise<Written> {
  const written: Written = { names: new Set(), statuses: {}, unclean: [], inRow: 0 }
  const work = async (index: number): Promise<void> => {
    const url = urls[index % urls.length] ?? ''
    while (!isOver(written)) if (!(await writeOne(url, written))) await pause(20)
  }
  await Promise.all(Array.from({ length: clients }, (_, index) => work(index)))
  return written
}

async function writeOne(url: string, written: Written): Promise<boolean> {
  const name = `n${count++}`
  let status = 0
  try {
    const answer = await fetch(`${url}/pairs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
      signal: AbortSignal.timeout(40_000),
    })
    status = answer.status
    const text = await answer.text()
    const isClean = status < 500 || (status === 503 && answer.headers.has('retry-after'))
    if (!isClean) written.unclean.push(text)
  } catch {
    // Its process is gone.
  }
  written.statuses[status] = (written.statuses[status] ?? 0) + 1
  const isDone = status >= 200 && status < 300
  if (isDone) written.names.add(name)
  written.inRow = isDone ? written.inRow + 1 : 0
  return isDone
}

/** What was answered and is not there, and what is there by half. */
export async function findLoss(
  database: Database,
  { names }: Written,
): Promise<{ readonly lost: number; readonly half: number; readonly rows: number }> {
  const namesOf = async (table: string): Promise<Set<string>> => {
    const rows = await database.kysely.selectFrom(table).select('name').execute()
    return new Set(rows.map(({ name }) => String(name)))
  }
  // The tables are those of the records.
  const [things, shadows] = [
    await namesOf(Thing.name.toLowerCase()),
    await namesOf(Shadow.name.toLowerCase()),
  ]
  return {
    lost: [...names].filter((name) => !things.has(name) || !shadows.has(name)).length,
    half:
      [...things].filter((name) => !shadows.has(name)).length +
      [...shadows].filter((name) => !things.has(name)).length,
    rows: things.size,
  }
}
