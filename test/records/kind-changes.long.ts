/**
 * A change of a field's kind, for every pair of kinds on each engine: the values are converted, and back by `down`, or the
 * change is refused before anything runs.
 */
import { describe, expect, it } from '@jest/globals'
import { sql } from 'kysely'
import type { Database, FieldRules } from '../../src/index.js'
import type { KindName } from '../public-types.js'
import { startBothEngines } from './both-engines.js'
import { runSql } from './run-sql.js'
import { thing, type Fields } from './thing.js'
import {
  checkMigrations,
  makeMigration,
  migrateDown,
  migrateUp,
  setRecords,
  useMigrations,
} from './migration-helpers.js'

const engines = await startBothEngines()
const migrations = useMigrations()
const { open, optionsAt } = migrations

type Declaration = readonly [KindName, FieldRules?]

/** Every kind of a column, with the class of its values. */
const declarations: Readonly<globalThis.Record<string, Declaration>> = {
  integer: ['integer'],
  bigint: ['bigint'],
  numeric: ['numeric'],
  decimal: ['decimal', { precision: 12, scale: 2 }],
  longDecimal: ['decimal', { precision: 30, scale: 4 }],
  string: ['string'],
  text: ['text'],
  enum: ['enum', { oneOf: ['1', 'true'], check: false }],
  boolean: ['boolean'],
  datetime: ['datetime'],
  date: ['date'],
  time: ['time'],
  uuid: ['uuid'],
  blob: ['blob'],
  json: ['json'],
  list: ['string', { list: true }],
}

const day = '2026-11-20'
const timestamp = '2026-11-20T23:30:00.250Z'
const midnight = '2026-11-20T00:00:00.000Z'
const uuid = 'aa000000-0000-4000-8000-000000000001'

/** From one kind to another: values before, after, and after `down` where they differ from before. */
type Conversion = readonly [from: string, to: string, pairs: readonly (readonly unknown[])[]]
const conversions: readonly Conversion[] = [
  [
    'integer',
    'boolean',
    [
      [1, true],
      [0, false],
    ],
  ],
  [
    'integer',
    'numeric',
    [
      [12, 12],
      [-3, -3],
    ],
  ],
  [
    'integer',
    'decimal',
    [
      [12, '12.00'],
      [-3, '-3.00'],
    ],
  ],
  [
    'integer',
    'longDecimal',
    [
      [12, '12.0000'],
      [-3, '-3.0000'],
    ],
  ],
  [
    'integer',
    'string',
    [
      [12, '12'],
      [-3, '-3'],
    ],
  ],
  ['bigint', 'string', [['9007199254740993', '9007199254740993']]],
  ['bigint', 'longDecimal', [['9007199254740993', '9007199254740993.0000']]],
  [
    'numeric',
    'integer',
    [
      [12, 12],
      [-3, -3],
    ],
  ],
  [
    'numeric',
    'decimal',
    [
      [0.25, '0.25'],
      [-3.5, '-3.50'],
      [1.005, '1.01', 1.01],
    ],
  ],
  [
    'numeric',
    'string',
    [
      [0.25, '0.25'],
      [12, '12'],
      [1e21, '1e+21'],
    ],
  ],
  [
    'decimal',
    'integer',
    [
      ['12.00', 12],
      ['-3.00', -3],
      ['0.00', 0],
    ],
  ],
  [
    'decimal',
    'numeric',
    [
      ['0.25', 0.25],
      ['-3.50', -3.5],
    ],
  ],
  [
    'decimal',
    'longDecimal',
    [
      ['0.25', '0.2500'],
      ['-3.50', '-3.5000'],
    ],
  ],
  [
    'decimal',
    'string',
    [
      ['9.50', '9.50'],
      ['-0.05', '-0.05'],
    ],
  ],
  ['longDecimal', 'integer', [['12.0000', 12]]],
  ['longDecimal', 'string', [['99999999999999999999.5000', '99999999999999999999.5000']]],
  [
    'string',
    'integer',
    [
      ['12', 12],
      ['-3', -3],
    ],
  ],
  ['string', 'bigint', [['9007199254740993', '9007199254740993']]],
  [
    'string',
    'numeric',
    [
      ['0.25', 0.25],
      ['-1e3', -1000, '-1000'],
    ],
  ],
  [
    'string',
    'decimal',
    [
      ['9.5', '9.50', '9.50'],
      ['-.5', '-0.50', '-0.50'],
    ],
  ],
  [
    'string',
    'boolean',
    [
      ['true', true],
      ['0', false, 'false'],
    ],
  ],
  [
    'string',
    'datetime',
    [
      [timestamp, timestamp],
      [day, midnight, midnight],
      ['2026-11-20T10:00+02:00', '2026-11-20T08:00:00.000Z', '2026-11-20T08:00:00.000Z'],
      ['2026-11-20 10:00:01', '2026-11-20T10:00:01.000Z', '2026-11-20T10:00:01.000Z'],
    ],
  ],
  [
    'string',
    'date',
    [
      [day, day],
      ['2024-02-29', '2024-02-29'],
    ],
  ],
  ['string', 'time', [['10:30:00', '10:30:00']]],
  ['string', 'uuid', [[uuid.toUpperCase(), uuid, uuid]]],
  ['text', 'date', [[day, day]]],
  ['enum', 'integer', [['1', 1]]],
  ['enum', 'boolean', [['true', true]]],
  [
    'boolean',
    'integer',
    [
      [true, 1],
      [false, 0],
    ],
  ],
  [
    'boolean',
    'string',
    [
      [true, 'true'],
      [false, 'false'],
    ],
  ],
  ['datetime', 'date', [[timestamp, day, midnight]]],
  ['datetime', 'string', [[timestamp, timestamp]]],
  ['date', 'datetime', [[day, midnight]]],
  ['date', 'string', [[day, day]]],
  ['time', 'string', [['10:30:00', '10:30:00']]],
  ['uuid', 'string', [[uuid, uuid]]],
  ['string', 'text', [['a', 'a']]],
]

