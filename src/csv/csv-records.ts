/** A record as imports and exports read and write it: with the rights of a caller, or as the program, to which no rights apply. */
import { pagesOf } from './record-pages.js'
import type { MaybePromise } from '../core/maybe-promise.js'
import type { TextValues } from '../http/query-string.js'
import { checkWrite, type CheckContext } from '../records/clients/check-row.js'
import { Database } from '../records/database.js'
import type { Id } from '../records/filters/list-options.js'
import { ManyRecords } from '../records/many-records.js'
import type { Table } from '../records/model/table.js'
import { programWriter } from '../records/policy/caller-writer.js'
import type { Repository } from '../records/repository.js'
import { CallerRecords } from '../records/rest/caller-records.js'
import { bodyChecksOf } from '../records/rest/crud-bodies.js'
import {
  describeRecord,
  rightsOfProgram,
  type RecordDescription,
  type RecordRights,
} from '../records/rest/record-rights.js'
import { readTree } from '../records/statements/read-tree.js'
import type { Source } from '../records/statements/source.js'

export type CsvValues = Record<string, unknown>

export interface CsvRecords {
  readonly described: RecordDescription
  /** Whether hooks may change the row before it is written. */
  readonly hasHooksBefore: boolean
  rights(): Promise<RecordRights>
  /** @param relations are loaded with the row */
  find(id: Id, relations: readonly string[]): Promise<object | null>
  /** The rows of a list in pages, with related rows. @param query as of `crud` */
  pages(query: TextValues, relations: readonly string[]): AsyncIterable<readonly object[]>
  /** @param values as of a JSON body. @returns the row as stored */
  create(values: CsvValues): Promise<object>
  /** @returns null if there is no such row */
  update(id: Id, values: CsvValues, expected: readonly number[] | undefined): Promise<object | null>
  /** Checks a new row by reads alone. */
  checkCreate(values: CsvValues, options: CheckContext): Promise<object>
  checkUpdate(id: Id, values: CsvValues, options: CheckContext): Promise<object | null>
  /** Runs work in a transaction, or in a part of the open one. @param timeout milliseconds */
  transaction<R>(work: () => Promise<R>, timeout?: number): Promise<R>
}

/** The records of a caller, `recordsAs(…)`, or of the program, `database.records(…)`. */
export type ImportableRecords = CallerRecords | Repository

/** @throws {TypeError} the value is neither */
export function toCsvRecords(where: string, records: unknown): CsvRecords {
  if (isOfCaller(records)) return new RecordsOfCaller(records)
  if (isOfProgram(records)) return new RecordsOfProgram(records)
  throw new TypeError(
    `${where}: takes the records of a caller, recordsAs(…), or of the program, database.records(…).`,
  )
}

function isOfCaller(records: unknown): records is CallerRecords {
  return records instanceof CallerRecords
}

function isOfProgram(records: unknown): records is Repository {
  return records instanceof ManyRecords
}

class RecordsOfCaller implements CsvRecords {
  readonly described: RecordDescription
  readonly #database: Database

  constructor(private readonly records: CallerRecords) {
    const { database, type } = CallerRecords.partsOf(records)
    this.#database = database
    this.described = describeRecord(type) as RecordDescription
  }

  get hasHooksBefore(): boolean {
    return this.records.writeHooks.before.length > 0
  }

  rights(): Promise<RecordRights> {
    return this.records.rights()
  }

  find(id: Id, relations: readonly string[]): Promise<object | null> {
    return this.records.find(id, { with: relations as never })
  }

  pages(query: TextValues, relations: readonly string[]): AsyncIterable<readonly object[]> {
    return this.records.all(query, { with: relations as never })
  }

  create(values: CsvValues): Promise<object> {
    return this.records.create(values)
  }

  update(id: Id, values: CsvValues, expected?: readonly number[]): Promise<object | null> {
    return this.records.update(id, values, expected)
  }

  checkCreate(values: CsvValues, options: CheckContext): Promise<object> {
    return this.records.checkCreate(values, options)
  }

  checkUpdate(id: Id, values: CsvValues, options: CheckContext): Promise<object | null> {
    return this.records.checkUpdate(id, values, options)
  }

  transaction<R>(work: () => Promise<R>, timeout?: number): Promise<R> {
    return this.#database.transaction(work, timeout === undefined ? {} : { timeout })
  }
}

/** Values are checked and converted as those of a body, because they come from a file. */
class RecordsOfProgram implements CsvRecords {
  readonly described: RecordDescription
  readonly #table: Table
  readonly #source: Source

  constructor(private readonly records: Repository) {
    this.#table = records.table
    this.#source = ManyRecords.sourceOf(records)
    this.described = rightsOfProgram(this.#table)
  }

  get hasHooksBefore(): boolean {
    return this.#table.hooks.beforeWrite.length > 0
  }

  rights(): Promise<RecordRights> {
    return Promise.resolve(rightsOfProgram(this.#table))
  }

  find(id: Id, relations: readonly string[]): Promise<object | null> {
    return this.records.find(id, { with: relations as never })
  }

  pages(query: TextValues, relations: readonly string[]): AsyncIterable<readonly object[]> {
    return pagesOf(this.records, query, relations)
  }

  async create(values: CsvValues): Promise<object> {
    return this.records.create(await this.#checked('complete', values))
  }

  async update(
    id: Id,
    values: CsvValues,
    expected: readonly number[] | undefined,
  ): Promise<object | null> {
    const [expectedVersion] = expected ?? []
    const checked = await this.#checked('changes', values)
    return expectedVersion === undefined
      ? this.records.update(id, checked)
      : this.records.update(id, checked, { expectedVersion })
  }

  async checkCreate(values: CsvValues, options: CheckContext): Promise<object> {
    return (await this.#check(
      undefined,
      await this.#checked('complete', values),
      options,
    )) as object
  }

  async checkUpdate(id: Id, values: CsvValues, options: CheckContext): Promise<object | null> {
    return this.#check(id, await this.#checked('changes', values), options)
  }

  #check(id: Id | undefined, values: object, options: CheckContext): MaybePromise<object | null> {
    const tree = readTree(this.#table, values)
    return checkWrite(programWriter(this.#source), id, tree, options)
  }

  async #checked(body: 'complete' | 'changes', values: CsvValues): Promise<never> {
    const checked = await bodyChecksOf(this.#table, this.#source.context)[body](values)
    return { ...checked } as never
  }

  transaction<R>(work: () => Promise<R>, timeout?: number): Promise<R> {
    const source = this.#source
    return source instanceof Database
      ? source.transaction(work, timeout === undefined ? {} : { timeout })
      : source.atomically(work, 'serializable')
  }
}
