/**
 * The rights of a record, compiled once from its notes: who reads, who writes, which rows, which fields. Nothing else
 * reads those notes. Source: decisions, Second storey: rulings and rights.
 */
import { tokenAccess, type AccessRule } from '../../auth/access.js'
import { accessNotes, classAccess } from '../../auth/decorators.js'
import type { Problem } from '../../errors/declaration-error.js'
import type { Class } from '../../metadata/note.js'
import type { RecordOptions } from '../model/record.js'
import type { Column, Relation, Table } from '../model/table.js'

export interface RecordPolicy {
  /** What `@Secured` or `@NoAuth` before the class says. Undefined: everybody reads it. */
  readonly read: AccessRule | undefined
  /** Who may write: the roles of `mutations`, else as `read`. Undefined: any token. */
  readonly write: AccessRule | undefined
  /** False where `mutations: false` lets no client write. */
  readonly isWritable: boolean
  /** `@Record({ rows })` says who sees which rows. */
  readonly hasRows: boolean
  /** What `@Secured` before a field says. Most records have none. */
  readonly columns: ReadonlyMap<Column, AccessRule>
  /** What `@Secured` before a relation, or before the key that it goes by, says. */
  readonly relations: ReadonlyMap<Relation, readonly AccessRule[]>
  /** Relations by which a client may name only rows that it sees, or that are there at all. */
  readonly judged: ReadonlySet<Relation>
  /** Some answer about its rows depends on who asks: by a rule of its own, or of a record that filters reach. */
  readonly isPersonal: boolean
  /** Some rule that a question of it may meet has a guard, which may answer later. */
  readonly mayWait: boolean
  /** No rule says anything about it. */
  readonly isSilent: boolean
}

const compiled = new WeakMap<Table, RecordPolicy>()

/** The policy of a record; the same for every call. */
export function policyOf(table: Table): RecordPolicy {
  const known = compiled.get(table)
  if (known !== undefined) return known
  const policy = compile(table)
  compiled.set(table, policy)
  return policy
}

/** Tells what is wrong with the decorators of a record; what was told already is not told again. */
export function reportPolicy({ type }: Table, problems: Problem[]): void {
  for (const problem of classAccess(type).problems) {
    if (!problems.some(({ message }) => message === problem.message)) problems.push(problem)
  }
}

/** What `@Secured` before a field or a method of a record says. `@NoAuth` there says nothing. */
export function memberAccess(type: Class, member: string): AccessRule | undefined {
  const { onMethod } = accessNotes(type, member)
  return onMethod === undefined || onMethod.open ? undefined : onMethod
}

function compile(table: Table): RecordPolicy {
  const { options, type } = table
  const { note } = classAccess(type)
  const own = ownRules(table)
  const relations = [...table.relations.values()]
  return Object.freeze({
    read: note,
    write: toWriteRule(options.mutations) ?? note,
    isWritable: options.mutations !== false,
    hasRows: options.rows !== undefined || table.shard !== undefined,
    columns: own.columns,
    relations: own.relations,
    judged: new Set(relations.filter(({ target }) => mayBeHidden(target))),
    isPersonal: isPersonal(table),
    mayWait: meetsGuard(table),
    isSilent: note === undefined && options.rows === undefined && options.mutations === undefined,
  })
}

function toWriteRule(mutations: RecordOptions['mutations']): AccessRule | undefined {
  if (mutations === undefined || mutations === false) return undefined
  return { ...tokenAccess, roles: typeof mutations === 'string' ? [mutations] : mutations }
}

function ownRules({
  type,
  columns,
  relations,
}: Table): Pick<RecordPolicy, 'columns' | 'relations'> {
  const ofColumns = new Map<Column, AccessRule>()
  for (const column of columns) {
    const rule = memberAccess(type, column.property)
    if (rule !== undefined) ofColumns.set(column, rule)
  }
  const ofRelations = new Map<Relation, readonly AccessRule[]>()
  for (const relation of relations.values()) {
    const { target, local, foreign } = relation
    // A relation tells the keys that it goes by.
    const rules = [
      memberAccess(type, relation.name),
      memberAccess(type, local.property),
      memberAccess(target.type, foreign.property),
    ].filter((rule) => rule !== undefined)
    if (rules.length > 0) ofRelations.set(relation, rules)
  }
  return { columns: ofColumns, relations: ofRelations }
}

/** A key may name a row of it that is not there for the caller. */
function mayBeHidden({ options, deletedAt, shard }: Table): boolean {
  return options.rows !== undefined || shard !== undefined || deletedAt !== undefined
}

function isPersonal(root: Table): boolean {
  const seen = new Set<Table>([root])
  for (const table of seen) {
    const { rows, mutations } = table.options
    if (rows !== undefined || table.shard !== undefined) return true
    if (table === root && mutations !== undefined) return true
    const { columns, relations } = ownRules(table)
    if (columns.size + relations.size > 0) return true
    const { note } = classAccess(table.type)
    if (table !== root && note?.open === false) return true
    for (const { target } of table.relations.values()) seen.add(target)
  }
  return false
}

function meetsGuard(root: Table): boolean {
  const seen = new Set<Table>([root])
  for (const table of seen) {
    const { columns, relations } = ownRules(table)
    const rules = [classAccess(table.type).note, ...columns.values(), ...relations.values()].flat()
    if (rules.some((rule) => rule?.guard !== undefined)) return true
    for (const { target } of table.relations.values()) seen.add(target)
  }
  return false
}
