/**
 * Checks the caller's rights to write a tree of rows, before any row is read. A record that is closed for writes cannot
 * be written through another record, nor a closed field through a relation. Source: decisions, Records: access rules.
 */
import { tokenAccess, type AccessRule } from '../../auth/access.js'
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import { HttpError } from '../../errors/http-error.js'
import { invalid } from '../filters/query-errors.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'
import { admitsImmediately, demand, checkRules, forbidden, type Caller } from '../rights/caller.js'
import { policyOf, type WriteAccess, type WriteOperation } from '../rights/record-policy.js'
import {
  countNested,
  type ToMany,
  type BelongsToWrite,
  type WriteTree,
} from '../statements/write-tree.js'

/** The maximum number of rows and keys that a client may nest in one write. */
const maxNested = 1000

/**
 * Checks the fields of the row itself, and its links. Nothing is checked unless the record's policy `restrictsFields`.
 *
 * @returns a promise if a guard returns one
 * @throws {HttpError} 401 or 403
 */
export function checkFieldRights(tree: WriteTree, caller: Caller): MaybePromise<void> {
  const { table, values, derivedFields, links } = tree
  const { columns, columnWrites, relations } = policyOf(table)
  if (caller.trusted) return undefined
  const rules: AccessRule[] = []
  for (const { relation } of links) rules.push(...(relations.get(relation) ?? []))
  for (const [{ property }, rule] of columns) if (values[property] !== undefined) rules.push(rule)
  const readable = checkRules(rules, caller)
  if (columnWrites.size === 0) return readable
  return after(readable, () => {
    for (const [{ property }, rule] of columnWrites)
      if (values[property] !== undefined && !derivedFields.has(property))
        checkFieldWrite(rule, tree, property, caller)
  })
}

/**
 * Checks the rule of `writes` on a field. The right to read the field was checked before.
 *
 * @throws {HttpError} 401; 403, which names the field to callers who may read the record
 */
function checkFieldWrite(
  rule: AccessRule,
  { table, toClientError }: WriteTree,
  property: string,
  caller: Caller,
): void {
  // The rule has roles and no guard.
  if (admitsImmediately(rule, caller)) return
  if (caller.auth === undefined) demand(rule, caller)
  const { read } = policyOf(table)
  if (read !== undefined && !admitsImmediately(read, caller)) throw forbidden()
  throw toClientError(fieldForbidden(property, rule))
}

function fieldForbidden(path: string, { roles }: AccessRule): HttpError {
  const message = `you may not write ${path}`
  const errors = [{ path, code: 'forbidden', message }]
  const reason = `writes of the field needs role ${roles.join(' or ')}`
  return new HttpError(403, message, { code: 'FORBIDDEN', errors, reason })
}

/**
 * Checks the right to write rows of a record.
 *
 * @throws {HttpError} 401 or 403
 */
export function checkWriteRight(
  table: Table,
  operation: WriteOperation,
  caller: Caller,
): MaybePromise<void> {
  const access = policyOf(table).writes[operation]
  if (access === undefined || caller.trusted) return undefined
  if (access === false) throw forbidden(`no client may ${operation} rows of ${table.type.name}`)
  return checkRules([access], caller)
}

/** @throws {HttpError} 400 `VALIDATION` */
export function checkNestedCount(tree: WriteTree, caller: Caller): void {
  if (caller.trusted || countNested(tree) <= maxNested) return
  const message = `at most ${maxNested} rows and keys can be nested in one write`
  const errors = [{ path: tree.path, code: 'maxItems', message }]
  throw new HttpError(400, message, { code: 'VALIDATION', errors })
}

/** Checks the rows that are nested in a row. @throws {HttpError} 400 for keys that cannot change; 401 or 403 */
export class TreeRights {
  readonly #caller: Caller
  /** True if the write itself needs no token. Then its nested writes need none either. */
  readonly #isRootOpen: boolean

  constructor(caller: Caller, isRootOpen: boolean) {
    this.#caller = caller
    this.#isRootOpen = isRootOpen
  }

