/**
 * `@Doc`: descriptions, examples and deprecation of a route for the OpenAPI document. Source: specification, Route
 * documentation metadata; RFC 9745 (Deprecation) and RFC 8594 (Sunset).
 */
import { isMap } from '../core/json.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Declared, Class } from '../metadata/class.js'
import { createClassMetadata, createMemberMetadata } from '../metadata/class-metadata.js'
import { toDecorator, type AnyDecorator } from '../metadata/dialect.js'

export const deprecatedOptions = declareOptions({
  /** A date, as a `Date` or in ISO 8601: `'2026-01-31'`. Sent as `Deprecation`. */
  since: option.any<string | Date>(),
  /** The same. Sent as `Sunset`. */
  until: option.any<string | Date>(),
})

/** When a route became deprecated, and when it will stop working. */
export interface Deprecated extends OptionsOf<typeof deprecatedOptions> {}

/** @returns the error, as the end of a sentence; undefined for a valid value */
export function deprecationError(value: unknown): string | undefined {
  if (typeof value === 'boolean') return undefined
  if (typeof value !== 'object' || value === null) return 'is neither true nor { since, until }'
  const { since, until } = value as Record<string, unknown>
  if (since === undefined && until === undefined) return 'names neither since nor until'
  for (const [name, date] of Object.entries({ since, until })) {
    if (date !== undefined && toTime(date) === undefined) return `has no date as ${name}`
  }
  const [from, to] = [toTime(since), toTime(until)]
  return from !== undefined && to !== undefined && to < from ? 'ends before it begins' : undefined
}

/** @returns undefined if no header is sent */
function deprecationHeaders(value: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { since, until } = value as Deprecated
  const [from, to] = [toTime(since), toTime(until)]
  if (from === undefined && to === undefined) return undefined
  return {
    ...(from === undefined ? {} : { Deprecation: `@${Math.floor(from / 1000)}` }),
    ...(to === undefined ? {} : { Sunset: new Date(to).toUTCString() }),
  }
}

function toTime(date: unknown): number | undefined {
  const isText = typeof date === 'string' && /^\d{4}-\d{2}-\d{2}(?:T.*)?$/.test(date)
  if (!isText && !(date instanceof Date)) return undefined
  const time = new Date(date).getTime()
  return Number.isNaN(time) ? undefined : time
}

export const responseOptions = declareOptions({
  /** When it is sent. Default: the phrase of the status. */
  description: option.any<string>(),
  /** The class of the body, `[Class]` or a thunk. Errors without one have the common error body. */
  type: option.any<Declared>(),
  /** A sample of the body. */
  example: option.any<unknown>(),
  /** Headers of the response, by name: `{ Location: 'Where it is now.' }`. */
  headers: option.any<Readonly<Record<string, string | DocHeader>>>(),
})

/** One response of a route. A text is its description. */
export interface DocResponse extends OptionsOf<typeof responseOptions> {}

export const headerOptions = declareOptions({
  description: option.any<string>(),
  /** Default false. */
  required: option.flag(),
  example: option.any<string>(),
})

/** A header of the request or of a response. A text is its description. */
export interface DocHeader extends OptionsOf<typeof headerOptions> {}

const textOption = option.of<string>(isText, 'Write a text.')

export const docOptions = declareOptions({
  /** One line. Default: made from the method's name. On a class it only describes its tag. */
  summary: textOption,
  /** Any length; Markdown. On a class it describes the class's first tag. */
  description: textOption,
  /** Groups of routes. Default: the controller's name without `Controller`. */
  tags: option.of<readonly string[]>(isTextList, "Write a list of texts: ['items']."),
  /** A sample of the request's body. If the route declares no class, the schema is made from it. */
  example: option.any<unknown>(),
  /** A sample of the successful response's body. If the route declares no class, the schema is made from it. */
  exampleResponse: option.any<unknown>(),
  /**
   * True is also enforced: the route then needs a token, unless `@Secured` or `@NoAuth` decide otherwise. False has no
   * effect.
   */
  secure: option.flag(),
  /**
   * The route still works, but should no longer be used. With `{ since, until }` every response also has the headers
   * `Deprecation` and `Sunset`. Default false.
   */
  deprecated: option.any<boolean | Deprecated>(),
  /** Further responses by status: `{ 409: 'The name is taken.' }`. */
  responses: option.of<Readonly<Record<number, string | DocResponse>>>(
    isMap,
    "Write an object by status: { 409: 'The name is taken.' }.",
  ),
  /** Headers that the handler reads, by name. */
  headers: option.of<Readonly<Record<string, string | DocHeader>>>(
    isMap,
    "Write an object by name: { 'X-Desk': 'The desk.' }.",
  ),
  /** Names of the files that the handler accepts, or their descriptions by name. */
  files: option.of<readonly string[] | Readonly<Record<string, string>>>(
    isFiles,
    'Write a list of names, or descriptions by name.',
  ),
})

