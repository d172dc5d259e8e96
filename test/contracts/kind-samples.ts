/** Sample values of every kind, in their JSON form, and a kind that exists only in tests. */
import type { FieldRules } from '../../src/index.js'
import type { Kind } from '../../src/fields/kinds/kind.js'
import { kinds } from '../fields/compiled.js'
import type { KindName } from '../public-types.js'

/** An amount of money, stored in cents and written as `"12.50"`. It shows all that a new kind of the framework needs. */
const money: Kind = {
  storage: 'integer',
  compares: 'order',
  graphql: { type: 'String', filter: 'Money' },
  schema: { type: 'string', pattern: '^-?\\d{1,12}\\.\\d{2}$' },
  label: 'an amount such as 12.50',
  test: (value) => typeof value === 'string' && /^-?\d{1,12}\.\d{2}$/.test(value),
  isPropertyValue: Number.isSafeInteger,
  read: (value) => Number((value as string).replace('.', '')),
  write: (value) => {
    const cents = Math.abs(value as number)
    const sign = (value as number) < 0 ? '-' : ''
    return `${sign}${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
  },
  sqlText: `case when v < 0 then '-' else '' end || cast(abs(v) / 100 as text) || '.' || substr(cast(100 + abs(v) % 100 as text), 2)`,
  fromText: (text) => (/^-?\d{1,12}\.\d{2}$/.test(text) ? text : undefined),
  rules: ['min', 'max', 'oneOf'],
}

export interface KindSample {
  readonly kind: KindName
  readonly rules?: FieldRules
  /** Three different values, in ascending order if the kind has one. */
  readonly values: readonly [unknown, unknown, unknown]
  /** Values that are refused, in JSON. */
  readonly invalid: readonly unknown[]
  /** The first value as an instance has it, if that differs from its JSON form. */
  readonly property?: unknown
}

/** By field name: every kind of the table except `id`, which is the key. */
export const samples: Readonly<Record<string, KindSample>> = {
  integer: { kind: 'integer', values: [-7, 0, 2_000_000_000], invalid: ['1', 1.5, true] },
  numeric: { kind: 'numeric', values: [-1.5, 0, 1234567890.5], invalid: ['1', true] },
  string: { kind: 'string', values: ['Ä%', 'ß_', '😀"\\'], invalid: [5, 'a\0'] },
  text: { kind: 'text', values: ['', 'a', 'b'], invalid: [5] },
  boolean: { kind: 'boolean', values: [false, true, true], invalid: [0, 'true'] },
  datetime: {
    kind: 'datetime',
    values: ['1999-12-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.100Z'],
    invalid: ['yesterday', 5, '2026-02-30'],
  },
  blob: {
    kind: 'blob',
    values: ['', 'AP8=', 'aGk='],
    invalid: ['a', 5],
    property: Buffer.alloc(0),
  },
  json: { kind: 'json', values: [{ a: 1 }, [1, 'b'], 'c'], invalid: [] },
  bigint: {
    kind: 'bigint',
    rules: { min: '-9223372036854775808' },
    values: ['-9223372036854775808', '9007199254740993', '9223372036854775807'],
    invalid: [5, '1.0', '1e3', '', '9223372036854775808', ' 1'],
  },
  decimal: {
    kind: 'decimal',
    rules: { precision: 12, scale: 2, min: '-9.50', max: '9999999999.99' },
    values: ['-9.50', '0.00', '9999999999.99'],
    invalid: [
      9.5,
      '1e3',
      'NaN',
      ' 1.00',
      '1,00',
      '1.005',
      '10000000000.00',
      '',
      '.',
      '5.',
      '-9.51',
    ],
  },
  longDecimal: {
    kind: 'decimal',
    rules: { precision: 18, scale: 6 },
    values: ['-999999999999.999999', '0.000001', '999999999999.999999'],
    invalid: ['1000000000000'],
  },
  vastDecimal: {
    kind: 'decimal',
    rules: { precision: 38, scale: 4 },
    values: ['-1234567890123456789012345678901234.5678', '-0.0001', '99999999999999999999.0000'],
    invalid: ['12345678901234567890123456789012345'],
  },
  integralDecimal: {
    kind: 'decimal',
    rules: { precision: 5, scale: 0 },
    values: ['-5', '0', '99999'],
    invalid: ['1.5', '100000'],
  },
  date: {
    kind: 'date',
    rules: { min: '1900-01-01' },
    values: ['1999-12-31', '2024-02-29', '9999-12-31'],
    invalid: ['2026-02-29', '2026-1-1', '2026-01-01T00:00:00Z', 5, '1899-12-31', '0000-01-01'],
  },
  time: {
    kind: 'time',
    values: ['00:00:00', '10:30:00', '23:59:59'],
    invalid: ['24:00:00', '10:30', '10:30:00Z', 5],
  },
  uuid: {
    kind: 'uuid',
    values: [
      '00000000-0000-4000-8000-00000000000a',
      'c0ffee00-0000-4000-8000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ],
    invalid: ['c0ffee', 5],
  },
  enum: {
    kind: 'enum',
    rules: { oneOf: ['blue', 'green', 'red'] },
    values: ['blue', 'green', 'red'],
    invalid: ['pink', 5],
  },
  color: {
    kind: 'enum',
    rules: { oneOf: ['blue', 'green', 'red'], enum: 'Color' },
    values: ['blue', 'green', 'red'],
    invalid: ['pink', 5],
  },
  money: {
    kind: 'money' as KindName,
    rules: { min: '-1000000.00' },
    values: ['-2.05', '0.00', '12.50'],
    invalid: [12.5, '12.5', 1250, '-1000000.01'],
    property: -205,
  },
}

/** Kinds that `samples` cannot have. */
export const keyKinds: ReadonlySet<string> = new Set(['id'])

/** Call it before the record that uses the kind is declared. */
export function addMoney(): void {
  Object.assign(kinds, { money })
}
