/** Reads a filter of the program, which may use hidden fields; its faults are not told to clients. */
import { readOwn } from '../model/hidden-names.js'
import type { Table } from '../model/table.js'
import type { Condition } from './condition.js'
import type { FilterReader } from './filter.js'

/** @throws {HttpError} 400 `VALIDATION` */
export function readOwnFilter(reader: FilterReader, table: Table, where: unknown): Condition {
  return readOwn(table, () => reader.read(table, where))
}
