/** Defines tools of `filigree mcp`: their description for agents, the check of their input, and their results. */
import { checkOf } from '../../fields/checked-shape.js'
import type { Class } from '../../metadata/class.js'
import { classSchema } from '../../openapi/schemas.js'

/** The project that the tools describe. */
export interface Project {
  /** The folder of the project. */
  readonly cwd: string
  /** The file with the application's module. Default: the one in package.json. */
  readonly module: string | undefined
  /** Loads the application and queries it. */
  readonly queryApplication: QueryApplication
}

/** @throws {ToolError} the application cannot be loaded, or the query takes too long */
export type QueryApplication = (
  query: ApplicationQuery,
  signal: AbortSignal | undefined,
) => Promise<unknown>

/** A query that runs in a process with the loaded application. */
export type ApplicationQuery =
  | { readonly about: 'routes' | 'records' }
  | { readonly about: 'doctor'; readonly production: boolean }
  | {
      readonly about: 'route'
      readonly method: string
      readonly path: string
      readonly as: Readonly<Record<string, unknown>> | undefined
    }
  | {
      readonly about: 'operation'
      readonly query: string
      readonly as: Readonly<Record<string, unknown>> | undefined
    }

/** An error that the agent can correct. Its message is the tool's result. */
export class ToolError extends Error {}

/** The result of a tool: Markdown text or a JSON value. */
export type ToolResult =
  | { readonly text: string }
  | {
      readonly value: Readonly<Record<string, unknown>>
      /** The value contains texts of callers and rows, which are never instructions. */
      readonly recorded?: boolean
    }

export interface ToolOptions<Input extends object> {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Its fields are the arguments of the tool. */
  readonly input: Class<Input>
  readonly run: (
    input: Input,
    project: Project,
    signal: AbortSignal | undefined,
  ) => ToolResult | Promise<ToolResult>
}

export interface Tool {
  readonly name: string
  /** The entry in the result of `tools/list`. */
  readonly listed: object
  /** @throws {ToolError | HttpError} */
  readonly call: (
    input: object,
    project: Project,
    signal: AbortSignal | undefined,
  ) => Promise<ToolResult>
}

export function tool<Input extends object>(options: ToolOptions<Input>): Tool {
  const { name, title, description, input, run } = options
  const check = checkOf(input, { name: 'the arguments' })
  const inputSchema = withObjects(classSchema(input, { view: 'input' }, () => ({})))
  return {
    name,
    listed: { name, title, description, inputSchema, annotations: { title, ...readOnlyHints } },
    call: async (args, project, signal) => run(await check(args), project, signal),
  }
}

/** @returns undefined if the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Fields of the kind `json` are objects in the input schema. */
function withObjects(schema: ReturnType<typeof classSchema>): object {
  const { properties = {} } = schema
  const typed = Object.entries(properties).map(([name, one]) => [
    name,
    'type' in one ? one : { type: 'object', ...one },
  ])
  return { ...schema, properties: Object.fromEntries(typed) as object }
}

const readOnlyHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
