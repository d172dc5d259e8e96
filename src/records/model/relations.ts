/** `@BelongsTo`, `@HasMany`, `@ManyToMany`: relations between records. Source: public API, Records. */

import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { WriteRule } from '../../fields/rules.js'
import type { Relation, Table } from './table.js'
import { writeFieldMetadata } from '../../fields/field.js'
import type { ClassReference, Class } from '../../metadata/class.js'
import { createMemberMetadata } from '../../metadata/class-metadata.js'
import { toDecorator, type AnyDecorator } from '../../metadata/dialect.js'
import type { HasDefault, IsRelated } from './generated.js'

/**
 * The relations with a foreign key, which decide about the effects of a deletion.
 *
 * @param target only relations that refer to this table. Default: all
 */
export function referencesTo(tables: Iterable<Table>, target?: Table): Relation[] {
  const relations = [...tables].flatMap((table) => [...table.relations.values()])
  return relations.filter(
    (relation) =>
      relation.kind === 'belongsTo' && (target === undefined || relation.target === target),
  )
}

/**
 * The type of a relation in its class: the related row, a list of them, or `undefined` if no call has loaded it. Rows
 * have the relations that `with` names (`Loaded`). A new row does not need the property. For `Rel<Category>` the compiler
 * emits no reference to a class that may not be defined yet.
 */
export type Rel<T> = (T extends null | undefined ? T : T & HasDefault & IsRelated) | undefined

const belongsToOptions = declareOptions({
  /**
   * The field that holds the other record's key, or a list of fields for a key of several. Default: the property's name with
   * `Id`. For a key of several fields: the property's name with the name of each, `orderLineOrderId`, or the field of the same
   * name.
   */
  by: option.any<string | readonly string[]>(),
  /**
   * The effect on this row when the other row is deleted. Default `restrict`: the other row cannot be deleted, 409.
   */
  onDelete: option.oneOf('restrict', 'cascade', 'setNull').shown(),
})

export interface BelongsToOptions extends OptionsOf<typeof belongsToOptions> {}

const hasManyOptions = declareOptions({
  /**
   * The field of the other record that holds this record's key, or a list of fields for a key of several. Default: the field of
   * its only `@BelongsTo` to this class, else the class's name with `Id`.
   */
  by: option.any<string | readonly string[]>(),
})

export interface HasManyOptions extends OptionsOf<typeof hasManyOptions> {}

const manyToManyOptions = declareOptions({
  /** The join table. Default: both tables' names in alphabetical order, `post_tag`. */
  through: option.any<string>(),
  /**
   * The join table's column for this record's key, or a list of columns for a key of several fields. Default: this table's name
   * with `_id`, or with the column of each field.
   */
  from: option.any<string | readonly string[]>(),
  /**
   * The join table's column for the other record's key, or a list of columns. Default: the other table's name with `_id`, or
   * with the column of each field; for a relation to the record itself, with the property's name before it.
   */
  to: option.any<string | readonly string[]>(),
  /**
   * Who links and unlinks rows from this side: a role, a list of roles, or `false` for no client. Default: callers who
   * may update the related rows. The right to write the row itself is always needed.
   */
  writes: option.any<WriteRule>(),
})

export interface ManyToManyOptions extends OptionsOf<typeof manyToManyOptions> {}

/** By the kind of relation. */
export const relationOptions = {
  belongsTo: belongsToOptions,
  hasMany: hasManyOptions,
  manyToMany: manyToManyOptions,
}

/** The options of a relation's decorator, not yet checked. */
export type RelationMetadata =
  | {
      readonly kind: 'belongsTo'
      readonly target: ClassReference
      readonly options: BelongsToOptions
    }
  | { readonly kind: 'hasMany'; readonly target: ClassReference; readonly options: HasManyOptions }
  | {
      readonly kind: 'manyToMany'
      readonly target: ClassReference
      readonly options: ManyToManyOptions
    }

const relationMetadata = createMemberMetadata<RelationMetadata>('relation')

/** The one record whose key a field of this record holds: `category` by `categoryId`. */
export function BelongsTo(target: ClassReference, options: BelongsToOptions = {}): AnyDecorator {
  return relation('BelongsTo', { kind: 'belongsTo', target, options: { ...options } })
}

/** The records that hold this record's key. */
export function HasMany(target: ClassReference, options: HasManyOptions = {}): AnyDecorator {
  return relation('HasMany', { kind: 'hasMany', target, options: { ...options } })
}

/** Records that are linked to this one by a join table, which is created with the other tables. */
export function ManyToMany(target: ClassReference, options: ManyToManyOptions = {}): AnyDecorator {
  return relation('ManyToMany', { kind: 'manyToMany', target, options: { ...options } })
}

/** A class's relations by property, starting with the base class. */
export function relationMetadataOf(owner: Class): ReadonlyMap<string, RelationMetadata> {
  return relationMetadata.readAll(owner)
}

function relation(decorator: string, metadata: RelationMetadata): AnyDecorator {
  return toDecorator(({ owner, member, kind: target, isStatic }) => {
    if (member === undefined || target !== 'field' || isStatic) {
      throw new TypeError(
        `@${decorator} on ${owner.name}: it can only be used on a property of instances.`,
      )
    }
    relationMetadata.write(owner, member, metadata)
    const list = metadata.kind !== 'belongsTo'
    // Also a field of the shape, so that loaded relations are documented and sent; but not a column, and not in inputs.
    writeFieldMetadata(owner, member, {
      kind: metadata.target,
      rules: { relation: true, optional: true, nullable: !list, readOnly: true, list },
    })
  })
}
