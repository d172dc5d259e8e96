/** SQLite has no schemas: the schema of a table becomes the beginning of its name. */

import { quote } from '../contract/quote.js'

/** `billing.orders` → `billing_orders` */
export function toSqliteName(table: string): string {
  return table.replace('.', '_')
}

/** The quoted name of a record's table. */
export function quoteSqliteTable(table: string): string {
  return quote(toSqliteName(table))
}
