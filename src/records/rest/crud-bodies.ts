/**
 * Makes the body classes for a record's routes: its own fields, the keys of linked records (`tagIds`), and changes of
 * related rows. Source: decisions, Records: writes.
 */
import { compileInput, type InputCheck } from '../../fields/compile-input.js'
import { withOptionalMembers, omit, partial, withoutObjectRules } from '../../fields/derive.js'
import { writeFieldMetadata, type FieldMetadata } from '../../fields/field.js'
import { readShape } from '../../fields/shape.js'
import type { Class } from '../../metadata/class.js'
import { createClassMetadata } from '../../metadata/class-metadata.js'
import { isHidden } from '../filters/query-errors.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'
import { isLinkable, policyOf } from '../rights/record-policy.js'
import type { RecordsContext } from '../statements/source.js'
import { linkNames } from '../statements/write-tree.js'

export interface CrudBodies {
  /** The body class of POST and PUT. */
  readonly complete: Class
  /** The body class of PATCH. */
  readonly changes: Class
}

const recordsOfBodies = createClassMetadata<Class>('record of body')

/** @returns the record whose values a body of `crud` has, also for a nested row; undefined for other classes */
export function recordOfBody(type: Class): Class | undefined {
  return recordsOfBodies.readOwn(type)
}

function rowBody(type: Class, record: Class): Class {
  recordsOfBodies.write(type, record)
  return withoutObjectRules(type)
}

export function crudBodies(table: Table): CrudBodies {
  const { type } = table
  const name = `${type.name}Values`
  const links = linkFields(table)
  const nested = nestedFields(table)
  const creatable = [...nested].filter(([member]) => !hasRequiredKey(table, member))
  const { columns, columnWrites } = policyOf(table)
  // Without a read-only key, documents would give the record and the body one name.
  const isNamedLikeRecord = columns.size + columnWrites.size === 0 && table.key.parts === undefined
  const loose = withOptionalRestrictedFields(table, [], isNamedLikeRecord ? type.name : name)
  const changed = new Map([...links, ...nested])
  return {
    complete: rowBody(withFields(loose, new Map([...links, ...creatable]), name), type),
    changes: rowBody(withFields(partial(type), changed, `${type.name}Changes`), type),
  }
}

/** The checks of the body classes, for values that no route has checked. */
export interface BodyChecks {
  readonly complete: InputCheck<object>
  readonly changes: InputCheck<object>
}

/** Checks by table of a database, because databases may have different clocks. */
const compiled = new WeakMap<object, BodyChecks>()

export function bodyChecksOf(table: Table, context: RecordsContext): BodyChecks {
  const now = (): number => context.now()
  const key = context.checksOf(table)
  let checks = compiled.get(key)
  if (checks === undefined) {
    const { complete, changes } = crudBodies(table)
    checks = {
      complete: compileInput(readShape(complete), { now }),
      changes: compileInput(readShape(changes), { now }),
    }
    compiled.set(key, checks)
  }
  return checks
}

/** True if a new row must name the key, so that the documentation marks it as required. */
function hasRequiredKey({ relations }: Table, name: string): boolean {
  const relation = relations.get(name)
  return relation?.kind === 'belongsTo' && !relation.local.field.optional
}

/**
 * A copy of the class in which restricted fields are optional and have no defaults. A default would look like a value
 * that the client has sent, perhaps for a field that it may not write.
 *
 * @param additional the names of other fields that become optional
 */
function withOptionalRestrictedFields(
  table: Table,
  additional: readonly string[],
  name: string,
): Class {
  const { columns, columnWrites } = policyOf(table)
  const restricted = [...columns.keys(), ...columnWrites.keys()]
  const loose = new Set(restricted.map(({ property }) => property))
  for (const one of additional) loose.add(one)
  return withOptionalMembers(table.type, name, loose)
}

type Fields = ReadonlyMap<string, FieldMetadata>

function withFields(type: Class, fields: Fields, name: string): Class {
  if (fields.size === 0) return type
  const Extended = withOptionalMembers(type, name, new Set())
  for (const [member, metadata] of fields) writeFieldMetadata(Extended, member, metadata)
  return Extended
}

function linkFields(table: Table): Fields {
  const fields = new Map<string, FieldMetadata>()
  for (const [member, relation] of linkNames(table)) {
    if (!isLinkable(relation)) continue
    const rules = { list: true, optional: true, description: keysOf(relation.target) }
    fields.set(member, { ...keyMetadata(relation.target), rules })
  }
  return fields
}

function keysOf({ type }: Table): string {
  return `Keys of ${type.name}.`
}

type KeyMetadata = Pick<FieldMetadata, 'kind'>

function keyMetadata({ type, key }: Table): KeyMetadata {
  if (key.parts === undefined) return { kind: key.isUuid ? 'uuid' : 'integer' }
  const keyType = keyClass(type, key.parts)
  return { kind: () => keyType }
}

const keyClasses = new WeakMap<Class, Class>()

