import { expect, it } from '@jest/globals'
import { raw, sql, name, slot, toText } from '../../src/engines/contract/sql-text.js'

it('quotes names, and does not treat a value as part of a slot', () => {
  const text = sql`${name('t', 'a"b')} = ${slot(1)} and ${name('c')} = ${slot(0)}`
  expect(toText(text, (place) => `$${place}`)).toEqual({
    sql: '"t"."a""b" = $1 and "c" = $2',
    order: [1, 0],
  })
  expect(() => raw('a\0b')).toThrow(TypeError)
})