/** On a class, the options apply to all its routes, unless a route sets its own. */
export interface DocOptions extends OptionsOf<typeof docOptions> {}

/** The options of `@Doc` for one route: the method's own, otherwise its class's. */
export interface DocMetadata {
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly tags: readonly string[] | undefined
  /** Absent if there is no sample; a sample may be null. */
  readonly example?: unknown
  readonly exampleResponse?: unknown
  /** True if the method or the class sets it. */
  readonly secure: boolean
  readonly deprecated: boolean
  /** The headers of a deprecated route. */
  readonly deprecation: Readonly<Record<string, string>> | undefined
  readonly responses: ReadonlyMap<number, DocResponse>
  readonly headers: ReadonlyMap<string, DocHeader>
  /** Descriptions by the file's name. */
  readonly files: ReadonlyMap<string, string | undefined>
  /** The class's description, for its tag. */
  readonly about: string | undefined
}

const onClasses = createClassMetadata<DocOptions>('doc')
const onMembers = createMemberMetadata<DocOptions>('doc')

/**
 * Documents a route, or every route of a controller.
 *
 * ```ts
 * @Get('/<id:int>', { returns: Item })
 * @Doc({ description: 'One item', tags: ['items'], exampleResponse: { id: 7, name: 'Lamp' } })
 * show(id: number) { … }
 * ```
 *
 * Bootstrap reports unknown options, and samples that are not JSON.
 */
export function Doc(options: DocOptions): AnyDecorator {
  return toDecorator(({ owner, member }) => {
    if (member === undefined) onClasses.write(owner, { ...onClasses.readOwn(owner), ...options })
    else onMembers.update(owner, member, (before) => ({ ...before, ...options }))
  })
}

/** The options as written, not yet checked. A subclass inherits the options that it does not set. */
export function classDoc(controller: Class): DocOptions | undefined {
  return onClasses.read(controller)
}

/** The options on the members of a class, by name. */
export function memberDocs(controller: Class): ReadonlyMap<string, DocOptions> {
  return onMembers.readAll(controller)
}

/** The options for a route, without invalid parts. */
export function docMetadata(controller: Class, member: string): DocMetadata {
  const onClass = onClasses.read(controller) ?? {}
  const onMember = onMembers.read(controller, member) ?? {}
  const merged = { ...onClass, ...onMember }
  return Object.freeze({
    summary: asText(onMember.summary),
    description: asText(onMember.description),
    tags: asTags(onMember.tags) ?? asTags(onClass.tags),
    ...(Object.hasOwn(merged, 'example') ? { example: merged.example } : {}),
    ...(Object.hasOwn(merged, 'exampleResponse')
      ? { exampleResponse: merged.exampleResponse }
      : {}),
    secure: onMember.secure === true || onClass.secure === true,
    deprecated: (onMember.deprecated ?? onClass.deprecated ?? false) !== false,
    deprecation: deprecationHeaders(onMember.deprecated ?? onClass.deprecated),
    responses: new Map([...responsesOf(onClass), ...responsesOf(onMember)]),
    headers: new Map([...headersOf(onClass), ...headersOf(onMember)]),
    files: filesOf(onMember.files ?? onClass.files),
    about: asText(onClass.description) ?? asText(onClass.summary),
  })
}

/** True for 100 to 599. */
export function isStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 100 && status <= 599
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function asTags(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const tags = value.filter((tag) => asText(tag) !== undefined) as string[]
  return tags.length === 0 ? undefined : [...new Set(tags)]
}

function responsesOf({ responses }: DocOptions): [number, DocResponse][] {
  return entriesOf(responses).flatMap(([status, response]): [number, DocResponse][] => {
    if (!isStatus(Number(status))) return []
    return [[Number(status), typeof response === 'string' ? { description: response } : response]]
  })
}

function headersOf({ headers }: DocOptions): [string, DocHeader][] {
  return entriesOf(headers).map(([name, header]) => [
    name,
    typeof header === 'string' ? { description: header } : header,
  ])
}

function filesOf(files: DocOptions['files']): Map<string, string | undefined> {
  if (Array.isArray(files)) {
    return new Map((files as readonly string[]).map((name) => [name, undefined]))
  }
  return new Map(entriesOf(files as Readonly<Record<string, string>> | undefined))
}

/** Entries whose value is text or an object. */
function entriesOf<T>(record: Readonly<Record<string, T>> | undefined): [string, T][] {
  if (typeof record !== 'object' || Array.isArray(record)) return []
  return Object.entries(record).filter(
    ([, value]) => typeof value === 'string' || (typeof value === 'object' && value !== null),
  )
}

export function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText)
}

function isFiles(value: unknown): boolean {
  return isTextList(value) || (isMap(value) && Object.values(value).every(isText))
}
