/**
 * Converts classes to schema components of the document, one for each class. `schemaOf` returns the schema of a class
 * without a document. Source: decisions, OpenAPI.
 */
import type { SchemaObject, ReferenceObject } from 'openapi3-ts/oas31'
import { readHandlerAccess } from '../auth/decorators.js'
import { relationCountName, shapeOf, type ShapeField } from '../fields/shape.js'
import type { DeclaredType } from '../fields/field.js'
import type { Class } from '../metadata/class.js'
import { readConstraints } from '../fields/class-validator.js'
import { requiresPresence, withConstraints } from './constraint-schema.js'
import { fieldSchema, listOf } from './field-schema.js'
import type { SchemaOrReference } from './json-schema.js'
import { everyMember, type VisibleMembers } from './visible-members.js'

/**
 * The direction of a schema: a client's input, in which unknown keys are refused (`input`) or dropped (`looseInput`),
 * or an output. Inputs have no read-only fields.
 */
export type SchemaView = 'input' | 'looseInput' | 'output'

/** The view of a body, by what happens to keys without a field. */
export function inputView(unknownKeys: 'refuse' | 'drop'): SchemaView {
  return unknownKeys === 'refuse' ? 'input' : 'looseInput'
}

/** The groups of class-validator's rules that a route applies; undefined for all rules. */
export type Groups = readonly string[] | undefined

export interface SchemaComponents {
  /** A reference to the class's component, which the first call creates. For a list, a list of references. */
  of(declared: DeclaredType, view: SchemaView, groups?: Groups): SchemaOrReference
  /**
   * A reference to the component of the class as a form.
   *
   * @param make called once for each class and view; undefined where a form has the same schema
   */
  form(
    type: Class,
    view: SchemaView,
    groups: Groups,
    make: () => SchemaObject | undefined,
  ): SchemaOrReference | undefined
  /** By name, in the order of first use. */
  readonly components: ReadonlyMap<string, SchemaObject>
  /** What the schemas name. */
  readonly visible: VisibleMembers
}

export function createSchemas(visible: VisibleMembers = everyMember): SchemaComponents {
  const components = new Map<string, SchemaObject>()
  const refer = (type: Class, view: SchemaView, groups: Groups): SchemaOrReference => {
    const builtIn = builtIns.get(type)
    if (builtIn !== undefined) return builtIn
    const name = componentName(type, view, groups)
    const existing = components.get(name)
    // Stored before it is filled, because the class may refer to itself.
    const component: SchemaObject = existing ?? {}
    const closes = view === 'input' && component.additionalProperties === undefined
    if (existing === undefined || closes) {
      components.set(name, component)
      if (closes) component.additionalProperties = false
      Object.assign(
        component,
        classSchema(type, { view, groups, visible }, (nested) => refer(nested, view, groups)),
      )
    }
    return { $ref: `#/components/schemas/${name}` }
  }
  const forms = new Map<string, SchemaOrReference | undefined>()
  return {
    components,
    visible,
    form: (type, view, groups, make) => {
      // No class has a name with a dot.
      const name = `${componentName(type, view, groups)}.form`
      if (!forms.has(name)) {
        const component = make()
        if (component !== undefined) components.set(name, component)
        forms.set(name, component && { $ref: `#/components/schemas/${name}` })
      }
      return forms.get(name)
    },
    of: ({ type, list }, view, groups) =>
      list ? listOf(refer(type, view, groups)) : refer(type, view, groups),
  }
}

/**
 * The schema of the class itself. A class without fields allows any object.
 *
 * @param refer returns the schema of a nested class
 */
export function classSchema(
  type: Class,
  selection: FieldSelection,
  refer: (nested: Class) => SchemaOrReference,
): SchemaObject {
  const { view } = selection
  const fields = visibleFields(type, selection)
  const closed = view === 'input' ? { additionalProperties: false } : {}
  if (fields.length === 0) return { type: 'object', ...closed }
  const { isRecord } = shapeOf(type)
  // Callers without the role do not get these fields.
  const secured = securedMembers(type)
  const present = fields.filter((field) =>
    view === 'output' ? isSent(field, isRecord) && !secured.has(field.name) : mustBeSent(field),
  )
  const properties = fields.map((field) => [
    field.name,
    view === 'output' && isRecord ? storedSchema(field, refer) : fieldSchema(field, refer),
  ])
  return {
    type: 'object',
    properties: {
      ...(Object.fromEntries(properties) as Record<string, SchemaOrReference>),
      ...(view === 'output' && isRecord ? countSchemas(type, fields) : {}),
    },
    ...(present.length === 0 ? {} : { required: present.map(({ name }) => name) }),
    ...closed,
  }
}

/** The numbers of related rows, which lists with `counts` have. */
function countSchemas(
  type: Class,
  fields: readonly ShapeField[],
): Record<string, SchemaOrReference> {
  const shape = shapeOf(type)
  const names = fields
    .map((field) => relationCountName(shape, field))
    .filter((name) => name !== undefined)
  const schema = { type: 'integer', minimum: 0, readOnly: true } as const
  return Object.fromEntries(names.map((name) => [name, schema]))
}

/** Whether a client must send a field: fields with a default are optional. */
export function mustBeSent(field: ShapeField): boolean {
  return !field.optional && (field.declared !== undefined || requiresPresence(field))
}

