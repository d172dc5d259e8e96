/**
 * The catalog: the tools, resources and prompts of an application, read at the start from the decorators of its routes.
 */
import {
  type RouteDescriptions,
  type RouteInfo,
  type DescribedRoutes,
  schemaOf,
} from '../../index.js'
import { namesIn, promptOf, resourceOf, type ResourceOptions, toolOf } from './decorators.js'
import type { JsonObject } from './protocol.js'
import { isRecordRoute, type ToolRecords } from './record-tools.js'
import { toTool, type RouteTool } from './tool-schema.js'

/** @returns the values of the placeholders; undefined if the URI does not match */
export type UriMatcher = (uri: string) => readonly string[] | undefined

/** A resource, or a template of resources. */
export interface CatalogResource {
  readonly route: RouteInfo
  readonly uri: string
  /** Undefined without placeholders. */
  readonly match: UriMatcher | undefined
  readonly names: readonly string[]
  readonly mime: string | undefined
  readonly complete: ResourceOptions['complete']
  readonly description: JsonObject
}

export interface CatalogPrompt {
  readonly route: RouteInfo
  readonly name: string
  readonly names: readonly string[]
  readonly complete: ResourceOptions['complete']
  readonly description: JsonObject
}

export interface Catalog {
  readonly tools: ReadonlyMap<string, RouteTool>
  readonly resources: readonly CatalogResource[]
  readonly prompts: ReadonlyMap<string, CatalogPrompt>
}

export interface CatalogProblem {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

/**
 * @param toolRecords undefined before the start: then the tools for records are left out
 * @returns the catalog, and the problems of all invalid tools, resources and prompts
 */
export function readCatalog(
  routes: DescribedRoutes,
  toolRecords?: ToolRecords,
): Catalog & { readonly problems: readonly CatalogProblem[] } {
  const problems: CatalogProblem[] = []
  const tools = new Map<string, RouteTool>()
  const resources: CatalogResource[] = []
  const prompts = new Map<string, CatalogPrompt>()
  const described = routes.describe(routes.all.filter(isInCatalog))
  const addProblem = (route: RouteInfo, message: string, remedy: string): void => {
    const where = `${route.method} ${route.path} (${route.name})`
    problems.push({ code: 'TOOL_DECLARATION', message: `${where} ${message}.`, remedy })
  }
  for (const route of routes.all) {
    const resource = resourceOf(route)
    if (resource !== undefined) resources.push(toResource(route, resource, described))
    const prompt = promptOf(route)
    if (prompt !== undefined) {
      const createdPrompt = toPrompt(route, prompt, described)
      if (prompts.has(createdPrompt.name))
        addProblem(
          route,
          `is the second prompt ${createdPrompt.name}`,
          'Give one of them another name.',
        )
      prompts.set(createdPrompt.name, createdPrompt)
    }
    const options = resource === undefined && prompt === undefined ? toolOf(route) : undefined
    if (options === undefined) continue
    if (options.writes !== undefined)
      addProblem(route, 'has @Tool with writes, which only records have', 'Remove writes.')
    const tool = toTool(route, options, described)
    if ('message' in tool) {
      addProblem(route, tool.message, tool.remedy)
      continue
    }
    if (isRecordRoute(route) && toolRecords?.graphql === undefined) continue
    if (tools.has(tool.name))
      addProblem(
        route,
        `is the second tool ${tool.name}`,
        "Give one of them another name: @Tool({ name: '…' }).",
      )
    tools.set(
      tool.name,
      isRecordRoute(route) && toolRecords !== undefined ? toRecordTool(tool, toolRecords) : tool,
    )
  }
  return { tools, resources, prompts, problems }
}

function isInCatalog(route: RouteInfo): boolean {
  return [toolOf, resourceOf, promptOf].some((read) => read(route) !== undefined)
}

/** Both tools are sent by POST, but are read-only unless a record allows mutations. */
function toRecordTool(tool: RouteTool, { writes, isOpen }: ToolRecords): RouteTool {
  const isReading = tool.name === 'describe' || !writes
  const annotations = isReading
    ? { readOnlyHint: true, openWorldHint: false }
    : { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false }
  const description = { ...tool.description, annotations }
  return { ...tool, takesIdempotencyKey: false, isOpen, annotations, description }
}

type Options<T> = Exclude<T, undefined>

function toResource(
  route: RouteInfo,
  { template, options }: Options<ReturnType<typeof resourceOf>>,
  { operations }: RouteDescriptions,
): CatalogResource {
  const names = namesIn(template)
  const { name = memberOf(route), mime, complete } = options
  const texts = textsOf(options, operations.get(route))
  const isTemplate = names.length > 0
  const uriProperty = isTemplate ? { uriTemplate: template } : { uri: template }
  const description = { ...uriProperty, name, ...texts, ...(mime && { mimeType: mime }) }
  return {
    route,
    uri: template,
    match: isTemplate ? createUriMatcher(template) : undefined,
    names,
    mime,
    complete,
    description,
  }
}

/**
 * Creates a function that matches a URI. Each placeholder matches up to the first occurrence of the text after it. A regular expression with several
 * placeholders could take time that is not bounded by the length of the URI.
 */
function createUriMatcher(template: string): UriMatcher {
  const [head = '', ...texts] = template.split(/\{\w+\}/)
  const last = texts.length - 1
  return (uri) => {
    if (!uri.startsWith(head)) return undefined
    const values: string[] = []
    let from = head.length
    for (const [position, text] of texts.entries()) {
      const end = position === last ? uri.length - text.length : uri.indexOf(text, from + 1)
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
): CatalogPrompt {
  const { name = memberOf(route), arguments: type, complete } = options
  const schema = type === undefined ? {} : (schemaOf(type) as JsonObject)
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, { description?: string; title?: string }>>
    required?: readonly string[]
  }
  const names = Object.keys(properties)
  const promptArguments = Object.entries(properties).map(([one, { description, title }]) => ({
    name: one,
    ...(title && { title }),
    ...(description && { description }),
    required: required.includes(one),
  }))
  const promptDescription = {
    name,
    ...textsOf(options, operations.get(route)),
    ...(names.length > 0 && { arguments: promptArguments }),
  }
  return { route, name, names, complete, description: promptDescription }
}

interface Texts {
  readonly title?: string | undefined
  readonly description?: string | undefined
}

function textsOf(
  options: Texts,
  documented: { summary?: string; description?: string } | undefined,
): JsonObject {
  const title = options.title ?? documented?.summary
  const description = options.description ?? documented?.description ?? title
  return { ...(title && { title }), ...(description && { description }) }
}

/** `GuideController.show` → `show`. */
function memberOf({ name }: RouteInfo): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
