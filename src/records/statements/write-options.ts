/**
 * The options of updates and deletions, and how they are read. Source: public API, Records, continued.
 */
import { invalid } from '../filters/query-errors.js'
import { checkFilterOptions, withShard } from '../filters/list-options.js'
import type { Where } from '../model/record-types.js'
import type { Column } from '../../engines/contract/table.js'
import { type TableCodec, toKey } from '../model/codec.js'
import { changesTimeOfKey } from '../model/partitions.js'
import { keyOf, namesKeyOf, partsOfKey, readCompositeKey } from '../model/record-key.js'
import type { Table, Instance } from '../model/table.js'
import type { RowChange } from './change-row.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'

const deleteOptions = declareOptions({
  /**
   * The expected version. If the row has another one, the response is 409. For records of `@Record({ version: true
   * })`.
   */
  expectedVersion: option.any<number>(),
})

export interface DeleteOptions extends OptionsOf<typeof deleteOptions> {}

const updateOptions = declareOptions({ where: option.any<unknown>(), ...deleteOptions.all })

export interface UpdateOptions<T> extends DeleteOptions {
  /** Update the row only if it matches this condition. Otherwise nothing is written and the result is null. */
  where?: Where<T>
}

/** @throws {TypeError} an unknown option, an undefined condition, or a version for a record without versions */
export function readUpdateOptions(
  table: Table,
  options: UpdateOptions<never> | undefined,
): Pick<RowChange, 'where' | 'expected'> {
  if (options === undefined) return nothing
  withShard(updateOptions, table.shard).check('update', options)
  checkFilterOptions(options)
  return { where: options.where, expected: readVersion('update', table, options) }
}

/** @throws {TypeError} as `readUpdateOptions` */
export function readDeleteOptions(
  table: Table,
  options: DeleteOptions | undefined,
): readonly number[] | undefined {
  if (options === undefined) return undefined
  withShard(deleteOptions, table.shard).check('delete', options)
  return readVersion('delete', table, options)
}

const nothing: Pick<RowChange, 'where' | 'expected'> = Object.freeze({})

function readVersion(
  method: string,
  table: Table,
  { expectedVersion }: DeleteOptions,
): readonly number[] | undefined {
  if (expectedVersion === undefined) return undefined
  if (table.version === undefined) {
    const fix = `Write @Record({ version: true }) before class ${table.type.name}.`
    throw new TypeError(`${method}: ${table.type.name} has no versions. ${fix}`)
  }
  if (Number.isSafeInteger(expectedVersion)) return [expectedVersion]
  throw invalid('expectedVersion', 'type', 'must be an integer')
}

/**
 * Removes from the values of an update what identifies the row: its key and its version.
 *
 * @throws {HttpError} 400 `VALIDATION`: another key, or an invalid version
 */
export function removeIdentity(
  table: Table,
  codec: TableCodec,
  id: unknown,
  values: object,
): Pick<RowChange, 'values' | 'expected'> {
  const { key, version, partitions } = table
  const input = values as Instance
  // Values that are not an object are refused later.
  const isObject = typeof values === 'object' && (values as unknown) !== null
  const hasVersion = isObject && version !== undefined && version.property in input
  const namesKey = isObject && namesKeyOf(key, input)
  if (key.parts !== undefined && namesKey) checkKeyParts(key, id, input)
  const namesTime = isObject && partitions !== undefined && partitions.time.property in input
  if (namesTime) checkTimeOfKey(table, id, input)
  if (!isObject || !(namesKey || hasVersion || namesTime)) return { values }
  const namedKey = input[key.property]
  if (namedKey !== undefined && toKey(codec, namedKey) !== id)
    throw invalid(key.property, 'readOnly', 'cannot be changed')
  const otherValues = without(input, key, version?.property, partitions?.time.property)
  if (!hasVersion) return { values: otherValues }
  const namedVersion = input[version.property]
  if (namedVersion === undefined) return { values: otherValues }
  if (!Number.isSafeInteger(namedVersion))
    throw invalid(version.property, 'type', 'must be an integer')
  return { values: otherValues, expected: [namedVersion as number] }
}

/**
 * Removes the parts of a key of several columns from the changes of a row.
 *
 * @throws {HttpError} 400 `VALIDATION`: the values change a part of the key
 */
export function withoutKeyParts(table: Table, row: Instance, values: Instance): Instance {
  const { key, partitions } = table
  if (key.parts === undefined && partitions === undefined) return values
  checkTimeOfKey(table, keyOf(key, row), values)
  if (key.parts === undefined) return without(values, key, partitions?.time.property)
  checkKeyParts(key, keyOf(key, row), values)
  return without(values, key)
}

/** @throws {HttpError} 400 `VALIDATION`: the values change the time with which the key begins */
function checkTimeOfKey(table: Table, id: unknown, input: Instance): void {
  if (changesTimeOfKey(table, id, input))
    throw invalid(table.partitions?.time.property ?? '', 'readOnly', 'cannot be changed')
}

/** @throws {HttpError} 400 `VALIDATION`: the values change a part of the key */
function checkKeyParts(key: Column, id: unknown, input: Instance): void {
  const parts = partsOfKey(key, String(id))
  const changed = key.parts?.find(({ property }) => {
    const value = input[property]
    if (value === undefined) return false
    if (value === null) return true
    return readCompositeKey(key, { ...parts, [property]: value }) !== id
  })
  if (changed !== undefined) throw invalid(changed.property, 'readOnly', 'cannot be changed')
}

/** A copy without the key and other properties. A loop, because taking the rest of an object costs several times as much. */
function without(
  values: Instance,
  { property, parts }: Column,
  ...others: (string | undefined)[]
): Instance {
  const rest: Instance = {}
  for (const name of Object.keys(values)) {
    if (name === property || others.includes(name)) continue
    if (parts?.some((part) => part.property === name) === true) continue
    // As a value it would become the prototype and escape the checks.
    if (name === '__proto__') Object.defineProperty(rest, name, { value: 0, enumerable: true })
    else rest[name] = values[name]
  }
  return rest
}

/** A version among the values takes precedence over the version of the options. */
export function readChange(
  table: Table,
  codec: TableCodec,
  id: unknown,
  input: object,
  { where, expected, rowFilter, writer }: Omit<RowChange, 'values'>,
): RowChange {
  const { values, expected: named } = removeIdentity(table, codec, id, input)
  return { values, where, expected: named ?? expected, rowFilter, writer }
}
