/**
 * The access rules of a record, compiled once from its metadata: who reads, who writes, which rows, which fields. Only
 * this file reads that metadata. Source: decisions, Records: access rules.
 */
import { hasConditions, tokenAccess, type AccessRule } from '../../auth/access.js'
import { readHandlerAccess, classAccess, memberProblems } from '../../auth/decorators.js'
import type { NamedRoles } from '../../auth/role-list.js'
import type { Problem } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import { isWriteRule, writeRuleProblem, type WriteRule } from '../../fields/rules.js'
import { shapeOf } from '../../fields/shape.js'
import type { Class } from '../../metadata/class.js'
import type { RecordOptions, WriteRules } from '../model/record.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { relationMetadataOf } from '../model/relations.js'
import type { Relation, Table } from '../model/table.js'

export type WriteOperation = 'create' | 'update' | 'delete'

/**
 * `undefined`: the callers that the interface admits, usually with any token. `false`: no client, not even with the
 * static key.
 */
export type WriteAccess = AccessRule | false | undefined

export interface RecordPolicy {
  /** The rule of `@Secured` or `@NoAuth` on the class. Undefined: all callers may read it. */
  readonly read: AccessRule | undefined
  /** The rules of `writes`. An operation without one has the rule of the class. */
  readonly writes: Readonly<Record<WriteOperation, WriteAccess>>
  /** Whether some caller may create or update rows without the right to read the record. */
  readonly blindWrites: Readonly<Record<'create' | 'update', boolean>>
  /** `@Record({ rows })` decides which rows a caller sees. */
  readonly hasRows: boolean
  /** The rules of `@Secured` on fields. */
  readonly columns: ReadonlyMap<Column, AccessRule>
  /** The rules of `writes` on fields. */
  readonly columnWrites: ReadonlyMap<Column, AccessRule>
  /** The rules of `@Secured` on relations, or on the keys that they use. */
  readonly relations: ReadonlyMap<Relation, readonly AccessRule[]>
  /** Whether any rule above decides about single fields. */
  readonly restrictsFields: boolean
  /** The rules of `writes` on the foreign keys that a relation changes. */
  readonly relationWrites: ReadonlyMap<Relation, AccessRule>
  /** The rights to link rows of many-to-many relations. Default: the right to update the related rows. */
  readonly links: ReadonlyMap<Relation, WriteAccess>
  /** Relations whose keys are checked when a client names them, because their rows may be invisible or deleted. */
  readonly checkedRelations: ReadonlySet<Relation>
  /**
   * True if some results depend on the caller: by the record's own rules, or by rules of a record that filters reach.
   */
  readonly isPersonal: boolean
  /** True if a rule for some query has a guard, which may return a promise. */
  readonly mayAwaitGuards: boolean
}

const compiled = new WeakMap<Table, RecordPolicy>()

/** The policy of a record; the same for every call. */
export function policyOf(table: Table): RecordPolicy {
  const cached = compiled.get(table)
  if (cached !== undefined) return cached
  const policy = compile(table)
  compiled.set(table, policy)
  return policy
}

/** Reports problems with the access rules of a record, each once. */
export function reportPolicy(table: Table, problems: Problems): void {
  const { type, key, columns, relations } = table
  const members = [...columns.map(({ property }) => property), ...relations.keys()]
  const ofMembers = members.flatMap((member) => memberProblems(type, member))
  const ofNested = columns.flatMap((column) => nestedProblems(type, column))
  const ofLinks = [...relations.values()].flatMap(linkProblems)
  problems.addAll([...classAccess(type).problems, ...ofMembers, ...ofNested, ...ofLinks])
  for (const { property } of key.parts ?? []) {
    if (memberAccess(type, property) === undefined) continue
    problems.add({
      code: 'RECORD_KEY_PARTS',
      message: `@Record of ${type.name}: key names "${property}", which is secured, but keys are in addresses and responses.`,
      remedy: `Remove @Secured from ${property}, or secure the class ${type.name}.`,
    })
  }
}

/** The roles in the rules of a record, its fields and its relations. */
export function namedRolesOfRecord({ type, columns, relations, options }: Table): NamedRoles[] {
  const ofRules = (where: string, rules: readonly unknown[]): NamedRoles => ({
    where,
    roles: rules.flat().filter((role) => typeof role === 'string'),
  })
  const { writes } = options
  const ofWrites = isPerOperation(writes) ? Object.values(writes) : [writes]
  const members = [...columns.map(({ property }) => property), ...relations.keys()]
  return [
    ofRules(type.name, [classAccess(type).rule?.roles, ...ofWrites]),
    ...members.map((member) =>
      ofRules(`${type.name}.${member}`, [memberAccess(type, member)?.roles]),
    ),
    ...columns.map(({ property, field }) =>
      ofRules(`${type.name}.${property}`, [field.rules.writes]),
    ),
    ...[...relations.values()].map((relation) =>
      ofRules(`${type.name}.${relation.name}`, [linkRule(relation)]),
    ),
  ]
}

