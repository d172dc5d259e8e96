/**
 * Makes the body classes for a record's routes: its own fields, the keys of linked records (`tagIds`), and changes of
 * related rows. Source: decisions, Records: writes.
 */
import { withOptionalMembers, omit, partial, withoutObjectRules } from '../../fields/derive.js'
import { writeFieldMetadata, type FieldMetadata } from '../../fields/field.js'
import type { Class } from '../../metadata/class-metadata.js'
import { isHidden } from '../filters/suggested-names.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'
import { policyOf } from '../rights/record-policy.js'
import { linkNames } from '../statements/write-tree.js'

export interface CrudBodies {
  /** The body class of POST and PUT. */
  readonly whole: Class
  /** The body class of PATCH. */
  readonly changes: Class
}

export function crudBodies(table: Table): CrudBodies {
  const { type } = table
  const name = `${type.name}Values`
  const ties = tieFields(table)
  const nested = nestedFields(table)
  const inNew = [...nested].filter(([member]) => !holdsRequiredKey(table, member))
  const { columns, columnWrites } = policyOf(table)
  const loose = loosened(table, [], columns.size + columnWrites.size === 0 ? type.name : name)
  const changed = new Map([...ties, ...nested])
  return {
    whole: withoutObjectRules(withFields(loose, new Map([...ties, ...inNew]), name)),
    changes: withoutObjectRules(withFields(partial(type), changed, `${type.name}Changes`)),
  }
}

/** True if a new row must name the key, so that the documentation marks it as required. */
function holdsRequiredKey({ relations }: Table, name: string): boolean {
  const relation = relations.get(name)
  return relation?.kind === 'belongsTo' && !relation.local.field.optional
}

/**
 * A copy of the fields without defaults. A default would look like a value that the client has sent, perhaps for a
 * field that it may not write.
 */
function loosened(table: Table, besides: readonly string[], name: string): Class {
  const { columns, columnWrites } = policyOf(table)
  const restricted = [...columns.keys(), ...columnWrites.keys()]
  const loose = new Set(restricted.map(({ property }) => property))
  for (const one of besides) loose.add(one)
  return withOptionalMembers(table.type, name, loose)
}

type Fields = ReadonlyMap<string, FieldMetadata>

function withFields(type: Class, fields: Fields, name: string): Class {
  if (fields.size === 0) return type
  const Extended = withOptionalMembers(type, name, new Set())
  for (const [member, note] of fields) writeFieldMetadata(Extended, member, note)
  return Extended
}

function tieFields(table: Table): Fields {
  const ties = [...linkNames(table)].map(([member, { target }]): [string, FieldMetadata] => [
    member,
    { ...keyNote(target), rules: { list: true, optional: true, description: keysOf(target) } },
  ])
  return new Map(ties)
}

function keysOf({ type }: Table): string {
  return `Keys of ${type.name}.`
}

function keyNote({ key }: Table): { kind: 'uuid' | 'integer' } {
  return { kind: key.isUuid ? 'uuid' : 'integer' }
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
  const { target, kind } = relation
  const { writes } = policyOf(target)
  const ids = (description: string): FieldMetadata => ({
    ...keyNote(target),
    rules: { list: true, optional: true, description },
  })
  const fields = new Map<string, FieldMetadata>()
  // The rows of a one-to-many relation hold the key, so linking them updates them.
  if (kind === 'manyToMany' || writes.update !== false) {
    fields.set('connect', ids('Keys of rows that are linked to this one.'))
    fields.set(
      'disconnect',
      ids('Keys of rows that are no longer linked to this one; they are not deleted.'),
    )
  }
  const list = { list: true, optional: true }
  if (writes.create !== false) {
    const created = newRow(relation)
    fields.set('create', { kind: () => created, rules: list })
  }
  if (writes.update !== false) {
    const changed = changedRow(relation, true)
    fields.set('update', { kind: () => changed, rules: list })
  }
  if (writes.delete !== false) fields.set('delete', ids('Keys of linked rows that are deleted.'))
  return fields.size === 0 ? undefined : classOf(nameOf(relation), fields)
}

function oneClass(relation: Relation): Class {
  const { writes } = policyOf(relation.target)
  const optional = { optional: true }
  const fields = new Map<string, FieldMetadata>([
    ['connect', { ...keyNote(relation.target), rules: optional }],
    ['disconnect', { kind: 'boolean', rules: optional }],
  ])
  if (writes.create !== false) {
    const created = newRow(relation)
    fields.set('create', { kind: () => created, rules: optional })
  }
  if (writes.update !== false) {
    const changed = changedRow(relation, false)
    fields.set('update', { kind: () => changed, rules: optional })
  }
  if (writes.delete !== false) fields.set('delete', { kind: 'boolean', rules: optional })
  return classOf(nameOf(relation), fields)
}

/** The body of a nested new row, without the parent's key, which follows from the nesting. */
function newRow(relation: Relation): Class {
  const { target, foreign, kind } = relation
  const name = `${nameOf(relation)}Create`
  const given = kind === 'hasMany' && isFieldOf(target, foreign) ? [foreign.property] : []
  const type = loosened(target, given, name)
  const own = given.length === 0 ? type : omit(type as Class<Record<string, unknown>>, ...given)
  return withoutObjectRules(named(withFields(own, tieFields(target), name), name))
}

/** The body of a nested change. In a list, each row is named by its key. */
function changedRow(relation: Relation, isListed: boolean): Class {
  const { target } = relation
  const { key, type } = target
  const name = `${nameOf(relation)}Update`
  const fields = new Map(tieFields(target))
  if (isListed) fields.set(key.property, { ...keyNote(target), rules: {} })
  const Changed = withOptionalMembers(partial(type), name, new Set())
  for (const [member, note] of fields) writeFieldMetadata(Changed, member, note)
  return withoutObjectRules(Changed)
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
  for (const [member, note] of fields) writeFieldMetadata(Nested, member, note)
  return Nested
}
