/**
 * Reads related rows in the statement of their parents: each relation is a column with the JSON of its rows, in the
 * form in which the driver would return them. Source: decisions, Second storey: records, `crud`.
 */
import { HttpError } from '../../errors/http-error.js'
import type { Relation, Table } from '../model/table.js'
import type { Row } from '../../engines/contract/engine.js'
import type { RelatedParts } from './plans.js'
import type { RelatedQuestion } from '../filters/rows-view.js'
import type { RecordsContext } from './source.js'

type Instance = Record<string, unknown>

/** @param most as in `RelatedRows` */
export function toRelatedParts(
  related: readonly RelatedQuestion[],
  key: string,
  most?: number,
): RelatedParts {
  return { key: `w${most ?? ''}${shapeOf(related)}|${key}`, related, most }
}

function shapeOf(questions: readonly RelatedQuestion[]): string {
  return questions.map(({ tie, below }) => `${tie.name}(${shapeOf(below)})`).join()
}

/** What related rows are read by. */
interface RelatedReading {
  readonly context: RecordsContext
  readonly most?: number | undefined
  /** Gets every related row. */
  found(table: Table, record: Instance): void
}

/** Sets related rows on a record, from the columns after its own. */
export function readRelated(
  record: object,
  row: Row,
  questions: readonly RelatedQuestion[],
  reading: RelatedReading,
): void {
  const first = row.length - questions.length
  for (const [index, question] of questions.entries()) {
    const given = row[first + index]
    const value: unknown = typeof given === 'string' ? JSON.parse(given) : given
    Object.assign(record, { [question.tie.name]: toRecords(value, question, reading) })
  }
}

function isTooMany(kind: Relation['kind'], value: unknown): boolean {
  return kind === 'belongsTo' ? Array.isArray(value) && value.length === 0 : value === null
}

function tooMany({ name }: Relation): HttpError {
  const message = `Behind ${name} there are more rows than one answer may bring along. Ask for fewer rows, or for those behind them by themselves.`
  const errors = [{ path: 'with', code: 'TOO_COSTLY', message }]
  return new HttpError(400, message, { code: 'TOO_COSTLY', errors })
}

function toRecords(
  value: unknown,
  { tie: relation, below }: RelatedQuestion,
  reading: RelatedReading,
): Instance | Instance[] | null {
  const { target, kind } = relation
  if (reading.most !== undefined && isTooMany(kind, value)) throw tooMany(relation)
  const { readRow } = reading.context.codecOf(target)
  const bytes = target.columns.flatMap(({ storage }, index) => (storage === 'bytes' ? [index] : []))
  const read = (lists: readonly Row[]): Instance => {
    const row = lists.flat()
    for (const index of bytes)
      if (typeof row[index] === 'string') row[index] = Buffer.from(row[index], 'base64')
    const record = readRow(row) as Instance
    readRelated(record, row, below, reading)
    reading.found(target, record)
    return record
  }
  if (kind !== 'belongsTo') return (value as Row[][]).map(read)
  return value === null || value === undefined ? null : read(value as Row[])
}
