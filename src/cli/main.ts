#!/usr/bin/env node
/** The `filigree` command. */
import { runCommand } from './run-command.js'

const code = await runCommand(process.argv.slice(2), {
  out: (text) => write(process.stdout, text),
  err: (text) => write(process.stderr, text),
  cwd: process.cwd(),
})
// Modules of the application may have opened handles that would keep the process alive.
process.exit(code)

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text, () => {
      resolve()
    })
  })
}
