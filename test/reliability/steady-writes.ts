/** Clients that write pairs of rows continuously and record the responses. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../src/index.js'
import { Shadow, Thing } from './shop-application.js'

export interface Written {
  /** Names whose write succeeded. */
  readonly names: Set<string>
  /** The number of responses by status. 0 means no response. */
  readonly statuses: Record<string, number>
  /** The text of 503 responses without `Retry-After`, and of all other 5xx responses. */
  readonly unclean: string[]
  /** The number of successes since the last failure. */
  inRow: number
}

let count = 0

/** Writes until `isOver` returns true. */
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
    // The process has stopped.
  }
  written.statuses[status] = (written.statuses[status] ?? 0) + 1
  const isDone = status >= 200 && status < 300
  if (isDone) written.names.add(name)
  written.inRow = isDone ? written.inRow + 1 : 0
  return isDone
}

/** Counts confirmed names that are not stored, and partial writes. */
export async function findLoss(
  database: Database,
  { names }: Written,
): Promise<{ readonly missing: number; readonly half: number; readonly rows: number }> {
  const namesOf = async (table: string): Promise<Set<string>> => {
    const rows = await database.kysely.selectFrom(table).select('name').execute()
    return new Set(rows.map(({ name }) => String(name)))
  }
  // The tables are named after the records.
  const [things, shadows] = [
    await namesOf(Thing.name.toLowerCase()),
    await namesOf(Shadow.name.toLowerCase()),
  ]
  return {
    missing: [...names].filter((name) => !things.has(name) || !shadows.has(name)).length,
    half:
      [...things].filter((name) => !shadows.has(name)).length +
      [...shadows].filter((name) => !things.has(name)).length,
    rows: things.size,
  }
}
