/**
 * Refuses patterns for which a database would have to look at every row of a large table: a picker asks with each letter that is
 * typed. Beginnings and words have indexes. Source: decisions, Query cost.
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
  @Use(boundedPatterns(type))
  @Secured({ roles: [roles].flat() })
  class AdminRows {}
  Object.defineProperty(AdminRows, 'name', { value: `Admin${type.name}Rows` })
  return AdminRows
}

/** A table with fewer rows is read within the time that a picker has. */
const mostRows = 200_000
/** How long the size of a table is believed, in milliseconds. */
const believed = 60_000

const patterns = /\.(?:ilike|like|contains|endsWith)$/

function boundedPatterns(type: Class): new (...needed: never[]) => EntryInterceptor {
  return class BoundedPatterns implements EntryInterceptor {
    static readonly inject = [Database, Clock]
    readonly #sizes = new Map<Class, { readonly rows: number; readonly at: number }>()

    constructor(
      private readonly database: Database,
      private readonly clock: Clock,
    ) {}

    async enter({ query, method }: HttpRequest): Promise<void> {
      if (method !== 'GET' && method !== 'HEAD') return
      for (const name of Object.keys(query)) {
        if (!patterns.test(name) || this.#begins(name, query[name])) continue
        const place = findPlace(type, name.split('.').slice(0, -1))
        if (place === undefined || this.#hasIndex(place)) continue
        const rows = await this.#rowsOf(place.type)
        if (rows <= mostRows) continue
        const message = `${name}: among ${rows} rows only beginnings (startsWith) and words (search) are looked for.`
        const errors = [{ path: name, code: 'TOO_COSTLY', message }]
        throw new HttpError(400, message, { code: 'TOO_COSTLY', errors })
      }
    }

    #begins(name: string, text: unknown): boolean {
      return name.endsWith('.like') && typeof text === 'string' && !/^[%_]/.test(text)
    }

    /** A trigram index, where the database makes one, finds what stands anywhere: who has declared it knows. */
    #hasIndex({ type: of, field }: Place): boolean {
      const { indexes } = this.database.records(of).table
      return indexes.some(
        ({ form, columns }) =>
          form?.like === true && columns.some(({ property }) => property === field),
      )
    }

    async #rowsOf(of: Class): Promise<number> {
      const now = this.clock.now()
      const known = this.#sizes.get(of)
      if (known !== undefined && now - known.at < believed) return known.rows
      const records = this.database.records(of)
      const rows = records.table.shard === undefined ? await records.counts.roughly({}) : 0
      this.#sizes.set(of, { rows, at: now })
      return rows
    }
  }
}

interface Place {
  readonly type: Class
  readonly field: string
}

/** `['org', 'name']` from Ticket: the name of Org. */
function findPlace(type: Class, names: readonly string[]): Place | undefined {
  let at = type
  for (const name of names.slice(0, -1)) {
    const relation = describeRecord(at)?.relations.find((one) => one.name === name)
    if (relation === undefined) return undefined
    at = relation.target
  }
  const field = names.at(-1)
  return field === undefined ? undefined : { type: at, field }
}
