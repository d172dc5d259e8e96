/** How `filigree pull` reads the defaults of columns. */
import { expect, it } from '@jest/globals'
import { readDefault } from '../../../src/cli/pull/default-values.js'
import type { ColumnForm } from '../../../src/engines/contract/described-table.js'

const forms = {
  text: { kind: 'string' },
  integer: { kind: 'integer' },
  bigint: { kind: 'bigint' },
  numeric: { kind: 'numeric' },
  price: { kind: 'decimal', digits: { precision: 8, scale: 2 } },
  boolean: { kind: 'boolean' },
  datetime: { kind: 'datetime' },
  date: { kind: 'date' },
  uuid: { kind: 'uuid' },
  json: { kind: 'json' },
  status: { kind: 'enum', values: ['new', "it's late"], type: 'order_status' },
  list: { kind: 'string', isList: true },
  numbers: { kind: 'integer', isList: true },
} satisfies Record<string, ColumnForm>

const cases: [sql: string, form: keyof typeof forms, code: string][] = [
  ["'none'::text", 'text', "'none'"],
  ["''::character varying", 'text', "''"],
  ["'it''s'::character varying(20)", 'text', '"it\'s"'],
  ["'-1'::integer", 'integer', '-1'],
  ['(0)', 'integer', '0'],
  ["'5'::bigint", 'bigint', "'5'"],
  ['1.5', 'numeric', '1.5'],
  ['4.99', 'price', "'4.99'"],
  ['true', 'boolean', 'true'],
  ['0', 'boolean', 'false'],
  ["'f'", 'boolean', 'false'],
  ['now()', 'datetime', "'now'"],
  ['CURRENT_TIMESTAMP(3)', 'datetime', "'now'"],
  ["timezone('utc'::text, now())", 'datetime', "'now'"],
  ["(now() AT TIME ZONE 'utc'::text)", 'datetime', "'now'"],
  ["('now'::text)::date", 'date', "'now'"],
  ['CURRENT_DATE', 'date', "'now'"],
  ['gen_random_uuid()', 'uuid', '() => randomUUID()'],
  ["'{}'::jsonb", 'json', '() => ({})'],
  [`'{"a": [1]}'::jsonb`, 'json', '() => ({ a: [1] })'],
  ["'[]'::json", 'json', '() => []'],
  ["'new'::order_status", 'status', "'new'"],
  ["'it''s late'::billing.order_status", 'status', '"it\'s late"'],
  ["'{}'::text[]", 'list', '() => []'],
  ["'{a,b}'::text[]", 'list', "() => ['a', 'b']"],
  [`'{"a b","it''s","\\""}'::text[]`, 'list', `() => ['a b', "it's", '"']`],
  ["'{1,-2}'::integer[]", 'numbers', '() => [1, -2]'],
]

it.each(cases)('%s of a %s is %s', (sql, form, code) => {
  expect(readDefault(sql, forms[form])).toMatchObject({ is: 'value', code })
})

it.each([[undefined], ['NULL'], ['NULL::character varying']])('%s is no default', (sql) => {
  expect(readDefault(sql, forms.text)).toEqual({ is: 'none' })
})

it.each([
  ["lower('A')", forms.text],
  ["'gone'::order_status", forms.status],
  ["'{a,NULL}'::text[]", forms.list],
  ["'{{1},{2}}'::integer[]", forms.numbers],
  ["(now() + '1 day'::interval)", forms.datetime],
  ["nextval('x_seq'::regclass)", forms.integer],
])('%s is not known', (sql, form) => {
  expect(readDefault(sql, form)).toEqual({ is: 'unknown' })
})
