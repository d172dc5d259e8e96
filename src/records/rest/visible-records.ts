/**
 * What a caller may see of several records: one function of their rules and the rights of the caller. The tools of MCP, the
 * schema of the admin page and documents for a caller are made with it. Source: decisions, Records: access rules.
 */
import type { HttpRequest } from '../../http/request.js'
import type { Class } from '../../metadata/class.js'
import type { VisibleMembers } from '../../openapi/visible-members.js'
import type { Database as PublicDatabase } from '../public-database.js'
import { recordsAs } from './caller-records.js'
import { recordOfBody } from './crud-bodies.js'
import { describeRecord, type RecordRights } from './record-rights.js'

/**
 * Reads the rights of a request's caller to records.
 *
 * ```ts
 * const visible = await visibleRecords(database, [Ticket, Team], request)
 * visible.shows(Ticket, 'salary')                        // false
 * routes.describe(routes.all, visible)                   // no parameter, schema or text names salary
 * ```
 */
export async function visibleRecords(
  database: PublicDatabase,
  types: readonly Class[],
  request: HttpRequest,
): Promise<VisibleRecords> {
  const rights = new Map<Class, RecordRights>()
  for (const type of types) rights.set(type, await recordsAs(database, type, request).rights())
  return new VisibleRecords(rights)
}

/** The view of one caller. Create it with `visibleRecords`. */
export class VisibleRecords implements VisibleMembers {
  /** The same text for callers who see the same. */
  readonly key: string
  readonly #rights: ReadonlyMap<Class, RecordRights>

  constructor(rights: ReadonlyMap<Class, RecordRights>) {
    this.#rights = rights
    const entries = [...rights].map(([{ name }, { may, hidden }]) => [name, may.read, [...hidden]])
    this.key = JSON.stringify(entries)
  }

  /** Whether the caller may read the record. */
  reads(type: Class): boolean {
    return this.#rights.get(type)?.may.read !== false
  }

  /** @returns undefined for a record that was not named */
  rights(type: Class): RecordRights | undefined {
    return this.#rights.get(type)
  }

  /** @param type a record, or a body of its routes. All members of other classes are visible */
  shows(type: Class, member: string): boolean {
    return this.#rights.get(recordOfBody(type) ?? type)?.hidden.has(member) !== true
  }

  /** @returns undefined for a text with the name of a hidden member of the record, or of a record that it relates to */
  textOf(type: Class, text: string | undefined): string | undefined {
    const rights = this.#rights.get(recordOfBody(type) ?? type)
    if (text === undefined || rights === undefined) return text
    const words = new Set(text.match(/[\w$]+/g))
    const related = describeRecord(rights.type)?.relations.map(({ target }) => target) ?? []
    const isHidden = (one: Class): boolean =>
      [...(this.#rights.get(one)?.hidden ?? [])].some((name) => words.has(name))
    return [rights.type, ...related].some(isHidden) ? undefined : text
  }
}