/** Whether a response always has the field, for example because the server sets it or the record has a default. */
function isSent(field: ShapeField, isRecord: boolean): boolean {
  const { optional, readOnly, rules } = field
  if (!optional) return isRecord || mustBeSent(field)
  return rules.optional !== true && (readOnly || (isRecord && rules.default !== undefined))
}

/** The fields of a record with `@Secured`. */
export function securedMembers(type: Class): ReadonlySet<string> {
  const { isRecord, fields } = shapeOf(type)
  if (!isRecord) return new Set()
  const names = fields.map(({ name }) => name)
  return new Set(names.filter((name) => readHandlerAccess(type, name).onMethod?.open === false))
}

/** A field of a record. The database returns timestamps in one format. */
function storedSchema(
  field: ShapeField,
  refer: (nested: Class) => SchemaOrReference,
): SchemaOrReference {
  if (field.kind !== 'datetime' || field.declared === undefined) return fieldSchema(field, refer)
  const schema = { type: 'string', format: 'date-time' }
  return fieldSchema({ ...field, entry: { ...field.entry, schema } }, refer)
}

/** Which fields of a class a schema has. */
export interface FieldSelection {
  readonly view: SchemaView
  readonly groups?: Groups
  /** Default: all members. */
  readonly visible?: VisibleMembers
}

/** The fields that a client may send or see. */
export function visibleFields(
  type: Class,
  { view, groups, visible = everyMember }: FieldSelection,
): readonly ShapeField[] {
  const fields = shapeOf(type)
    .fields.filter(
      ({ name, hidden, readOnly }) =>
        !hidden && (view === 'output' || !readOnly) && visible.shows(type, name),
    )
    .map((field) => withVisibleText(field, visible.textOf(type, field.rules.description)))
  if (groups === undefined) return fields
  const constraints = readConstraints(type, groups)
  return fields.map((field) => withConstraints(field, constraints.get(field.name) ?? []))
}

function withVisibleText(field: ShapeField, description: string | undefined): ShapeField {
  if (description === field.rules.description) return field
  const rules = { ...field.rules }
  delete rules.description
  return { ...field, rules }
}

/**
 * `Product`, or `ProductInput` for the input of a class with read-only fields, its own or those of a nested class;
 * `Product_create` for a route with `groups: ['create']`; `ProductLooseInput` if unknown keys are allowed. Letters that
 * a component's name must not contain become `_`.
 */
export function componentName(type: Class, view: SchemaView, groups?: Groups): string {
  const plain = type.name === '' ? 'Anonymous' : type.name.replace(/[^\w.-]/g, '_')
  const name = [plain, ...(groups ?? [])].join('_').replace(/[^\w.-]/g, '_')
  if (view === 'looseInput') return `${name}LooseInput`
  return view === 'input' && hasReadOnly(type) ? `${name}Input` : name
}

const readOnlyClasses = new WeakMap<Class, boolean>()

function hasReadOnly(type: Class): boolean {
  const cached = readOnlyClasses.get(type)
  if (cached !== undefined) return cached
  const found = [...reachable(type)].some((reached) =>
    shapeOf(reached).fields.some(({ hidden, readOnly }) => !hidden && readOnly),
  )
  readOnlyClasses.set(type, found)
  return found
}

/** A class and all classes nested in it, at any depth, without built-in classes. */
export function reachable(type: Class, found = new Set<Class>()): ReadonlySet<Class> {
  if (found.has(type) || builtIns.has(type)) return found
  found.add(type)
  for (const field of shapeOf(type).fields) {
    if (field.nested !== undefined && !field.hidden) reachable(field.nested(), found)
  }
  return found
}

const builtIns: ReadonlyMap<unknown, SchemaObject> = new Map<unknown, SchemaObject>([
  [String, { type: 'string' }],
  [Number, { type: 'number' }],
  [Boolean, { type: 'boolean' }],
  [Date, { type: 'string', format: 'date-time' }],
  [Object, {}],
  [Array, { type: 'array', items: {} }],
])

const inDocument = '#/components/schemas/'

/**
 * @param components of the document, by name
 * @returns the schema with local references only; a schema that is only a reference is replaced by its target
 */
export function withLocalDefinitions(
  schema: SchemaObject | ReferenceObject,
  components: Readonly<Record<string, SchemaObject>>,
): SchemaObject {
  const used = new Set<string>()
  const localize = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(localize)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, part]): [string, unknown] => {
      if (key !== '$ref' || typeof part !== 'string' || !part.startsWith(inDocument))
        return [key, localize(part)]
      const name = part.slice(inDocument.length)
      used.add(name)
      return [key, `#/$defs/${name}`]
    })
    return Object.fromEntries(entries)
  }
  const target = '$ref' in schema ? components[nameOf(schema)] : schema
  const root = localize(target ?? {}) as SchemaObject
  const definitions: Record<string, unknown> = {}
  // The set grows during the loop.
  for (const name of used) definitions[name] = localize(components[name] ?? {})
  return used.size === 0 ? root : ({ ...root, $defs: definitions } as SchemaObject)
}

function nameOf({ $ref }: { readonly $ref?: string }): string {
  return $ref?.slice(inDocument.length) ?? ''
}

/**
 * The schema of a client's input for a class, without additional properties; nested classes are its `$defs`. JSON
 * Schema 2020-12.
 */
export function schemaOf(type: Class): SchemaObject {
  const schemas = createSchemas()
  const schema = schemas.of({ type, list: false }, 'input')
  return withLocalDefinitions(schema, Object.fromEntries(schemas.components))
}
