/**
 * `filigree/admin`: a web page for viewing and editing an application's records. It grants no rights: callers need a role, and
 * may do what the policies of the records allow. See docs/maintainers/admin.md.
 */
import {
  Controller,
  createModule,
  Database,
  describeRecord,
  HttpError,
  recordsAs,
  Secured,
  Undocumented,
  Use,
  type EntryInterceptor,
  type HttpRequest,
  type ModuleOptions,
  type Class,
} from '../../index.js'
import { adminOptions, type AdminOptions, findRecordProblems, resolveRecords } from './options.js'
import { readLogin } from './login.js'
import { NoStore, pageController, signOutController } from './page.js'
import { maxSearchedRows } from './page-records.js'
import { dataController } from './routes.js'
import { viewsController } from './saved-views.js'

export { Admin, AdminAction } from './declare.js'
export type { ActionContext, AdminActionOptions, AdminRecordOptions } from './declare.js'
export { AdminEntry, type FieldChange } from './change-history.js'
export type { AdminOptions, LoginOptions } from './options.js'
export type {
  AdminCellProps,
  AdminClient,
  AdminInputProps,
  AdminPage,
  AdminPageProps,
  FieldComponents,
} from './components.js'
export type { LanguageTexts } from './languages.js'
export type { AdminText, AdminTexts } from './texts/english.js'

/** The admin page: `admin({ path: '/admin', roles: 'admin', records: [Ticket], login: { path: '/login' } })`. */
export const admin = createModule(function admin(options: AdminOptions): ModuleOptions {
  const problems = adminOptions.findProblems(options, 'admin')
  if (problems.length > 0) return { problems }
  const types = () => resolveRecords(options.records)
  const rows = types().flatMap((type) => {
    const described = describeRecord(type)
    return described === undefined ? [] : [rowsController(options, type, described.plural)]
  })
  return {
    check: () => findRecordProblems(options),
    checkRoutes: (routes) => readLogin(options, routes).problems,
    records: options.records,
    roles: [options.roles, ...(options.pages ?? []).map((page) => page.roles ?? [])].flat(),
    use: [NoStore],
    controllers: [
      ...rows,
      dataController(options, types),
      viewsController(options, types),
      signOutController(options),
      pageController(options),
    ],
  }
})

/** The routes of a record's rows. */
function rowsController({ path, roles }: AdminOptions, type: Class, plural: string): Class {
  @Controller(`${path}/api/rows/${plural}`, { crud: type })
  @Undocumented
  @Use(limitTextSearch(type))
  @Secured({ roles: [roles].flat() })
  class AdminRows {}
  Object.defineProperty(AdminRows, 'name', { value: `Admin${type.name}Rows` })
  return AdminRows
}

const searchingOperators = /\.(?:ilike|like|contains|endsWith)$/

/** Rejects searches that read all rows of a large table, because a picker sends a query for each typed letter. */
function limitTextSearch(type: Class): new (...args: never[]) => EntryInterceptor {
  return class TextSearchLimit implements EntryInterceptor {
    static readonly inject = [Database]

    constructor(private readonly database: Database) {}

    enter(request: HttpRequest): void {
      const { query, method } = request
      if (method !== 'GET' && method !== 'HEAD') return
      for (const [name, text] of Object.entries(query)) {
        if (!searchingOperators.test(name) || hasPrefix(name, text)) continue
        const records = recordsAs(this.database, type, request)
        const rows = records.searchedRows({ [name]: text })
        if (rows <= maxSearchedRows) continue
        const message = `${name}: the table has ${rows} rows. Use a prefix (startsWith) or words (search).`
        const errors = [{ path: name, code: 'TOO_COSTLY', message }]
        throw new HttpError(400, message, { code: 'TOO_COSTLY', errors })
      }
    }
  }
}

/** Whether a pattern begins with text. Finding a prefix is fast enough without an index. */
function hasPrefix(name: string, text: unknown): boolean {
  return name.endsWith('.like') && typeof text === 'string' && !/^[%_]/.test(text)
}
