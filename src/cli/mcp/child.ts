/** The child process of `filigree mcp`. It loads the application, runs one query and exits. */
import { UsageError } from '../command.js'
import { describeError } from '../describe-error.js'
import { Redactor } from '../../serving/redaction/redactor.js'
import { withoutPasswords } from '../../core/secrets.js'
import { loadSources } from '../load-application.js'
import { runQuery, type QueryMessage, type ResultMessage } from './project-tools.js'

process.once('message', (message) => {
  const { query, module } = message as QueryMessage
  const ignore = (): Promise<void> => Promise.resolve()
  const terminal = { out: ignore, err: ignore, cwd: process.cwd(), loadSources }
  void runQuery(query, module, terminal).then((value) => {
    send({ is: 'result', value })
  }, fail)
})
process.once('uncaughtException', fail)

function fail(error: unknown): void {
  const text = error instanceof UsageError ? error.message : describeError('The application', error)
  send({ is: 'error', text: withoutPasswords(new Redactor(process.env).text(text)) })
}

function send(message: ResultMessage): void {
  process.send?.(message, undefined, undefined, () => process.exit())
}
