/** A tool of `filigree mcp`: what an agent is told of it, how its input is checked, and what it answers. */
import { checkOf } from '../../fields/check-of.js'
import type { Class } from '../../metadata/class-metadata.js'
import { classSchema } from '../../openapi/schemas.js'

/** What all tools know of the project. */
export interface Project {
  /** Its folder. */
  readonly cwd: string
  /** The file with its module, if one was named. */
  readonly module: string | undefined
  /** Answers what only the application itself knows. */
  readonly ask: AskProject
}

/** @throws {ToolFault} it cannot be loaded, or took too long */
export type AskProject = (question: Question, signal: AbortSignal | undefined) => Promise<unknown>

/** What an application is asked, in a process of its own. */
export type Question =
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

/** What an agent can mend: it is told as the tool's result. */
export class ToolFault extends Error {}

/** What a tool answers: text for reading, or a value. */
export type ToolAnswer =
  | { readonly text: string }
  | {
      readonly value: Readonly<Record<string, unknown>>
      /** It holds words of callers and rows, which are nobody's instructions. */
      readonly recorded?: boolean
    }

export interface ToolOptions<Input extends object> {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Its fields are the arguments. */
  readonly input: Class<Input>
  readonly run: (
    input: Input,
    project: Project,
    signal: AbortSignal | undefined,
  ) => ToolAnswer | Promise<ToolAnswer>
}

export interface Tool {
  readonly name: string
  /** As `tools/list` says it. */
  readonly listed: object
  /** @throws {ToolFault | HttpError} */
  readonly call: (
    given: object,
    project: Project,
    signal: AbortSignal | undefined,
  ) => Promise<ToolAnswer>
}

export function tool<Input extends object>(options: ToolOptions<Input>): Tool {
  const { name, title, description, input, run } = options
  const check = checkOf(input, { whole: 'the arguments' })
  const inputSchema = withObjects(classSchema(input, 'input', () => ({})))
  return {
    name,
    listed: { name, title, description, inputSchema, annotations: { title, ...harmless } },
    call: async (given, project, signal) => run(await check(given), project, signal),
  }
}

/** Arguments of any JSON are objects here. */
function withObjects(schema: ReturnType<typeof classSchema>): object {
  const { properties = {} } = schema
  const typed = Object.entries(properties).map(([name, one]) => [
    name,
    'type' in one ? one : { type: 'object', ...one },
  ])
  return { ...schema, properties: Object.fromEntries(typed) as object }
}

const harmless = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
