/** The classes of an application as components of one document, each once. Source: decisions, Documentation. */
import type { SchemaObject } from 'openapi3-ts/oas31'
import { readShape, type ShapeField } from '../fields/shape.js'
import type { DeclaredType } from '../fields/type-of.js'
import type { Class } from '../metadata/note.js'
import { fieldSchema, listOf, type Schema } from './field-schema.js'

/** What a client sends, or what it gets: read-only fields are in no input. */
export type View = 'input' | 'output'

export interface Schemas {
  /** A reference to the class's component, which is made when it is first asked for; a list of it for a list. */
  of(declared: DeclaredType, view: View): Schema
  /** By name, in the order of their first use. */
  readonly components: ReadonlyMap<string, SchemaObject>
}

export function createSchemas(): Schemas {
  const components = new Map<string, SchemaObject>()
  const refer = (type: Class, view: View): Schema => {
    const builtIn = builtIns.get(type)
    if (builtIn !== undefined) return builtIn
    const name = componentName(type, view)
    if (!components.has(name)) {
      // The place is taken first: the class may lead back to itself.
      const component: SchemaObject = {}
      components.set(name, component)
      Object.assign(
        component,
        classSchema(type, view, (nested) => refer(nested, view)),
      )
    }
    return { $ref: `#/components/schemas/${name}` }
  }
  return {
    components,
    of: ({ type, list }, view) => (list ? listOf(refer(type, view)) : refer(type, view)),
  }
}

/** The schema of a class itself, its nested classes by `refer`. A class without fields is any object. */
export function classSchema(
  type: Class,
  view: View,
  refer: (nested: Class) => Schema,
): SchemaObject {
  const fields = visibleFields(type, view)
  if (fields.length === 0) return { type: 'object' }
  const required = fields.filter(isPresent).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field, refer)])),
    ...(required.length === 0 ? {} : { required }),
  }
}

/** A default makes a field optional for who sends it; one that only the server sets is always there. */
function isPresent({ optional, readOnly, rules }: ShapeField): boolean {
  return !optional || (readOnly && rules.optional !== true)
}

/** The fields that a client may send, or gets to see. */
export function visibleFields(type: Class, view: View): readonly ShapeField[] {
  return readShape(type, []).fields.filter(
    ({ hidden, readOnly }) => !hidden && (view === 'output' || !readOnly),
  )
}

/**
 * `Product`, or `ProductInput` for what is sent of a class with read-only fields, its own or those of a class nested in
 * it. Letters that no component's name may have become `_`.
 */
export function componentName(type: Class, view: View): string {
  const name = type.name === '' ? 'Anonymous' : type.name.replace(/[^\w.-]/g, '_')
  return view === 'input' && hasReadOnly(type) ? `${name}Input` : name
}

const knownReadOnly = new WeakMap<Class, boolean>()

function hasReadOnly(type: Class): boolean {
  const known = knownReadOnly.get(type)
  if (known !== undefined) return known
  const found = [...reachable(type)].some((reached) =>
    readShape(reached, []).fields.some(({ hidden, readOnly }) => !hidden && readOnly),
  )
  knownReadOnly.set(type, found)
  return found
}

/** A class and every class nested in it, at any depth. Classes of the language are not among them. */
export function reachable(type: Class, seen = new Set<Class>()): ReadonlySet<Class> {
  if (seen.has(type) || builtIns.has(type)) return seen
  seen.add(type)
  for (const field of readShape(type, []).fields) {
    if (field.nested !== undefined && !field.hidden) reachable(field.nested(), seen)
  }
  return seen
}

const builtIns: ReadonlyMap<unknown, SchemaObject> = new Map<unknown, SchemaObject>([
  [String, { type: 'string' }],
  [Number, { type: 'number' }],
  [Boolean, { type: 'boolean' }],
  [Date, { type: 'string', format: 'date-time' }],
  [Object, {}],
  [Array, { type: 'array', items: {} }],
])
