/**
 * Makes the schema for all class-validator rules of one property. `each` applies to every item of a list, or to the
 * value itself if it is not a list; rules with conditions of the application are left out.
 */
import { isSent, type Constraint } from '../fields/class-validator.js'
import { toRules } from '../fields/constraint-rule.js'
import type { ShapeField } from '../fields/shape.js'
import { constraintSchema } from './constraint-schema.js'
import { mergeSchemas, type Schema } from './merge-schemas.js'

/** The rules for the value, and those for each of its items. */
interface Said {
  readonly whole: Schema
  readonly items: Schema | undefined
}

/** The schema of a property that has no `@Field`, without null for `@IsOptional`. */
export function borrowedSchema(
  { constraints, nested }: ShapeField,
  refer: (nested: NonNullable<ShapeField['nested']>) => Schema,
): Schema {
  const { whole, items } = saidOf(constraints)
  const item = nested === undefined || !nests(constraints) ? items : refer(nested)
  if (item === undefined) return whole
  const isList = 'type' in whole && whole.type === 'array'
  if (isList) return mergeSchemas([whole, { items: item }])
  return mergeSchemas([oneOrMany(item), whole])
}

/** What class-validator's rules add to a property with `@Field`. */
export function addBorrowed(schema: Schema, { constraints, list }: ShapeField): Schema {
  const { whole, items } = saidOf(constraints)
  if (items === undefined) return mergeSchemas([schema, whole])
  return mergeSchemas([schema, whole, list ? { items } : items])
}

/** Whether a rule without conditions refuses a missing property. */
export function asksForPresence({ constraints }: ShapeField): boolean {
  if (hasOwnCondition(constraints)) return false
  return plainRules(constraints).some((constraint) =>
    toRules(constraint).some(({ constraint: rule }) => {
      const args = { targetName: '', property: '', object: {}, value: undefined }
      return (
        rule?.instance.validate(undefined, {
          ...args,
          constraints: constraint.metadata.constraints,
        }) === false
      )
    }),
  )
}

/** A copy of the field with only these rules of class-validator. */
export function withConstraints(field: ShapeField, constraints: readonly Constraint[]): ShapeField {
  const { declared } = field
  const conditional = constraints.some(
    ({ metadata: note }) => note.type === 'conditionalValidation',
  )
  return {
    ...field,
    constraints,
    optional:
      conditional ||
      (declared === undefined
        ? constraints.every(({ name }) => name === 'whitelistValidation')
        : declared.optional === true || declared.default !== undefined),
    nullable: declared?.nullable === true || constraints.some(({ name }) => name === 'isOptional'),
  }
}

function saidOf(constraints: readonly Constraint[]): Said {
  if (hasOwnCondition(constraints)) return { whole: {}, items: undefined }
  const whole: Schema[] = []
  const items: Schema[] = []
  for (const { name, args, each } of plainRules(constraints)) {
    const schema = constraintSchema(name, args)
    if (schema !== undefined) (each ? items : whole).push(schema)
  }
  return { whole: mergeSchemas(whole), items: items.length === 0 ? undefined : mergeSchemas(items) }
}

/** Known rules that apply whenever the value is present. */
function plainRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(
    ({ name, args, metadata: note }) =>
      note.validateIf === undefined && constraintSchema(name, args) !== undefined,
  )
}

/** `@ValidateIf`: only the application knows when the rules apply. */
function hasOwnCondition(constraints: readonly Constraint[]): boolean {
  return constraints.some(
    ({ name, args, metadata: note }) =>
      note.type === 'conditionalValidation' && name !== 'isOptional' && args[0] !== isSent,
  )
}

function nests(constraints: readonly Constraint[]): boolean {
  return constraints.some(({ metadata: note }) => note.type === 'nestedValidation')
}

function oneOrMany(item: Schema): Schema {
  const many: Schema = { type: 'array', items: item }
  if ('$ref' in item || item.type !== undefined) return { anyOf: [item, many] }
  // A schema without a type would also accept lists.
  return { if: { type: 'array' }, then: many, else: item } as Schema
}
