/**
 * `filigree/admin`: a web page for viewing and editing an application's records. It grants no rights: callers need a role, and
 * may do what the policies of the records allow. See docs/maintainers/admin.md.
 */
import { createModule, describeRecord, type ModuleOptions } from '../../index.js'
import { findProblems, findRecordProblems, resolveRecords, type AdminOptions } from './options.js'
import { NoStore, pageController, signOutController } from './page.js'
import { dataController } from './routes.js'
import { rowsController } from './row-routes.js'

export { Admin, AdminAction } from './declare.js'
export type { ActionContext, AdminActionOptions, AdminRecordOptions } from './declare.js'
export { AdminEntry, type FieldChange } from './change-history.js'
export type { AdminOptions, LoginOptions } from './options.js'

/** The admin page: `admin({ path: '/admin', roles: 'admin', records: [Ticket], login: { path: '/login' } })`. */
export const admin = createModule(function admin(options: AdminOptions): ModuleOptions {
  const problems = findProblems(options)
  if (problems.length > 0) return { problems }
  const types = () => resolveRecords(options.records)
  const rows = types().flatMap((type) => {
    const described = describeRecord(type)
    return described === undefined ? [] : [rowsController(options, type, described.plural)]
  })
  return {
    check: () => findRecordProblems(options),
    records: options.records,
    use: [NoStore],
    controllers: [
      ...rows,
      dataController(options, types),
      signOutController(options),
      pageController(options),
    ],
  }
})
