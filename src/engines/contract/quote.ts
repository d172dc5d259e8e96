/** Names in SQL. Only the name of a table contains a dot: it follows the name of the table's schema. */

/** @returns the name in quotation marks: `"order"` */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** `billing.orders` → `"billing"."orders"` */
export function quoteTable(name: string): string {
  return name.split('.').map(quote).join('.')
}

/** The quoted name of an index or a sequence, in the schema of its table: `"billing"."orders_number_key"`. */
export function quoteInSchemaOf(table: string, name: string): string {
  const schema = schemaOf(table)
  return schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`
}

/** @returns `undefined` for a table in the schema that names without one refer to */
export function schemaOf(table: string): string | undefined {
  const end = table.indexOf('.')
  return end < 0 ? undefined : table.slice(0, end)
}

/** The table's name without its schema, by which its own statements name its columns. */
export function nameInSchema(table: string): string {
  return table.slice(table.indexOf('.') + 1)
}
