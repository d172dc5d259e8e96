/** Finds the records of the page by path and gives access to them with the rights of the caller. */
import {
  ApplicationState,
  Database,
  describeRecord,
  HttpError,
  recordsAs,
  type CallerRecords,
  type HttpRequest,
  type RecordDescription,
  type RecordRights,
  type Class,
} from '../../index.js'
import { AdminAction, type AdminActionOptions } from './declare.js'

export type JsonRow = Record<string, unknown>

/** A record of the page with the rights of one request's caller. */
export interface PageRecord {
  readonly type: Class
  readonly described: RecordDescription
  readonly records: CallerRecords<JsonRow>
  /** The logger of the request. */
  readonly log: HttpRequest['log']
}

export class PageRecords {
  readonly #byPath: ReadonlyMap<string, RecordDescription>
  readonly types: ReadonlySet<Class>

  constructor(
    types: readonly Class[],
    readonly database: Database,
    readonly state: ApplicationState,
  ) {
    this.types = new Set(types)
    this.#byPath = new Map(
      types.flatMap((type) => {
        const described = describeRecord(type)
        return described === undefined ? [] : [[described.plural, described]]
      }),
    )
  }

  get all(): Iterable<RecordDescription> {
    return this.#byPath.values()
  }

  /** @throws {HttpError} 404 */
  find(path: string, request: HttpRequest): PageRecord {
    const described = this.#byPath.get(path)
    if (described === undefined)
      throw new HttpError(404, undefined, { reason: 'the page has no such record' })
    const { type } = described
    return { type, described, records: this.recordsOf(type, request), log: request.log }
  }

  recordsOf(type: Class, request: HttpRequest): CallerRecords<JsonRow> {
    return recordsAs(this.database, type as Class<JsonRow>, request)
  }

  /** The actions of a record that the caller may run. */
  async actionsFor(
    { type, may, writes }: RecordRights,
    records: CallerRecords<JsonRow>,
  ): Promise<ReadonlyMap<string, AdminActionOptions>> {
    const actions = new Map<string, AdminActionOptions>()
    // If no client may update rows, actions are how rows are changed. Otherwise an action needs the right to update.
    if (!may.read || (writes.update && !may.update)) return actions
    for (const [name, [options]] of AdminAction.read(type))
      if (await records.mayCall(name)) actions.set(name, options)
    return actions
  }
}

/** Whether rows have a key. Rows of views, and of some tables of other programs, have none: they are only listed. */
export function hasKey({ key }: Pick<RecordDescription, 'key'>): boolean {
  return key.parts?.length !== 0
}

/**
 * Normalizes a key, so that one row always has the same key text.
 *
 * @throws {HttpError} 404 if the value cannot be a key of the record
 */
export function readId({ described }: PageRecord, id: unknown): string {
  const isText = typeof id === 'number' || typeof id === 'string'
  const text = isText && hasKey(described) ? described.key.read(String(id)) : undefined
  if (text === undefined) throw notFound()
  return text
}

/** Searching a table with fewer rows is fast enough for a picker. */
export const maxSearchedRows = 200_000

/** Lets other requests run. SQLite responds synchronously, so many statements in a row would block the event loop. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export function notFound(): HttpError {
  return new HttpError(404, undefined, {
    reason: 'the row does not exist, or `rows` hides it from the caller',
  })
}

/** @throws {HttpError} 403 unless the caller may do one of the operations */
export function checkAnyRight(
  { may }: RecordRights,
  ...operations: readonly ('create' | 'update' | 'delete')[]
): void {
  if (!operations.some((operation) => may[operation]))
    throw new HttpError(403, undefined, { reason: `the caller may not ${operations.join(' or ')}` })
}
