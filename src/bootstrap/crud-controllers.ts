/** Gives controllers with the option `crud` the routes of their record. */
import type { Problems } from '../errors/problems.js'
import { resolveClass, type Class } from '../metadata/class.js'
import type { Database } from '../records/database.js'
import { extendWithCrud, type CrudOperation } from '../records/rest/crud.js'
import { readController } from '../routing/decorators.js'
import type { ModuleParts } from './module.js'

interface ExpandedController {
  /** The class with all routes: the original, or a class that extends it. */
  readonly controller: Class
  /** The class that the module lists. */
  readonly original: Class
}

/** Gives `@Controller('/items', { crud: Item })` the routes of its record, in a class that extends it. */
export function withCrudRoutes(
  parts: ModuleParts,
  database: () => Database,
  maxCost: number,
  problems: Problems,
): ExpandedController[] {
  return parts.controllers.map((original) => {
    const { crud, only } = readController(original) ?? {}
    if (crud === undefined) return { controller: original, original }
    checkRecordListed(original, resolveClass(crud), parts, problems)
    const options = only === undefined ? { crud } : { crud, only: only as readonly CrudOperation[] }
    return { controller: extendWithCrud(original, options, database, problems, maxCost), original }
  })
}

function checkRecordListed(
  controller: Class,
  record: Class | undefined,
  { name, records }: ModuleParts,
  problems: Problems,
): void {
  if (record === undefined || records.includes(record)) return
  problems.add({
    code: 'CRUD_RECORD',
    message: `${controller.name}: crud names ${record.name}, which no module lists among its records.`,
    remedy: `Add ${record.name} to ${name}.records.`,
  })
}
