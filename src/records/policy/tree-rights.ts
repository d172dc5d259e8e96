/**
 * Checks the caller's rights to write a tree of rows, before any row is read: a record that is closed for writes cannot
 * be written through another. Source: decisions, Second storey: rights.
 */
import { tokenAccess, type AccessRule } from '../../auth/access.js'
import type { Later } from '../../core/later.js'
import { HttpError } from '../../errors/http-error.js'
import { invalid } from '../filters/invalid.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation } from '../model/table.js'
import { demandAll, forbidden, type Caller } from '../rights/caller.js'
import { policyOf } from '../rights/record-policy.js'
import { countNested, type ToMany, type ToOne, type WriteTree } from '../statements/write-tree.js'

/** The most rows and keys that a client may nest in one write. */
const mostNested = 1000

/**
 * Checks the fields of the row itself, and its links.
 *
 * @returns a promise if a guard returns one
 * @throws {HttpError} 401 or 403
 */
export function demandFields({ table, values, ties }: WriteTree, caller: Caller): Later<void> {
  const { columns, relations } = policyOf(table)
  if (columns.size + relations.size === 0) return undefined
  const rules: AccessRule[] = []
  for (const { relation } of ties) rules.push(...(relations.get(relation) ?? []))
  for (const [{ property }, rule] of columns) if (values[property] !== undefined) rules.push(rule)
  return demandAll(rules, caller)
}

/** @throws {HttpError} 400 `VALIDATION` */
export function refuseMany(tree: WriteTree, caller: Caller): void {
  if (caller.trusted || countNested(tree) <= mostNested) return
  const message = `at most ${mostNested} rows and keys can be nested in one write`
  const errors = [{ path: tree.path, code: 'maxItems', message }]
  throw new HttpError(400, message, { code: 'VALIDATION', errors })
}

/** Checks the rows nested in a row. @throws {HttpError} 400 for keys that cannot change; 401 or 403 */
export class TreeRights {
  readonly #caller: Caller
  /** If the write itself needs no token, its nested writes need none either. */
  readonly #isRootOpen: boolean

  constructor(caller: Caller, isRootOpen: boolean) {
    this.#caller = caller
    this.#isRootOpen = isRootOpen
  }

  /** @param isNew whether the row itself is created */
  async demand({ ones, manys }: WriteTree, isNew: boolean): Promise<void> {
    for (const one of ones) await this.#demandOne(one, isNew)
    for (const many of manys) await this.#demandMany(many)
  }

  async #demandOne(one: ToOne, isNew: boolean): Promise<void> {
    const { relation, path, does } = one
    const { local } = relation
    await this.#demandRelation(relation, does !== 'connect' && does !== 'disconnect')
    if (does === 'disconnect' || does === 'delete') refuseNotNull(local, path)
    if (does !== 'update' && !(does === 'create' && isNew)) this.#refuseFixed(local, path)
    if (does === 'create' || does === 'update') await this.#demandTree(one.tree, does === 'create')
  }

  async #demandMany(many: ToMany): Promise<void> {
    const { relation, path, create, update, connect, disconnect } = many
    const { foreign, kind } = relation
    const rows = create.length + update.length + many.delete.length
    const keys = connect.length + disconnect.length
    await this.#demandRelation(relation, rows > 0 || (kind === 'hasMany' && keys > 0))
    if (kind === 'hasMany' && keys > 0) {
      this.#refuseFixed(foreign, `${path}.${connect.length > 0 ? 'connect' : 'disconnect'}`)
      if (disconnect.length > 0) refuseNotNull(foreign, `${path}.disconnect`)
    }
    for (const tree of create) await this.#demandTree(tree, true)
    for (const { tree } of update) await this.#demandTree(tree, false)
  }

  async #demandTree(tree: WriteTree, isNew: boolean): Promise<void> {
    await demandFields(tree, this.#caller)
    await this.demand(tree, isNew)
  }

  async #demandRelation(relation: Relation, isWrite: boolean): Promise<void> {
    const policy = policyOf(relation.target)
    if (isWrite && !policy.isWritable && !this.#caller.trusted) throw forbidden()
    const rules = policyOf(relation.table).relations.get(relation) ?? []
    const rule = policy.write ?? (this.#isRootOpen ? tokenAccess : undefined)
    await demandAll([...rules, isWrite ? rule : undefined], this.#caller)
  }

  /** A key that clients cannot write cannot be changed through a relation either. */
  #refuseFixed({ field }: Column, path: string): void {
    if (!this.#caller.trusted && (field.readOnly || field.hidden))
      throw invalid(path, 'readOnly', 'cannot be changed')
  }
}

function refuseNotNull({ nullable, property }: Column, path: string): void {
  if (nullable) return
  throw invalid(path, 'required', `is not possible: ${property} cannot be null`)
}
