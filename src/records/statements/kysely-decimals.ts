/**
 * Decimals in queries of `database.kysely`: `decimalText` reads them and `decimalValue` writes them, alike on every engine.
 * Both make a mark in the query. The builder replaces the marks when it knows the engine and the tables.
 *
 * ```ts
 * kysely.selectFrom('assay').select(decimalText('price')).where('price', '>', decimalValue('9.50', 'price'))
 * // SQLite: select filigree_decimal('2 ' || "price") as "price" from "assay" where "price" > 950
 * // PostgreSQL: select cast(cast("price" as numeric(12,2)) as text) as "price" from "assay" where "price" > '9.50'
 * ```
 */
import type { AliasableExpression, AliasedExpression, Expression, OperationNode } from 'kysely'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import { decimal } from '../../fields/kinds/numbers.js'
import type { Digits, Kind } from '../../fields/kinds/kind.js'
import type { Table } from '../model/table.js'

/** The digits of a decimal that no record declares, for example in a migration. */
export type DecimalDigits = Digits

/** The name of a column in a query: `price`, or `assay.price`. */
type ColumnOf<Name extends string> = Name extends `${string}.${infer Column}` ? Column : Name

/** An expression of a text. In `select`, it has the name of its column unless `as` gives another one. */
export type DecimalText<Name extends string> = AliasableExpression<string> &
  AliasedExpression<string, ColumnOf<Name>>

const textMark = 'filigree_decimal_text('
const valueMark = 'filigree_decimal_value('

/**
 * A decimal as text with its full scale, `'9.50'`: a column, or an expression such as a sum.
 *
 * @param of for an expression: the column with its digits. For a column that no record has: the digits
 */
export function decimalText<Name extends string>(
  column: Name,
  of?: string | DecimalDigits,
): DecimalText<Name>
export function decimalText(
  expression: Expression<unknown>,
  of: string | DecimalDigits,
): AliasableExpression<string>
export function decimalText(
  source: string | Expression<unknown>,
  of?: string | DecimalDigits,
): DecimalText<string> {
  const node = typeof source === 'string' ? toReference(source) : source.toOperationNode()
  const digits = of ?? (source as string)
  return toExpression<string>(mark(textMark, node, digits)) as DecimalText<string>
}

/**
 * A decimal as its column stores it, for comparisons, inserts and updates.
 *
 * @param value text such as `9.5`
 * @param of the column, or the digits of one that no record has
 */
export function decimalValue(
  value: string,
  of: string | DecimalDigits,
): AliasableExpression<string> {
  return toExpression(mark(valueMark, { kind: 'ValueNode', value } as ValueNode, of))
}

interface RawNode extends OperationNode {
  readonly kind: 'RawNode'
  readonly sqlFragments: readonly string[]
  readonly parameters: readonly OperationNode[]
}

interface ValueNode extends OperationNode {
  readonly kind: 'ValueNode'
  readonly value: unknown
}

/** Marks have the form of SQL, so that plugins of Kysely leave them as they are. */
function mark(start: string, node: OperationNode, of: string | DecimalDigits): RawNode {
  const digits = typeof of === 'string' ? toReference(of) : rawNode([`${of.precision},${of.scale}`])
  return rawNode([start, ', ', ')'], [node, digits])
}

function rawNode(
  sqlFragments: readonly string[],
  parameters: readonly OperationNode[] = [],
): RawNode {
  return { kind: 'RawNode', sqlFragments, parameters }
}

function toReference(name: string): OperationNode {
  const parts = name.split('.')
  const identifier = (part: string | undefined) => ({ kind: 'IdentifierNode', name: part })
  const table = parts.at(-2)
  return {
    kind: 'ReferenceNode',
    column: { kind: 'ColumnNode', column: identifier(parts.at(-1)) },
    ...(table !== undefined && {
      table: {
        kind: 'TableNode',
        table: { kind: 'SchemableIdentifierNode', identifier: identifier(table) },
      },
    }),
  } as OperationNode
}

function toExpression<T>(node: OperationNode): AliasableExpression<T> {
  const expression = {
    expressionType: undefined,
    toOperationNode: () => node,
    as: (alias: string) => ({
      expression,
      alias,
      toOperationNode: () => aliasNode(node, alias),
    }),
  }
  return expression as unknown as AliasableExpression<T>
}

function aliasNode(node: OperationNode, name: string): OperationNode {
  return { kind: 'AliasNode', node, alias: { kind: 'IdentifierNode', name } } as OperationNode
}

/** Replaces the marks of a query. @returns the same query if it has none */
export function resolveDecimals<T extends OperationNode>(
  query: T,
  dialect: Dialect,
  tables: Iterable<Table>,
): T {
  return containsMark(query)
    ? (new DecimalResolver(query, dialect, tables).replace(query) as T)
    : query
}

function containsMark(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  return isMark(node) || Object.values(node).some(containsMark)
}

function isMark(node: object): node is RawNode {
  const { kind, sqlFragments } = node as Partial<RawNode>
  return kind === 'RawNode' && (sqlFragments?.[0] === textMark || sqlFragments?.[0] === valueMark)
}

interface Reference extends OperationNode {
  readonly kind: 'ReferenceNode'
  readonly table?: { readonly table: { readonly identifier: { readonly name: string } } }
  readonly column: { readonly column: { readonly name: string } }
}

