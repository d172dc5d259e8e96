/**
 * What an application offers to agents, read once at its start from the marks on its routes: tools, resources, prompts. Lists are
 * made once for each set of rights, whoever has it: a rule that many routes share is asked once.
 */
import {
  DeclarationError,
  type HttpRequest,
  type RequestAuth,
  type RouteDescriptions,
  type RouteInfo,
  type Routes,
  schemaOf,
} from '../../index.js'
import { namesIn, promptOf, resourceOf, toolOf, type ResourceOptions } from './decorators.js'
import { completeText, type Members, type ServerInfo } from './protocol.js'
import { isOfRecords, type MarkedRecords } from './record-tools.js'
import { toTool, type RouteTool } from './tool-schema.js'

/** @returns what stands in the braces, as it was written; undefined for another address */
export type Match = (uri: string) => readonly string[] | undefined

/** A resource, or a template of them. */
export interface OfferedResource {
  readonly route: RouteInfo
  readonly uri: string
  /** Undefined where it has no braces. */
  readonly match: Match | undefined
  readonly names: readonly string[]
  readonly mime: string | undefined
  readonly complete: Completer
  readonly told: Members
}

export interface OfferedPrompt {
  readonly route: RouteInfo
  readonly name: string
  readonly names: readonly string[]
  readonly complete: Completer
  readonly told: Members
}

type Completer = ResourceOptions['complete']

/** One entry of a list, with who may see it. */
interface Entry {
  readonly route: RouteInfo
  /** Somebody without a token may see it. Default: as the route's rule says. */
  readonly isOpen?: boolean
  readonly told: Members
}

/** Entries that the same callers see. */
interface Rule {
  readonly route: RouteInfo
  readonly isOpen: boolean | undefined
  readonly entries: number[]
}

/** How long clients may keep a list: it changes with the program and with the caller's rights. */
const listTime = 300_000
/** Sets of rights whose lists are kept. */
const mostKept = 500

export interface ListKind {
  readonly name: 'tools' | 'resources' | 'resourceTemplates' | 'prompts'
  readonly entries: readonly Entry[]
}

/** The lists of one kind, by rights. */
export class RightsList {
  readonly #kind: ListKind
  readonly #routes: Routes
  readonly #info: ServerInfo
  /** A route for each rule, with the places of its entries. */
  readonly #rules: readonly Rule[]
  readonly #kept = new Map<string, string>()

  constructor(kind: ListKind, routes: Routes, info: ServerInfo) {
    this.#kind = kind
    this.#routes = routes
    this.#info = info
    const rules = new Map<unknown, Rule>()
    for (const [index, { route, isOpen }] of kind.entries.entries()) {
      const rule = isOpen ?? routes.ruleOf(route)
      const known = rules.get(rule)
      if (known === undefined) rules.set(rule, { route, isOpen, entries: [index] })
      else known.entries.push(index)
    }
    this.#rules = [...rules.values()]
  }

  /** True if somebody without a token sees any of it. */
  get isOpen(): boolean {
    return this.#rules.some((rule) => this.#isOpen(rule))
  }

  /** The complete result, as text. */
  read(request: HttpRequest, auth: RequestAuth | undefined): string | Promise<string> {
    let rights = ''
    for (const [index, { route, isOpen }] of this.#rules.entries()) {
      const admits =
        isOpen === undefined
          ? this.#routes.admits(route, request, auth)
          : isOpen || auth !== undefined
      if (typeof admits !== 'boolean') return this.#readLater(request, auth, rights, index)
      rights += admits ? '1' : '0'
    }
    return this.#textFor(rights)
  }

