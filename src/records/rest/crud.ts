/**
 * `@Controller('/items', { crud: Item, only: […] })`: adds a record's routes to a controller as methods, so that
 * routing, access checks, validation and documentation treat them like all others. Source: public API, Records;
 * decisions, Records: REST.
 */
import { setRecordAccess } from '../../auth/decorators.js'
import type { Problems } from '../../errors/problems.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { HttpError } from '../../errors/http-error.js'
import type { TextValues } from '../../http/query-string.js'
import type { HttpRequest } from '../../http/request.js'
import { reply, type Reply } from '../../http/reply.js'
import {
  constructorOf,
  resolveClass,
  type ClassReference,
  type Class,
} from '../../metadata/class.js'
import { createMemberMetadata } from '../../metadata/class-metadata.js'
import {
  Delete,
  Get,
  Patch,
  Post,
  Put,
  readRouteDeclarations,
  type RouteOptions,
} from '../../routing/decorators.js'
import { Doc } from '../../openapi/doc.js'
import { declareRequest } from '../../openapi/requests.js'
import { documentOperation, documentRequest } from './crud-document.js'
import { anonymous, requestCaller, type Caller } from '../rights/caller.js'
import { ClientRecords } from '../clients/client-records.js'
import {
  policyOf,
  reportPolicy,
  type WriteAccess,
  type WriteOperation,
} from '../rights/record-policy.js'
import { markConcealed } from '../rights/secured-responses.js'
import { crudBodies, type CrudBodies } from './crud-bodies.js'
import {
  shapedTag,
  tagged,
  taggedOrNotModified,
  versionOf,
  writeIfAllowed,
  countsOption,
  listRows,
  showRows,
} from './crud-responses.js'
import { aggregateRows, groupRelationsOf, readAggregateQuery } from './crud-aggregates.js'
import { readCrudCounts, readCrudQuery, readRowShape } from './crud-query.js'
import { checkCost } from '../budget/check-cost.js'
import { defaultLimits } from '../../http/limits.js'
import type { Database } from '../database.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Id } from '../filters/list-options.js'
import { readTable } from '../model/read-table.js'
import { keyOf, readPathKey, toPathKey } from '../model/record-key.js'
import { hooksReadCaller } from '../statements/hooks.js'
import type { Table } from '../model/table.js'
import { invalid } from '../filters/query-errors.js'
import { hasKey, type Column } from '../../engines/contract/table.js'
import { inShard } from '../statements/shard.js'

export type CrudOperation = 'list' | 'aggregate' | 'find' | 'create' | 'update' | 'delete'

const crudOperations: readonly CrudOperation[] = [
  'list',
  'aggregate',
  'find',
  'create',
  'update',
  'delete',
]

const routeRecords = createMemberMetadata<Class>('record of crud')

/** @returns the record of a handler that `crud` made; undefined for other handlers */
export function crudRecordOf(controller: Class, member: string): Class | undefined {
  return routeRecords.read(controller, member)
}

export interface CrudOptions {
  /** The record class. */
  readonly crud: ClassReference
  /** Default all six. `update` handles PATCH, which takes changes, and PUT, which takes the complete record. */
  readonly only?: readonly CrudOperation[]
}

/** Anonymous, because V8 writes a static name into the frames of stacks, where developers look for their own class. */
const extend = (Base: ReturnType<typeof constructorOf>): Class => class extends Base {}

/**
 * Returns a subclass of the controller with the routes of a record, to be used in its place. Routes that
 * the class itself declares take precedence: the same method and path is not added again.
 *
 * ```
 * GET    /items?limit&offset&orderBy=-price,name&price.gte=5     list, the total in X-Total-Count, the next page in
 * Link
 * GET    /items/aggregate?groupBy=categoryId&sum=price           counts, sums, means, smallest and largest values
 * GET    /items/<id:int>                                         find, or 404
 * POST   /items                                                  create, 201
 * PATCH  /items/<id:int>, PUT /items/<id:int>                    update, or 404
 * DELETE /items/<id:int>                                         delete, 204 or 404
 * ```
 * The path of a row with a key of several fields is `/items/<id:key>`: `/order-lines/7,2`.
 *
 * @param database returns the application's database when a request arrives
 * @param maxCost the maximum cost of a list
 */
