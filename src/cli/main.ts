#!/usr/bin/env node
/** The entry point of the `filigree` command. */
import { fchmodSync, fstatSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { showsColours } from '../core/paint.js'
import { loadSources, unsettledAwait } from './load-application.js'
import { runCommand } from './run-command.js'

// Node sets the code in a listener of its own, so the argument is still 0.
process.on('exit', () => {
  if (process.exitCode !== unsettledAwait) return
  const command = process.argv[2] ?? ''
  writeSync(
    process.stderr.fd,
    `filigree ${command}: the application waits for something that never happens, so the command could not end. Look for an await in its modules, or in a provider's make, of a promise that nothing settles.\n`,
  )
})

const isInteractive = process.stdin.isTTY && process.stdout.isTTY
const code = await runCommand(process.argv.slice(2), {
  out: (text) => write(process.stdout, text),
  protectOutput,
  err: (text) => write(process.stderr, text),
  cwd: process.cwd(),
  hasColours: showsColours(process.stdout),
  hasErrorColours: showsColours(process.stderr),
  loadSources,
  prompt: isInteractive ? prompt : undefined,
  progress: process.stderr.isTTY ? (text) => void process.stderr.write(`${text}\n`) : undefined,
})
// Modules of the application can have opened handles that would keep the process running.
process.exit(code)

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text, () => {
      resolve()
    })
  })
}

/** Shells create the file of `filigree keys > production.env` readable for everybody. */
function protectOutput(): void {
  const { fd } = process.stdout
  if (fstatSync(fd).isFile()) fchmodSync(fd, 0o600)
}

/** Asks a question. Ctrl+C or the end of the input ends the command. */
async function prompt(text: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  lines.on('SIGINT', () => process.exit(130))
  try {
    return await lines.question(text)
  } finally {
    lines.close()
  }
}