/** Values that cannot be converted. */
const impossible: readonly (readonly [from: string, to: string, value: unknown, shown?: string])[] =
  [
    ['string', 'integer', 'abc'],
    ['string', 'integer', '1.5'],
    ['string', 'bigint', '9223372036854775808'],
    ['string', 'numeric', '1,5'],
    ['string', 'decimal', 'much money'],
    ['string', 'decimal', '12345678901234567890.00'],
    ['string', 'boolean', 'yes'],
    ['string', 'datetime', 'yesterday'],
    ['string', 'datetime', '2026-02-30'],
    ['string', 'date', '2026-02-30'],
    ['string', 'date', timestamp],
    ['string', 'date', 'today'],
    ['string', 'time', '24:00:00'],
    ['string', 'uuid', 'x'],
    ['integer', 'boolean', 2],
    ['numeric', 'integer', 1.5],
    ['decimal', 'integer', '12.50'],
  ]

/** Columns that store the values of both kinds in the same way. */
const classes: readonly (readonly string[])[] = [
  ['integer', 'bigint'],
  ['string', 'text', 'enum'],
  ['json', 'list'],
  ['decimal', 'longDecimal'],
]
const convertible: readonly (readonly [string, string])[] = [
  ['integer', 'boolean'],
  ['integer', 'numeric'],
  ['integer', 'decimal'],
  ['integer', 'string'],
  ['numeric', 'decimal'],
  ['numeric', 'string'],
  ['decimal', 'string'],
  ['boolean', 'string'],
  ['uuid', 'string'],
  ['datetime', 'string'],
  ['datetime', 'date'],
  ['date', 'string'],
  ['time', 'string'],
]
const classOf = (kind: string): string => classes.find((list) => list.includes(kind))?.[0] ?? kind
const names = Object.keys(declarations)
const refused = names.flatMap((from) =>
  names
    .filter((to) => classOf(from) !== classOf(to))
    .filter(
      (to) =>
        !convertible.some((pair) => pair.includes(classOf(from)) && pair.includes(classOf(to))),
    )
    .map((to): [string, string] => [from, to]),
)

const field = (kind: string): Fields[string] => {
  const [name, rules] = declarations[kind] as Declaration
  return [name, { ...rules, nullable: true }]
}

