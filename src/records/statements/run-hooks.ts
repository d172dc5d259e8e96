/** Runs the hooks of a record: those before a write, followed by the row's rules, and those after the commit. */
import type { Claims } from '../../http/request.js'
import type { Table } from '../model/table.js'
import type { RowWrite, WriteHook } from '../model/write-hooks.js'
import { outsideShards } from './shard.js'
import type { Source } from './source.js'
import { insertRow, type Instance } from './write-row.js'

type User = Claims | null | undefined

let currentUser: () => Claims | null = () => null

/** From now on hooks get the user of the current request if no other is given. */
export function followUsers(current: () => Claims | null): void {
  currentUser = current
}

/** True if a hook has parameters, and so may use the user. */
export function wantsUser({ type, hooks }: Table): boolean {
  const prototype = type.prototype as Readonly<Record<string, WriteHook>>
  const members = hooks === undefined ? [] : [...hooks.before, ...hooks.after]
  return members.some((member) => !/^[^(]*\(\s*\)/.test(String(prototype[member])))
}

/** Runs the hooks before a write, on the row as it will be. */
export async function runBefore(
  table: Table,
  row: object,
  given: User,
  event: RowWrite['event'],
): Promise<void> {
  const user = given === undefined ? currentUser() : given
  for (const member of table.hooks?.before ?? []) await call(row, member, user, event)
}

/** Registers the hooks after the commit, on the row as stored; they do not run after a rollback. */
export function runAfterCommit(
  table: Table,
  source: Source,
  stored: object,
  given: User,
  event: RowWrite['event'],
): void {
  const user = given === undefined ? currentUser() : given
  const members = table.hooks?.after ?? []
  if (members.length === 0) return
  const row = Object.assign(
    Object.create(Object.getPrototypeOf(stored) as object) as object,
    stored,
  )
  source.committed(async () => {
    for (const member of members) await call(row, member, user, event)
  })
}

/** Creates a row of a record with hooks, all in one transaction. */
export async function createHooked(
  table: Table,
  source: Source,
  values: object,
  user?: User,
): Promise<Instance> {
  const { create, draft = create } = source.context.checksOf(table)
  const row = await draft(values)
  if (table.version !== undefined) row[table.version.property] = 1
  await runBefore(table, row, user, 'created')
  const record = await insertRow(table, source, await create(row))
  runAfterCommit(table, source, record, user, 'created')
  return record
}

async function call(
  row: object,
  member: string,
  user: Claims | null,
  event: RowWrite['event'],
): Promise<void> {
  const hook = (row as Readonly<Record<string, WriteHook>>)[member]
  await outsideShards(() => hook?.call(row, user, { event }))
}
