/** Check constraints as rules of fields. */
import { describe, expect, it } from '@jest/globals'
import type { CatalogueTable, ColumnForm } from '../../../src/engines/contract/described-table.js'
import { acceptsDefault, readChecks, toRules } from '../../../src/cli/pull/check-rules.js'

const forms = {
  name: { kind: 'string', maxLength: 80 },
  free: { kind: 'string' },
  code: { kind: 'string', maxLength: 2, equality: 'padded' },
  label: { kind: 'string', equality: 'without case' },
  email: { kind: 'string', type: 'citext', equality: 'of its type' },
  state: { kind: 'enum', values: ['new', 'paid', 'late'], type: 'state' },
  count: { kind: 'integer' },
  big: { kind: 'bigint' },
  ratio: { kind: 'numeric' },
  price: { kind: 'decimal', digits: { precision: 10, scale: 2 } },
  born: { kind: 'date' },
  at: { kind: 'datetime' },
  photo: { kind: 'blob' },
  active: { kind: 'boolean' },
  tags: { kind: 'string', isList: true, type: 'text[]' },
  'Order Date': { kind: 'date' },
} satisfies Record<string, ColumnForm>
type ColumnName = keyof typeof forms

const columns = Object.entries(forms).map(([name, form]) => ({
  ...{ name, form, type: '', nullable: true, preset: undefined, comment: undefined },
  ...{ isCounted: false, isComputed: false, checks: [] },
}))
const base: Omit<CatalogueTable, 'columns' | 'checks'> = {
  ...{ schema: undefined, name: 'thing', comment: undefined },
  kind: 'table',
  isPopulated: true,
  ...{ primaryKey: [], indexes: [], foreignKeys: [] },
}

/** @returns the rules of each column that has one */
function rulesOf(...checks: string[]): unknown {
  const conditions = readChecks({ ...base, columns, checks })
  return Object.fromEntries(
    columns.flatMap((column) => {
      const rules = toRules(conditions.get(column.name) ?? [], column, column.form.kind)
      return Object.keys(rules).length === 0 ? [] : [[column.name, rules]]
    }),
  )
}

describe('checks as PostgreSQL prints them', () => {
  it.each<[string, ColumnName, object]>([
    [`(free = ANY (ARRAY['a'::text, 'it''s'::text]))`, 'free', { oneOf: ['a', "it's"] }],
    [
      `((name)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))`,
      'name',
      { oneOf: ['a', 'b'] },
    ],
    [
      `((name)::text = ANY (ARRAY[('a'::character varying)::text, ('b'::character varying)::text]))`,
      'name',
      { oneOf: ['a', 'b'] },
    ],
    [`((free = 'a'::text) OR (free = 'b'::text))`, 'free', { oneOf: ['a', 'b'] }],
    [`((free IS NULL) OR (free = 'a'::text))`, 'free', { oneOf: ['a'] }],
    [`(code = ANY (ARRAY['AA'::bpchar, 'BB'::bpchar]))`, 'code', { oneOf: ['AA', 'BB'] }],
    [`(state = ANY (ARRAY['paid'::state, 'new'::state]))`, 'state', { oneOf: ['new', 'paid'] }],
    ['(count = ANY (ARRAY[1, 2]))', 'count', { oneOf: [1, 2] }],
    ['((count >= 1) AND (count <= 5))', 'count', { min: 1, max: 5 }],
    ['(count > 0)', 'count', { min: 1 }],
    [`(count > '-5'::integer)`, 'count', { min: -4 }],
    ['((count)::numeric < 2.5)', 'count', { max: 2 }],
    ['((count)::numeric > 2.5)', 'count', { min: 3 }],
    [`((count)::numeric >= ('-2.5'::numeric))`, 'count', { min: -2 }],
    ['(0 < count)', 'count', { min: 1 }],
    [`(big < '9223372036854775807'::bigint)`, 'big', { max: '9223372036854775806' }],
    ['(price >= (0)::numeric)', 'price', { min: '0' }],
    ['(price > (0)::numeric)', 'price', { min: '0.01' }],
    ['(price < 9.505)', 'price', { max: '9.5' }],
    ['(ratio >= (0)::double precision)', 'ratio', { min: 0 }],
    [`(born >= '1900-01-01'::date)`, 'born', { min: '1900-01-01' }],
    ['(char_length((name)::text) <= 40)', 'name', { maxLength: 40 }],
    ['((length(free) > 2) AND (length(free) < 10))', 'free', { minLength: 3, maxLength: 9 }],
    [`((name)::text <> ''::text)`, 'name', { minLength: 1 }],
    ['(octet_length(photo) <= 1000)', 'photo', { maxLength: 1000 }],
    [`(free ~ '^[a-z][a-z0-9_]{2,30}$'::text)`, 'free', { pattern: '^[a-z][a-z0-9_]{2,30}$' }],
    [`((name)::text ~ '^[^@]+@[a-z.]+$'::text)`, 'name', { pattern: '^[^@]+@[a-z.]+$' }],
    ['((count >= 0) AND (count < big))', 'count', { min: 0 }],
    ['("Order Date" >= \'2000-01-01\'::date)', 'Order Date', { min: '2000-01-01' }],
  ])('%s', (check, column, rules) => {
    expect(rulesOf(check)).toEqual({ [column]: rules })
  })
})

