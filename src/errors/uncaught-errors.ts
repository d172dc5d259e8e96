/** Explains an error that ends the program before it listens: a declaration error, or an import cycle. */
import { DeclarationError, isDebugged, isReport } from './declaration-error.js'
import { findImportCycle } from './import-cycle.js'

/**
 * Prints the report of such an error in place of Node's source excerpt when the program ends with it. `bootstrap` calls
 * it when it is loaded, because files that import each other fail before anything is called.
 */
export function explainUncaughtErrors(): void {
  const isInstalled = process
    .listeners('uncaughtExceptionMonitor')
    .some(({ name }) => name === endWithExplanation.name)
  if (!isInstalled) process.on('uncaughtExceptionMonitor', endWithExplanation)
}

/** Ends the process with the explanation. The application's own error listeners take precedence. */
function endWithExplanation(error: unknown): void {
  if (process.listenerCount('uncaughtException') > 0) return
  const report = isReport(error) ? error.message : explainCycle(error)
  if (report === undefined) return
  process.stderr.write(`${report}\n`)
  process.exit(1)
}

function explainCycle(error: unknown): string | undefined {
  const problem = isDebugged() ? undefined : findImportCycle(error)
  return problem && new DeclarationError([problem]).message
}