function linkProblems(relation: Relation): Problem[] {
  const rule = linkRule(relation)
  if (rule === undefined || isWriteRule(rule)) return []
  const where = `${relation.table.type.name}.${relation.name}: writes`
  return [{ code: 'INVALID_OPTION', ...writeRuleProblem(where) }]
}

/** A nested class is stored as one value, which a caller can read and write completely or not at all. */
function nestedProblems({ name: record }: Class, { property, field }: Column): Problem[] {
  // No client reads or writes a hidden field.
  const types = new Set(field.nested === undefined || field.hidden ? [] : [field.nested()])
  const problems: Problem[] = []
  for (const type of types) {
    for (const { name, rules, nested } of shapeOf(type).fields) {
      if (nested !== undefined) types.add(nested())
      const isSecured = memberAccess(type, name) !== undefined
      // `writes: false` is `readOnly`, which nested classes have.
      if (!isSecured && (rules.writes === undefined || rules.writes === false)) continue
      problems.push({
        code: 'RECORD_NESTED_ACCESS',
        message: `${record}.${property}: ${isSecured ? '@Secured' : 'writes'} of ${type.name}.${name} has no effect in a record, because a nested class is stored as one value.`,
        remedy: `Move ${name} to ${record}, or set the rule on ${record}.${property}.`,
      })
    }
  }
  return problems
}

/** The rule of `@Secured` on a field or method of a record. `@NoAuth` has no effect there. */
export function memberAccess(type: Class, member: string): AccessRule | undefined {
  const { onMethod } = readHandlerAccess(type, member)
  return onMethod === undefined || onMethod.open ? undefined : onMethod
}

function compile(table: Table): RecordPolicy {
  const { options } = table
  const { classRule, fields } = ownRulesOf(table)
  const relations = [...table.relations.values()]
  const writes = writeAccess(options.writes, classRule)
  return Object.freeze({
    read: classRule,
    writes,
    blindWrites: Object.freeze({
      create: mayBeBlind(writes.create, classRule),
      update: mayBeBlind(writes.update, classRule),
    }),
    hasRows: options.rows !== undefined || table.shard !== undefined,
    ...fields,
    links: readLinkAccess(relations),
    checkedRelations: new Set(relations.filter(({ target }) => mayBeHidden(target))),
    isPersonal: isPersonal(table),
    mayAwaitGuards: mayReachGuard(table),
  })
}

function writeAccess(
  writes: RecordOptions['writes'],
  classRule: AccessRule | undefined,
): RecordPolicy['writes'] {
  const accessOf = (rule: WriteRule | undefined): WriteAccess =>
    rule === undefined ? classRule : toAccess(rule)
  if (!isPerOperation(writes)) {
    const access = accessOf(writes)
    return Object.freeze({ create: access, update: access, delete: access })
  }
  const all = writes
  return Object.freeze({
    create: accessOf(all.create),
    update: accessOf(all.update),
    delete: accessOf(all.delete),
  })
}

/** Whether the rule of a write may admit a caller whom the rule of reads does not admit. */
function mayBeBlind(write: WriteAccess, read: AccessRule | undefined): boolean {
  if (read === undefined || read.open || write === undefined || write === false) return false
  if (write === read) return false
  const { roles, all, guard, fresh, amr, also } = read
  if (guard !== undefined || fresh !== undefined || amr.length > 0 || also !== undefined)
    return true
  if (!hasConditions(read)) return write.open
  return all || write.roles.length === 0 || !write.roles.every((role) => roles.includes(role))
}

/** Linking changes the rows of both records, so a record that is closed for updates is closed for links. */
function readLinkAccess(relations: readonly Relation[]): ReadonlyMap<Relation, WriteAccess> {
  const access = new Map<Relation, WriteAccess>()
  for (const relation of relations) {
    if (relation.kind !== 'manyToMany') continue
    const { type, options } = relation.target
    const rule = linkRule(relation)
    access.set(
      relation,
      rule === undefined
        ? writeAccess(options.writes, classAccess(type).rule).update
        : toAccess(rule),
    )
  }
  return access
}

