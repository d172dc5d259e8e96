/** The JSON and CSV routes of the admin page, `{path}/api`. See docs/maintainers/admin.md, Addresses. */
import {
  ApplicationState,
  Controller,
  Database,
  describeRecord,
  Field,
  Get,
  HttpError,
  Post,
  reply,
  Secured,
  Undocumented,
  visibleRecords,
  type Claims,
  type HttpRequest,
  type Reply,
  type Class,
} from '../../index.js'
import { listBin, restoreMany } from './bin.js'
import { deleteMany, maxRows, updateMany, type ChangeManyOptions } from './change-many.js'
import { ChangeSummary } from './change-summary.js'
import { entryKinds } from './change-history.js'
import { checkCsv, importCsv } from './import-csv.js'
import { exportCsv } from './export-csv.js'
import { acceptsGzip, compress } from './assets.js'
import { pagesFor } from './components.js'
import { progressLines } from './progress-lines.js'
import { findByTitle } from './jump.js'
import { findTitles, listHistory, type HistoryQuery, type PeopleRecord } from './history.js'
import { resolvePeople, type AdminOptions } from './options.js'
import { longTimeout, runAndRollBack } from './roll-back.js'
import { runAction } from './run-action.js'
import { removeRow, saveRow } from './save-row.js'
import { describeForPage, shareFields, SharedList } from './schema.js'
import { readId, PageRecords, type JsonRow, type PageRecord } from './page-records.js'

class SavedRow {
  /** The values that the client has read. The change is rejected if one of them differs from the stored value. */
  @Field('json') was!: unknown
  @Field('json') values!: unknown
}

class RemovedRow {
  @Field('json') was!: unknown
}

class ChangedRows {
  @Field('json', { list: true, minItems: 1, maxItems: maxRows }) ids!: (string | number)[]
  @Field('json', { optional: true }) values?: unknown
  @Field('boolean', { optional: true }) remove?: boolean
  /** Returns what would change, and rolls it back. */
  @Field('boolean', { default: false }) preview!: boolean
  /** Skips rows that do not exist for the caller. Otherwise one such row fails the request. */
  @Field('boolean', { default: false }) skipMissing!: boolean
}

class RestoredRows {
  @Field('json', { list: true, minItems: 1, maxItems: maxRows }) ids!: (string | number)[]
}

class RunAction {
  @Field('json', { list: true, minItems: 1, maxItems: maxRows }) ids!: (string | number)[]
  @Field('boolean', { default: false }) preview!: boolean
  @Field('boolean', { default: false }) skipMissing!: boolean
  @Field('json', { optional: true, nullable: true }) body?: unknown
}

