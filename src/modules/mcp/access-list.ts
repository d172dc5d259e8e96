/** The lists of tools, resources and prompts, created once for each set of rights and cached. */
import type { HttpRequest, RequestAuth, Routes, RouteInfo } from '../../index.js'
import { inlineDefinitions } from './inline-definitions.js'
import { completeText, isJsonObject, type JsonObject, type ServerInfo } from './protocol.js'

/** An entry of a list, with the route that decides who may see it. */
export interface CatalogEntry {
  readonly route: RouteInfo
  /** True: visible without a token. Default: the rule of the route decides. */
  readonly isOpen?: boolean
  readonly description: JsonObject
}

/** Entries that are visible to the same callers. */
interface VisibilityRule {
  readonly route: RouteInfo
  readonly isOpen: boolean | undefined
  readonly entries: number[]
}

/** How long clients may cache a list. It changes with the program and with the rights of the caller. */
const listTtlMs = 300_000
/** The number of cached lists. */
const maxCachedLists = 500

export interface ListKind<Entry extends CatalogEntry = CatalogEntry> {
  readonly name: 'tools' | 'resources' | 'resourceTemplates' | 'prompts'
  readonly entries: readonly Entry[]
  /** Limits the descriptions to what the caller may see. Default: the complete descriptions. */
  readonly viewOf?: ((request: HttpRequest) => Promise<EntryView<Entry>>) | undefined
}

/** The entries as a caller may see them. */
export interface EntryView<Entry extends CatalogEntry> {
  /** The same text for callers with the same rights. */
  readonly key: string
  readonly describe: (entry: Entry) => JsonObject
}

/** The lists of one kind, one for each set of rights. */
export class AccessList<Entry extends CatalogEntry = CatalogEntry> {
  readonly #kind: ListKind<Entry>
  readonly #routes: Routes
  readonly #info: ServerInfo
  /** One route for each rule, with the indexes of its entries. */
  readonly #rules: readonly VisibilityRule[]
  readonly #cachedTexts = new Map<string, string>()

  constructor(kind: ListKind<Entry>, routes: Routes, info: ServerInfo) {
    this.#kind = kind
    this.#routes = routes
    this.#info = info
    const rules = new Map<unknown, VisibilityRule>()
    for (const [index, { route, isOpen }] of kind.entries.entries()) {
      const rule = isOpen ?? routes.ruleOf(route)
      const existing = rules.get(rule)
      if (existing === undefined) rules.set(rule, { route, isOpen, entries: [index] })
      else existing.entries.push(index)
    }
    this.#rules = [...rules.values()]
  }

  /** True if any entry is visible without a token. */
  get isOpen(): boolean {
    return this.#rules.some((rule) => this.#isOpen(rule))
  }

  /** The list that the caller may see, as the text of a complete result. */
  read(request: HttpRequest, auth: RequestAuth | undefined): string | Promise<string> {
    let rights = ''
    for (const [index, { route, isOpen }] of this.#rules.entries()) {
      const admits =
        isOpen === undefined
          ? this.#routes.admits(route, request, auth)
          : isOpen || auth !== undefined
      if (typeof admits !== 'boolean') return this.#readAsync(request, auth, rights, index)
      rights += admits ? '1' : '0'
    }
    return this.#textFor(rights, request)
  }

  async #readAsync(
    request: HttpRequest,
    auth: RequestAuth | undefined,
    checkedRights: string,
    from: number,
  ): Promise<string> {
    let rights = checkedRights
    for (const { route, isOpen } of this.#rules.slice(from)) {
      const admits = isOpen ?? (await this.#routes.admits(route, request, auth))
      rights += admits || (isOpen !== undefined && auth !== undefined) ? '1' : '0'
    }
    return this.#textFor(rights, request)
  }

  #isOpen({ route, isOpen }: VisibilityRule): boolean {
    return isOpen ?? this.#routes.isOpen(route)
  }

  #textFor(rights: string, request: HttpRequest): string | Promise<string> {
    const { viewOf } = this.#kind
    if (viewOf === undefined) return this.#cachedText(rights, completeView)
    return viewOf(request).then((view) => this.#cachedText(rights, view))
  }

  #cachedText(rights: string, view: EntryView<Entry>): string {
    const key = rights + view.key
    const cachedText = this.#cachedTexts.get(key)
    if (cachedText !== undefined) return cachedText
    const visibleIndexes = new Set(
      this.#rules.flatMap(({ entries }, at) => (rights[at] === '1' ? entries : [])),
    )
    const descriptions = this.#kind.entries
      .filter((_, index) => visibleIndexes.has(index))
      .map((entry) => withInlineSchemas(view.describe(entry)))
    const isPublic = view === completeView && this.#rules.every((rule) => this.#isOpen(rule))
    const cacheScope = isPublic ? 'public' : 'private'
    const result = { [this.#kind.name]: descriptions, ttlMs: listTtlMs, cacheScope }
    const text = completeText(result, this.#info)
    if (this.#cachedTexts.size >= maxCachedLists) this.#cachedTexts.clear()
    this.#cachedTexts.set(key, text)
    return text
  }
}

/** The description of a tool with complete schemas. Other entries have none. */
function withInlineSchemas(description: JsonObject): JsonObject {
  const { inputSchema, outputSchema } = description
  return {
    ...description,
    ...(isJsonObject(inputSchema) && { inputSchema: inlineDefinitions(inputSchema) }),
    ...(isJsonObject(outputSchema) && { outputSchema: inlineDefinitions(outputSchema) }),
  }
}

const completeView: EntryView<CatalogEntry> = {
  key: '',
  describe: ({ description }) => description,
}
