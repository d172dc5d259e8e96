/** SQL as text: the templates of dialects, and the scripts of migrations, which are split at their semicolons. */
import { describe, expect, it } from '@jest/globals'
import { raw, sql, name, slot, toText } from '../../src/engines/contract/sql-text.js'
import { splitStatements } from '../../src/engines/contract/sql-script.js'

it('quotes names, and does not treat a value as part of a slot', () => {
  const text = sql`${name('t', 'a"b')} = ${slot(1)} and ${name('c')} = ${slot(0)}`
  expect(toText(text, (place) => `$${place}`)).toEqual({
    sql: '"t"."a""b" = $1 and "c" = $2',
    order: [1, 0],
  })
  expect(() => raw('a\0b')).toThrow(TypeError)
})

describe('splitStatements', () => {
  it.each<[string, string[]]>([
    ['', []],
    [' ; -- only; this\n/* and; /* this; */ */ ;', []],
    ['select 1; select 2', ['select 1', 'select 2']],
    [`select ';', 'it''s; '; select 2;`, [`select ';', 'it''s; '`, 'select 2']],
    [
      String.raw`select e'\';'; select 'a\'; select 3`,
      [String.raw`select e'\';'`, String.raw`select 'a\'`, 'select 3'],
    ],
    [`select "a;""b"; b`, [`select "a;""b"`, 'b']],
    ['do $$ begin; end $$; b', ['do $$ begin; end $$', 'b']],
    ['do $x$ a; $$ ; $x$; b', ['do $x$ a; $$ ; $x$', 'b']],
    [`select date'2020;'; a$b$; c$b$`, [`select date'2020;'`, 'a$b$', 'c$b$']],
    [
      'create rule r as on insert to a do also (insert into b values (1); delete from c); d',
      ['create rule r as on insert to a do also (insert into b values (1); delete from c)', 'd'],
    ],
    [
      'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end; begin; b',
      [
        'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end',
        'begin',
        'b',
      ],
    ],
    ['-- why;\nselect 1;', ['-- why;\nselect 1']],
    [`select 'open; end`, [`select 'open`, 'end']],
  ])('splits %j', (script, statements) => {
    expect(splitStatements(script, { nestedComments: true })).toStrictEqual(statements)
  })

  it('ends a comment at its first end if comments cannot be nested', () => {
    const script = '/* /* */ a; b /* */'
    expect(splitStatements(script, { nestedComments: false })).toHaveLength(2)
    expect(splitStatements(script, { nestedComments: true })).toEqual([])
  })
})
