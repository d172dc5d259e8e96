/** The routes below the page's path. Source: docs/maintainers/admin.md, Addresses. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
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
  type Claims,
  type HttpRequest,
  type ModuleOptions,
  type Reply,
} from '../../index.js'
import { runAction, changeMany, mostRows, removeRow, saveRow } from './changes.js'
import { entryKinds } from './change-history.js'
import { readCsv, type Imported } from './import-csv.js'
import { writeCsv } from './export-csv.js'
import type { Class } from './declare.js'
import { listHistory, type AskedHistory, type ShownPeople } from './history.js'
import { resolvePeople, type AdminOptions } from './options.js'
import { shareFields, writeRecord } from './schema.js'
import { readId, ShownRecords, type Row, type ShownRecord } from './page-records.js'

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

class SavedRow {
  /** What the fields held when they were read: any of them that is another now refuses the change. */
  @Field('json') was!: unknown
  @Field('json') values!: unknown
}

class RemovedRow {
  @Field('json') was!: unknown
}

class ChangedRows {
  @Field('json', { list: true, minItems: 1, maxItems: mostRows }) ids!: (string | number)[]
  @Field('json', { optional: true }) values?: unknown
  @Field('boolean', { optional: true }) remove?: boolean
}

class RunAction {
  @Field('json', { list: true, minItems: 1, maxItems: mostRows }) ids!: (string | number)[]
  @Field('json', { optional: true, nullable: true }) body?: unknown
}

/** Rolls a transaction back that failed for no reason of its own. */
class RolledBack extends Error {
  constructor(readonly imported?: Imported) {
    super('nothing of the file is written')
  }
}

const long = 120_000

