/**
 * `@BeforeWrite`, `@AfterWrite`, `@AfterCommit`, `@BeforeDelete` and `@AfterDelete`: methods of a record that run when
 * a row is written or deleted. Source: public API, Records.
 */

import { higherIsolation, type Isolation } from '../../core/transaction.js'
import type { RecordHooks, Table } from './table.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../../metadata/dialect.js'
import type { Class } from '../../metadata/class.js'
import { createMemberMetadata } from '../../metadata/class-metadata.js'

export const defaultIsolation: Isolation = 'serializable'

/**
 * @returns the isolation of transactions that run the hooks of these records; undefined if no hook runs within the
 * transaction
 */
export function isolationOf(tables: Iterable<Table>): Isolation | undefined {
  let isolation: Isolation | undefined
  for (const { hooks, options } of tables) {
    if (hooks.beforeWrite.length + hooks.afterWrite.length + hooks.beforeDelete.length === 0)
      continue
    isolation = higherIsolation(isolation, options.isolation ?? defaultIsolation)
  }
  return isolation
}

/** The record's method: `this` is the complete row. */
export type RecordHook = (this: object, context: object) => void | Promise<void>

type HookName = keyof RecordHooks

const hookMetadata = createMemberMetadata<readonly HookName[]>('write hooks')

/**
 * On a method of a record: runs in the transaction before a row is created or changed, by every interface, including
 * `insertMany` and `updateWhere`. `this` is the complete row as it will be stored and may be changed; afterwards the rules
 * are checked. An HttpError refuses the write. The argument is a `WriteContext`.
 *
 * ```ts
 * @BeforeWrite() check({ before, changed }: WriteContext) {
 *   if (before && changed.has('status') && !leadsTo(before.status, this.status)) throw new HttpError(409, …)
 * }
 * ```
 */
export const BeforeWrite = createHook('BeforeWrite', 'beforeWrite')

/**
 * On a method of a record: runs in the transaction, after a row was created or changed, whichever interface wrote it.
 * `this` is the row as stored, with its key. Its writes are committed with the row or not at all. An HttpError refuses
 * the write. The argument is a `WriteContext`.
 */
export const AfterWrite = createHook('AfterWrite', 'afterWrite')

/**
 * On a method of a record: runs after the commit of a created or changed row, never after a rollback. `this` is the row
 * as stored; the argument is a `CommitContext`. Its errors are logged.
 */
export const AfterCommit = createHook('AfterCommit', 'afterCommit')

/**
 * On a method of a record: runs in the transaction before a row is deleted, or marked as deleted, whichever interface
 * deletes it. `this` is the stored row; the argument is a `DeleteContext`. An HttpError refuses the deletion.
 */
export const BeforeDelete = createHook('BeforeDelete', 'beforeDelete')

/**
 * On a method of a record: runs after the commit of a deletion, never after a rollback. `this` is the row before the
 * deletion; the argument is a `CommitContext` whose `after` is null. Its errors are logged.
 */
export const AfterDelete = createHook('AfterDelete', 'afterDelete')

/** Used with or without parentheses. */
interface HookDecorator {
  (): AnyDecorator
  (target: object, member: string | symbol, descriptor: PropertyDescriptor): void
  (value: unknown, context: DecoratorContext): void
}

export function readHooks(type: Class): RecordHooks {
  const metadata = [...hookMetadata.readAll(type)]
  const at = (hookName: HookName): readonly string[] =>
    metadata.filter(([, hookNames]) => hookNames.includes(hookName)).map(([member]) => member)
  return Object.freeze({
    beforeWrite: at('beforeWrite'),
    afterWrite: at('afterWrite'),
    afterCommit: at('afterCommit'),
    beforeDelete: at('beforeDelete'),
    afterDelete: at('afterDelete'),
  })
}

function createHook(name: string, hookName: HookName): HookDecorator {
  const write = ({ owner, member, kind, isStatic }: DecoratorTarget): void => {
    if (member === undefined || kind !== 'method' || isStatic)
      throw new TypeError(`@${name} on ${owner.name}: it can only be used on a method of a record.`)
    hookMetadata.update(owner, member, (hooks = []) => [...hooks, hookName])
  }
  return ((...args: unknown[]): AnyDecorator | undefined =>
    decorate(args, write) ? undefined : toDecorator(write)) as HookDecorator
}