  /** @param isNew whether the row itself is created */
  async check({ belongsTo, toMany, links }: WriteTree, isNew: boolean): Promise<void> {
    for (const one of belongsTo) await this.#checkBelongsTo(one, isNew)
    for (const many of toMany) await this.#checkMany(many)
    for (const { relation, ids } of links)
      if (ids.length > 0 || !isNew) await this.#checkLinks(relation)
  }

  async #checkBelongsTo(one: BelongsToWrite, isNew: boolean): Promise<void> {
    const { relation, path, operation } = one
    const { local } = relation
    await this.#checkRelation(relation)
    if (operation !== 'update') this.#checkKey(relation, path)
    if (operation !== 'connect' && operation !== 'disconnect')
      await this.#checkRows(relation.target, operation)
    if (operation === 'disconnect' || operation === 'delete') checkNullable(local, path)
    if (operation !== 'update' && !(operation === 'create' && isNew))
      this.#checkWritable(local, path)
    if (operation === 'create' || operation === 'update')
      await this.#checkTree(one.tree, operation === 'create')
  }

  async #checkMany(many: ToMany): Promise<void> {
    const { relation, path, create, update, connect, disconnect } = many
    const { foreign, kind } = relation
    const { target } = relation
    const connected = connect.length + disconnect.length
    const keys = kind === 'hasMany' ? connected : 0
    await this.#checkRelation(relation)
    if (create.length + keys > 0) this.#checkKey(relation, path)
    if (create.length > 0) await this.#checkRows(target, 'create')
    if (update.length + keys > 0) await this.#checkRows(target, 'update')
    if (many.delete.length > 0) await this.#checkRows(target, 'delete')
    if (kind === 'manyToMany' && connected > 0) await this.#checkLinks(relation)
    if (keys > 0) {
      this.#checkWritable(foreign, `${path}.${connect.length > 0 ? 'connect' : 'disconnect'}`)
      if (disconnect.length > 0) checkNullable(foreign, `${path}.disconnect`)
    }
    for (const tree of create) await this.#checkTree(tree, true)
    for (const { tree } of update) await this.#checkTree(tree, false)
  }

  async #checkTree(tree: WriteTree, isNew: boolean): Promise<void> {
    await checkFieldRights(tree, this.#caller)
    await this.check(tree, isNew)
  }

  async #checkRelation(relation: Relation): Promise<void> {
    await checkRules(policyOf(relation.table).relations.get(relation) ?? [], this.#caller)
  }

  async #checkRows(target: Table, operation: WriteOperation): Promise<void> {
    await this.#checkToken(policyOf(target).writes[operation])
    await checkWriteRight(target, operation, this.#caller)
  }

  /** Links of a new related row belong to its creation, so only links between existing rows come here. */
  async #checkLinks(relation: Relation): Promise<void> {
    const access = policyOf(relation.table).links.get(relation)
    await this.#checkToken(access)
    if (access === undefined || this.#caller.trusted) return
    if (access === false) throw forbidden(`no client may link rows of ${relation.target.type.name}`)
    await checkRules([access], this.#caller)
  }

  async #checkToken(access: WriteAccess): Promise<void> {
    if (access === undefined && this.#isRootOpen) await checkRules([tokenAccess], this.#caller)
  }

  /** A foreign key with `writes` cannot be changed through the relation by other callers. */
  #checkKey(relation: Relation, path: string): void {
    const rule = policyOf(relation.table).relationWrites.get(relation)
    if (rule === undefined || admitsImmediately(rule, this.#caller)) return
    if (this.#caller.auth === undefined) demand(rule, this.#caller)
    throw fieldForbidden(path, rule)
  }

  /** A key that clients cannot write cannot be changed through a relation. */
  #checkWritable({ field }: Column, path: string): void {
    if (!this.#caller.trusted && (field.readOnly || field.hidden))
      throw invalid(path, 'readOnly', 'cannot be changed')
  }
}

function checkNullable({ nullable, property }: Column, path: string): void {
  if (nullable) return
  throw invalid(path, 'required', `is not possible: ${property} cannot be null`)
}
