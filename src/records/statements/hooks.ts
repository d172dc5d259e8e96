/**
 * Runs the hooks of a record: first the hooks before a write, then the row's rules, and later the hooks after the
 * commit. Values of a hook's context are created on first use.
 */

import { insertRow } from './write-row.js'
import { HttpError } from '../../errors/http-error.js'
import type { Claims, RequestAuth } from '../../http/request.js'
import type { Class } from '../../metadata/class.js'
import type { Column } from '../../engines/contract/table.js'
import { ruleMessage } from '../../fields/messages.js'
import { invalidField } from '../filters/query-errors.js'
import type { RecordHooks, Table, Instance } from '../model/table.js'
import type { RecordHook } from '../model/write-hooks.js'
import { outsideShards } from './shard.js'
import { providerOf, type Source } from './source.js'

/** A copy of the row, of the same class, so that changes do not affect the original. */
export function copyOf(row: Instance): Instance {
  const copy = Object.create(Object.getPrototypeOf(row) as object) as Instance
  for (const [name, value] of Object.entries(row)) copy[name] = cloneOf(value)
  return copy
}

function cloneOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneOf)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, cloneOf(inner)] as const)
  return Object.assign(
    Object.create(Object.getPrototypeOf(value) as object | null) as object,
    Object.fromEntries(entries),
  )
}

export function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object') return false
  if (one instanceof Uint8Array && other instanceof Uint8Array)
    return Buffer.compare(one, other) === 0
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The caller of a write, as hooks receive it. */
export interface Writer {
  readonly caller: Claims | null
  readonly by: 'token' | 'key' | 'program'
}

const program: Writer = Object.freeze({ caller: null, by: 'program' })

let currentWriter: () => Writer = () => program

interface Requester {
  readonly auth: RequestAuth | undefined
  readonly user: Claims | null
}

/** From now on hooks receive the current request's caller if no other writer is set. */
export function followUsers(current: () => Requester | undefined): void {
  currentWriter = () => {
    const request = current()
    return request === undefined ? program : writerOf(request)
  }
}

/** The writer of a request. A request without a token still does not count as the program. */
export function writerOf({ auth, user }: Requester): Writer {
  return { caller: user, by: auth?.by ?? 'token' }
}

/** True if a hook has a parameter, so that it may read the caller. */
export function hooksReadCaller({ type, hooks }: Table): boolean {
  const prototype = type.prototype as Readonly<Record<string, RecordHook | undefined>>
  return Object.values<readonly string[]>({ ...hooks })
    .flat()
    .some((member) => (prototype[member]?.length ?? 0) > 0)
}

export interface HookedRow {
  readonly table: Table
  readonly source: Source
  /** The stored row. Null for a new row. */
  readonly before: Instance | null
  readonly writer: Writer | undefined
}

/** Runs the hooks before a write, on the row as it will be stored. */
export async function runBefore(written: HookedRow, row: Instance): Promise<void> {
  const { convert } = written.source.context.codecOf(written.table)
  await runAll('beforeWrite', row, new RowContext(written, row), convert)
}

/** Runs the hooks after a write, on the row as stored. */
export async function runAfterWrite(written: HookedRow, row: Instance): Promise<void> {
  if (written.table.hooks.afterWrite.length === 0) return
  const stored = copyOf(row)
  await runAll('afterWrite', stored, new RowContext(written, stored))
}

/** Runs the hooks before a deletion, on the stored row. */
export async function runBeforeDelete(deleted: HookedRow, row: Instance): Promise<void> {
  await runAll('beforeDelete', copyOf(row), new RowContext(deleted, row))
}

/** Registers the hooks for after the commit. They do not run after a rollback. */
export function runAfterCommit(written: HookedRow, after: Instance | null): void {
  const { table, source, before } = written
  const hookName = after === null ? 'afterDelete' : 'afterCommit'
  const row = after ?? before
  if (row === null || table.hooks[hookName].length === 0) return
  const writer = written.writer ?? currentWriter()
  const context = new RowContext({ ...written, writer }, after === null ? null : copyOf(after))
  source.committed(() => runAll(hookName, copyOf(row), context))
}

/** Creates a row of a record with hooks, all in one transaction. */
export async function createHooked(
  table: Table,
  source: Source,
  values: object,
  writer?: Writer,
): Promise<Instance> {
  const { create, draft = create } = source.context.checksOf(table)
  const row = await draft(values)
  source.context.codecOf(table).convert(row)
  if (table.version !== undefined) row[table.version.property] = 1
  const written: HookedRow = { table, source, before: null, writer }
  await runBefore(written, row).catch((error: unknown) => {
    throw error instanceof HttpError ? error : (missing(table, row, error) ?? error)
  })
  const record = await insertRow(table, source, await create(row))
  await runAfterWrite(written, record)
  runAfterCommit(written, record)
  return record
}

async function runAll(
  hookName: keyof RecordHooks,
  row: Instance,
  context: RowContext,
  /** Called between hooks, so that the next hook sees the row as it will be stored. */
  convert?: (row: Instance) => void,
): Promise<void> {
  for (const [index, member] of context.table.hooks[hookName].entries()) {
    if (index > 0) convert?.(row)
    const hook = (row as Readonly<Record<string, RecordHook | undefined>>)[member]
    await outsideShards(() => hook?.call(row, context))
  }
}

/**
 * If a hook fails because required values are missing, the error for the missing values is clearer than the hook's
 * error.
 */
function missing({ columns }: Table, row: Instance, cause: unknown): HttpError | undefined {
  const [first] = columns.filter(
    ({ isKey, property, field }) =>
      !isKey &&
      !field.optional &&
      !field.readOnly &&
      (row[property] ?? null) === null &&
      !field.nullable,
  )
  if (first === undefined) return undefined
  const { property: path, field } = first
  const message = ruleMessage(field.messages, 'required', { path, text: 'is required' })
  return invalidField(path, 'required', message).with({ cause })
}

/** The context of hooks: see hook-contexts.ts. Getters create only the values that a hook uses. */
class RowContext {
  readonly table: Table
  readonly #row: HookedRow
  readonly #next: Instance | null
  #before: Instance | null | undefined

  constructor(row: HookedRow, next: Instance | null) {
    this.table = row.table
    this.#row = row
    this.#next = next
  }

  get before(): Instance | null {
    const { before } = this.#row
    return (this.#before ??= before && Object.freeze(copyOf(before)))
  }

  get after(): Instance | null {
    return this.#next
  }

  get changed(): ReadonlySet<string> {
    const { before } = this.#row
    const next = this.#next ?? {}
    const differs = ({ property }: Column): boolean => {
      const value = next[property] ?? null
      return before === null ? value !== null : !isSameValue(value, before[property] ?? null)
    }
    return new Set(this.table.columns.filter(differs).map(({ property }) => property))
  }

  get caller(): Claims | null {
    return this.#writer.caller
  }

  get by(): Writer['by'] {
    return this.#writer.by
  }

  get records(): (type: Class) => object {
    const { source } = this.#row
    return (type) => source.context.providers.records(type, source)
  }

  get get(): (token: Class | string | symbol) => unknown {
    const { providers } = this.#row.source.context
    return (token) => providerOf(providers, token)
  }

  get #writer(): Writer {
    return this.#row.writer ?? currentWriter()
  }
}
