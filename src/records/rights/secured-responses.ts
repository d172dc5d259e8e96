/**
 * Removes what a caller may not read: secured fields from the responses of handlers, and the names of hidden fields from
 * errors. If a route declares its `returns`, the class of a response is known at the start. Otherwise `toJSON` of the
 * instances removes the fields. Source: decisions, Records: access rules.
 */
import type { AccessRule } from '../../auth/access.js'
import type { NamedRoles } from '../../auth/role-list.js'
import { type MaybePromise, after, isThenable } from '../../core/maybe-promise.js'
import { relationCountName, shapeOf } from '../../fields/shape.js'
import { currentJsonRequest, trackJsonRequest } from '../../http/response-body.js'
import type { Class } from '../../metadata/class.js'
import type { Table } from '../model/table.js'
import { checkAccess, requestCaller, type Caller, admitsImmediately } from './caller.js'
import { memberAccess, policyOf } from './record-policy.js'
import type { FieldError } from '../../errors/field-error.js'
import { HttpError } from '../../errors/http-error.js'
import type { Column } from '../../engines/contract/table.js'

/** The secured fields of a class and of the classes nested in it. */
export interface SecuredShape {
  readonly rules: (readonly [name: string, rule: AccessRule])[]
  readonly nested: (readonly [name: string, shape: SecuredShape])[]
}

/** A class with secured fields. */
export interface SecuredResponse {
  readonly shape: SecuredShape
  /** All rules of the class, each once. */
  readonly rules: readonly AccessRule[]
}

/** @returns undefined for a class without secured fields */
export function securedResponse(type: Class): SecuredResponse | undefined {
  const shapes = new Map<Class, SecuredShape>()
  const shape = securedShapeOf(type, shapes)
  const rules = new Set([...shapes.values()].flatMap((one) => one.rules.map(([, rule]) => rule)))
  return rules.size === 0 ? undefined : { shape, rules: [...rules] }
}

/** The roles of `@Secured` on the fields of a response's class and of the classes nested in it. */
export function namedRolesOfResponse(type: Class): NamedRoles[] {
  const types = new Set([type])
  const named: NamedRoles[] = []
  for (const owner of types) {
    for (const { name, nested } of shapeOf(owner).fields) {
      if (nested !== undefined) types.add(nested())
      const rule = memberAccess(owner, name)
      if (rule !== undefined) named.push({ where: `${owner.name}.${name}`, roles: rule.roles })
    }
  }
  return named
}

function securedShapeOf(type: Class, shapes: Map<Class, SecuredShape>): SecuredShape {
  const cachedShape = shapes.get(type)
  if (cachedShape !== undefined) return cachedShape
  const shape: SecuredShape = { rules: [], nested: [] }
  shapes.set(type, shape)
  const read = shapeOf(type)
  for (const field of read.fields) {
    const { name, hidden, nested } = field
    if (hidden) continue
    const rule = memberAccess(type, name)
    const count = relationCountName(read, field)
    if (rule !== undefined) shape.rules.push([name, rule])
    if (rule !== undefined && count !== undefined) shape.rules.push([count, rule])
    if (nested !== undefined) shape.nested.push([name, securedShapeOf(nested(), shapes)])
  }
  return shape
}

/**
 * Removes the fields that the caller may not see from a response.
 *
 * @param response plain objects or a list of them, which are changed
 */
export function concealFrom(
  caller: Caller,
  { shape, rules }: SecuredResponse,
  response: unknown,
): MaybePromise<unknown> {
  return after(deniedOf(rules, caller, 0, new Set()), (denied) => {
    if (denied.size > 0) conceal(response, shape, denied)
    return response
  })
}

function deniedOf(
  rules: readonly AccessRule[],
  caller: Caller,
  from: number,
  denied: Set<AccessRule>,
): MaybePromise<ReadonlySet<AccessRule>> {
  const rule = rules[from]
  if (rule === undefined) return denied
  return after(checkAccess(rule, caller), (admitted) =>
    deniedOf(rules, caller, from + 1, admitted === 'admitted' ? denied : denied.add(rule)),
  )
}

