/** The parts of a JSON column: the declared fields of its nested classes, found by their path. */
import { clip } from '../../core/text.js'
import type { Column } from '../../engines/contract/table.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { readShape, type Shape, type ShapeField } from '../../fields/shape.js'
import type { JsonType } from '../../sql/condition.js'
import { partColumn } from '../model/read-columns.js'
import { invalid } from './query-errors.js'

export interface PathOptions {
  /** For clients, hidden and undeclared fields do not exist. */
  readonly isClient: boolean
  /** The position in the filter, for errors. */
  readonly path: string
}

/**
 * Finds the part at a path.
 *
 * @param column the field of the column
 * @param names keys of objects, and positions in lists
 * @returns `undefined` for values whose kind is not declared
 * @throws {HttpError} 400 `VALIDATION` for a client's path to a value that responses leave out
 */
export function findPart(
  column: ShapeField,
  names: readonly string[],
  { isClient, path }: PathOptions,
): Column | undefined {
  let field = column
  for (const name of names) {
    if (field.list) {
      const isPosition = /^-?\d+$/.test(name)
      if (isClient && !isPosition && field.nested !== undefined)
        throw invalid(path, 'type', 'needs the position in a list')
      if (!isPosition) return undefined
      field = { ...field, list: false }
      continue
    }
    // Everything inside a value of any JSON is visible.
    if (field.nested === undefined) return undefined
    const { name: className, fields } = readShape(field.nested())
    const known = isClient ? fields.filter(({ hidden }) => !hidden) : fields
    const found = known.find((one) => one.name === name)
    if (found === undefined && !isClient) return undefined
    if (found === undefined) {
      const candidates = known.map((one) => one.name)
      const text = `names "${clip(name)}", which is not a field of ${className}. ${didYouMean(clip(name), candidates)}`
      throw invalid(path, 'unknown', text.trim())
    }
    field = found
  }
  return field.nested === undefined && field.kind === 'json' ? undefined : partColumn(field)
}

/** The type by which values of a part are compared. */
export function jsonTypeOf({ compares, isBoolean, field: { entry } }: Column): JsonType {
  if (compares === 'list') return 'list'
  if (isBoolean) return 'boolean'
  switch (entry.storage) {
    case 'integer':
    case 'real':
      return 'number'
    case 'decimal':
    case 'wide':
      return 'exact'
    default:
      return 'text'
  }
}

/** The class of a field whose parts a filter may name; undefined for lists and for fields without a class. */
export function objectClassOf({ nested, list }: ShapeField): Shape | undefined {
  return nested === undefined || list ? undefined : readShape(nested())
}
