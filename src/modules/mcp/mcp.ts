/**
 * `filigree/mcp`: the Model Context Protocol for agents. Only what `@Tool`, `@Resource` and `@Prompt` mark is available to them.
 *
 *   POST {path} → endpoint.ts: allowed hosts, caller, revision, headers
 *               → protocol.ts, methods.ts: the message and its method, independent of HTTP and of an application
 *               → server.ts: the tools, resources and prompts that the caller may see (catalog.ts, tool-schema.ts)
 *               → calls.ts: an internal request to the route that is called (`Routes.call`)
 *               → results.ts: the response of the route as a result of the protocol
 *
 * The rights, limits, checks and logs of the routes apply. A handler that asks the user at the client ends a round: the client
 * sends the sealed state back with the response (`tool-call.ts`). Lists are created once for each set of rights.
 */
import { ApplicationState, createModule, Routes, type ModuleOptions } from '../../index.js'
import { readCatalog } from './catalog.js'
import { endpoint } from './endpoint.js'
import { mcpOptions, type McpOptions } from './options.js'
import { ToolRecords, RecordRoutes } from './record-tools.js'
import { RoundStates, toolCallOf } from './tool-call.js'
import { McpServer } from './server.js'

export { content, type ContentBlock } from './results.js'
export {
  Prompt,
  Resource,
  Tool,
  type Completer,
  type PromptOptions,
  type ResourceOptions,
  type ToolOptions,
} from './decorators.js'
export type { McpOptions } from './options.js'
export type { Root, SampleOptions, ToolCall } from './tool-call.js'

/** Serves tools for agents: `@Module({ imports: [mcp({ path: '/mcp' })] })`, with `@Tool` on routes and records. */
export const mcp = createModule(function mcp(options: McpOptions = {}): ModuleOptions {
  const problems = mcpOptions.findProblems(options, 'mcp')
  if (problems.length > 0) return { problems }
  return {
    checkRoutes: (routes) => readCatalog(routes).problems,
    controllers: [endpoint(options), RecordRoutes],
    providers: [
      RoundStates,
      ToolRecords,
      {
        provide: McpServer,
        inject: [Routes, RoundStates, ApplicationState, ToolRecords],
        make: (
          routes: Routes,
          roundStates: RoundStates,
          state: ApplicationState,
          toolRecords: ToolRecords,
        ) => new McpServer(routes, roundStates, state, toolRecords, options),
      },
    ],
    cors: {
      allowedHeaders: ['Mcp-Session-Id', 'MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'],
      exposedHeaders: ['Mcp-Session-Id'],
    },
    arguments: { toolCall: (request) => toolCallOf.get(request) ?? null },
  }
})
