/** The records that `filigree pull` makes of a database: plain data, from which the sources are written. */
import type { CatalogueColumn, CatalogueTable } from '../../engines/contract/described-table.js'
import type { KindName } from '../../fields/kinds/table.js'

/** An option of a decorator, with its value as code, or the items of a list: `['maxLength', '40']`, `['key', ["'id'"]]`. */
export type Setting = readonly [name: string, code: string | readonly string[]]

/** `[1, 2]` */
export function codeOf(code: string | readonly string[]): string {
  return typeof code === 'string' ? code : `[${code.join(', ')}]`
}

/** A class and its file. */
export interface ClassFile {
  readonly className: string
  /** Without its ending: `order-line`. */
  readonly fileName: string
}

export interface PulledRecord extends ClassFile {
  readonly table: CatalogueTable
  /** Of `@Record`. */
  readonly settings: readonly Setting[]
  readonly fields: readonly PulledField[]
  readonly relations: readonly PulledRelation[]
  /** What the class leaves out or changes, for its comment and for the report. */
  readonly remarks: readonly Remark[]
}

export interface PulledField {
  readonly property: string
  readonly column: CatalogueColumn
  readonly kind: KindName
  /** Of `@Field`. */
  readonly settings: readonly Setting[]
  /** The type of the property: `string | null`. */
  readonly type: string
  /** The property may be absent: `name?:`. */
  readonly isOptional: boolean
}

export interface PulledRelation {
  readonly name: string
  readonly kind: 'BelongsTo' | 'HasMany'
  /** The class of the other record, and its file. */
  readonly target: string
  readonly file: string
  /** `BelongsTo`: the other row may be absent. */
  readonly isNullable: boolean
  readonly settings: readonly Setting[]
}

export interface Remark {
  /** The table, with its schema, and the column or key: `billing.orders.total`. */
  readonly where: string
  /** `has a name that no field can have` */
  readonly message: string
  /** Something of the database is not in the class. */
  readonly isLeftOut: boolean
}

/** `billing.orders` */
export function tableName({ schema, name }: Pick<CatalogueTable, 'schema' | 'name'>): string {
  return schema === undefined ? name : `${schema}.${name}`
}

/** A value as TypeScript code, in the style of Prettier: `'it\'s'`, `[1, 2]`. */
export function toCode(value: unknown): string {
  if (typeof value === 'string') return quoteText(value)
  if (Array.isArray(value)) return `[${value.map(toCode).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([name, one]) => `${toKey(name)}: ${toCode(one)}`)
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
  }
  return JSON.stringify(value)
}

function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteText(name)
}

function quoteText(text: string): string {
  const json = JSON.stringify(text)
  if (text.includes("'") && !text.includes('"')) return json
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}
