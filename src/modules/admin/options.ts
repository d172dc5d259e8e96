/** What `admin` takes, checked at the start. Source: specification, Admin page 10. */
import {
  describeRecord,
  rejectUnknownOptions,
  type ModuleOptions,
  type Problem,
  type RecordDescription,
} from '../../index.js'
import { AdminAction, readAdmin, type Class } from './declare.js'

/** A class of a record, or a thunk of one. */
type ClassReference = NonNullable<ModuleOptions['records']>[number]

export interface LoginOptions {
  /** The application's sign-in: a POST route that answers with the token in `FreshToken`. */
  path: string
  /** The application's sign-out, a POST route. Default: one of the page's own, which ends the token and the session. */
  signOut?: string
}

export interface AdminOptions {
  /** Where the page is: `/admin`. */
  path: string
  /** Whom the page lets in: a role, or several of which any suffices. The rest is what each record's own rules leave them. */
  roles: string | readonly string[]
  /** The records that it shows, in this order. */
  records: readonly ClassReference[]
  login: LoginOptions
  /**
   * The record of the people who sign in, one of `records`: the history shows their title in place of the claim `sub`. `sub` is
   * the key of their row, or the field that is named: `[User, 'email']`.
   */
  people?: ClassReference | readonly [ClassReference, string]
}

const names: Readonly<Record<keyof AdminOptions, true>> = {
  login: true,
  path: true,
  people: true,
  records: true,
  roles: true,
}
const loginNames: Readonly<Record<keyof LoginOptions, true>> = { path: true, signOut: true }
const recordNames = ['title', 'list', 'group', 'help', 'history']
const actionNames = ['label', 'bulk', 'body']

