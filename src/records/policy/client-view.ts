/**
 * Limits what one client sees: the rows of each record, and the fields and relations for filters and orders.
 * Every query of a client is bound here, including filters through relations. Source: decisions, Records: access
 * rules.
 */

import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { isHidden, suggestedRelations, invalid } from '../filters/query-errors.js'
import type { Relation, Table, Condition } from '../model/table.js'
import type { RelationTree, Slots, RowsView } from '../filters/list-options.js'
import type { AccessRule } from '../../auth/access.js'
import type { Log } from '../../core/log.js'
import { FilterReader, type FilterContext } from '../filters/filter.js'
import { isDerived, type Derived } from '../../sql/derived.js'
import { allOf, noRows } from '../../sql/condition.js'
import type { Order } from '../../sql/order.js'
import type { Selection } from '../../sql/tree.js'
import type { Column } from '../../engines/contract/table.js'
import { currentShard } from '../statements/shard.js'
import type { RecordsContext } from '../statements/source.js'
import { demand, type Caller } from '../rights/caller.js'
import { policyOf } from '../rights/record-policy.js'
import { logProblem, visibleRows } from './visible-rows.js'

const maxDepth = 4
/** The maximum number of relations in one query. */
const maxRelations = 20

/**
 * @param paths `['products.tags', 'category']`
 * @throws {HttpError} 400 for a path that does not exist for clients
 */
export function readRelationTree(table: Table, paths: readonly string[]): RelationTree {
  const tree = new Map<Relation, Map<Relation, never>>()
  let count = 0
  for (const path of paths) {
    const names = path.split('.')
    if (names.length > maxDepth) throw invalid('with', 'depth', `is deeper than ${maxDepth} levels`)
    let current = table
    let node = tree as Map<Relation, RelationTree>
    for (const name of names) {
      const relation = readRelation(current, name)
      let next = node.get(relation) as Map<Relation, RelationTree> | undefined
      if (next === undefined) {
        if (++count > maxRelations)
          throw invalid('with', 'maxItems', `names more than ${maxRelations} relations`)
        node.set(relation, (next = new Map()))
      }
      node = next
      current = relation.target
    }
  }
  return tree
}

function readRelation(table: Table, name: string): Relation {
  const relation = table.relations.get(name)
  if (relation !== undefined && !isHidden(relation)) return relation
  const suggestion = didYouMean(clip(name), suggestedRelations(table, true))
  const text = `names "${clip(name)}", which is not a relation of ${table.type.name}. ${suggestion}`
  throw invalid('with', 'unknown', text.trim())
}

/**
 * Reads the related rows that a client selected with the rows of a list, each with all columns.
 *
 * @throws {HttpError} 401 or 403 for a relation that the client may not follow
 */
export function selectRelations(
  tree: RelationTree,
  view: ClientView,
  slots: Slots,
): Selection<Relation> {
  return [...tree].map(([relation, below]) => {
    view.checkRelation(relation)
    slots.key += ';'
    const where = view.rows(relation.target, slots)
    const selection = selectRelations(below, view, slots)
    return { kind: 'relation', key: relation.name, relation, rows: { where }, selection }
  })
}

/** The reader's context, and the application whose providers `rows` uses. */
type ViewContext = FilterContext & Pick<RecordsContext, 'providers'>

export interface ClientViewOptions {
  readonly context: ViewContext
  readonly caller: Caller
  /** Receives errors of `rows`. */
  readonly log: Log
}

export class ClientView implements RowsView {
  readonly caller: Caller
  /** True if the result depends on the caller: other callers would see other rows, or an error. */
  isPersonal = false
  readonly #context: ViewContext
  readonly #log: Log
  /** Results of `rows`, which is called once for each record and request. */
  readonly #rowFilters = new Map<Table, object | boolean>()

  constructor({ context, caller, log }: ClientViewOptions) {
    this.#context = context
    this.caller = caller
    this.#log = log
  }

