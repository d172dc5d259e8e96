/** The options of `admin()` and their check at startup. */
import {
  declareOptions,
  describeRecord,
  option,
  type OptionsOf,
  type Problem,
  type RecordDescription,
  type Class,
  type ClassReference,
} from '../../index.js'
import {
  AdminAction,
  adminActionOptions,
  adminRecordOptions,
  isClass,
  readAdmin,
} from './declare.js'
import { findFieldProblems, findPageProblems, type AdminPage } from './components.js'
import { findLanguageProblems, isLanguages, type LanguageTexts } from './languages.js'
import { hasKey } from './page-records.js'
import { parseColour } from './theme.js'

const loginRemedy = "Write the application's sign-in: { path: '/login' }."

const loginOptions = declareOptions({
  /** The application's sign-in: a POST route that returns the token in the header `FreshToken`. */
  path: option.of<string>(isPath, loginRemedy).required(),
  /** The application's sign-out: a POST route. Default: a route of the page that revokes the token and ends the session. */
  signOut: option.of<string>(isPath, "Write the application's sign-out: '/signout'."),
  /** Buttons for the sign-in by `passkeys()` and by providers of `oidc()`, if the application has them. Default true. */
  buttons: option.flag(),
})

export interface LoginOptions extends OptionsOf<typeof loginOptions> {}

export const adminOptions = declareOptions({
  /** The path of the page: `/admin`. */
  path: option
    .of<string>((value) => isPath(value) && value !== '/', "Write the path of the page: '/admin'.")
    .required(),
  /** The role that opens the page, or several roles of which one is enough. Policies of the records still apply. */
  roles: option
    .of<string | readonly string[]>(
      isRoles,
      "Write who may open the page: roles: 'admin'. The page is never public.",
    )
    .required(),
  /** The records on the page, in this order. */
  records: option
    .of<readonly ClassReference[]>(
      (value) => Array.isArray(value) && value.length > 0,
      'Write the records that the page shows: [Ticket, Label].',
    )
    .required(),
  login: option.object(loginOptions, loginRemedy).required(),
  /**
   * The record of the people who sign in. It must be in `records`. The history then shows a person's title in place of the claim
   * `sub`. `sub` holds the key of the row, or the value of the field given here: `[User, 'email']`.
   */
  people: option.any<ClassReference | readonly [ClassReference, string]>(),
  /** The name of the page, in the header and in the browser's tab. Default `Admin`. */
  title: option.text("Write the name of the page: 'Help desk'."),
  /** The path of an image of the application, `'/logo.svg'`, for the header, the sign-in and the browser's tab. */
  logo: option.of<string>(isPath, "Write the path of an image of the application: '/logo.svg'."),
  /** The colour of links and buttons, `'#0b6470'`. It is made darker or lighter where text would not be readable. */
  colour: option.of<string>(
    (value) => parseColour(value) !== undefined,
    "Write a colour as #RRGGBB: '#0b6470'.",
  ),
  /** Pages of the application beside the records: `[{ path: 'map', title: 'Map', script: '/admin-map.js' }]`. */
  pages: option.of<readonly AdminPage[]>(
    (value) => Array.isArray(value) && value.every((page) => typeof page === 'object'),
    "Write a list of pages: [{ path: 'map', title: 'Map', script: '/admin-map.js' }].",
  ),
  /**
   * The language of texts, dates and numbers: `'de'`. Several languages, `['en', 'de']`: each browser gets the one that it prefers, or
   * the first. Texts in English and German come with the package. Default `'en'`.
   */
  language: option.of<string | readonly string[]>(
    isLanguages,
    "Write a language as BCP 47 does: 'de', 'pt-BR', or ['en', 'de'].",
  ),
  /** Texts of your own, by language: `{ de: { signIn: 'Einloggen' } }`. The others come from the package, or are English. */
  texts: option.any<LanguageTexts>(),
})

export interface AdminOptions extends OptionsOf<typeof adminOptions> {}

