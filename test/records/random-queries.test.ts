/** Random queries return the same rows on every engine as a reference implementation in plain JavaScript. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { connect, type Database, Field, Record } from '../../src/index.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'
import { seed } from '../random.js'

@Record
class Sample {
  @Field('id') id!: number
  @Field('string', { optional: true, nullable: true }) word!: string | null
  @Field('integer', { optional: true, nullable: true }) count!: number | null
  @Field('numeric', { optional: true, nullable: true }) size!: number | null
  @Field('boolean', { optional: true, nullable: true }) done!: boolean | null
  @Field('datetime', { optional: true, nullable: true }) at!: string | null
}

type Name = Exclude<keyof Sample, 'id'>
type Value = string | number | boolean | null
type Filter = { [name: string]: unknown }

const texts = [
  '',
  'a',
  'A',
  'b',
  'ä',
  'Ä',
  'ß',
  'é',
  'z',
  '1',
  '%',
  '_',
  '\\',
  "'",
  'aa',
  'ab',
  '\uffff',
  '😀',
]
const values = {
  word: fc.constantFrom(...texts),
  count: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.maxSafeInteger()),
  size: fc.oneof(
    fc.constantFrom(-1.5, 0, 0.1, 0.3, 1, 1e300),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  ),
  done: fc.boolean(),
  at: fc
    .constantFrom(0, 1, 999, 86_400_000, 1_800_000_000_000, -1)
    .map((time) => new Date(time).toISOString()),
}
const names = Object.keys(values) as Name[]

const row = fc.record(
  Object.fromEntries(names.map((name) => [name, fc.option(values[name] as fc.Arbitrary<Value>)])),
)

const test = fc.constantFrom(...names).chain((name): fc.Arbitrary<Filter> => {
  const value = values[name] as fc.Arbitrary<Value>
  const operators: fc.Arbitrary<Filter>[] = [
    value.map((eq) => ({ eq })),
    value.map((ne) => ({ ne })),
    fc.constant({ eq: null }),
    fc.constant({ ne: null }),
    fc.boolean().map((isNull) => ({ isNull })),
    fc.array(fc.option(value), { maxLength: 4 }).map((list) => ({ in: list })),
  ]
  if (name !== 'done') {
    for (const operator of ['gt', 'gte', 'lt', 'lte']) {
      operators.push(value.map((one) => ({ [operator]: one })))
    }
  }
  if (name === 'word') {
    const pattern = fc.array(fc.constantFrom('a', 'Ä', 'b', '%', '_', '\\%', '\\_', '\\\\'), {
      maxLength: 4,
    })
    operators.push(pattern.map((parts) => ({ like: parts.join('') })))
    operators.push(pattern.map((parts) => ({ ilike: parts.join('') })))
  }
  return fc.oneof(...operators).map((condition) => ({ [name]: condition }))
})

const { filter } = fc.letrec<{ filter: Filter }>((reference) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    test,
    fc.array(reference('filter'), { maxLength: 3 }).map((and) => ({ and })),
    fc.array(reference('filter'), { maxLength: 3 }).map((or) => ({ or })),
    reference('filter').map((not) => ({ not })),
  ),
}))

const order = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...names),
    direction: fc.constantFrom('asc' as const, 'desc' as const),
    nulls: fc.constantFrom('first' as const, 'last' as const),
  }),
  { selector: ({ name }) => name, maxLength: 3 },
)

describe('every engine', () => {
  let server: PostgresServer
  let databases: Database[]

  beforeAll(async () => {
    server = await startPostgres()
    const urls = ['sqlite::memory:', await server.createDatabase()]
    databases = await Promise.all(urls.map((url) => connect(url, { records: [Sample] })))
    for (const database of databases) await database.sync()
  })
  afterAll(async () => {
    for (const database of databases) await database.close()
    await server.close()
  })

  it('finds the same rows in the same order as the reference', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 12 }),
        fc.array(fc.tuple(filter, order), { minLength: 10, maxLength: 10 }),
        async (rows, queries) => {
          const samples = rows.map((values, index) =>
            Object.assign(new Sample(), values, { id: index + 1 }),
          )
          for (const database of databases) {
            await database.kysely.deleteFrom('sample').execute()
            await database.records(Sample).insertMany(samples)
          }
          for (const [where, terms] of queries) {
            const orderBy = terms.map(({ name, direction, nulls }) => ({
              [name]: { direction, nulls },
            }))
            const expected = samples
              .filter((one) => matches(where, one))
              .sort((a, b) => compareBy(terms, a, b))
              .map(({ id }) => id)
            for (const database of databases) {
              const found = await database.records(Sample).list({ where, orderBy })
              expect(found.map(({ id }) => id)).toStrictEqual(expected)
            }
          }
        },
      ),
      { numRuns: 40, seed },
    )
  })
})

/** Whether a row matches the filter. A comparison with null is neither true nor false. */
function matches(where: Filter, sample: Sample): boolean {
  return Object.entries(where).every(([name, condition]) => {
    if (name === 'and') return (condition as Filter[]).every((part) => matches(part, sample))
    if (name === 'or') return (condition as Filter[]).some((part) => matches(part, sample))
    if (name === 'not') return !matches(condition as Filter, sample)
    const value = sample[name as Name]
    return Object.entries(condition as Filter).every(([operator, operand]) =>
      meaning[operator]!(value, operand as never),
    )
  })
}

const meaning: { [operator: string]: (value: Value, operand: never) => boolean } = {
  eq: (value, operand) => value === operand,
  ne: (value, operand) => value !== operand,
  gt: (value, operand) => value !== null && compare(value, operand) > 0,
  gte: (value, operand) => value !== null && compare(value, operand) >= 0,
  lt: (value, operand) => value !== null && compare(value, operand) < 0,
  lte: (value, operand) => value !== null && compare(value, operand) <= 0,
  in: (value, operand: Value[]) => operand.includes(value),
  isNull: (value, operand) => (value === null) === operand,
  like: (value, operand) => value !== null && toPattern(operand, 'su').test(String(value)),
  ilike: (value, operand: string) =>
    value !== null && toPattern(operand.toLowerCase(), 'su').test(String(value).toLowerCase()),
}

function toPattern(like: string, flags: string): RegExp {
  const source = like.replace(/\\(.)|(.)/gsu, (_, escaped?: string, plain?: string) => {
    if (escaped !== undefined) return escapeText(escaped)
    return plain === '%' ? '.*' : plain === '_' ? '.' : escapeText(plain ?? '')
  })
  return new RegExp(`^${source}$`, flags)
}

function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function compare(a: Value, b: Value): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b)))
  return Number(a) - Number(b) > 0 ? 1 : a === b ? 0 : -1
}

function compareBy(
  terms: readonly { name: Name; direction: 'asc' | 'desc'; nulls: 'first' | 'last' }[],
  a: Sample,
  b: Sample,
): number {
  for (const { name, direction, nulls } of terms) {
    const [first, second] = [a[name], b[name]]
    if (first === second) continue
    if (first === null) return nulls === 'first' ? -1 : 1
    if (second === null) return nulls === 'first' ? 1 : -1
    const result = compare(first, second)
    if (result !== 0) return direction === 'asc' ? result : -result
  }
  return a.id - b.id
}
