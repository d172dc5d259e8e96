/**
 * The access rules of a record, compiled once from its notes: who reads, who writes, which rows, which fields. Only
 * this file reads those notes. Source: decisions, Second storey: rulings and rights.
 */
import { tokenAccess, type AccessRule } from '../../auth/access.js'
import { accessNotes, classAccess } from '../../auth/decorators.js'
import type { Problem } from '../../errors/declaration-error.js'
import type { Class } from '../../metadata/note.js'
import type { RecordOptions } from '../model/record.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'

export interface RecordPolicy {
  /** The rule of `@Secured` or `@NoAuth` on the class. Undefined: everybody reads it. */
  readonly read: AccessRule | undefined
  /** The rule for writing: the roles of `mutations`, otherwise as `read`. Undefined: any token. */
  readonly write: AccessRule | undefined
  /** False if `mutations: false` forbids clients to write. */
  readonly isWritable: boolean
  /** `@Record({ rows })` decides which rows a caller sees. */
  readonly hasRows: boolean
  /** The rules of `@Secured` on fields. Most records have none. */
  readonly columns: ReadonlyMap<Column, AccessRule>
  /** The rules of `@Secured` on relations, or on the keys that they use. */
  readonly relations: ReadonlyMap<Relation, readonly AccessRule[]>
  /** Relations whose keys must be checked when a client names them: their rows may be invisible or deleted. */
  readonly judged: ReadonlySet<Relation>
  /** Some answers about its rows depend on the caller: by its own rules, or by those of a record that filters reach. */
  readonly isPersonal: boolean
  /** Some rule that a question may meet has a guard, which may return a promise. */
  readonly mayWait: boolean
  /** The record has no rules. */
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

/** Reports problems with the access decorators of a record, each once. */
export function reportPolicy({ type }: Table, problems: Problem[]): void {
  for (const problem of classAccess(type).problems) {
    if (!problems.some(({ message }) => message === problem.message)) problems.push(problem)
  }
}

/** The rule of `@Secured` on a field or method of a record. `@NoAuth` has no effect there. */
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
    // A relation reveals its keys, so their rules apply too.
    const rules = [
      memberAccess(type, relation.name),
      memberAccess(type, local.property),
      memberAccess(target.type, foreign.property),
    ].filter((rule) => rule !== undefined)
    if (rules.length > 0) ofRelations.set(relation, rules)
  }
  return { columns: ofColumns, relations: ofRelations }
}

/** True if a key may name a row that the caller cannot see. */
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
