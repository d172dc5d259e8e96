/** A few values of every kind, in JSON's form, and a kind that only the tests have. */
import type { Kind } from '../../src/fields/kinds/kind.js'
import { kinds, type KindName } from '../../src/fields/kinds/table.js'
import type { FieldRules } from '../../src/fields/rules.js'

/** Amounts: cents inside, `"12.50"` outside. As a kind of the house's would be written: this, and a line of the table. */
const money: Kind = {
  storage: 'integer',
  compares: 'order',
  graphql: { type: 'String', filter: 'Money' },
  schema: { type: 'string', pattern: '^-?\\d{1,12}\\.\\d{2}$' },
  noun: 'an amount such as 12.50',
  test: (value) => typeof value === 'string' && /^-?\d{1,12}\.\d{2}$/.test(value),
  holds: Number.isSafeInteger,
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
  /** Three different values; for kinds that have an order, in it. */
  readonly values: readonly [unknown, unknown, unknown]
  /** Values that are refused, in JSON. */
  readonly wrong: readonly unknown[]
  /** What an instance holds of the first value, where that is another. */
  readonly property?: unknown
}

/** By field: every kind of the table but `id`, which is the key of all. */
export const samples: Readonly<Record<string, KindSample>> = {
  integer: { kind: 'integer', values: [-7, 0, 2_000_000_000], wrong: ['1', 1.5, true] },
  numeric: { kind: 'numeric', values: [-1.5, 0, 1234567890.5], wrong: ['1', true] },
  string: { kind: 'string', values: ['Ä%', 'ß_', '😀"\\'], wrong: [5, 'a\0'] },
  text: { kind: 'text', values: ['', 'a', 'b'], wrong: [5] },
  boolean: { kind: 'boolean', values: [false, true, true], wrong: [0, 'true'] },
  datetime: {
    kind: 'datetime',
    values: ['1999-12-31T23:59:59.999Z', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.100Z'],
    wrong: ['yesterday', 5, '2026-02-30'],
  },
  blob: {
    kind: 'blob',
    values: ['', 'AP8=', 'aGk='],
    wrong: ['a', 5],
    property: Buffer.alloc(0),
  },
  json: { kind: 'json', values: [{ a: 1 }, [1, 'b'], 'c'], wrong: [] },
  money: {
    kind: 'money' as KindName,
    rules: { min: '-1000000.00' },
    values: ['-2.05', '0.00', '12.50'],
    wrong: [12.5, '12.5', 1250, '-1000000.01'],
    property: -205,
  },
}

/** Kinds that no field of `samples` can be of. */
export const keyKinds: ReadonlySet<string> = new Set(['id'])

/** Before the record that uses it is read. */
export function addMoney(): void {
  Object.assign(kinds, { money })
}