/** Routes that require a role of the page. The policies of the records apply in addition. */
export function dataController(options: AdminOptions, types: () => readonly Class[]): Class {
  const { path, roles } = options
  @Controller(`${path}/api`)
  @Undocumented
  @Secured({ roles: [roles].flat() })
  class AdminData {
    static readonly inject = [Database, ApplicationState]
    readonly #records: PageRecords

    constructor(
      private readonly database: Database,
      state: ApplicationState,
    ) {
      this.#records = new PageRecords(types(), database, state)
    }

    @Get('/schema')
    async schema(request: HttpRequest, user: Claims | null): Promise<Reply> {
      const pageRecords = this.#records
      const records: JsonRow[] = []
      const kinds = new SharedList()
      const { types } = pageRecords
      const visible = await visibleRecords(this.database, [...types], request)
      for (const { type } of pageRecords.all) {
        const rights = visible.rights(type)
        if (rights?.may.read !== true) continue
        const callerRecords = pageRecords.recordsOf(type, request)
        const actions = await pageRecords.actionsFor(rights, callerRecords)
        const hasBin = callerRecords.isSoftDeleted
        records.push(describeForPage(rights, { types, actions, visible, kinds, hasBin }))
      }
      const caller = await this.#describeCaller(user?.sub ?? 'key', request)
      const pages = pagesFor(options.pages, user?.roles)
      const schema = {
        caller,
        live: true,
        ...(pages.length > 0 && { pages }),
        kinds: kinds.values,
        ...shareFields(records),
      }
      return gzipped(schema, request)
    }

    async #describeCaller(sub: string, request: HttpRequest): Promise<object> {
      const people = this.#people(request)
      const name = people && (await findTitles(people, [sub])).get(sub)
      return name === undefined ? { sub } : { sub, name }
    }

    @Post('/save/<record>/<id>', { body: SavedRow, transaction: true })
    save(record: string, id: string, body: SavedRow, request: HttpRequest): Promise<object> {
      const pageRecord = this.#records.find(record, request)
      const [before, values] = [toObject(body.was, 'was'), toObject(body.values, 'values')]
      return saveRow(pageRecord, readId(pageRecord, id), before, values)
    }

    @Post('/remove/<record>/<id>', { body: RemovedRow, transaction: true })
    remove(
      record: string,
      id: string,
      body: RemovedRow,
      request: HttpRequest,
    ): Promise<Reply | null> {
      const pageRecord = this.#records.find(record, request)
      return removeRow(pageRecord, readId(pageRecord, id), toObject(body.was, 'was'))
    }

    @Post('/bulk/<record>', { body: ChangedRows, transaction: true, timeout: longTimeout })
    async bulk(record: string, body: ChangedRows, request: HttpRequest): Promise<object> {
      const pageRecord = this.#records.find(record, request)
      const { ids, values, remove = false } = body
      if (remove === (values !== undefined))
        throw new HttpError(400, 'Send either values or remove: true.')
      const changes = remove ? undefined : toObject(values, 'values')
      const rows = toIds(pageRecord, ids)
      return this.#runOrPreview(pageRecord, body, (options) =>
        changes === undefined
          ? deleteMany(pageRecord, rows, options)
          : updateMany(pageRecord, rows, changes, options),
      )
    }

    /** A preview runs the change in a separate transaction, and rolls it back. */
    async #runOrPreview(
      { records }: PageRecord,
      { preview, skipMissing }: Pick<ChangedRows, 'preview' | 'skipMissing'>,
      run: (options: ChangeManyOptions) => Promise<number>,
    ): Promise<object> {
      if (!preview) return { count: await run({ skipsMissing: skipMissing }) }
      const rights = await records.rights()
      return runAndRollBack(this.database, async () => {
        const summary = new ChangeSummary(rights, this.database)
        const count = await run({ summary, skipsMissing: skipMissing })
        return { count, ...summary.toPreview() }
      })
    }

    /** `?text=chair` */
    @Get('/jump')
    jump(query: Record<string, unknown>, request: HttpRequest): Promise<object> {
      const text = typeof query.text === 'string' ? query.text.trim() : ''
      if (text === '' || text.length > 100)
        throw new HttpError(400, 'text must have 1 to 100 characters.')
      return findByTitle(this.#records, request, text)
    }

    @Get('/bin/<record>')
    bin(record: string, query: Record<string, unknown>, request: HttpRequest): Promise<object> {
      return listBin(this.#records.find(record, request), query.after)
    }

    @Post('/bin/<record>', { body: RestoredRows, transaction: true, timeout: longTimeout })
    restore(record: string, body: RestoredRows, request: HttpRequest): Promise<object> {
      const pageRecord = this.#records.find(record, request)
      return restoreMany(pageRecord, toIds(pageRecord, body.ids))
    }

    @Get('/csv/<record>')
    async exportCsv(record: string, request: HttpRequest): Promise<Reply> {
      const pageRecord = this.#records.find(record, request)
      const name = pageRecord.described.plural.replace(/[^\w-]/g, '_')
      return reply(await exportCsv(pageRecord, request))
        .type('text/csv; charset=utf-8')
        .header('Content-Disposition', `attachment; filename="${name}.csv"`)
        .header('X-Content-Type-Options', 'nosniff')
        .header('Cache-Control', 'no-store')
    }

    @Post('/csv/<record>', { limit: '16mb', timeout: longTimeout })
    async importCsv(
      record: string,
      rawBody: Buffer,
      query: Record<string, unknown>,
      headers: Record<string, string>,
      request: HttpRequest,
    ): Promise<Reply> {
      if (!/^text\/csv\s*(?:;|$)/i.test(headers['content-type'] ?? ''))
        throw new HttpError(415, 'Send text/csv.', { headers: { accept: 'text/csv' } })
      const pageRecord = this.#records.find(record, request)
      const isCheck = query.check === 'true'
      if (query.progress === 'true') {
        const lines = progressLines((report) =>
          isCheck ? checkCsv(pageRecord, rawBody, report) : importCsv(pageRecord, rawBody, report),
        )
        return reply(lines)
          .type('application/x-ndjson; charset=utf-8')
          .header('X-Content-Type-Options', 'nosniff')
      }
      if (isCheck) return reply(await checkCsv(pageRecord, rawBody))
      const result = await importCsv(pageRecord, rawBody)
      return 'count' in result ? reply(result) : reply(result, 400)
    }

    @Get('/history/<record>')
    history(record: string, request: HttpRequest): Promise<object> {
      const pageRecord = this.#records.find(record, request)
      return listHistory(
        this.database,
        pageRecord,
        readHistoryQuery(request),
        this.#people(request),
      )
    }

    @Get('/history/<record>/<id>')
    rowHistory(record: string, id: string, request: HttpRequest): Promise<object> {
      const pageRecord = this.#records.find(record, request)
      const historyQuery = { ...readHistoryQuery(request), id: readId(pageRecord, id) }
      return listHistory(this.database, pageRecord, historyQuery, this.#people(request))
    }

    #people(request: HttpRequest): PeopleRecord | undefined {
      const { type, field } = resolvePeople(options) ?? {}
      const described = type && describeRecord(type)
      return described && { record: this.#records.find(described.plural, request), field }
    }

    @Post('/actions/<record>/<action>', {
      body: RunAction,
      transaction: true,
      timeout: longTimeout,
    })
    async run(
      record: string,
      action: string,
      body: RunAction,
      request: HttpRequest,
    ): Promise<object> {
      const pageRecord = this.#records.find(record, request)
      const task = { name: action, ids: toIds(pageRecord, body.ids), body: body.body, request }
      return this.#runOrPreview(pageRecord, body, (options) =>
        runAction(this.#records, pageRecord, { ...task, ...options }),
      )
    }
  }
  return AdminData
}

/** `?after=120&kind=delete`. @throws {HttpError} 400 */
function readHistoryQuery({ query: { after, kind } }: HttpRequest): HistoryQuery {
  const position = typeof after === 'string' && /^\d{1,15}$/.test(after) ? Number(after) : undefined
  if (after !== undefined && position === undefined)
    throw new HttpError(400, 'after is not a position in the history.')
  const knownKind = entryKinds.find((one) => one === kind)
  if (kind !== undefined && knownKind === undefined)
    throw new HttpError(400, `kind must be one of ${entryKinds.join(', ')}.`)
  return { after: position, kind: knownKind }
}

/** Compresses the schema. It is the largest response of the page and shrinks to a tenth. */
async function gzipped(schema: object, request: HttpRequest): Promise<Reply> {
  const text = JSON.stringify(schema)
  const response = acceptsGzip(request)
    ? reply(await compress(text)).header('Content-Encoding', 'gzip')
    : reply(text)
  return response
    .type('application/json; charset=utf-8')
    .header('Vary', 'Accept-Encoding')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
}

/** @throws {HttpError} 400 */
function toObject(value: unknown, name: string): JsonRow {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonRow
  const message = `${name} must be an object.`
  const errors = [{ path: name, code: 'type', message }]
  throw new HttpError(400, message, { code: 'VALIDATION', errors })
}

/** Removes duplicates. @throws {HttpError} 400 if a key is neither a string nor a number, 404 if it cannot be a key of the record */
function toIds(pageRecord: PageRecord, ids: readonly unknown[]): string[] {
  const texts = ids.map((id, index) => {
    if (typeof id === 'string' || typeof id === 'number') return readId(pageRecord, id)
    const message = `ids.${index} is not a key.`
    const errors = [{ path: `ids.${index}`, code: 'type', message }]
    throw new HttpError(400, message, { code: 'VALIDATION', errors })
  })
  return [...new Set(texts)]
}
