/** Which tables SQLite reads completely, according to its query plan. */
import { expect, it } from '@jest/globals'
import { sqliteScans } from '../../src/engines/sqlite/dialect.js'

it.each([
  ['a table', ['SCAN t0'], ['t0']],
  ['two tables', ['SCAN t0', 'SCAN t1'], ['t0', 't1']],
  ['a table in the order of an index', ['SCAN t0 USING INDEX a_index'], []],
  [
    'rows that a subquery found with an index',
    ['CO-ROUTINE t0', 'SEARCH t0 USING INDEX a_index (a=?)', 'SCAN t0', 'SEARCH t1 USING INDEX b'],
    [],
  ],
  ['a table inside a subquery of the same name', ['CO-ROUTINE t0', 'SCAN t0', 'SCAN t0'], ['t0']],
  ['a materialized subquery', ['MATERIALIZE t2', 'SEARCH t2 USING INDEX c', 'SCAN t2'], []],
])('reports fully scanned tables: %s', (_title, lines, tables) => {
  expect(sqliteScans.read(lines.map((line) => [0, 0, 0, line]))).toEqual(tables)
})