describe('checks as people write them for SQLite', () => {
  it.each<[string, ColumnName, object]>([
    [`free in ('a', 'b')`, 'free', { oneOf: ['a', 'b'] }],
    ['"free" IN ("a","b")', 'free', { oneOf: ['a', 'b'] }],
    ["FREE = 'a' or `free` = 'b'", 'free', { oneOf: ['a', 'b'] }],
    ['count between 1 and 5', 'count', { min: 1, max: 5 }],
    ['count>=-3 and count<+4', 'count', { min: -3, max: 3 }],
    ["[Order Date] >= '2000-01-01'", 'Order Date', { min: '2000-01-01' }],
    ['length(free) <= 40 -- forty', 'free', { maxLength: 40 }],
    ['length(label) <= 40', 'label', { maxLength: 40 }],
    ['count is null or count > 0 and count < 10', 'count', { min: 1, max: 9 }],
    ['price >= .5', 'price', { min: '0.5' }],
  ])('%s', (check, column, rules) => {
    expect(rulesOf(check)).toEqual({ [column]: rules })
  })
})

it.each([
  `label in ('a', 'b')`,
  `free in ('a', null)`,
  `free not in ('a', 'b')`,
  `not (count > 0)`,
  `email = 'a@example.com'`,
  `code in ('A', 'BB')`,
  `lower(free) = 'a'`,
  `free = lower(free)`,
  `free collate nocase in ('a', 'b')`,
  `count > 0 or big > 0`,
  `big is null or count > 0`,
  `count > 0 or count < -5`,
  `count % 2 = 0`,
  `(count + 1) > 5`,
  `(ratio)::integer > 5`,
  `ratio > 0`,
  `born > '2000-01-01'`,
  `born < now()`,
  `at >= '2000-01-01 00:00:00+00'`,
  `active in (0, 1)`,
  `tags <@ array['a', 'b']`,
  `cardinality(tags) > 0`,
  `char_length(code) = 2`,
  `length(trim(free)) > 0`,
  `octet_length(free) < 10`,
  `free like 'a%'`,
  `free ~* '^a$'`,
  `free !~ '^a$'`,
  `free ~ '^\\w+$'`,
  `free ~ '^.{2,5}$'`,
  `free ~ '^[[:alpha:]]{2}$'`,
  `free ~ '^[a-z]+$'`,
  `name ~ '(a+)+$'`,
  `case when count > 0 then true else false end`,
  `count > 5 and count < 3`,
  `typeof(count) = 'integer'`,
  `json_valid(free)`,
  `(free`,
  `§`,
  '',
])('leaves %s to the database', (check) => {
  expect(rulesOf(check)).toEqual({})
})

it('takes the stricter one of several bounds, and the values that all lists have', () => {
  expect(
    rulesOf('count > 0', 'count >= 5 and count < 10', `free in ('a', 'b')`, `free in ('b', 'c')`),
  ).toEqual({ count: { min: 5, max: 9 }, free: { oneOf: ['b'] } })
})

it('reads the checks of domains', () => {
  const checks = ['((VALUE >= 1900) AND (VALUE <= 2200))']
  const column = { ...columns[6], checks } as (typeof columns)[number]
  const conditions = readChecks({ ...base, columns: [column], checks: [] })
  expect(toRules(conditions.get('count') ?? [], column, 'integer')).toEqual({
    min: 1900,
    max: 2200,
  })
})

it.each([
  [{ min: 1 }, '0', false],
  [{ min: 1 }, '1', true],
  [{ max: '9.5' }, "'9.50'", true],
  [{ max: '9.5' }, "'9.51'", false],
  [{ oneOf: ['a'] }, "'b'", false],
  [{ oneOf: ['a'] }, "'a'", true],
  [{ minLength: 1 }, "''", false],
  [{ pattern: '^a$' }, "'b'", false],
  [{ min: '2000-01-01' }, "'now'", true],
  [{ oneOf: ['a'] }, '() => randomUUID()', true],
])('%j with the default %s', (rules, code, accepts) => {
  expect(acceptsDefault(rules, code)).toBe(accepts)
})