function isRoles(value: unknown): boolean {
  const roles: readonly unknown[] = Array.isArray(value) ? value : [value]
  return roles.length > 0 && roles.every((role) => typeof role === 'string' && role !== '')
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && /^\/[^\s?#<>]*$/.test(value) && !value.includes('//')
}

/** Calls the thunks. @returns the classes, without references that are not defined yet */
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

/** The record of the people who sign in. */
export interface People {
  readonly type: Class
  /** The field that holds the claim `sub`; undefined for the key. */
  readonly field: string | undefined
}

export function resolvePeople({ people }: AdminOptions): People | undefined {
  if (people === undefined) return undefined
  const [reference, field] = isPair(people) ? people : [people]
  const [type] = resolveRecords([reference])
  const keyFields = type && describeRecord(type)?.key.parts
  // The claim is the value of the field. Only a key of several fields is written as a JSON list.
  const keyField = keyFields?.length === 1 ? keyFields[0] : undefined
  return type && { type, field: field ?? keyField }
}

function isPair(
  people: NonNullable<AdminOptions['people']>,
): people is readonly [ClassReference, string] {
  return Array.isArray(people)
}

function findPeopleProblems(options: AdminOptions, types: readonly Class[]): Problem[] {
  if (options.people === undefined) return []
  const { type, field } = resolvePeople(options) ?? {}
  const described = type && describeRecord(type)
  if (type === undefined || !types.includes(type))
    return [
      invalid(
        'admin: people is not a record of the page.',
        "Write people: User, or people: [User, 'email'], and list User in records.",
      ),
    ]
  if (described !== undefined && !hasKey(described))
    return [
      invalid(
        `admin: people is ${type.name}, which has no key.`,
        'Write people: User, a record with a key.',
      ),
    ]
  const names = (described?.fields ?? [])
    .filter(({ kind, list }) => kind === 'string' && !list)
    .map(({ name }) => name)
  const isKey = field !== undefined && described?.key.parts?.includes(field) === true
  if (field === undefined || isKey || names.includes(field)) return []
  const message = `admin: people names ${JSON.stringify(field)}, which is not a string field of ${type.name}.`
  return [invalid(message, `Name the field that holds the claim sub: ${names.join(', ')}.`)]
}

/** Checks the records. Call this after all classes are defined. */
export function findRecordProblems(options: AdminOptions): Problem[] {
  const { records } = options
  const types = resolveRecords(records)
  const problems: Problem[] = [
    ...findLanguageProblems(options),
    ...findPeopleProblems(options, types),
  ]
  if (types.length < records.length)
    problems.push(
      invalid(
        'admin: records contains something that is not a class.',
        'Write records: [Ticket, () => Label].',
      ),
    )
  const typesByPlural = new Map<string, Class>()
  for (const type of types) {
    const described = describeRecord(type)
    if (described === undefined) {
      const fix = `Write @Record before class ${type.name}, or leave it out.`
      problems.push(invalid(`admin: records names ${type.name}, which is not a record.`, fix))
      continue
    }
    const other = typesByPlural.get(described.plural)
    if (other !== undefined) {
      const fix =
        other === type
          ? 'Write it once.'
          : `Give one of them another name: @Record({ plural: '…' }).`
      const message = `admin: records names "${described.plural}" twice: ${other.name} and ${type.name}.`
      problems.push(invalid(message, fix))
    }
    typesByPlural.set(described.plural, type)
    problems.push(
      ...findAdminProblems(described),
      ...findKeyProblems(described),
      ...findActionProblems(type),
    )
  }
  problems.push(...findPageProblems(options.pages ?? [], [...typesByPlural.keys()]))
  return problems
}

/** Reports what the page can do only for rows with a key. */
function findKeyProblems(record: RecordDescription): Problem[] {
  if (hasKey(record)) return []
  const { type } = record
  const isMissing = `but ${type.name} has no key`
  const problems: Problem[] = []
  if (readAdmin(type).history === true)
    problems.push(
      invalid(`@Admin of ${type.name}: history is set, ${isMissing}.`, 'Remove history.'),
    )
  for (const method of AdminAction.read(type).keys())
    problems.push(
      invalid(
        `@AdminAction of ${type.name}.${method}: an action runs for rows, ${isMissing}.`,
        'Remove the action.',
      ),
    )
  return problems
}

function findAdminProblems(record: RecordDescription): Problem[] {
  const { type, fields, relations } = record
  const options = readAdmin(type)
  const where = `@Admin of ${type.name}`
  const problems: Problem[] = adminRecordOptions.findProblems(options, where)
  const { title, list = [], fields: components } = adminRecordOptions.read(options)
  problems.push(...findFieldProblems(where, components, record))
  const fieldNames = fields.map(({ name }) => name)
  const columnNames = [...fieldNames, ...relations.filter(isToOne).map(({ name }) => name)]
  if (title !== undefined && !fieldNames.includes(title))
    problems.push(
      invalid(
        `${where}: title names ${JSON.stringify(title)}.`,
        `Fields: ${fieldNames.join(', ')}.`,
      ),
    )
  for (const name of list)
    if (!columnNames.includes(name))
      problems.push(
        invalid(
          `${where}: list names ${JSON.stringify(name)}.`,
          `Fields and relations to one: ${columnNames.join(', ')}.`,
        ),
      )
  if (new Set(list).size < list.length)
    problems.push(invalid(`${where}: list names a field twice.`, 'Write it once.'))
  return problems
}

function findActionProblems(type: Class): Problem[] {
  const labels = new Set<string>()
  return [...AdminAction.read(type)].flatMap(([method, [options]]) => {
    const where = `@AdminAction of ${type.name}.${method}`
    const { label } = adminActionOptions.read(options)
    const isRepeated = labels.has(label)
    labels.add(label)
    return [
      ...adminActionOptions.findProblems(options, where),
      ...(isRepeated
        ? [invalid(`${where}: another action is called "${label}".`, 'Rename one.')]
        : []),
    ]
  })
}

export function isToOne({ kind }: { readonly kind: string }): boolean {
  return kind === 'belongsTo'
}

function invalid(message: string, fix: string): Problem {
  return { code: 'INVALID_OPTION', message, remedy: fix }
}
