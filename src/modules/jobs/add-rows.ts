/** Statements that add jobs: one by its own, many by a JSON list of what differs. */
import type { SqlRow, SqlFragments } from '../../index.js'
import type { JobTable } from './job-table.js'
import type { NewJob, When } from './stored-job.js'

/** How many rows a statement adds at most, and how many characters of bodies. */
const mostRows = 5_000
const mostText = 4_000_000

/** @returns its id; undefined if one with its `unique` stands */
export async function addRow(
  table: JobTable,
  job: NewJob,
  when: When,
): Promise<number | undefined> {
  const { name, body, isSecret, priority, retries, backoff, keep, unique, group, trace } = job
  const isUnique = unique !== null
  const statement = table.prepare(`add ${when.kind} ${isUnique} ${isSecret}`, 'insert', (words) => {
    const { value } = words
    const cells = [
      ...[value('name'), `'waiting'`, value('body'), value('priority'), ...writeTimes(words, when)],
      ...['0', value('retries'), value('backoff'), value('keep'), '0'],
      ...[value('unique'), value('group'), value('trace'), words.now(value('shift'))],
    ]
    const otherwise = isUnique ? ' on conflict do nothing' : ''
    return `insert into jobs (${columns(isSecret)}) values (${cells.join(', ')})${otherwise} returning id`
  })
  const [row] = await statement.rows({
    ...{ name, body, priority, retries, backoff, keep, unique, group, trace },
    ...timesOf(table, when),
  })
  return row && Number(row[0])
}

/** Adds jobs of one method that share their options, without `unique`. @returns the ids, in order */
export async function addRows(
  table: JobTable,
  jobs: readonly NewJob[],
  when: When,
): Promise<number[]> {
  const pieces = toPieces(jobs)
  const add = async (): Promise<number[]> => {
    const ids: number[] = []
    for (const piece of pieces) ids.push(...(await addPiece(table, piece, when)))
    return ids
  }
  return pieces.length < 2
    ? add()
    : table.database.transaction(add, { isolation: 'read committed' })
}

function toPieces(jobs: readonly NewJob[]): NewJob[][] {
  const pieces: NewJob[][] = []
  let size = Infinity
  for (const job of jobs) {
    const length = job.body?.length ?? 0
    let piece = pieces.at(-1)
    if (piece === undefined || piece.length >= mostRows || size + length > mostText) {
      piece = []
      pieces.push(piece)
      size = 0
    }
    piece.push(job)
    size += length
  }
  return pieces
}

async function addPiece(table: JobTable, jobs: readonly NewJob[], when: When): Promise<number[]> {
  const [first] = jobs
  if (first === undefined) return []
  const { name, isSecret, priority, retries, backoff, keep, trace } = first
  const statement = table.prepare(`add many ${when.kind} ${isSecret}`, 'insert', (words) => {
    const { value, items, now } = words
    const number = (of: string): string => `cast(${value(of)} as bigint)`
    const text = (of: string): string => `cast(${value(of)} as text)`
    const cells = [
      ...[text('name'), `'waiting'`, "value -> 'b'", number('priority')],
      ...[...writeTimes(words, when), '0', number('retries'), number('backoff'), number('keep')],
      ...['0', 'null', "value ->> 'g'", text('trace'), now(value('shift'))],
    ]
    return `insert into jobs (${columns(isSecret)})
select ${cells.join(', ')} from (${items('jobs')}) as items returning id`
  })
  const rows = await statement.rows({
    ...{ name, priority, retries, backoff, keep, trace, jobs: toList(jobs) },
    ...timesOf(table, when),
  })
  return toIds(rows)
}

/** Bodies are JSON already. */
function toList(jobs: readonly NewJob[]): string {
  const items = jobs.map(({ body, group }) => {
    const parts = body === null ? [] : [`"b":${body}`]
    if (group !== null) parts.push(`"g":${JSON.stringify(group)}`)
    return `{${parts.join(',')}}`
  })
  return `[${items.join(',')}]`
}

function columns(isSecret: boolean): string {
  const body = isSecret ? 'secret_body' : 'body'
  return `name, state, ${body}, priority, run_at, later_at, attempt, retries, backoff, keep, claims, unique_key, group_key, trace, added_at`
}

/** `run_at` and `later_at`. */
function writeTimes({ value, now }: SqlFragments, { kind }: When): [string, string] {
  if (kind === 'at') return [value('at'), value('at')]
  return [now(value('waits')), kind === 'now' ? 'null' : now(value('waits'))]
}

function timesOf(table: JobTable, when: When): Record<string, string | number> {
  const { shift } = table
  if (when.kind === 'at') return { shift, at: when.at.toISOString() }
  return { shift, waits: when.kind === 'in' ? shift + when.ms : shift }
}

/** Keys are given in the order of the rows, whatever the order of the answer. */
function toIds(rows: readonly SqlRow[]): number[] {
  return rows.map(([id]) => Number(id)).sort((one, other) => one - other)
}

/** The job that stands with this key. */
export async function standingRow(table: JobTable, unique: string): Promise<number | undefined> {
  const statement = table.prepare(
    'standing',
    'select',
    ({ value }) =>
      `select id from jobs where unique_key = ${value('unique')} and state in ('waiting', 'running')`,
  )
  const [row] = await statement.rows({ unique })
  return row && Number(row[0])
}