  /** True if some rows of a record may be invisible to the caller. */
  isBound(table: Table): boolean {
    return policyOf(table).hasRows && !this.caller.trusted
  }

  /** False if `rows` shows the caller none. */
  seesAny(table: Table): boolean {
    return !this.isBound(table) || this.#visibleRowsOf(table) !== false
  }

  /** True if `rows` shows the caller every row. Always false for a sharded record. */
  seesAll(table: Table): boolean {
    return (
      !this.isBound(table) || (table.shard === undefined && this.#visibleRowsOf(table) === true)
    )
  }

  /** A condition for the rows that the caller may see; `undefined` if it may see all. */
  rows(table: Table, slots: Slots): Condition | undefined {
    if (!policyOf(table).hasRows) return undefined
    this.isPersonal = true
    const rowFilter =
      table.shard === undefined ? this.#visibleRowsOf(table) : this.#rowsInShard(table, table.shard)
    if (typeof rowFilter === 'boolean') {
      slots.key += rowFilter ? 'T' : 'F'
      return rowFilter ? undefined : noRows
    }
    const before = slots.values.length
    const reader = new FilterReader(this.#context, false, slots.values)
    try {
      const condition = reader.read(table, rowFilter)
      slots.key += `R${reader.key}`
      return condition
    } catch (error) {
      slots.values.length = before
      this.#rowFilters.set(table, false)
      logProblem(table, this.#log, 'returned a filter that cannot be used', error)
      slots.key += 'F'
      return noRows
    }
  }

  /**
   * Adds conditions to a client's query: for its own rows, and for the rows of every relation.
   *
   * @param requested the client's parsed filter; its values and the added ones are in `slots`
   * @throws {HttpError} 401 `UNAUTHENTICATED` or 403 `FORBIDDEN` for fields, relations and records that it may not
   * use
   */
  bind(table: Table, requested: Condition | undefined, slots: Slots): Condition | undefined {
    const visible = this.rows(table, slots)
    if (requested === undefined) return visible
    return allOf(this.#bindRequested(table, requested, slots), visible)
  }

  /** @throws {HttpError} as `bind` */
  order(table: Table, order: Order, slots: Slots): Order {
    const { columns } = policyOf(table)
    let hasDerived = false
    for (const { column } of order.terms) {
      if (isDerived(column)) hasDerived = true
      else if (columns.size > 0) this.#check(columns.get(column))
    }
    if (!hasDerived) return order
    slots.key += 'by'
    const terms = order.terms.map((term) => {
      const column = term.column
      if (!isDerived(column)) return term
      const derived = this.derived(column.derived as Derived<Relation>, slots)
      return { ...term, column: { ...column, derived } }
    })
    return { ...order, terms }
  }

  /** @throws {HttpError} as `bind` */
  derived({ path, column }: Derived<Relation>, slots: Slots): Derived<Relation> {
    const bound = path.map(({ relation }) => {
      this.checkRelation(relation)
      return { relation, where: this.rows(relation.target, slots) }
    })
    const last = path.at(-1)
    if (column !== undefined && last !== undefined) this.checkColumn(last.relation.target, column)
    return { path: bound, column }
  }

  /** @throws {HttpError} as `bind` */
  checkColumn(table: Table, column: Column): void {
    this.#check(policyOf(table).columns.get(column))
  }

  /** Checks the relation and its target record. @throws {HttpError} as `bind` */
  checkRelation(relation: Relation): void {
    for (const rule of rulesOfRelation(relation)) this.#check(rule)
  }

  #bindRequested(table: Table, condition: Condition, slots: Slots): Condition {
    switch (condition.kind) {
      case 'all':
      case 'any': {
        const parts = condition.parts.map((part) => this.#bindRequested(table, part, slots))
        return { ...condition, parts }
      }
      case 'not':
        return { ...condition, part: this.#bindRequested(table, condition.part, slots) }
      case 'related': {
        const { relation } = condition
        this.checkRelation(relation)
        const part = this.#bindRequested(relation.target, condition.part, slots)
        return { ...condition, part: allOf(part, this.rows(relation.target, slots)) ?? part }
      }
      case 'search':
        for (const column of condition.search.columns) this.checkColumn(table, column)
        return condition
      default:
        this.checkColumn(table, condition.column)
        return condition
    }
  }

  #check(rule: AccessRule | undefined): void {
    if (rule === undefined || rule.open) return
    this.isPersonal = true
    demand(rule, this.caller)
  }

  /** The shard of a sharded record: the one of the call, or else the one in the caller's `rows`. */
  shard(table: Table, { property }: Column): unknown {
    const callShard = currentShard(table)
    if (callShard !== undefined) return callShard
    return valueIn(this.#visibleRowsOf(table), property)
  }

  /**
   * The shard of which the caller sees every row and no other rows, so that statements in this shard need no other
   * condition. Undefined if the caller sees other rows.
   */
  wholeShard(table: Table): unknown {
    const { shard } = table
    if (shard === undefined) return undefined
    this.isPersonal = true
    const value = this.shard(table, shard)
    const rowFilter = this.#visibleRowsOf(table)
    if (rowFilter !== true && !isOnlyValue(rowFilter, shard.property, value)) return undefined
    const codec = this.#context.codecOf(table).byProperty.get(shard.property)
    return codec?.accepts(value) === true ? value : undefined
  }

  /** The caller's rows within the shard of the call. */
  #rowsInShard(table: Table, column: Column): object | boolean {
    const rowFilter = this.#visibleRowsOf(table)
    if (rowFilter === false || this.caller.trusted) return rowFilter
    const callShard = currentShard(table)
    if (callShard === undefined) return rowFilter
    const shardFilter = { [column.property]: callShard }
    const isSame = rowFilter === true || isOnlyValue(rowFilter, column.property, callShard)
    return isSame ? shardFilter : { and: [rowFilter, shardFilter] }
  }

  #visibleRowsOf(table: Table): object | boolean {
    let rowFilter = this.#rowFilters.get(table)
    if (rowFilter === undefined) {
      rowFilter = visibleRows(table, this.caller, {
        log: this.#log,
        providers: this.#context.providers,
      })
      this.#rowFilters.set(table, rowFilter)
    }
    return rowFilter
  }
}

/** True if a filter compares the property with this value, and does nothing else. */
function isOnlyValue(filter: object | boolean, property: string, value: unknown): boolean {
  if (typeof filter !== 'object') return false
  const [only, ...others] = Object.entries(filter)
  if (only?.[0] !== property || others.length > 0) return false
  const named: unknown = only[1]
  if (named === value) return true
  return isNamed(named) && Object.keys(named).length === 1 && named.eq === value
}

function isNamed(value: unknown): value is { readonly eq: unknown } {
  return typeof value === 'object' && value !== null && 'eq' in value
}

/** The only value that a filter allows for a property, if there is one. */
function valueIn(filter: unknown, property: string): string | number | undefined {
  if (typeof filter !== 'object' || filter === null) return undefined
  const { [property]: value, and } = filter as Readonly<Record<string, unknown>>
  const named = isNamed(value) ? value.eq : value
  if (typeof named === 'string' || typeof named === 'number') return named
  if (!Array.isArray(and)) return undefined
  for (const part of and) {
    const found = valueIn(part, property)
    if (found !== undefined) return found
  }
  return undefined
}

/** The rules that must admit a caller who follows a relation. */
export function rulesOfRelation(relation: Relation): readonly AccessRule[] {
  const relationRules = policyOf(relation.table).relations.get(relation) ?? []
  const { read } = policyOf(relation.target)
  return read === undefined || read.open ? relationRules : [...relationRules, read]
}
