/** `@BeforeWrite` and `@AfterCommit`: methods of a record that run when a row of it is written. Source: public face, Records. */
import type { Claims } from '../../http/request.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../../metadata/dialect.js'
import { createMemberNote, type Class } from '../../metadata/note.js'

/** What a hook is told beside who writes. */
export interface RowWrite {
  readonly event: 'created' | 'updated'
}

/** The record's method: `this` is the whole row. */
export type WriteHook = (this: object, user: Claims | null, write: RowWrite) => void | Promise<void>

type Moment = 'before' | 'after'

const hookNotes = createMemberNote<readonly Moment[]>('write hooks')

/**
 * Before a method of a record: runs in the transaction before a row is created or changed, by every door, `insertMany`
 * and `updateWhere` included. `this` is the whole row as it will be and may be changed; the rules are asked of what it
 * makes of it. An HttpError refuses the write.
 *
 * ```ts
 * @BeforeWrite() setSlug(user: Claims | null) { this.slug = toSlug(this.name) }
 * ```
 *
 * The first argument is the claims of whoever's request it is, in handlers that call a repository too; null for visitors,
 * the static key and work of no request. The second is `{ event: 'created' | 'updated' }`.
 */
export const BeforeWrite = createHook('BeforeWrite', 'before')

/**
 * Before a method of a record: runs once a row that was created or changed is committed, and never for what was taken
 * back. `this` is the row as it was stored; the arguments are those of `@BeforeWrite`. What it throws is logged.
 */
export const AfterCommit = createHook('AfterCommit', 'after')

/** Written bare or called. */
interface HookDecorator {
  (): AnyDecorator
  (target: object, member: string | symbol, descriptor: PropertyDescriptor): void
  (value: unknown, context: DecoratorContext): void
}

export interface WriteHooks {
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** The hooks of a class by the names of their methods, the base's first; `undefined` where it has none. */
export function readWriteHooks(type: Class): WriteHooks | undefined {
  const notes = [...hookNotes.readAll(type)]
  if (notes.length === 0) return undefined
  const at = (moment: Moment): string[] =>
    notes.filter(([, moments]) => moments.includes(moment)).map(([member]) => member)
  return Object.freeze({ before: at('before'), after: at('after') })
}

function createHook(name: string, moment: Moment): HookDecorator {
  const write = ({ owner, member, place, isStatic }: DecoratorTarget): void => {
    if (member === undefined || place !== 'method' || isStatic)
      throw new TypeError(`@${name} on ${owner.name}: it belongs before a method of a record.`)
    hookNotes.update(owner, member, (known = []) => [...known, moment])
  }
  return ((...args: unknown[]): AnyDecorator | undefined =>
    decorate(args, write) ? undefined : toDecorator(write)) as HookDecorator
}
