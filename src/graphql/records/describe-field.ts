/** What a reader of the schema is told about a record, its fields and relations: by `@Doc`, by `description`, else by the rules. */
import { formats } from '../../fields/formats.js'
import type { FieldRules } from '../../fields/rules.js'
import type { ShapeField } from '../../fields/shape.js'
import { describeWrites } from '../../fields/write-rule.js'
import type { Class } from '../../metadata/class-metadata.js'
import { classDoc, memberDocs } from '../../openapi/doc.js'
import type { Relation, Table } from '../../records/model/table.js'
import { titled } from '../describe.js'

/** Of a record's type. */
export function describeRecord({ type }: Pick<Table, 'type'>): string {
  const said = classDoc(type)
  return said?.description ?? said?.summary ?? `The record ${type.name}.`
}

/** Of a method or a property, where `@Doc` stands before it. */
export function describedMember(type: Class, member: string): string | undefined {
  const said = memberDocs(type).get(member)
  return said?.description ?? said?.summary
}

/** Of a field: `A string of at most 80 characters. Unique.` */
export function describeField(type: Class, field: ShapeField): string {
  const { description, writes } = field.rules
  const words = description ?? describedMember(type, field.name) ?? sentences(ruleWords(field))
  return writes === undefined || writes === false ? words : `${words} ${describeWrites(writes)}`
}

/** Of a key of another record, where ids are global. */
export function describeKey(field: ShapeField, holds: string): string {
  return field.rules.description ?? `The id of a ${holds}.`
}

export function describeRelation({ name, kind, table, target, local, foreign }: Relation): string {
  const said = describedMember(table.type, name)
  if (said !== undefined) return said
  const other = target.type.name
  if (kind === 'belongsTo') return `The ${other} that ${local.property} is the key of.`
  if (kind === 'manyToMany') return `Every ${other} that it is tied to.`
  return `Every ${other} whose ${foreign.property} is its key.`
}

function ruleWords({ entry, nested, list, rules, readOnly, nullable }: ShapeField): string[] {
  const { format } = rules
  let noun = format === undefined ? entry.noun : formats[format].noun
  if (nested !== undefined) noun = `${nested().name} as JSON text`
  const value = [list ? `a list, each ${noun}` : noun, ...boundWords(rules)].join(', ')
  return [
    value,
    ...(rules.minItems !== undefined || rules.maxItems !== undefined
      ? [rangeWords(rules.minItems, rules.maxItems, 'items')]
      : []),
    ...(rules.unique === true ? ['unique'] : []),
    ...(rules.oneOf === undefined ? [] : [`one of ${rules.oneOf.map(String).join(', ')}`]),
    ...(nullable ? ['may be null'] : []),
    ...(readOnly ? ['given by the server'] : []),
  ]
}

function boundWords(rules: Readonly<FieldRules>): string[] {
  const { min, max, minLength, maxLength, pattern } = rules
  return [
    ...(min === undefined && max === undefined ? [] : [rangeWords(min, max, '')]),
    ...(minLength === undefined && maxLength === undefined
      ? []
      : [rangeWords(minLength, maxLength, 'characters')]),
    ...(pattern === undefined ? [] : [`in the form ${String(pattern)}`]),
  ]
}

/** `from 1 to 5`, `at most 80 characters`. */
function rangeWords(
  least: number | string | undefined,
  most: number | string | undefined,
  what: string,
): string {
  const counted = what === '' ? '' : ` ${what}`
  if (least !== undefined && most !== undefined) return `from ${least} to ${most}${counted}`
  return least === undefined ? `at most ${most}${counted}` : `at least ${least}${counted}`
}

function sentences(words: readonly string[]): string {
  return words.map((word) => `${titled(word)}.`).join(' ')
}