export function extendWithCrud(
  controller: Class,
  options: CrudOptions,
  database: () => Database,
  problems: Problems,
  maxCost = defaultLimits.cost,
): Class {
  const record = resolveClass(options.crud)
  if (record === undefined) {
    const message = `${controller.name}: crud is not a class.`
    problems.add({ code: 'CRUD_RECORD', message, remedy: 'Write { crud: Item } or a thunk.' })
    return controller
  }
  const table = readTable(record, problems)
  if (table === undefined) return controller
  reportPolicy(table, problems)
  const operations = readOperations(controller, table, options.only, problems)
  // A subclass, so that a controller of two applications does not change.
  const Extended = extend(constructorOf(controller))
  // The name and the number of parameters are copied, so that a constructor without `inject` is reported for the
  // subclass too.
  const { name, length } = controller
  Object.defineProperties(Extended, { name: { value: name }, length: { value: length } })
  const declaredRoutes = new Set(
    [...readRouteDeclarations(controller).values()]
      .flat()
      .map(({ method, path }) => method + trim(path)),
  )
  for (const route of crudRoutes(table, database, maxCost)) {
    if (operations.has(route.operation) && !declaredRoutes.has(route.method + trim(route.path))) {
      const member = addRoute(Extended, table, route)
      Doc(documentOperation(table, route.operation))(Extended.prototype as object, member)
      declareRequest(Extended, member, (visible) =>
        documentRequest(table, route.operation, visible),
      )
      routeRecords.write(Extended, member, record)
      setRouteAccess(Extended, member, table, route)
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
  table: Table,
  only: readonly string[] | undefined,
  problems: Problems,
): ReadonlySet<string> {
  const possible = crudOperations.filter(
    (one) => accessOf(table, one) !== false && (one !== 'find' || hasKey(table)),
  )
  for (const name of only ?? []) {
    if ((possible as readonly string[]).includes(name)) continue
    const isOperation = (crudOperations as readonly string[]).includes(name)
    const names = `Operations: ${possible.join(', ')}.`
    problems.add({
      code: isOperation ? 'CRUD_WRITES' : 'CRUD_OPERATION',
      message: isOperation
        ? hasKey(table)
          ? `${controller.name}: crud names "${name}", but writes of ${table.type.name} forbids it to all clients.`
          : `${controller.name}: crud names "${name}", but ${table.type.name} has no key.`
        : `${controller.name}: crud has no operation "${name}".`,
      remedy: isOperation ? names : `${didYouMean(name, possible)} ${names}`.trim(),
    })
  }
  return new Set(only ?? possible)
}

/** The record's own rule protects the route, in addition to the rules of the controller. */
function setRouteAccess(controller: Class, member: string, table: Table, route: CrudRoute): void {
  const rule = accessOf(table, route.operation)
  if (rule === undefined || rule === false) return
  setRecordAccess(controller, member, { record: table.type.name, rule })
}

/** The record's own rule for an operation; `false` if no client may do it. */
function accessOf(table: Table, operation: CrudOperation): WriteAccess {
  const { read, writes } = policyOf(table)
  return isRead(operation) ? read : writes[operation]
}

function isRead(operation: CrudOperation): operation is Exclude<CrudOperation, WriteOperation> {
  return operation === 'list' || operation === 'aggregate' || operation === 'find'
}

/** What the routes of a record share. */
interface CrudContext {
  readonly table: Table
  readonly database: () => Database
  readonly maxCost: number
  readonly bodies: CrudBodies
  /** The path of one row. */
  readonly rowPath: string
  /** False if nothing depends on the caller. Then the routes do not read the token. */
  readonly usesCaller: boolean
  /** The last arguments of the routes that read. */
  readonly readArguments: readonly string[]
  /** The last arguments of the routes that change or delete a row. */
  readonly changeArguments: readonly string[]
  /** For reads, which are cancelled when the request ends. */
  readonly recordsToRead: (request: HttpRequest) => ClientRecords<object>
  /** For writes, which have their own source. */
  readonly recordsToWrite: (request: HttpRequest) => ClientRecords<object>
}

function crudRoutes(table: Table, database: () => Database, maxCost: number): CrudRoute[] {
  const context = createContext(table, database, maxCost)
  const routes = [
    listRoute(context),
    aggregateRoute(context),
    findRoute(context),
    createRoute(context),
    ...updateRoutes(context),
    deleteRoute(context),
  ]
  return table.key.parts === undefined ? routes : routes.map((route) => readingKey(table, route))
}

/** Reads the key of several columns from the path. A text that is no key names no row, so the response is 404. */
function readingKey({ key }: Table, route: CrudRoute): CrudRoute {
  if (route.options.args?.[0] !== 'id') return route
  const run = route.run as (id: Id, ...others: unknown[]) => unknown
  return {
    ...route,
    run: (text: string, ...others: unknown[]) => run(readPathKey(key, text) ?? noKey, ...others),
  }
}

/** A text that is not the key of any row. */
const noKey = '[]'

function createContext(table: Table, database: () => Database, maxCost: number): CrudContext {
  const { type, key, relations } = table
  const { isPersonal } = policyOf(table)
  const tables = [table, ...[...relations.values()].map(({ target }) => target)]
  const usesCaller = isPersonal || tables.some(hooksReadCaller)
  const callerOf = (request: HttpRequest): Caller =>
    usesCaller ? requestCaller(request) : anonymous
  return {
    table,
    database,
    maxCost,
    usesCaller,
    bodies: crudBodies(table),
    rowPath: `/<id:${key.parts !== undefined ? 'key' : key.isUuid ? 'uuid' : 'int'}>`,
    readArguments: ['request', ...(isPersonal ? ['user'] : [])],
    changeArguments: ['request', ...(usesCaller ? ['user'] : [])],
    recordsToRead: (request) => {
      const open = database()
      return new ClientRecords(open, open.recordsFor(type, request), callerOf(request))
    },
    recordsToWrite: (request) => {
      const open = database()
      return new ClientRecords(open, open.records(type), callerOf(request))
    },
  }
}

function listRoute({
  table,
  database,
  maxCost,
  readArguments,
  recordsToRead,
}: CrudContext): CrudRoute {
  return {
    operation: 'list',
    method: 'GET',
    path: '/',
    options: { args: ['query', ...readArguments], returns: [table.type], etag: true },
    run: (query: TextValues, request: HttpRequest) => {
      const parsed = readCrudQuery(table, query)
      const { options, ...page } = parsed
      const countsRows = page.count === 'exact'
      checkCost(table, { countsRows, ...options, ...page }, database().sizes, maxCost)
      return listRows(recordsToRead(request), parsed, request, maxCost)
    },
  }
}

function aggregateRoute({
  table,
  database,
  maxCost,
  readArguments,
  recordsToRead,
}: CrudContext): CrudRoute {
  return {
    operation: 'aggregate',
    method: 'GET',
    path: '/aggregate',
    options: { args: ['query', ...readArguments] },
    run: (query: TextValues, request: HttpRequest) => {
      const parsed = readAggregateQuery(table, query)
      const groupRelations = groupRelationsOf(parsed)
      const costed = {
        aggregates: true,
        returnsGroups: true,
        groupRelations,
        ...parsed,
        orderBy: [],
      }
      checkCost(table, costed, database().sizes, maxCost)
      return aggregateRows(table, recordsToRead(request), parsed)
    },
  }
}

function findRoute({
  table,
  database,
  maxCost,
  rowPath,
  readArguments,
  recordsToRead,
}: CrudContext): CrudRoute {
  return {
    operation: 'find',
    method: 'GET',
    path: rowPath,
    options: { args: ['id', 'query', ...readArguments], returns: table.type, etag: true },
    run: (id: Id, query: TextValues, request: HttpRequest) => {
      const shape = readRowShape(table, query)
      const counts = readCrudCounts(table, query)
      const records = recordsToRead(request)
      if (shape === undefined && counts.length === 0)
        return after(records.find(id), (found) => taggedOrNotModified(table, found, request))
      const parsed = { where: {}, orderBy: [], limit: 1, shape, counts }
      checkCost(table, parsed, database().sizes, maxCost)
      const options = { relations: shape?.relations, ...countsOption(counts) }
      return after(records.findWith(id, options, maxCost), (found) => {
        if (found === null) return null
        const version = versionOf(table, found)
        showRows([found], shape)
        return taggedOrNotModified(table, found, request, shapedTag(version, found))
      })
    },
  }
}

function createRoute({ table, bodies, usesCaller, recordsToWrite }: CrudContext): CrudRoute {
  return {
    operation: 'create',
    method: 'POST',
    path: '/',
    options: {
      args: ['body', 'request', ...(usesCaller ? ['user'] : [])],
      body: bodies.complete,
      returns: { 201: table.type },
    },
    run: (body: object, request: HttpRequest) => {
      const records = recordsToWrite(request)
      return after(records.create({ ...body }), (created) => {
        const id = keyOf(table.key, created) as Id | null | undefined
        const response = records.showsWritten
          ? (tagged(table, created, 201) as Reply)
          : reply(null, 201)
        // The caller may not read a secured key.
        if (id === undefined || id === null) return response
        const path = request.path.replace(/\/$/, '')
        return response.header('Location', `${path}/${toPathKey(table.key, id)}`)
      })
    },
  }
}

/** `PATCH` takes the changed fields, `PUT` all of them. */
function updateRoutes({
  table,
  bodies,
  rowPath,
  changeArguments,
  recordsToWrite,
}: CrudContext): CrudRoute[] {
  const run = (id: Id, body: object, request: HttpRequest): MaybePromise<object | null> => {
    const records = recordsToWrite(request)
    return writeIfAllowed({
      table,
      request,
      find: () => records.find(id),
      write: (expected) =>
        after(records.update(id, { ...body }, expected), (row) => {
          if (row === null) return null
          return records.showsWritten ? tagged(table, row) : reply(null, 204)
        }),
    })
  }
  const route = (method: 'PATCH' | 'PUT', body: Class): CrudRoute => ({
    operation: 'update',
    method,
    path: rowPath,
    options: { args: ['id', 'body', ...changeArguments], body, returns: table.type },
    run,
  })
  return [route('PATCH', bodies.changes), route('PUT', bodies.complete)]
}

function deleteRoute({ table, rowPath, changeArguments, recordsToWrite }: CrudContext): CrudRoute {
  return {
    operation: 'delete',
    method: 'DELETE',
    path: rowPath,
    options: { args: ['id', ...changeArguments], status: 204 },
    run: (id: Id, request: HttpRequest) => {
      const records = recordsToWrite(request)
      return writeIfAllowed({
        table,
        request,
        find: () => records.find(id),
        write: (expected) =>
          after(records.delete(id, expected), (isDeleted) => {
            if (!isDeleted)
              throw new HttpError(404, undefined, {
                reason: 'there is no such row, or `rows` does not show it to the caller',
              })
          }),
      })
    },
  }
}

function addRoute(controller: Class, table: Table, route: CrudRoute): string {
  const run = runInShard(table, route)
  const prototype = controller.prototype as Record<string, unknown>
  const name = route.method === 'PUT' ? 'replace' : route.operation
  const member = name in prototype ? `crud${name.charAt(0).toUpperCase()}${name.slice(1)}` : name
  const { isPersonal, mayAwaitGuards: mayWait } = policyOf(table)
  markConcealed(run, mayWait ? 'all' : isPersonal ? 'claims' : 'nothing')
  Object.defineProperty(prototype, member, { value: run, configurable: true, writable: true })
  const descriptor = Object.getOwnPropertyDescriptor(prototype, member)
  verbs[route.method](route.path, route.options)(prototype, member, descriptor)
  return member
}

function trim(path: string): string {
  return path.replace(/^\/+|\/+$/g, '')
}

/** True for operations that find the shard among their filters. */
function hasFilter(operation: CrudOperation): boolean {
  return operation === 'list' || operation === 'aggregate'
}

/**
 * Runs the routes of a sharded record in the shard that the request names, `?tenantId=`, unless the caller's `rows`
 * determine it. The returned function throws 400 `VALIDATION` for an invalid shard.
 */
function runInShard(
  table: Table,
  { operation, options, run }: CrudRoute,
): (...args: never[]) => unknown {
  const { shard } = table
  const requestIndex = options.args?.indexOf('request') ?? -1
  if (shard === undefined || shard.field.hidden || requestIndex < 0 || hasFilter(operation))
    return run
  return (...args) => {
    const request = args[requestIndex] as HttpRequest | undefined
    return inShard(table, request && readShardOf(shard, request), () => run(...args))
  }
}

function readShardOf(
  { property, field, storage }: Column,
  { query }: HttpRequest,
): string | number | undefined {
  const text = query[property]
  if (text === undefined) return undefined
  const value = typeof text === 'string' ? field.entry.fromText(text) : undefined
  if (typeof value === 'string' || typeof value === 'number') return value
  throw invalid(property, 'type', `must be one ${storage === 'integer' ? 'integer' : 'text'}`)
}
