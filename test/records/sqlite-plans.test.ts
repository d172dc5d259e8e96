/** What plans of SQLite say of whole tables. */
import { expect, it } from '@jest/globals'
import { sqliteScans } from '../../src/engines/sqlite/dialect.js'

it.each([
  ['a table', ['SCAN t0'], ['t0']],
  ['two tables', ['SCAN t0', 'SCAN t1'], ['t0', 't1']],
  ['a table in the order of an index', ['SCAN t0 USING INDEX a_index'], []],
  [
    'rows that a part has found by an index',
    ['CO-ROUTINE t0', 'SEARCH t0 USING INDEX a_index (a=?)', 'SCAN t0', 'SEARCH t1 USING INDEX b'],
    [],
  ],
  ['a table within a part of its name', ['CO-ROUTINE t0', 'SCAN t0', 'SCAN t0'], ['t0']],
  ['a part that is kept', ['MATERIALIZE t2', 'SEARCH t2 USING INDEX c', 'SCAN t2'], []],
])('tells whether all of it is read: %s', (_title, lines, tables) => {
  expect(sqliteScans.read(lines.map((line) => [0, 0, 0, line]))).toEqual(tables)
})