/** `OrderLineKey`: the parts of a key of several fields. */
function keyClass(type: Class, parts: readonly Column[]): Class {
  let keyType = keyClasses.get(type)
  if (keyType === undefined) {
    keyType = classOf(`${type.name}Key`, partFields(parts))
    keyClasses.set(type, keyType)
  }
  return keyType
}

function partFields(parts: readonly Column[]): Fields {
  return new Map(
    parts.map(({ property, field, isUuid }): [string, FieldMetadata] => {
      const { precision, scale } = field.rules
      const kind = isUuid ? 'uuid' : field.kind
      const { oneOf } = field.rules
      return [property, { kind, rules: { precision, scale, oneOf } }]
    }),
  )
}

/** `products: { create, update, connect, disconnect, delete }`, for relations that clients may write. */
function nestedFields(table: Table): Fields {
  const fields = new Map<string, FieldMetadata>()
  for (const relation of table.relations.values()) {
    if (isHidden(relation)) continue
    const type = relation.kind === 'belongsTo' ? oneClass(relation) : manyClass(relation)
    if (type === undefined) continue
    fields.set(relation.name, { kind: () => type, rules: { optional: true } })
  }
  return fields
}

/** @returns `undefined` if clients cannot write the related rows */
function manyClass(relation: Relation): Class | undefined {
  const { target } = relation
  const { writes } = policyOf(target)
  const ids = (description: string): FieldMetadata => ({
    ...keyMetadata(target),
    rules: { list: true, optional: true, description },
  })
  const fields = new Map<string, FieldMetadata>()
  if (isLinkable(relation)) {
    fields.set('connect', ids('Keys of rows that are linked to this one.'))
    fields.set(
      'disconnect',
      ids('Keys of rows that are no longer linked to this one; they are not deleted.'),
    )
  }
  addRowFields(fields, relation, true)
  if (writes.delete !== false) fields.set('delete', ids('Keys of linked rows that are deleted.'))
  return fields.size === 0 ? undefined : classOf(nameOf(relation), fields)
}

function oneClass(relation: Relation): Class {
  const { writes } = policyOf(relation.target)
  const optional = { optional: true }
  const fields = new Map<string, FieldMetadata>([
    ['connect', { ...keyMetadata(relation.target), rules: optional }],
    ['disconnect', { kind: 'boolean', rules: optional }],
  ])
  addRowFields(fields, relation, false)
  if (writes.delete !== false) fields.set('delete', { kind: 'boolean', rules: optional })
  return classOf(nameOf(relation), fields)
}

/** Adds `create` and `update`, with one row or a list. */
function addRowFields(
  fields: Map<string, FieldMetadata>,
  relation: Relation,
  isList: boolean,
): void {
  const { writes } = policyOf(relation.target)
  const rules = isList ? { list: true, optional: true } : { optional: true }
  if (writes.create !== false) {
    const created = newRow(relation)
    fields.set('create', { kind: () => created, rules })
  }
  if (writes.update !== false) {
    const changed = changedRow(relation, isList)
    fields.set('update', { kind: () => changed, rules })
  }
}

/** The body of a nested new row, without the parent's key, which follows from the nesting. */
function newRow(relation: Relation): Class {
  const { target, foreign, kind } = relation
  const name = `${nameOf(relation)}Create`
  const keyFields = kind === 'hasMany' ? storedColumnsOf(foreign) : []
  const omitted = keyFields
    .filter((column) => isFieldOf(target, column))
    .map(({ property }) => property)
  const type = withOptionalRestrictedFields(target, omitted, name)
  const row = omitted.length === 0 ? type : omit(type as Class<Record<string, unknown>>, ...omitted)
  return rowBody(named(withFields(row, linkFields(target), name), name), target.type)
}

/** The body of a nested change. In a list, each row is named by its key. */
function changedRow(relation: Relation, isListed: boolean): Class {
  const { target } = relation
  const { key, type } = target
  const name = `${nameOf(relation)}Update`
  const fields = new Map(linkFields(target))
  if (isListed && key.parts === undefined)
    fields.set(key.property, { ...keyMetadata(target), rules: {} })
  else if (isListed)
    for (const [property, field] of partFields(key.parts ?? [])) fields.set(property, field)
  const Changed = withOptionalMembers(partial(type), name, new Set())
  for (const [member, metadata] of fields) writeFieldMetadata(Changed, member, metadata)
  return rowBody(Changed, type)
}

function isFieldOf({ shape }: Table, { property }: Column): boolean {
  return shape.byName.has(property)
}

/** `CategoryProducts` */
function nameOf({ table, name }: Relation): string {
  return `${table.type.name}${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

function named(type: Class, name: string): Class {
  if (type.name === name) return type
  return withOptionalMembers(type, name, new Set())
}

function classOf(name: string, fields: Fields): Class {
  const Nested = class {}
  Object.defineProperty(Nested, 'name', { value: name })
  for (const [member, metadata] of fields) writeFieldMetadata(Nested, member, metadata)
  return Nested
}
