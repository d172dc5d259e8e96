/**
 * `@Controller('/items', { crud: Item, only: […] })`: the routes of a record, made as methods of a controller, so that
 * routing, gate, checks and documentation know no difference. Source: public face, Records; decisions, Small print: records.
 */
import type { Problem } from '../../errors/declaration-error.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { HttpError } from '../../errors/http-error.js'
import { partial } from '../../fields/derive.js'
import type { TextValues } from '../../http/query.js'
import type { Claims, HttpRequest } from '../../http/request.js'
import { reply, type Reply } from '../../http/reply.js'
import { resolveClass, type ClassReference } from '../../metadata/class-reference.js'
import type { Class } from '../../metadata/note.js'
import {
  Delete,
  Get,
  Patch,
  Post,
  Put,
  readRouteNotes,
  type RouteOptions,
} from '../../routing/verbs.js'
import { ClientRecords } from '../policy/client-records.js'
import { readCrudQuery } from './crud-query.js'
import type { Database } from '../database.js'
import { type Later, after } from '../../core/later.js'
import type { Id } from '../filters/list-options.js'
import { readTable } from '../model/read-table.js'
import type { Table } from '../model/table.js'

export type CrudOperation = 'list' | 'find' | 'create' | 'update' | 'delete'

export const crudOperations: readonly CrudOperation[] = [
  'list',
  'find',
  'create',
  'update',
  'delete',
]

export interface CrudOptions {
  /** The record. */
  readonly crud: ClassReference
  /** Default all five. `update` answers PATCH, with what changes, and PUT, with the whole record. */
  readonly only?: readonly CrudOperation[]
}

/**
 * A controller that extends the given one by the routes of a record; take it in the other's place. Routes that the class
 * declares itself stay: the same method and path is not made again.
 *
 * ```
 * GET    /items?limit&offset&orderBy=-price,name&price.gte=5     list, the total in X-Total-Count
 * GET    /items/<id:int>                                         find, or 404
 * POST   /items                                                  create, 201
 * PATCH  /items/<id:int>, PUT /items/<id:int>                    update, or 404
 * DELETE /items/<id:int>                                         delete, 204 or 404
 * ```
 *
 * @param database the application's, asked for when a request comes
 */
export function extendWithCrud(
  controller: Class,
  options: CrudOptions,
  database: () => Database,
  problems: Problem[],
): Class {
  const record = resolveClass(options.crud)
  if (record === undefined) {
    const message = `${controller.name}: crud names no class.`
    problems.push({ code: 'CRUD_RECORD', message, remedy: 'Write { crud: Item } or a thunk.' })
    return controller
  }
  const table = readTable(record, problems)
  if (table === undefined) return controller
  const wanted = readOperations(controller, options.only, problems)
  // A class of its own, so that a controller that two applications use is not changed.
  const Base = controller as unknown as new (...args: never[]) => object
  const Extended = class extends Base {}
  Object.defineProperty(Extended, 'name', { value: controller.name })
  const taken = new Set(
    [...readRouteNotes(controller).values()].flat().map(({ method, path }) => method + trim(path)),
  )
  for (const route of writeRoutes(table, database)) {
    if (wanted.has(route.operation) && !taken.has(route.method + trim(route.path))) {
      addRoute(Extended, route)
    }
  }
  return Extended
}

interface CrudRoute {
  readonly operation: CrudOperation
  readonly method: keyof typeof verbs
  readonly path: string
  readonly options: RouteOptions
  readonly run: (...args: never[]) => unknown
}

const verbs = { GET: Get, POST: Post, PATCH: Patch, PUT: Put, DELETE: Delete } as const

function readOperations(
  controller: Class,
  only: readonly string[] = crudOperations,
  problems: Problem[],
): ReadonlySet<string> {
  for (const name of only) {
    if ((crudOperations as readonly string[]).includes(name)) continue
    problems.push({
      code: 'CRUD_OPERATION',
      message: `${controller.name}: crud has no operation "${name}".`,
      remedy:
        `${didYouMean(name, crudOperations)} Operations: ${crudOperations.join(', ')}.`.trim(),
    })
  }
  return new Set(only)
}

function writeRoutes(table: Table, database: () => Database): CrudRoute[] {
  const { type, key } = table
  const path = `/<id:${key.isUuid ? 'uuid' : 'int'}>`
  const records = (user: Claims | null): ClientRecords<object> => {
    const open = database()
    return new ClientRecords(open, open.records(type), user)
  }
  const update = (id: Id, body: object, user: Claims | null): Later<object | null> =>
    records(user).update(id, { ...body })
  const changes = partial(type)
  return [
    {
      operation: 'list',
      method: 'GET',
      path: '/',
      options: { args: ['query', 'user'], returns: [type] },
      run: (query: TextValues, user: Claims | null) => list(table, records(user), query),
    },
    {
      operation: 'find',
      method: 'GET',
      path,
      options: { args: ['id', 'user'], returns: type },
      run: (id: Id, user: Claims | null) => records(user).find(id),
    },
    {
      operation: 'create',
      method: 'POST',
      path: '/',
      options: { args: ['body', 'user', 'request'], body: type, returns: { 201: type } },
      run: (body: object, user: Claims | null, request: HttpRequest) =>
        after(records(user).create({ ...body }), (created) => {
          const id = (created as Record<string, unknown>)[key.property] as Id
          const folder = request.path.replace(/\/$/, '')
          return reply(created, 201).header('Location', `${folder}/${id}`)
        }),
    },
    {
      operation: 'update',
      method: 'PATCH',
      path,
      options: { args: ['id', 'body', 'user'], body: changes, returns: type },
      run: update,
    },
    {
      operation: 'update',
      method: 'PUT',
      path,
      options: { args: ['id', 'body', 'user'], body: type, returns: type },
      run: update,
    },
    {
      operation: 'delete',
      method: 'DELETE',
      path,
      options: { args: ['id', 'user'], status: 204 },
      run: (id: Id, user: Claims | null) =>
        after(records(user).delete(id), (isGone) => {
          if (!isGone) throw new HttpError(404)
        }),
    },
  ]
}

async function list(
  table: Table,
  records: ClientRecords<object>,
  query: TextValues,
): Promise<Reply> {
  const { where, orderBy, limit, offset } = readCrudQuery(table, query)
  const order = orderBy.length === 0 ? undefined : orderBy
  const found = await records.list({ where, orderBy: order, limit, offset })
  const answer = reply(found).header('X-Total-Count', await records.count(where))
  // Pages of other origins may read it: a line beside the one of the application.
  answer.headers.push('Access-Control-Expose-Headers', 'X-Total-Count')
  return answer
}

function addRoute(controller: Class, route: CrudRoute): void {
  const prototype = controller.prototype as Record<string, unknown>
  const name = route.method === 'PUT' ? 'replace' : route.operation
  const member = name in prototype ? `crud${name.charAt(0).toUpperCase()}${name.slice(1)}` : name
  Object.defineProperty(prototype, member, { value: route.run, configurable: true, writable: true })
  const descriptor = Object.getOwnPropertyDescriptor(prototype, member)
  verbs[route.method](route.path, route.options)(prototype, member, descriptor)
}

function trim(path: string): string {
  return path.replace(/^\/+|\/+$/g, '')
}
