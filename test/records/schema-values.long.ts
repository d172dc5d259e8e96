/**
 * Defaults, checks and conditions of indexes are compared by their values, however the database writes them: a schema
 * that was just created does not differ from its records.
 */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { FieldRules } from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { thing, type Fields } from './thing.js'
import { makeMigration, useMigrations } from './migration-helpers.js'
import type { KindName } from '../public-types.js'

const texts = [
  '',
  ' ',
  "it's",
  "''",
  'back\\slash',
  "\\'",
  'two\nlines\r\n',
  '100 %',
  '%s ::text',
  '"quoted"',
  '1e-7',
  '007',
  'true',
  'null',
  'now',
  'is null',
  '(a)',
  ') where (b',
  'constraint "thing_a_check_01234567" check (1',
  'ü 😀',
  '-- no comment',
  '/* none */',
  '$1 ? :a {c}',
]
const numbers = [0, -0, 1e-7, -1e-7, 1e21, 5e-324, 1.7976931348623157e308, 0.1, 0.30000000000000004]
const more = [-1.5, 100, 1e5, 123456789012345680000, 2 ** 53, 1 / 3, 1.1e-10]

/** Values of each kind with rules, each as a default and in `oneOf`. */
const cases: readonly (readonly [KindName, FieldRules, readonly unknown[]])[] = [
  ['numeric', {}, [...numbers, ...more]],
  ['integer', {}, [0, -0, -5, 9007199254740991, -9007199254740991]],
  ['bigint', {}, ['0', '-9223372036854775808', '9223372036854775807', '00012']],
  ['decimal', { precision: 30, scale: 10 }, ['0', '1.5', '-0.0000001', '12345678901234567890']],
  ['decimal', { precision: 12, scale: 2 }, ['0.00', '10', '-1.50', '9999999999.99']],
  ['string', {}, texts],
  ['text', {}, texts],
  ['boolean', {}, [true, false]],
  ['date', {}, ['0001-01-01', '2024-02-29', '9999-12-31']],
  ['time', {}, ['00:00:00', '23:59:59', '07:05:00']],
  [
    'datetime',
    {},
    ['2026-01-01T00:00:00.100Z', '0001-01-01T03:04:05.006Z', '1969-12-31T23:59:59Z'],
  ],
  ['uuid', {}, ['3F2504E0-4F89-11D3-9A0C-0305E82C3301']],
  ['json', {}, [{ a: "it's" }, [], 'text', '', 5, 1e-7, true, { 'k"': ['\\', null] }]],
]

/** Kinds without `oneOf`. */
const unlisted = new Set<KindName>(['json', 'boolean', 'text', 'datetime', 'date', 'time'])

const fieldsOf = (kind: KindName, rules: FieldRules, values: readonly unknown[]): Fields =>
  Object.fromEntries(
    values.flatMap((value, index): [string, [KindName, FieldRules]][] => {
      const preset = { ...rules, default: value } as FieldRules
      const checked = { ...preset, oneOf: values } as FieldRules
      const list = { ...rules, list: true, default: [value, value] } as FieldRules
      return [
        [`default${index}`, [kind, preset]],
        [`free${index}`, [kind, { ...preset, check: false }]],
        ...(unlisted.has(kind) || index > 2
          ? []
          : ([[`checked${index}`, [kind, checked]]] as [string, [KindName, FieldRules]][])),
        ...(kind === 'json'
          ? []
          : ([[`list${index}`, [kind, list]]] as [string, [KindName, FieldRules]][])),
      ]
    }),
  )

const indexesOf = (kind: KindName, values: readonly unknown[]) =>
  kind === 'json'
    ? []
    : values.slice(0, 12).map((value, index) => ({
        fields: [`default${index}`],
        where: { [`default${index}`]: value },
      }))

describe.each(await startBothEngines())('%s: a schema with odd values', (name, open) => {
  const migrations = useMigrations()
  const url = (): string | Promise<string> =>
    name === 'SQLite' ? `sqlite:${join(migrations.folder, 'app.db')}` : open()

  it.each(cases.map(([kind, rules, values]) => ({ kind, rules, values })))(
    'of the kind $kind $rules is created once',
    async ({ kind, rules, values }) => {
      const record = thing(fieldsOf(kind, rules, values), () => undefined, {
        table: 'thing',
        indexes: indexesOf(kind, values),
      })
      const database = await migrations.open(await url(), record)
      await database.sync()
      expect((await database.differences()).map(({ message }) => message)).toEqual([])
      const first = await makeMigration(database, 'first', migrations.optionsAt(0))
      expect(first?.applied).toHaveLength(1)
      expect(await makeMigration(database, 'again', migrations.optionsAt(1))).toBeUndefined()
    },
  )

  it.each(cases.map(([kind, rules, values]) => ({ kind, rules, values })))(
    'of the kind $kind $rules does not differ after its columns are added',
    async ({ kind, rules, values }) => {
      const address = await url()
      const database = await migrations.open(address, thing({}))
      await database.sync()
      const after = await migrations.open(address, thing(fieldsOf(kind, rules, values)))
      await after.sync()
      expect((await after.differences()).map(({ message }) => message)).toEqual([])
    },
  )
})
