/**
 * The child process of `filigree mcp`. It loads the application, runs one query and exits. Each query has a new process, so
 * that it reads the current sources, and nothing that the application has opened remains.
 */
import { describeError } from '../describe-error.js'
import { Redactor } from '../dev/redactor.js'
import { loadSources } from '../load-application.js'
import { UsageError } from '../command.js'
import { withoutPasswords } from '../dev/secret-patterns.js'
import { answerQuery } from './application-queries.js'
import type { ApplicationQuery } from './tool.js'

export interface QueryMessage {
  readonly query: ApplicationQuery
  readonly module: string | undefined
}

export type ResultMessage =
  | { readonly is: 'result'; readonly value: unknown }
  | { readonly is: 'error'; readonly text: string }

process.once('message', (message) => {
  const { query: question, module } = message as QueryMessage
  const nothing = (): Promise<void> => Promise.resolve()
  const terminal = { out: nothing, err: nothing, cwd: process.cwd(), loadSources }
  void answerQuery(question, module, terminal).then((value) => {
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
