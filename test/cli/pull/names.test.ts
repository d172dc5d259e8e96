/** The names that `filigree pull` gives. */
import { describe, expect, it } from '@jest/globals'
import {
  ClassNames,
  MemberNames,
  toClassName,
  toFileName,
  toListName,
  toPropertyName,
} from '../../../src/cli/pull/names.js'

it.each([
  ['order_lines', 'OrderLine', 'order-line'],
  ['Invoice', 'Invoice', 'invoice'],
  ['InvoiceLines', 'InvoiceLine', 'invoice-line'],
  ['people', 'Person', 'person'],
  ['news', 'News', 'news'],
  ['statuses', 'Status', 'status'],
  ['movie_data', 'MovieData', 'movie-data'],
  ['USERS', 'User', 'user'],
  ['api-keys', 'ApiKey', 'api-key'],
  ['oauth2_tokens', 'Oauth2Token', 'oauth2-token'],
  ['2fa_codes', 'Table2faCode', 'table2fa-code'],
])('the table %s is the class %s in %s.ts', (table, className, file) => {
  expect(toClassName(table)).toBe(className)
  expect(toFileName(className)).toBe(file)
})

it.each([
  ['customer_id', 'customerId'],
  ['CustomerId', 'customerId'],
  ['ADDRESS', 'address'],
  ['userID', 'userId'],
  ['_synced_at', 'syncedAt'],
  ['line_2', 'line2'],
  ['2fa', 'column2fa'],
  ['_', 'column'],
])('the column %s is the property %s', (column, property) => {
  expect(toPropertyName(column)).toBe(property)
})

it('makes plurals of lists', () => {
  expect(['OrderLine', 'Category', 'Person', 'News'].map(toListName)).toEqual([
    'orderLines',
    'categories',
    'people',
    'news',
  ])
})

describe('class names', () => {
  it('avoid names of the framework, and of other classes in any case', () => {
    const names = new ClassNames()
    expect(names.take(['Record', 'RecordRow'])).toBe('RecordRow')
    expect(names.take(['ABTest', 'ABTestRow'])).toBe('ABTest')
    expect(names.take(['AbTest', 'AbTestRow'])).toBe('AbTestRow')
    expect(names.take(['AbTest', 'AbTestRow'])).toBe('AbTestRow2')
  })

  it('avoid types and queries that GraphQL makes of other classes', () => {
    const names = new ClassNames()
    expect(names.take(['Product'])).toBe('Product')
    for (const ending of ['Input', 'Where', 'Group', 'Aggregate', 'Edge'])
      expect(names.take([`Product${ending}`, `Product${ending}Row`])).toBe(`Product${ending}Row`)
    // The list of products.
    expect(names.take(['Products', 'ProductsRow'])).toBe('ProductsRow')
  })
})

it('member names avoid properties of objects, words of filters and names that are equal in GraphQL', () => {
  const names = new MemberNames()
  const take = (name: string): string => names.take([name, `${name}Value`])
  expect(['constructor', 'toJSON', 'and', 'name', 'Name', 'name'].map(take)).toEqual([
    'constructorValue',
    'toJSONValue',
    'andValue',
    'name',
    'NameValue',
    'nameValue2',
  ])
})
