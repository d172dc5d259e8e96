/** `@Admin` on a record and `@AdminAction` on its methods: what the admin page says and offers of it. Source: specification, Admin page. */
import {
  AfterWrite,
  BeforeDelete,
  addRecords,
  createMetadata,
  type AnyDecorator,
  type Claims,
  type Repository,
} from '../../index.js'
import { AdminEntry, keepDeletion, keepWrite } from './change-history.js'

/** A class with a constructor that may be called by nobody. */
export type Class<T = object> = abstract new (...args: never[]) => T

export interface AdminRecordOptions {
  /** The field whose value names a row, in links, pickers and messages. Default: `title`, `name` or `subject` where there is one, else the key. */
  title?: string
  /** The columns of the list: fields and relations to one record, in order. Default: the first six fields. */
  list?: readonly string[]
  /** The heading below which the page lists the record. */
  group?: string
  /** A text above the record's list and form. */
  help?: string
  /** Keeps who changed what, in `AdminEntry`, by every door. Default false. */
  history?: boolean
}

export interface AdminActionOptions {
  /** The words on the button. */
  label: string
  /** It may run for several rows at once. Default false. */
  bulk?: boolean
  /** The class of its form. */
  body?: Class
}

/** What a method with `@AdminAction` gets. `this` is the row; what the method changes on it is stored. */
// An action says `ActionContext` or `ActionContext<Reason>`.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface ActionContext<Body = any> {
  /** The repository of a record, in the action's transaction. It has the program's rights. */
  readonly records: <R extends object>(type: Class<R>) => Repository<R>
  /** The claims of who runs it; null for the operator's key. */
  readonly caller: Claims | null
  readonly by: 'token' | 'key'
  /** What the form was filled with, checked; undefined without a form. */
  readonly body: Body
  /** A provider of the application, by its class or token. */
  readonly get: <P>(token: Class<P> | string | symbol) => P
}

const notes = new WeakMap<object, Readonly<AdminRecordOptions>>()

/**
 * On a record: how the admin page shows it, and whether its history is kept.
 *
 * ```ts
 * @Record({ version: true })
 * @Admin({ title: 'subject', list: ['subject', 'status', 'org'], group: 'Desk', history: true })
 * class Ticket { … }
 * ```
 */
export function Admin(options: AdminRecordOptions = {}): AnyDecorator {
  return ((type: unknown, member?: unknown): void => {
    const isMember = member !== undefined && (typeof member !== 'object' || !isOfClass(member))
    if (typeof type !== 'function' || isMember)
      throw new TypeError('@Admin can only be used on a class.')
    notes.set(type, { ...options })
    if (options.history === true) keepHistory(type as Class)
  }) as AnyDecorator
}

/** On a method of a record: a button of the admin page, for one row or with `bulk` for several. */
export const AdminAction = createMetadata<[options: AdminActionOptions]>('AdminAction')

/** What `@Admin` says of a record or its nearest base. */
export function readAdmin(type: Class): Readonly<AdminRecordOptions> {
  for (
    let owner: unknown = type;
    typeof owner === 'function';
    owner = Object.getPrototypeOf(owner)
  ) {
    const note = notes.get(owner)
    if (note !== undefined) return note
  }
  return {}
}

/** The context of a standard decorator. */
function isOfClass(context: unknown): boolean {
  return (context as { kind?: unknown } | null)?.kind === 'class'
}

function keepHistory(type: Class): void {
  addRecords(type, [AdminEntry])
  addHook(type, 'keepsWriteInHistory', AfterWrite() as MethodDecorator, keepWrite)
  addHook(type, 'keepsDeletionInHistory', BeforeDelete() as MethodDecorator, keepDeletion)
}

function addHook(type: Class, name: string, hook: MethodDecorator, run: unknown): void {
  const prototype = type.prototype as object
  Object.defineProperty(prototype, name, { value: run, configurable: true, writable: true })
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name)
  hook(prototype, name, descriptor as never)
}