class DecimalResolver {
  readonly #dialect: Dialect
  /** The records of the query's tables, by the names that the query gives them. */
  readonly #tables = new Map<string, Table>()

  constructor(query: OperationNode, dialect: Dialect, tables: Iterable<Table>) {
    this.#dialect = dialect
    const byName = new Map([...tables].map((table) => [table.name, table]))
    this.#collect(query, byName)
  }

  #collect(node: unknown, byName: ReadonlyMap<string, Table>): void {
    if (typeof node !== 'object' || node === null) return
    const { kind, node: inner, alias } = node as { kind?: string; node?: unknown; alias?: unknown }
    const table = byName.get(tableNameOf(kind === 'AliasNode' ? inner : node) ?? '')
    if (table !== undefined) {
      const { name = table.name } = (alias ?? {}) as { readonly name?: string }
      this.#tables.set(kind === 'AliasNode' ? name : table.name, table)
    }
    if (kind === 'ReferenceNode') return
    for (const part of Object.values(node)) this.#collect(part, byName)
  }

  replace(node: unknown): unknown {
    if (typeof node !== 'object' || node === null || !containsMark(node)) return node
    if (isMark(node)) return this.#resolve(node)
    if (Array.isArray(node)) return node.map((one) => this.replace(one))
    const { kind, selection } = node as { readonly kind?: string; readonly selection?: object }
    const entries = Object.entries(node).map(([name, part]) => [name, this.replace(part)] as const)
    const replaced = Object.fromEntries(entries) as { selection?: OperationNode }
    if (kind !== 'SelectionNode' || selection === undefined || !isMark(selection)) return replaced
    const name = columnNameOf(selection.parameters[0])
    if (name === undefined || replaced.selection === undefined) return replaced
    return { ...replaced, selection: aliasNode(replaced.selection, name) }
  }

  #resolve({ sqlFragments, parameters }: RawNode): OperationNode {
    const [value, of] = parameters as readonly [OperationNode, OperationNode]
    const kind = this.#kindOf(of)
    if (sqlFragments[0] === valueMark) return this.#toValue((value as ValueNode).value, kind)
    const isColumn = columnNameOf(value) !== undefined
    const [before, after] = this.#dialect.values.textOf(
      toColumn(isColumn ? kind : withoutLimit(kind)),
    ) ?? ['', '']
    return {
      ...rawNode([before, after], [this.replace(value) as OperationNode]),
      isOfDecimal,
    } as RawNode
  }

  #toValue(value: unknown, kind: Kind): OperationNode {
    const isOfKind = typeof kind.test === 'function' && kind.test(value)
    if (!isOfKind)
      throw new TypeError(`decimalValue: ${JSON.stringify(value)} is not ${kind.label}.`)
    const text = kind.encode?.(value) ?? value
    const encode = this.#dialect.values.encoder(toColumn(kind))
    return { kind: 'ValueNode', value: encode === undefined ? text : encode(text) } as ValueNode
  }

  #kindOf(of: OperationNode): Kind {
    if (of.kind === 'RawNode') {
      const [precision, scale] = ((of as RawNode).sqlFragments[0] ?? '').split(',').map(Number)
      return decimal.refine?.({ precision, scale }) ?? decimal
    }
    const { table, column } = of as Reference
    const name = column.column.name
    const alias = table?.table.identifier.name
    const found = [...this.#tables]
      .filter(([one]) => alias === undefined || one === alias)
      .flatMap(([, one]) => one.columns.filter((other) => other.name === name))
      .filter(({ storage }) => storage === 'decimal')
      .map(({ field: { entry } }) => entry)
    const [first] = found
    if (first !== undefined && found.every((one) => hasSameDigits(one, first))) return first
    const full = alias === undefined ? name : `${alias}.${name}`
    throw new TypeError(
      first === undefined
        ? `decimalText, decimalValue: no record of this query has a decimal in the column ${full}. Give its digits instead of its name: { precision: 12, scale: 2 }.`
        : `decimalText, decimalValue: several tables of this query have the column ${full}. Name the table: 'product.${name}'.`,
    )
  }
}

/** In a replaced mark: it names no table. */
const isOfDecimal = true

/** Whether a part of a query is a replaced mark. */
export function isDecimalNode(node: object): boolean {
  return 'isOfDecimal' in node
}

function tableNameOf(node: unknown): string | undefined {
  const { kind, table } = (node ?? {}) as Partial<NonNullable<Reference['table']>> & {
    readonly kind?: string
  }
  return kind === 'TableNode' ? table?.identifier.name : undefined
}

function columnNameOf(node: unknown): string | undefined {
  const { kind, column } = (node ?? {}) as Partial<Reference>
  return kind === 'ReferenceNode' ? column?.column.name : undefined
}

function hasSameDigits({ digits }: Kind, other: Kind): boolean {
  return digits?.precision === other.digits?.precision && digits?.scale === other.digits?.scale
}

/** Sums have more digits than their column. */
function withoutLimit({ digits }: Kind): Kind {
  const { scale = 0 } = digits ?? {}
  return decimal.refine?.({ precision: 1000, scale }) ?? decimal
}

/** The part of a column that conversions read. */
function toColumn(entry: Kind): Column {
  return { storage: 'decimal', isBoolean: false, isUuid: false, field: { entry } } as Column
}