  async #readLater(
    request: HttpRequest,
    auth: RequestAuth | undefined,
    known: string,
    from: number,
  ): Promise<string> {
    let rights = known
    for (const { route, isOpen } of this.#rules.slice(from)) {
      const admits = isOpen ?? (await this.#routes.admits(route, request, auth))
      rights += admits || (isOpen !== undefined && auth !== undefined) ? '1' : '0'
    }
    return this.#textFor(rights)
  }

  #isOpen({ route, isOpen }: Rule): boolean {
    return isOpen ?? this.#routes.isOpen(route)
  }

  #textFor(rights: string): string {
    const known = this.#kept.get(rights)
    if (known !== undefined) return known
    const seen = new Set(
      this.#rules.flatMap(({ entries }, at) => (rights[at] === '1' ? entries : [])),
    )
    const told = this.#kind.entries.filter((_, index) => seen.has(index)).map(({ told }) => told)
    const isPublic = this.#rules.every((rule) => this.#isOpen(rule))
    const cacheScope = isPublic ? 'public' : 'private'
    const result = { [this.#kind.name]: told, ttlMs: listTime, cacheScope }
    const text = completeText(result, this.#info)
    if (this.#kept.size >= mostKept) this.#kept.clear()
    this.#kept.set(rights, text)
    return text
  }
}

export interface Offered {
  readonly tools: ReadonlyMap<string, RouteTool>
  readonly resources: readonly OfferedResource[]
  readonly prompts: ReadonlyMap<string, OfferedPrompt>
}

interface Fault {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

/** @throws {DeclarationError} with every mark that cannot be offered */
export function readOffers(routes: Routes, marked: MarkedRecords): Offered {
  const faults: Fault[] = []
  const tools = new Map<string, RouteTool>()
  const resources: OfferedResource[] = []
  const prompts = new Map<string, OfferedPrompt>()
  const described = routes.describe()
  const refuse = (route: RouteInfo, message: string, remedy: string): void => {
    const where = `${route.method} ${route.path} (${route.name})`
    faults.push({ code: 'TOOL_DECLARATION', message: `${where} ${message}.`, remedy })
  }
  for (const route of routes.all) {
    const resource = resourceOf(route)
    if (resource !== undefined) resources.push(toResource(route, resource, described))
    const prompt = promptOf(route)
    if (prompt !== undefined) {
      const made = toPrompt(route, prompt, described)
      if (prompts.has(made.name))
        refuse(route, `is the second prompt ${made.name}`, 'Name one otherwise.')
      prompts.set(made.name, made)
    }
    const options = resource === undefined && prompt === undefined ? toolOf(route) : undefined
    if (options === undefined) continue
    if (options.writes !== undefined)
      refuse(route, 'has @Tool with writes, which records have', 'Take writes out.')
    const tool = toTool(route, options, described)
    if ('message' in tool) {
      refuse(route, tool.message, tool.remedy)
      continue
    }
    if (isOfRecords(route) && marked.graphql === undefined) continue
    if (tools.has(tool.name))
      refuse(route, `is the second tool ${tool.name}`, "Name one otherwise: @Tool({ name: '…' }).")
    tools.set(tool.name, isOfRecords(route) ? toRecordTool(tool, marked) : tool)
  }
  if (faults.length > 0) throw new DeclarationError(faults)
  return { tools, resources, prompts }
}

/** They read unless some record opens its mutations, though both are sent by POST. */
function toRecordTool(tool: RouteTool, { writes, isOpen }: MarkedRecords): RouteTool {
  const isReading = tool.name === 'describe' || !writes
  const annotations = isReading
    ? { readOnlyHint: true, openWorldHint: false }
    : { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false }
  return { ...tool, isKeyed: false, isOpen, told: { ...tool.told, annotations } }
}

type Options<T> = Exclude<T, undefined>

function toResource(
  route: RouteInfo,
  { template, options }: Options<ReturnType<typeof resourceOf>>,
  { operations }: RouteDescriptions,
): OfferedResource {
  const names = namesIn(template)
  const { name = memberOf(route), mime, complete } = options
  const words = wordsOf(options, operations.get(route))
  const isTemplate = names.length > 0
  const place = isTemplate ? { uriTemplate: template } : { uri: template }
  const told = { ...place, name, ...words, ...(mime && { mimeType: mime }) }
  return {
    route,
    uri: template,
    match: isTemplate ? toMatch(template) : undefined,
    names,
    mime,
    complete,
    told,
  }
}

/**
 * Each brace stands for one part of the address, up to where its next text stands for the first time. No regular expression does
 * that for several braces in a time that the address's length bounds.
 */
function toMatch(template: string): Match {
  const [head = '', ...texts] = template.split(/\{\w+\}/)
  const last = texts.length - 1
  return (uri) => {
    if (!uri.startsWith(head)) return undefined
    const values: string[] = []
    let from = head.length
    for (const [place, text] of texts.entries()) {
      const end = place === last ? uri.length - text.length : uri.indexOf(text, from + 1)
      const value = uri.slice(from, end)
      if (end <= from || !uri.startsWith(text, end) || /[/?#]/.test(value)) return undefined
      values.push(value)
      from = end + text.length
    }
    return values
  }
}

function toPrompt(
  route: RouteInfo,
  options: Options<ReturnType<typeof promptOf>>,
  { operations }: RouteDescriptions,
): OfferedPrompt {
  const { name = memberOf(route), arguments: type, complete } = options
  const schema = type === undefined ? {} : (schemaOf(type) as Members)
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, { description?: string; title?: string }>>
    required?: readonly string[]
  }
  const names = Object.keys(properties)
  const given = Object.entries(properties).map(([one, { description, title }]) => ({
    name: one,
    ...(title && { title }),
    ...(description && { description }),
    required: required.includes(one),
  }))
  const told = {
    name,
    ...wordsOf(options, operations.get(route)),
    ...(names.length > 0 && { arguments: given }),
  }
  return { route, name, names, complete, told }
}

interface Words {
  readonly title?: string | undefined
  readonly description?: string | undefined
}

function wordsOf(
  own: Words,
  documented: { summary?: string; description?: string } | undefined,
): Members {
  const title = own.title ?? documented?.summary
  const description = own.description ?? documented?.description ?? title
  return { ...(title && { title }), ...(description && { description }) }
}

/** `GuideController.show` → `show`. */
function memberOf({ name }: RouteInfo): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