export function findProblems(given: AdminOptions): Problem[] {
  const options = given as Readonly<Partial<Record<keyof AdminOptions, unknown>>>
  const problems = rejectUnknownOptions(given, Object.keys(names), 'admin')
  const { path, roles, records, login } = options
  const refuse = (option: string, remedy: string): void => {
    problems.push(invalid(`admin: ${option} cannot be used.`, remedy))
  }
  if (!isPath(path) || path === '/') refuse('path', "Write where the page is to be: '/admin'.")
  const wanted = Array.isArray(roles) ? (roles as unknown[]) : [roles]
  if (wanted.length === 0 || !wanted.every((role) => typeof role === 'string' && role !== ''))
    refuse('roles', "Write who may come in: roles: 'admin'. Nothing is open to everybody.")
  if (!Array.isArray(records) || records.length === 0)
    refuse('records', 'Write the records that the page shows: [Ticket, Label].')
  if (typeof login !== 'object' || login === null)
    refuse('login', "Write the application's sign-in: { path: '/login' }.")
  else {
    problems.push(...rejectUnknownOptions(login, Object.keys(loginNames), 'admin login'))
    const { path: at, signOut } = login as Partial<LoginOptions>
    if (!isPath(at)) refuse('login.path', "Write the application's sign-in: { path: '/login' }.")
    if (signOut !== undefined && !isPath(signOut))
      refuse('login.signOut', "Write the application's sign-out: '/signout'.")
  }
  return problems
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && /^\/[^\s?#<>]*$/.test(value) && !value.includes('//')
}

/** @returns the classes, thunks called; those that are none yet are left out */
export function resolveRecords(records: readonly ClassReference[]): Class[] {
  return records.flatMap((reference) => {
    const type: unknown = isClass(reference) ? reference : callThunk(reference)
    return isClass(type) ? [type] : []
  })
}

function callThunk(reference: unknown): unknown {
  try {
    return typeof reference === 'function' ? (reference as () => unknown)() : undefined
  } catch {
    return undefined
  }
}

function isClass(value: unknown): value is Class {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
}

/** Where the people are who sign in. */
export interface People {
  readonly type: Class
  /** The field that holds the claim `sub`; undefined for the key. */
  readonly field: string | undefined
}

export function resolvePeople({ people }: AdminOptions): People | undefined {
  if (people === undefined) return undefined
  const [reference, field] = isPair(people) ? people : [people]
  const [type] = resolveRecords([reference])
  return type && { type, field }
}

function isPair(
  people: NonNullable<AdminOptions['people']>,
): people is readonly [ClassReference, string] {
  return Array.isArray(people)
}

function findPeopleProblems(options: AdminOptions, types: readonly Class[]): Problem[] {
  if (options.people === undefined) return []
  const { type, field } = resolvePeople(options) ?? {}
  if (type === undefined || !types.includes(type))
    return [
      invalid(
        'admin: people names no record of the page.',
        "Write people: User, or people: [User, 'email'], and list User in records.",
      ),
    ]
  const names = (describeRecord(type)?.fields ?? [])
    .filter(({ kind, list }) => kind === 'string' && !list)
    .map(({ name }) => name)
  if (field === undefined || names.includes(field)) return []
  const message = `admin: people names ${JSON.stringify(field)}, which is no text of ${type.name}.`
  return [invalid(message, `Name the field that holds the claim sub: ${names.join(', ')}.`)]
}

/** Faults of the records, once all classes are there. */
export function findRecordProblems(options: AdminOptions): Problem[] {
  const { records } = options
  const types = resolveRecords(records)
  const problems: Problem[] = findPeopleProblems(options, types)
  if (types.length < records.length)
    problems.push(
      invalid('admin: records names what is no class.', 'Write records: [Ticket, () => Label].'),
    )
  const seen = new Map<string, Class>()
  for (const type of types) {
    const described = describeRecord(type)
    if (described === undefined) {
      const remedy = `Write @Record before class ${type.name}, or leave it out.`
      problems.push(invalid(`admin: records names ${type.name}, which is no record.`, remedy))
      continue
    }
    const other = seen.get(described.plural)
    if (other !== undefined) {
      const remedy =
        other === type
          ? 'Write it once.'
          : `Name another: @Record({ plural: '…' }) for one of them.`
      const message = `admin: records names "${described.plural}" twice: ${other.name} and ${type.name}.`
      problems.push(invalid(message, remedy))
    }
    seen.set(described.plural, type)
    problems.push(...findAdminProblems(described), ...findActionProblems(type))
  }
  return problems
}

function findAdminProblems({ type, fields, relations }: RecordDescription): Problem[] {
  const options = readAdmin(type)
  const where = `@Admin of ${type.name}`
  const problems = rejectUnknownOptions(options, recordNames, where)
  const { title, list, group, help, history } = options as Readonly<Record<string, unknown>>
  const own = fields.map(({ name }) => name)
  const shown = [...own, ...relations.filter(isToOne).map(({ name }) => name)]
  if (title !== undefined && !own.includes(title as string))
    problems.push(
      invalid(`${where}: title names ${JSON.stringify(title)}.`, `Fields: ${own.join(', ')}.`),
    )
  const columns: readonly unknown[] = Array.isArray(list) ? list : []
  if (list !== undefined && (!Array.isArray(list) || list.length === 0))
    problems.push(invalid(`${where}: list is no list of fields.`, "Write list: ['subject']."))
  for (const name of columns)
    if (!shown.includes(name as string))
      problems.push(
        invalid(
          `${where}: list names ${JSON.stringify(name)}.`,
          `Fields and relations to one: ${shown.join(', ')}.`,
        ),
      )
  if (new Set(columns).size < columns.length)
    problems.push(invalid(`${where}: list names a field twice.`, 'Write it once.'))
  for (const [option, value] of Object.entries({ group, help }))
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      problems.push(invalid(`${where}: ${option} is no text.`, 'Write words, or leave it out.'))
  if (history !== undefined && typeof history !== 'boolean')
    problems.push(invalid(`${where}: history is neither true nor false.`, 'Write true or false.'))
  return problems
}

function findActionProblems(type: Class): Problem[] {
  const labels = new Set<string>()
  return [...AdminAction.read(type)].flatMap(([method, [options]]) => {
    const where = `@AdminAction of ${type.name}.${method}`
    const given = options as unknown
    if (typeof given !== 'object' || given === null)
      return [invalid(`${where} has no options.`, "Write @AdminAction({ label: 'Close' }).")]
    const problems = rejectUnknownOptions(given, actionNames, where)
    const { label, bulk, body } = given as Readonly<Record<string, unknown>>
    if (typeof label !== 'string' || label === '')
      problems.push(invalid(`${where}: label is no text.`, "Write label: 'Close'."))
    else if (labels.has(label))
      problems.push(invalid(`${where}: another action is called "${label}".`, 'Rename one.'))
    else labels.add(label)
    if (bulk !== undefined && typeof bulk !== 'boolean')
      problems.push(invalid(`${where}: bulk is neither true nor false.`, 'Write true or false.'))
    if (body !== undefined && !isClass(body))
      problems.push(invalid(`${where}: body is no class.`, 'Write a class with @Field.'))
    return problems
  })
}

export function isToOne({ kind }: { readonly kind: string }): boolean {
  return kind === 'belongsTo'
}

function invalid(message: string, remedy: string): Problem {
  return { code: 'INVALID_OPTION', message, remedy }
}