function conceal(value: unknown, shape: SecuredShape, denied: ReadonlySet<AccessRule>): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) conceal(item, shape, denied)
    return
  }
  const object = value as Record<string, unknown>
  for (const [name, rule] of shape.rules) if (denied.has(rule)) Reflect.deleteProperty(object, name)
  for (const [name, nested] of shape.nested) conceal(object[name], nested, denied)
}

const concealing = new WeakSet<Class>()

/**
 * Adds a `toJSON` to a record with secured fields, which respects the caller of the current request. Outside requests
 * it removes nothing.
 */
export function concealInJson(table: Table): void {
  const { type } = table
  const { columns } = policyOf(table)
  if (columns.size === 0 || concealing.has(type)) return
  concealing.add(type)
  const rules = [...columns].map(([{ property }, rule]) => [property, rule] as const)
  const prototype = type.prototype as { toJSON?: (key: string) => unknown }
  const plain = prototype.toJSON
  Object.defineProperty(prototype, 'toJSON', {
    configurable: true,
    writable: true,
    value: function (this: object, key: string): unknown {
      const json = plain === undefined ? { ...this } : plain.call(this, key)
      const request = currentJsonRequest()
      if (request === undefined || typeof json !== 'object' || json === null) return json
      const caller = requestCaller(request)
      const object = json as Record<string, unknown>
      for (const [name, rule] of rules)
        if (name in object && !isAdmitted(rule, caller)) Reflect.deleteProperty(object, name)
      return object
    },
  })
  trackJsonRequest()
}

/** JSON is written synchronously, so a guard that returns a promise denies access. */
function isAdmitted(rule: AccessRule, caller: Caller): boolean {
  const result = checkAccess(rule, caller)
  if (!isThenable(result)) return result === 'admitted'
  result.catch(() => undefined)
  return false
}

/**
 * The input of a generated handler's response rights: nothing, the caller's claims, or everything that guards can
 * read.
 */
export type ResponseRights = 'nothing' | 'claims' | 'all'

const rightsByHandler = new WeakMap<object, ResponseRights>()

/** Marks handlers whose responses come from a client's view and need no further check. */
export function markConcealed(handler: object, rights: ResponseRights): void {
  rightsByHandler.set(handler, rights)
}

/** @returns undefined for handlers of the application */
export function responseRights(handler: unknown): ResponseRights | undefined {
  return typeof handler === 'function' ? rightsByHandler.get(handler) : undefined
}

export function isConcealed(handler: unknown): boolean {
  return responseRights(handler) !== undefined
}

/** A reference of a record's rows to another record, by one column. */
interface ColumnReference {
  readonly table: Table
  readonly column: Column
}

/** Returns whether errors may name a record: only if the caller may see its rows and its key. */
export function canNameReferrers(caller: Caller): (reference: ColumnReference) => boolean {
  return ({ table, column }) => {
    if (caller.trusted) return true
    const { read, columns, hasRows } = policyOf(table)
    const rules = [read, columns.get(column)].filter((rule) => rule !== undefined)
    return !hasRows && rules.every((rule) => admitsImmediately(rule, caller))
  }
}

/**
 * @param caller fields that its rules conceal are removed too; undefined: only hidden fields
 * @returns the error without the violations of these fields, with a general message if none is left; other errors
 * unchanged
 */
export function concealErrors(error: unknown, table: Table, caller?: Caller): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const isVisible = ({ path }: FieldError): boolean =>
    !isHidden(table, path) && (caller === undefined || mayRead(table, path, caller))
  if (error.errors.every(isVisible)) return error
  return error.mapFields((fieldError) => (isVisible(fieldError) ? fieldError : undefined))
}

function mayRead(table: Table, path: string, caller: Caller): boolean {
  const column = table.byProperty.get(path.split('.', 1)[0] ?? '')
  const rule = column && policyOf(table).columns.get(column)
  return rule === undefined || admitsImmediately(rule, caller)
}

function isHidden({ byProperty }: Table, path: string): boolean {
  const [property = ''] = path.split('.', 1)
  return byProperty.get(property)?.field.hidden === true
}
