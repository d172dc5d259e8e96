/** Compiles a shape to a function that maps outputs. Source: decisions, Validation and fields. */
import { relationCountName, readShape, type Shape, type ShapeField } from './shape.js'
import { FunctionSet, quote, readProperty } from './function-set.js'
import { maxDepth } from './kinds/table.js'

/**
 * Compiles the function that maps the return value of a handler to a plain object. The object contains only declared
 * fields that are not hidden, in the JSON form of their kinds, also in nested classes. A list is mapped item by item, even
 * if it is not declared. Values that are not objects (null, a text) pass unchanged.
 *
 * ```ts
 * compileOutput(readShape(Product))({ id: 7, name: 'Lamp', secret: 's', rowid: 12 })   // { id: 7, name: 'Lamp' }
 * ```
 *
 * The function throws a RangeError for values nested deeper than 64 levels, such as objects that contain each other.
 */
export function compileOutput(shape: Shape): (value: unknown) => unknown {
  const writer = new OutputWriter()
  const name = writer.functionFor(shape)
  const map = writer.functions.compile(name) as MapFunction
  return (value) => mapAny(value, map, 0)
}

type MapFunction = (value: object, depth: number) => unknown

class OutputWriter {
  readonly functions = new FunctionSet()
  readonly #names = new Map<Shape, string>()

  functionFor(shape: Shape): string {
    const cached = this.#names.get(shape)
    if (cached !== undefined) return cached
    const name = `map${this.#names.size}`
    this.#names.set(shape, name)
    const visible = shape.fields.filter(({ hidden }) => !hidden)
    const counts = visible
      .map((field) => relationCountName(shape, field))
      .filter((name) => name !== undefined)
    const properties = [
      ...visible.map((field) => `${quote(field.name)}: ${this.#writeValue(field)}`),
      ...counts.map((count) => `${quote(count)}: ${readProperty('o', count)}`),
    ]
    this.functions.add(`function ${name}(o, depth) { return { ${properties.join(', ')} } }`)
    return name
  }

  #writeValue(field: ShapeField): string {
    const value = readProperty('o', field.name)
    const { functions } = this
    if (field.nested !== undefined) {
      const map = this.functionFor(readShape(field.nested()))
      return `${functions.constant(mapAny)}(${value}, ${map}, depth + 1)`
    }
    // Without `@Field` the kind is only a guess.
    const { write, toOutput = write, outputOnly } = field.entry
    const convert = field.declared === undefined ? write : toOutput
    if (convert === undefined) return value
    const one = functions.constant(convert)
    if (outputOnly !== undefined && !field.list)
      return `typeof ${value} === '${outputOnly}' ? ${one}(${value}) : ${value}`
    return `${functions.constant(field.list ? mapList : mapOne)}(${value}, ${one})`
  }
}

function mapAny(value: unknown, map: MapFunction, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > maxDepth) {
    throw new RangeError(
      `The output is nested deeper than ${maxDepth} levels. Does an object contain itself?`,
    )
  }
  if (!Array.isArray(value)) return map(value, depth)
  const list: unknown[] = []
  for (const item of value as unknown[]) list.push(mapAny(item, map, depth + 1))
  return list
}

function mapList(value: unknown, write: (item: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map((item) => mapOne(item, write)) : mapOne(value, write)
}

function mapOne(value: unknown, write: (item: unknown) => unknown): unknown {
  return value === undefined || value === null ? value : write(value)
}
