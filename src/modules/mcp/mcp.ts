/**
 * `filigree/mcp`: what `@Tool`, `@Resource` and `@Prompt` mark is there for agents, by the Model Context Protocol. Nothing else is.
 *
 *   POST {path} → endpoint.ts: addresses, caller, revision, headers
 *               → protocol.ts, methods.ts: the message and its method, without HTTP and without an application
 *               → server.ts: what the caller may see of the offers (offers.ts, tool-schema.ts)
 *               → calls.ts: a request within this one, on the walk of the route that is called (`Routes.call`)
 *               → tool-results.ts, read-results.ts: its answer as a result
 *
 * Rights, limits, checks and logs are those of the routes: nothing of them is decided here. Questions to the person at the client
 * end a round (`tool-call.ts`), whose state the client brings back sealed (`rounds.ts`). Lists are made once for each set of rights.
 * Source: decisions, "Third storey: admin and agents".
 */
import { ApplicationState, createModule, Routes, type ModuleOptions } from '../../index.js'
import { endpoint } from './endpoint.js'
import { findProblems, type McpOptions } from './options.js'
import { ToolRecords, RecordRoutes } from './record-tools.js'
import { RoundStates, toolCallOf } from './tool-call.js'
import { McpServer } from './server.js'

export { content, type ContentBlock } from './results.js'
export {
  Prompt,
  Resource,
  Tool,
  type Complete,
  type PromptOptions,
  type ResourceOptions,
  type ToolOptions,
} from './decorators.js'
export type { McpOptions } from './options.js'
export type { Root, SampleOptions, ToolCall } from './tool-call.js'

/** Tools for agents: `@Module({ imports: [mcp({ path: '/mcp' })] })`, and `@Tool` where one is meant. */
export const mcp = createModule(function mcp(options: McpOptions = {}): ModuleOptions {
  const problems = findProblems(options)
  if (problems.length > 0) return { problems }
  return {
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
