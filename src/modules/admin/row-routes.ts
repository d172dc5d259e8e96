/**
 * The routes of a record's rows. They reject text patterns that would scan a large table, because a picker sends a query for each
 * typed letter. Prefixes and words have indexes.
 */
import {
  Clock,
  Controller,
  Database,
  describeRecord,
  HttpError,
  Secured,
  Undocumented,
  Use,
  type EntryInterceptor,
  type HttpRequest,
  type ModuleOptions,
} from '../../index.js'
import type { Class } from './declare.js'
import type { AdminOptions } from './options.js'

type ControllerClass = NonNullable<ModuleOptions['controllers']>[number]

/** The routes of a record's rows. */
export function rowsController(
  { path, roles }: AdminOptions,
  type: Class,
  plural: string,
): ControllerClass {
  @Controller(`${path}/api/rows/${plural}`, { crud: type })
  @Undocumented
  @Use(limitPatternSearch(type))
  @Secured({ roles: [roles].flat() })
  class AdminRows {}
  Object.defineProperty(AdminRows, 'name', { value: `Admin${type.name}Rows` })
  return AdminRows
}

/** Scanning a table with fewer rows is fast enough for a picker. */
const maxScannedRows = 200_000
/** How long the size of a table is cached, in milliseconds. */
const sizeLifetime = 60_000

const scanningOperators = /\.(?:ilike|like|contains|endsWith)$/

function limitPatternSearch(type: Class): new (...args: never[]) => EntryInterceptor {
  return class PatternSearchLimit implements EntryInterceptor {
    static readonly inject = [Database, Clock]
    readonly #sizes = new Map<Class, { readonly rows: number; readonly at: number }>()

    constructor(
      private readonly database: Database,
      private readonly clock: Clock,
    ) {}

    async enter({ query, method }: HttpRequest): Promise<void> {
      if (method !== 'GET' && method !== 'HEAD') return
      for (const name of Object.keys(query)) {
        if (!scanningOperators.test(name) || this.#hasPrefix(name, query[name])) continue
        const position = findField(type, name.split('.').slice(0, -1))
        if (position === undefined || this.#hasIndex(position)) continue
        const rows = await this.#rowCount(position.type)
        if (rows <= maxScannedRows) continue
        const message = `${name}: the table has ${rows} rows. Use a prefix (startsWith) or words (search).`
        const errors = [{ path: name, code: 'TOO_COSTLY', message }]
        throw new HttpError(400, message, { code: 'TOO_COSTLY', errors })
      }
    }

    #hasPrefix(name: string, text: unknown): boolean {
      return name.endsWith('.like') && typeof text === 'string' && !/^[%_]/.test(text)
    }

    /** Whether a trigram index supports patterns on this field. */
    #hasIndex({ type, field }: FieldPosition): boolean {
      const { indexes } = this.database.records(type).table
      return indexes.some(
        ({ form, columns }) =>
          form?.like === true && columns.some(({ property }) => property === field),
      )
    }

    async #rowCount(type: Class): Promise<number> {
      const now = this.clock.now()
      const cached = this.#sizes.get(type)
      if (cached !== undefined && now - cached.at < sizeLifetime) return cached.rows
      const records = this.database.records(type)
      const rows = records.table.shard === undefined ? await records.counts.roughly({}) : 0
      this.#sizes.set(type, { rows, at: now })
      return rows
    }
  }
}

interface FieldPosition {
  readonly type: Class
  readonly field: string
}

/** Resolves a path of relations: `['org', 'name']` from Ticket is the field `name` of Org. */
function findField(type: Class, names: readonly string[]): FieldPosition | undefined {
  let at = type
  for (const name of names.slice(0, -1)) {
    const relation = describeRecord(at)?.relations.find((one) => one.name === name)
    if (relation === undefined) return undefined
    at = relation.target
  }
  const field = names.at(-1)
  return field === undefined ? undefined : { type: at, field }
}