describe.each(engines)('a change of the kind: %s', (name, address) => {
  it('converts the values, and down converts them back', async () => {
    const property = (index: number): string => `f${index}`
    const before = Object.fromEntries(conversions.map(([from], at) => [property(at), field(from)]))
    const after = Object.fromEntries(conversions.map(([, to], at) => [property(at), field(to)]))
    const old = thing(before)
    const database = await open(await address(), old)
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const count = Math.max(...conversions.map(([, , pairs]) => pairs.length))
    /** Rows with the values of this position, and a last row of nulls. */
    const rowsOf = (position: number): object[] =>
      Array.from({ length: count + 1 }, (_, row) =>
        Object.fromEntries(
          conversions.map(([, , pairs], at) => {
            const pair = pairs[row]
            return [property(at), pair === undefined ? null : (pair[position] ?? pair[0])]
          }),
        ),
      )
    for (const row of rowsOf(0)) await database.records(old).create(row)
    const type = thing(after)
    setRecords(database, type)
    await expect(database.sync()).rejects.toThrow('is of type')
    await makeMigration(database, 'second', optionsAt(1))
    await migrateUp(database, optionsAt(1))
    await database.verify()
    const list = { orderBy: { id: 'asc' } } as const
    expect(await database.records(type).list(list)).toMatchObject(rowsOf(1))
    expect(await makeMigration(database, 'third', optionsAt(2))).toBeUndefined()
    setRecords(database, old)
    await migrateDown(database, optionsAt(1))
    await database.verify()
    expect(await database.records(old).list(list)).toMatchObject(rowsOf(2))
  })

  it(`is refused in words for the other ${refused.length} pairs, before anything runs`, async () => {
    const before = Object.fromEntries(names.map((kind) => [`of_${kind}`, field(kind)]))
    const database = await open(await address(), thing(before))
    await makeMigration(database, 'first', optionsAt(0))
    await migrateUp(database, optionsAt(0))
    const all = names.map((kind) => `of_${kind}`)
    for (const [from, to] of refused) {
      expect(all).toContain(`of_${from}`)
      setRecords(database, thing({ ...before, [`of_${from}`]: field(to) }))
      const problems = [
        {
          message: expect.stringMatching(
            new RegExp(`is of type .*\\(Thing\\.of_${from}\\), but its values cannot be converted`),
          ),
          remedy: expect.stringContaining(`Declare Thing.of_${from} as before`),
        },
      ]
      await expect(database.sync()).rejects.toMatchObject({ problems })
      const options = { ...optionsAt(1), engines: [database.engineName] }
      await expect(makeMigration(database, 'second', options)).rejects.toMatchObject({ problems })
    }
    setRecords(database, thing(before))
    await database.verify()
  })

  it.each(impossible)(
    'from %s to %s stops at the value %j and changes nothing',
    async (from, to, value) => {
      const old = thing({ name: ['string'], value: field(from) })
      const database = await open(await address(), old)
      await makeMigration(database, 'first', optionsAt(0))
      await migrateUp(database, optionsAt(0))
      await database.records(old).create({ name: 'a', value })
      setRecords(database, thing({ name: ['string', { maxLength: 9 }], value: field(to) }))
      await makeMigration(database, 'second', optionsAt(1))
      const message = new RegExp(`Thing\\.value: "?${String(value).replace(/[.+]/g, '\\$&')}"?`)
      await expect(migrateUp(database, optionsAt(1))).rejects.toThrow(message)
      setRecords(database, old)
      await database.verify()
      expect(await database.records(old).list()).toMatchObject([{ name: 'a', value }])
    },
  )

  it('does not concern tables of other programs whose types fit', async () => {
    const types = name === 'SQLite' ? ['text', 'integer'] : ['date', 'boolean']
    const database = await open(
      await address(),
      thing({ day: field('date'), done: field('boolean') }),
    )
    await runSql(
      database,
      `create table thing (id ${name === 'SQLite' ? 'integer primary key' : 'bigint generated by default as identity primary key'}, day ${types[0]}, done ${types[1]})`,
    )
    await database.verify()
    expect(await database.sync()).toEqual([])
    await sql`insert into thing (id, day) values (1, ${day})`.execute(database.kysely)
    expect(await checkEmpty(database)).toEqual([])
  })
})

const checkEmpty = async (database: Database): Promise<string[]> => {
  await makeMigration(database, 'first', optionsAt(0))
  return checkMigrations(database, { folder: migrations.folder, engines: [database.engineName] })
}