/** What asks for a role of the page; the rest is the policy's. */
export function dataController(
  options: AdminOptions,
  types: () => readonly Class[],
): ControllerClass {
  const { path, roles } = options
  @Controller(`${path}/api`)
  @Undocumented
  @Secured({ roles: [roles].flat() })
  class AdminData {
    static readonly inject = [Database, ApplicationState]
    readonly #records: ShownRecords

    constructor(
      private readonly database: Database,
      state: ApplicationState,
    ) {
      this.#records = new ShownRecords(types(), database, state)
    }

    @Get('/schema')
    async schema(request: HttpRequest, user: Claims | null): Promise<Reply> {
      const all = this.#records
      const records: Row[] = []
      for (const { type } of all.all) {
        const own = all.recordsOf(type, request)
        const rights = await own.rights()
        if (!rights.may.read) continue
        const actions = await all.actionsFor(rights, own)
        records.push(writeRecord(rights, all.types, new Set(actions.keys())))
      }
      const caller = { sub: user?.sub ?? 'key' }
      return packed({ caller, live: true, ...shareFields(records) }, request)
    }

    @Post('/save/<record>/<id>', { body: SavedRow, transaction: true })
    save(record: string, id: string, body: SavedRow, request: HttpRequest): Promise<object> {
      const shown = this.#records.find(record, request)
      const [was, values] = [toObject(body.was, 'was'), toObject(body.values, 'values')]
      return saveRow(shown, readId(shown, id), was, values)
    }

    @Post('/remove/<record>/<id>', { body: RemovedRow, transaction: true })
    remove(
      record: string,
      id: string,
      body: RemovedRow,
      request: HttpRequest,
    ): Promise<Reply | null> {
      const shown = this.#records.find(record, request)
      return removeRow(shown, readId(shown, id), toObject(body.was, 'was'))
    }

    @Post('/bulk/<record>', { body: ChangedRows, transaction: true, timeout: long })
    async bulk(record: string, body: ChangedRows, request: HttpRequest): Promise<object> {
      const shown = this.#records.find(record, request)
      const { ids, values, remove = false } = body
      if (remove === (values !== undefined))
        throw new HttpError(400, 'Send either values or remove: true.')
      const changes = remove ? undefined : toObject(values, 'values')
      return { count: await changeMany(shown, toIds(shown, ids), changes) }
    }

    @Get('/csv/<record>')
    async exportCsv(record: string, request: HttpRequest): Promise<Reply> {
      const shown = this.#records.find(record, request)
      const name = shown.described.plural.replace(/[^\w-]/g, '_')
      return reply(await writeCsv(shown, request))
        .type('text/csv; charset=utf-8')
        .header('Content-Disposition', `attachment; filename="${name}.csv"`)
        .header('X-Content-Type-Options', 'nosniff')
        .header('Cache-Control', 'no-store')
    }

    @Post('/csv/<record>', { limit: '16mb', timeout: long })
    async importCsv(
      record: string,
      rawBody: Buffer,
      query: Record<string, unknown>,
      headers: Record<string, string>,
      request: HttpRequest,
    ): Promise<Reply> {
      if (!/^text\/csv\s*(?:;|$)/i.test(headers['content-type'] ?? ''))
        throw new HttpError(415, 'Send text/csv.', { headers: { accept: 'text/csv' } })
      const shown = this.#records.find(record, request)
      if (query.check === 'true') return reply(await this.#checkCsv(shown, rawBody))
      const { database } = this
      const write = async (): Promise<Imported> => {
        const imported = await readCsv(shown, rawBody, {
          batch: (work) => work(),
          row: (work) => database.transaction(work),
        })
        if (imported.faults.length > 0) throw new RolledBack(imported)
        return imported
      }
      const { rows, faults } = await database.transaction(write).catch((error: unknown) => {
        if (error instanceof RolledBack && error.imported !== undefined) return error.imported
        throw error
      })
      if (faults.length === 0) return reply({ count: rows })
      const error = `The file has faults: nothing was written.`
      return reply({ error, code: 'VALIDATION', faults }, 400)
    }

    /**
     * Writes the rows in small transactions, each of which is rolled back: a check finds what the import would find, and other
     * writers wait for one batch at most.
     */
    async #checkCsv(shown: ShownRecord, file: Buffer): Promise<object> {
      const { database } = this
      let milliseconds = 0
      const imported = await readCsv(shown, file, {
        batch: async (work) => {
          const start = performance.now()
          const undone = database.transaction(async () => {
            await work()
            throw new RolledBack()
          })
          await undone.catch((error: unknown) => {
            if (!(error instanceof RolledBack)) throw error
          })
          milliseconds += performance.now() - start
        },
        row: (work) => database.transaction(work),
      })
      return { ...imported, seconds: Math.ceil(milliseconds / 1000) }
    }

    @Get('/history/<record>')
    history(record: string, request: HttpRequest): Promise<object> {
      const shown = this.#records.find(record, request)
      return listHistory(this.database, shown, readHistoryQuery(request), this.#people(request))
    }

    @Get('/history/<record>/<id>')
    rowHistory(record: string, id: string, request: HttpRequest): Promise<object> {
      const shown = this.#records.find(record, request)
      const asked = { ...readHistoryQuery(request), id: readId(shown, id) }
      return listHistory(this.database, shown, asked, this.#people(request))
    }

    #people(request: HttpRequest): ShownPeople | undefined {
      const { type, field } = resolvePeople(options) ?? {}
      const described = type && describeRecord(type)
      return described && { shown: this.#records.find(described.plural, request), field }
    }

    @Post('/actions/<record>/<action>', { body: RunAction, transaction: true, timeout: long })
    async run(
      record: string,
      action: string,
      body: RunAction,
      request: HttpRequest,
    ): Promise<object> {
      const shown = this.#records.find(record, request)
      const asked = { name: action, ids: toIds(shown, body.ids), body: body.body, request }
      return { count: await runAction(this.#records, shown, asked) }
    }
  }
  return AdminData
}

/** `?after=120&kind=delete`. @throws {HttpError} 400 */
function readHistoryQuery({ query: { after, kind } }: HttpRequest): AskedHistory {
  const place = typeof after === 'string' && /^\d{1,15}$/.test(after) ? Number(after) : undefined
  if (after !== undefined && place === undefined)
    throw new HttpError(400, 'after is no place in the history.')
  const known = entryKinds.find((one) => one === kind)
  if (kind !== undefined && known === undefined)
    throw new HttpError(400, `kind must be one of ${entryKinds.join(', ')}.`)
  return { after: place, kind: known }
}

const pack = promisify(gzip)

/** The schema is most of what a page loads, and packs to a tenth. */
async function packed(schema: object, { headers }: HttpRequest): Promise<Reply> {
  const text = JSON.stringify(schema)
  const takes = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(headers['accept-encoding'] ?? '')
  const answer = takes ? reply(await pack(text)).header('Content-Encoding', 'gzip') : reply(text)
  return answer
    .type('application/json; charset=utf-8')
    .header('Vary', 'Accept-Encoding')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
}

/** @throws {HttpError} 400 */
function toObject(value: unknown, name: string): Row {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Row
  const message = `${name} must be an object.`
  const errors = [{ path: name, code: 'type', message }]
  throw new HttpError(400, message, { code: 'VALIDATION', errors })
}

/** Each key once. @throws {HttpError} 400 for what is neither text nor number, 404 for what is no key */
function toIds(shown: ShownRecord, ids: readonly unknown[]): string[] {
  const texts = ids.map((id, index) => {
    if (typeof id === 'string' || typeof id === 'number') return readId(shown, id)
    const message = `ids.${index} is no key.`
    const errors = [{ path: `ids.${index}`, code: 'type', message }]
    throw new HttpError(400, message, { code: 'VALIDATION', errors })
  })
  return [...new Set(texts)]
}
