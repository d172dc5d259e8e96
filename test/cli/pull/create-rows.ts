/** Creates a row of every record, with the rows that it refers to. */
import type { Database } from '../../../src/index.js'
import type { Column } from '../../../src/engines/contract/table.js'
import type { Relation, Table } from '../../../src/records/model/table.js'

export interface Creation {
  readonly record: string
  /** `refused`: the database's own rules, triggers or partitions do not accept the row. `failed`: anything else. */
  readonly outcome: 'created' | 'refused' | 'failed'
  readonly reason?: string
}

type Values = Record<string, unknown>

/** The maximum number of rows that a row needs one after the other. */
const maxDepth = 8

export async function createRows(
  database: Database,
  tables: readonly Table[],
): Promise<Creation[]> {
  const creator = new RowCreator(database)
  const creations: Creation[] = []
  for (const table of tables) {
    if (!isWritable(table)) continue
    const record = table.type.name
    try {
      await creator.create(table)
      creations.push({ record, outcome: 'created' })
    } catch (error) {
      const { status, message } = error as { status?: number; message: string }
      const isRefused = (status !== undefined && status < 500) || /no partition/.test(message)
      const outcome = isRefused ? 'refused' : 'failed'
      creations.push({ record, outcome, reason: message })
    }
  }
  return creations
}

function isWritable({ options }: Table): boolean {
  return (options as { key?: unknown }).key !== false
}

class RowCreator {
  readonly #database: Database
  #count = 0

  constructor(database: Database) {
    this.#database = database
  }

  async create(table: Table, depth = 0): Promise<Values> {
    const values: Values = {}
    for (const relation of table.relations.values())
      if (relation.kind === 'belongsTo') await this.#refer(relation, values, depth)
    for (const column of table.columns) {
      if (column.property in values || !isNeeded(column)) continue
      values[column.property] = this.#valueFor(column)
    }
    const repository = this.#database.records(table.type)
    return (await repository.create(values)) as Values
  }

  async #refer({ local, target, foreign, table }: Relation, values: Values, depth: number) {
    const [locals, foreigns] = [partsOf(local), partsOf(foreign)]
    if (locals.some(({ nullable }) => nullable) || depth > maxDepth || target === table) return
    const repository = this.#database.records(target.type)
    const [existing] = (await repository.list({ limit: 1 })) as Values[]
    const row = existing ?? (await this.create(target, depth + 1))
    locals.forEach(({ property }, index) => {
      values[property] ??= row[foreigns[index]?.property ?? '']
    })
  }

  #valueFor({ field, property }: Column): unknown {
    const {
      oneOf,
      maxLength,
      minLength = 0,
      min = 1,
      max = Infinity,
      pattern,
      precision = 18,
      scale = 2,
      type,
    } = field.rules as {
      oneOf?: readonly unknown[]
      maxLength?: number
      minLength?: number
      min?: number | string
      max?: number | string
      pattern?: string
      precision?: number
      scale?: number
      type?: string
    }
    const number = ++this.#count
    if (field.list) return []
    if (oneOf !== undefined) return oneOf[0]
    const texts = pattern === undefined ? [] : sampleTexts.filter((one) => one.match(pattern))
    if (texts[0] !== undefined) return texts[0]
    const inRange = Math.min(Number(max), Math.max(Number(min), number))
    const text = type === undefined ? undefined : textsByType.find(([name]) => name.test(type))?.[1]
    if (text !== undefined && field.kind === 'string') return text
    const values: Values = {
      integer: inRange,
      bigint: String(inRange),
      numeric: inRange,
      decimal: precision > scale ? String(Math.min(inRange, Math.max(1, Number(min)))) : '0.1',
      boolean: true,
      date: '2026-11-20',
      time: '10:30:00',
      datetime: '2026-11-20T10:30:00.000Z',
      uuid: crypto.randomUUID(),
      blob: Buffer.from([number % 256]),
      json: {},
    }
    const full = `${property}${number}`.padEnd(minLength, '-')
    return values[field.kind] ?? (maxLength === undefined ? full : full.slice(-maxLength))
  }
}

function partsOf(column: Column): readonly Column[] {
  return (column as { parts?: readonly Column[] }).parts ?? [column]
}

/** One of them probably matches a pattern. */
const sampleTexts = ['a', 'A', 'ab', 'AB', 'abc', 'ABC', '1', '12', '123', '1234', '12345', 'a@b.c']

/** Texts in the database's own form. */
const textsByType: readonly (readonly [RegExp, string])[] = [
  [/^timestamp/, '2026-11-20 10:30:00'],
  [/range/, 'empty'],
  [/^interval/, '1 day'],
  [/^(?:inet|cidr)/, '10.0.0.1'],
  [/^macaddr/, '08:00:2b:01:02:03'],
  [/^tsvector/, 'word'],
  [/^(?:money|numeric|oid|xid)/, '1'],
  [/^point/, '(1,2)'],
  [/^cube/, '(1,2)'],
  [/^(?:box|lseg)/, '(1,2),(3,4)'],
  [/^bit/, '1'],
  [/^xml/, '<a/>'],
  [/^time/, '10:30:00+00'],
]

function isNeeded({ nullable, isKey, isComputed, generated, field }: Column): boolean {
  if (isKey && generated !== undefined) return false
  return !nullable && !isComputed && field.rules.default === undefined
}
