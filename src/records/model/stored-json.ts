/** Converts lists and nested objects to the JSON text of a column, and back to instances. */
import type { Kind } from '../../fields/kinds/kind.js'
import { toProperty } from '../../fields/kinds/table.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import { instanceConstructorOf, type Constructor } from '../../fields/instance.js'
import type { Class } from '../../metadata/class-metadata.js'

/** @returns the JSON text of a valid value */
export function toStoredJson(field: ShapeField, value: unknown): string {
  return JSON.stringify(needsCare(field) ? write(field, value) : value)
}

/** @returns the property's value, with nested objects as instances of their classes */
export function fromStoredJson(field: ShapeField, text: unknown): unknown {
  // Some drivers parse JSON themselves.
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : text
  return needsCare(field) ? read(field, value) : value
}

function needsCare({ nested, entry }: ShapeField): boolean {
  return nested !== undefined || entry.write !== undefined || entry.encode !== undefined
}

function write(field: ShapeField, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (field.list && Array.isArray(value)) return value.map((item) => writeOne(field, item))
  return writeOne(field, value)
}

function writeOne(field: ShapeField, value: unknown): unknown {
  if (field.nested !== undefined) {
    const fields = readShape(field.nested()).fields
    const source = value as Record<string, unknown>
    return Object.fromEntries(fields.map((inner) => [inner.name, write(inner, source[inner.name])]))
  }
  return toJson(value, field.entry)
}

/** The JSON form of a value, whichever form it has. */
export function toJson(value: unknown, entry: Kind): unknown {
  const property = toProperty(value, entry)
  if (entry.write !== undefined) return entry.write(property)
  return entry.encode === undefined ? property : entry.encode(property)
}

function read(field: ShapeField, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (field.list && Array.isArray(value)) return value.map((item) => readOne(field, item))
  return readOne(field, value)
}

function readOne(field: ShapeField, value: unknown): unknown {
  if (value === null) return value
  if (field.nested !== undefined) return readInstance(field.nested(), value)
  return field.entry.write === undefined ? value : toProperty(value, field.entry)
}

function readInstance(type: Class, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const source = value as Record<string, unknown>
  const instance = new (makerFor(type))()
  for (const field of readShape(type).fields) {
    const inner = read(field, source[field.name])
    if (inner !== undefined) instance[field.name] = inner
  }
  return instance
}

const makers = new WeakMap<Class, Constructor>()

function makerFor(type: Class): Constructor {
  let maker = makers.get(type)
  if (maker === undefined) {
    maker = instanceConstructorOf(type).Constructor
    makers.set(type, maker)
  }
  return maker
}
