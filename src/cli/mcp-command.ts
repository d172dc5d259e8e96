/** `filigree mcp`: the documentation and this project as tools for agents. Source: decisions, "Third storey: admin and agents". */
import type { Command } from './command.js'
import { describeFailure } from './describe-failure.js'
import { askChildren } from './mcp/ask-child.js'
import { offerTools } from './mcp/offer.js'
import { serveLines } from './mcp/serve-lines.js'
import { readArguments } from './read-arguments.js'
import { exitCodes, type Terminal } from './terminal.js'

const usage = `filigree mcp [module.js]
  Serves tools to an agent's editor by the Model Context Protocol, on standard input and output: the documentation,
  routes, records, why a request is answered so, the doctor, and what a running filigree dev has seen. Each only reads.
  The editor starts it: { "command": "npx", "args": ["filigree", "mcp"] } in its file of servers.`

export const mcpCommand: Command = {
  usage,
  summary: "tools for an agent's editor, on standard input and output",
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { words } = readArguments(args, {})
  const { cwd, err } = terminal
  const [module] = words
  const project = { cwd, module, ask: askChildren(cwd, module) }
  const offer = await offerTools(project, (error) => {
    void err(`${describeFailure('filigree mcp', error)}\n`)
  })
  if (process.stdin.isTTY)
    await err('filigree mcp waits for messages of an editor. It is started by that.\n')
  await serveLines(offer, { input: process.stdin, output: process.stdout })
  return exitCodes.done
}