/** The rule of `writes` on the relation itself. */
function linkRule({ table, name }: Relation): WriteRule | undefined {
  const metadata = relationMetadataOf(table.type).get(name)
  return metadata?.kind === 'manyToMany' ? metadata.options.writes : undefined
}

/** True if some client may give the relation another row, so that inputs have `connect` and `disconnect`. */
export function isLinkable(relation: Relation): boolean {
  if (relation.kind === 'belongsTo') return true
  const { links } = policyOf(relation.table)
  if (relation.kind === 'manyToMany') return links.get(relation) !== false
  // The rows of a one-to-many relation hold the key.
  return policyOf(relation.target).writes.update !== false
}

function isPerOperation(writes: RecordOptions['writes']): writes is WriteRules {
  return typeof writes === 'object' && !Array.isArray(writes)
}

function toAccess(rule: WriteRule): AccessRule | false {
  if (rule === false) return false
  return Object.freeze({ ...tokenAccess, roles: Object.freeze([rule].flat()) })
}

type FieldPolicies = Pick<
  RecordPolicy,
  'columns' | 'columnWrites' | 'relations' | 'restrictsFields' | 'relationWrites'
>

/** The rules of a record, without those of the records that its relations lead to. */
interface OwnRules {
  readonly classRule: AccessRule | undefined
  readonly fields: FieldPolicies
  readonly hasGuard: boolean
}

const ownRules = new WeakMap<Table, OwnRules>()

/** The policy of each record visits all records that it leads to, so their rules are read once. */
function ownRulesOf(table: Table): OwnRules {
  const cached = ownRules.get(table)
  if (cached !== undefined) return cached
  const { rule: classRule } = classAccess(table.type)
  const fields = readFieldPolicies(table)
  const all = [classRule, ...fields.columns.values(), ...fields.relations.values()].flat()
  const hasGuard = all.some((rule) => rule?.guard !== undefined)
  const rules = { classRule, fields, hasGuard }
  ownRules.set(table, rules)
  return rules
}

function readFieldPolicies({ type, columns, relations }: Table): FieldPolicies {
  const ofColumns = new Map<Column, AccessRule>()
  const columnWrites = new Map<Column, AccessRule>()
  for (const column of columns) {
    const rule = memberAccess(type, column.property)
    if (rule !== undefined) ofColumns.set(column, rule)
    const write = columnWrite(column)
    if (write !== undefined) columnWrites.set(column, write)
  }
  const ofRelations = new Map<Relation, readonly AccessRule[]>()
  const relationWrites = new Map<Relation, AccessRule>()
  for (const relation of relations.values()) {
    const { target, local, foreign, kind } = relation
    const holder = kind === 'belongsTo' ? local : kind === 'hasMany' ? foreign : undefined
    const write = holder && columnWrite(holder)
    if (write !== undefined) relationWrites.set(relation, write)
    // A relation reveals its keys, so the rules of the keys apply too.
    const rules = [
      memberAccess(type, relation.name),
      ...storedColumnsOf(local).map((column) => memberAccess(type, column.property)),
      ...storedColumnsOf(foreign).map((column) => memberAccess(target.type, column.property)),
    ].filter((rule) => rule !== undefined)
    if (rules.length > 0) ofRelations.set(relation, rules)
  }
  return {
    columns: ofColumns,
    columnWrites,
    relations: ofRelations,
    restrictsFields: ofColumns.size + columnWrites.size + ofRelations.size > 0,
    relationWrites,
  }
}

/** The rule of `writes` on a field. `writes: false` makes the field read-only, so that no input includes it. */
function columnWrite({ field }: Column): AccessRule | undefined {
  const { writes } = field.rules
  return writes === undefined || writes === false ? undefined : toAccess(writes) || undefined
}

/** True if a key may name a row that the caller cannot see. */
function mayBeHidden({ options, deletedAt, shard }: Table): boolean {
  return options.rows !== undefined || shard !== undefined || deletedAt !== undefined
}

function isPersonal(root: Table): boolean {
  const visitedTables = new Set<Table>([root])
  for (const table of visitedTables) {
    const { rows, writes } = table.options
    if (rows !== undefined || table.shard !== undefined) return true
    if (table === root && writes !== undefined) return true
    const { classRule, fields } = ownRulesOf(table)
    if (fields.restrictsFields) return true
    if (table !== root && classRule?.open === false) return true
    for (const { target } of table.relations.values()) visitedTables.add(target)
  }
  return false
}

function mayReachGuard(root: Table): boolean {
  const visitedTables = new Set<Table>([root])
  for (const table of visitedTables) {
    if (ownRulesOf(table).hasGuard) return true
    for (const { target } of table.relations.values()) visitedTables.add(target)
  }
  return false
}
